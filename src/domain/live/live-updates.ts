import type { LiveChange, LiveFeed, LiveKind } from '../ports/changes.ts';
import type { Timers } from '../ports/system.ts';
import { Watch } from './watch.ts';

interface Watcher {
  readonly kinds: readonly LiveKind[];
  readonly id: string | undefined;
  /** True from the time from which no change is missed. */
  isListening: boolean;
}

/**
 * All subscriptions of this process, by account. Passes each change to the subscriptions that want it. While there is a
 * subscription, also listens to the changes of other processes.
 */
export class LiveUpdates {
  readonly #feed: LiveFeed;
  readonly #timers: Timers;
  readonly #accounts = new Map<string, Map<Watch, Watcher>>();
  /** Number of subscriptions. Includes subscriptions that are still starting. */
  #size = 0;
  #stopListening: (() => Promise<void>) | undefined;
  #listening: Promise<void> = Promise.resolve();

  constructor(feed: LiveFeed, timers: Timers) {
    this.#timers = timers;
    this.#feed = feed;
  }

  /**
   * Number of subscriptions that get every change from now on. Subscriptions that are still starting are not counted.
   */
  get size(): number {
    return this.#watchers().filter(([, { isListening }]) => isListening).length;
  }

  /** Number of changed objects that were not delivered yet. */
  get waiting(): number {
    return this.#watchers().reduce((sum, [watch]) => sum + watch.waiting, 0);
  }

  #watchers(): [Watch, Watcher][] {
    return [...this.#accounts.values()].flatMap((own) => [...own]);
  }

  /**
   * Subscribes to some kinds of an account's objects, or to the single object `id`, until `signal` aborts. Changes that
   * are committed after the promise has resolved are not missed.
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
      void this.#startOrStopListening();
    });
    const close = () => watch.close();
    const watcher = { kinds, id, isListening: false };
    this.#accounts.set(accountId, watches.set(watch, watcher));
    this.#size += 1;
    signal.addEventListener('abort', close);
    if (signal.aborted) close();
    await this.#startOrStopListening();
    watcher.isListening = true;
    return watch;
  }

  /**
   * Starts or stops listening to other processes, depending on whether there are subscriptions. Resolves when that is
   * done.
   */
  #startOrStopListening(): Promise<void> {
    this.#listening = this.#listening.then(async () => {
      const stop = this.#stopListening;
      if (this.#size > 0 && !stop) {
        this.#stopListening = await this.#feed.listen(
          (change) => this.#announce(change),
          () => this.#announceGap(),
        );
      } else if (this.#size === 0 && stop) {
        this.#stopListening = undefined;
        await stop();
      }
    });
    return this.#listening;
  }

  #announce({ kind, accountId, ids }: LiveChange): void {
    for (const [watch, watcher] of this.#accounts.get(accountId) ?? []) {
      if (!watcher.kinds.includes(kind)) continue;
      if (watcher.id === undefined) watch.note(ids);
      else if (!ids || ids.includes(watcher.id)) watch.note([watcher.id]);
    }
  }

  #announceGap(): void {
    for (const watches of this.#accounts.values()) for (const watch of watches.keys()) watch.note(undefined);
  }
}
