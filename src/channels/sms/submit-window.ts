/**
 * The submit window of one session. **Place**: the right to have one submit_sm on the wire unanswered.
 * Never more places are taken than the limit; the limit is halved when the carrier throttles and grows by
 * one for each limit's worth of successes, up to the configured maximum.
 */
import { WaitLine } from '../wait-line.ts';

const MAX_PAUSE_MS = 5_000;

export class SubmitWindow {
  readonly #max: number;
  readonly #pauseMs: number;
  /** Parts of messages that have begun to leave go first, so that few messages are half sent. */
  readonly #begun = new WaitLine();
  readonly #fresh = new WaitLine();
  #limit: number;
  #used = 0;
  #pauses = 0;
  #pausedUntil = 0;
  #pauseTimer: NodeJS.Timeout | undefined;
  #freshRefused = false;
  #closed = false;

  /** `max` in PDUs; `pauseMs` is the first pause after throttling, doubled each time it goes on, 5 s at most. */
  constructor(max: number, pauseMs: number) {
    this.#max = max;
    this.#limit = max;
    this.#pauseMs = pauseMs;
  }

  /** How many PDUs may be unanswered at present. */
  get limit(): number {
    return Math.floor(this.#limit);
  }

  /** For a message's first part. True: the caller holds a place, which it must `release`; false: aborted, refused or closed. */
  async acquire(signal: AbortSignal): Promise<boolean> {
    if (signal.aborted || this.#freshRefused) return false;
    if (this.#take()) return true;
    const woken = !this.#closed && (await this.#fresh.wait(signal));
    if (!woken || !signal.aborted) return woken;
    this.release();
    return false;
  }

  /** For the parts after the first: they wait `timeoutMs` at most, whether or not fresh messages are refused. */
  async acquireNext(timeoutMs: number): Promise<boolean> {
    return this.#take() || (!this.#closed && (await this.#begun.wait(undefined, timeoutMs)));
  }

  release(): void {
    this.#used--;
    this.#admit();
  }

  /** The carrier took a PDU. */
  succeeded(): void {
    this.#pauses = 0;
    this.#limit = Math.min(this.#max, this.#limit + 1 / this.#limit);
  }

  /** The carrier throttled a PDU: fewer places, after a pause. Returns the pause left, in ms. */
  throttled(): number {
    if (this.#closed) return this.#pauseMs;
    // The answers to what was on the wire together are one complaint, not fifty.
    if (this.#pauseTimer !== undefined) return Math.max(0, this.#pausedUntil - performance.now());
    this.#limit = Math.max(1, this.#limit / 2);
    const pauseMs = Math.min(MAX_PAUSE_MS, this.#pauseMs * 2 ** Math.min(this.#pauses++, 16));
    this.#pausedUntil = performance.now() + pauseMs;
    this.#pauseTimer = setTimeout(() => {
      this.#pauseTimer = undefined;
      this.#admit();
    }, pauseMs);
    return pauseMs;
  }

  /** From now on only the rest of messages that have begun to leave is let in. */
  refuseFresh(): void {
    this.#freshRefused = true;
    this.#fresh.dismissAll();
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#pauseTimer);
    this.#pauseTimer = undefined;
    this.#begun.dismissAll();
    this.#fresh.dismissAll();
  }

  /** Looks at no line: room is never left while somebody waits (see #admit). */
  #take(): boolean {
    if (!this.#hasRoom()) return false;
    this.#used++;
    return true;
  }

  #hasRoom(): boolean {
    return !this.#closed && this.#pauseTimer === undefined && this.#used < this.limit;
  }

  #admit(): void {
    while (this.#hasRoom() && (this.#begun.wakeFirst() || this.#fresh.wakeFirst())) this.#used++;
  }
}
