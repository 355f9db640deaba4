import { serviceUnavailable } from '../errors.ts';
import type { CopyStore } from '../ports/copy-store.ts';
import type { Hold } from './hold.ts';

/** Value of Retry-After in seconds. It is long, because an operator must release the copy. */
const RETRY_AFTER_SECONDS = 60;

/** Knows whether this process may send, as of the last `refresh`. */
export class HoldGate {
  readonly #store: Pick<CopyStore, 'read'>;
  readonly #listeners = new Set<(hold: Hold | undefined) => void>();
  #hold: Hold | undefined;

  constructor(store: Pick<CopyStore, 'read'>, hold: Hold | undefined) {
    this.#store = store;
    this.#hold = hold;
  }

  get hold(): Hold | undefined {
    return this.#hold;
  }

  /** Throws `service_unavailable` while this copy of the data is held (R231). */
  refuseWhileHeld(): void {
    if (this.#hold === undefined) return;
    throw serviceUnavailable(
      'This gateway was restored or copied, and sends nothing until its operator releases it.',
      RETRY_AFTER_SECONDS,
      'held',
    );
  }

  /**
   * Reads whether the copy is held, and calls the listeners if that changed. Rejects if the database does not answer.
   */
  async refresh(): Promise<void> {
    const hold = (await this.#store.read()).hold;
    const hasChanged = (hold === undefined) !== (this.#hold === undefined);
    this.#hold = hold;
    if (hasChanged) for (const listener of this.#listeners) listener(hold);
  }

  /** Calls `listener` when a hold begins or ends. Returns a function that unsubscribes. */
  onChange(listener: (hold: Hold | undefined) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }
}
