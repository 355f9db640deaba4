import type { LiveChange, LiveFeed, LiveKind } from '../ports/changes.ts';
import type { Timers } from '../ports/system.ts';
import { Watch } from './watch.ts';

interface Watcher {
  readonly kinds: readonly LiveKind[];
  readonly id: string | undefined;
}

/**
 * Everybody in this process who watches, by account: hands each change to those it concerns. It listens to other
 * processes exactly while somebody watches.
 */
export class LiveUpdates {
  readonly #feed: LiveFeed;
  readonly #timers: Timers;
  readonly #accounts = new Map<string, Map<Watch, Watcher>>();
  #size = 0;
  #stopListening: (() => Promise<void>) | undefined;
  #tuned: Promise<void> = Promise.resolve();

  constructor(feed: LiveFeed, timers: Timers) {
    this.#timers = timers;
    this.#feed = feed;
  }

  /** How many watch. */
  get size(): number {
    return this.#size;
  }

  /** Changed objects that those who watch have not been shown yet. */
  get waiting(): number {
    const watches = [...this.#accounts.values()].flatMap((own) => [...own.keys()]);
    return watches.reduce((sum, watch) => sum + watch.waiting, 0);
  }

  /**
   * Watches an account's objects of some kinds, or one of them, until `signal`. Of all that commits after it
   * resolved, nothing is missed.
   */
  async watch(
    accountId: string,
    kinds: readonly LiveKind[],
    signal: AbortSignal,
    id?: string,
  ): Promise<Watch> {
    const watches = this.#accounts.get(accountId) ?? new Map<Watch, Watcher>();
    const watch = new Watch(this.#timers, (closed) => {
      signal.removeEventListener('abort', close);
      this.#size -= 1;
      watches.delete(closed);
      if (watches.size === 0) this.#accounts.delete(accountId);
      void this.#tune();
    });
    const close = () => watch.close();
    this.#accounts.set(accountId, watches.set(watch, { kinds, id }));
    this.#size += 1;
    signal.addEventListener('abort', close);
    if (signal.aborted) close();
    await this.#tune();
    return watch;
  }

  /** Resolves when it listens or not, as is wanted now. */
  #tune(): Promise<void> {
    this.#tuned = this.#tuned.then(async () => {
      const stop = this.#stopListening;
      if (this.#size > 0 && !stop) {
        this.#stopListening = await this.#feed.listen(
          (change) => this.#tell(change),
          () => this.#tellOfGap(),
        );
      } else if (this.#size === 0 && stop) {
        this.#stopListening = undefined;
        await stop();
      }
    });
    return this.#tuned;
  }

  #tell({ kind, accountId, ids }: LiveChange): void {
    for (const [watch, watcher] of this.#accounts.get(accountId) ?? []) {
      if (!watcher.kinds.includes(kind)) continue;
      if (watcher.id === undefined) watch.note(ids);
      else if (!ids || ids.includes(watcher.id)) watch.note([watcher.id]);
    }
  }

  #tellOfGap(): void {
    for (const watches of this.#accounts.values()) for (const watch of watches.keys()) watch.note(undefined);
  }
}
