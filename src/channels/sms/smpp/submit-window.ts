/**
 * The submit window of one SMPP session: how many submit_sm may be unanswered at once. The carrier changes it: a
 * throttled PDU halves the limit and pauses submission, and each limit's worth of successes raises it by one, up to
 * the configured maximum. It is no `Semaphore`, since it has two queues and a pause (ADR-0022).
 */
import { WaitQueue } from '../../../runtime/wait-queue.ts';

const MAX_PAUSE_MS = 5_000;

export class SubmitWindow {
  readonly #max: number;
  readonly #pauseMs: number;
  /** Later parts of messages go first, so that few messages are half sent. */
  readonly #laterParts = new WaitQueue();
  readonly #newMessages = new WaitQueue();
  #limit: number;
  #used = 0;
  #pauses = 0;
  #pausedUntil = 0;
  #pauseTimer: NodeJS.Timeout | undefined;
  #newRefused = false;
  #closed = false;

  /** `max` in PDUs. `pauseMs` is the first pause after throttling; each further one is twice as long, up to 5 s. */
  constructor(max: number, pauseMs: number) {
    this.#max = max;
    this.#limit = max;
    this.#pauseMs = pauseMs;
  }

  /** How many PDUs may be unanswered now. */
  get limit(): number {
    return Math.floor(this.#limit);
  }

  /** For a message's first part. Each true needs one `release`; false: aborted, refused or closed. */
  async acquire(signal: AbortSignal): Promise<boolean> {
    if (signal.aborted || this.#newRefused) return false;
    if (this.#take()) return true;
    const woken = !this.#closed && (await this.#newMessages.wait(signal));
    if (!woken || !signal.aborted) return woken;
    this.release();
    return false;
  }

  /** For a message's later parts. Waits at most `timeoutMs`, and also while new messages are refused. */
  async acquireForLaterPart(timeoutMs: number): Promise<boolean> {
    return this.#take() || (!this.#closed && (await this.#laterParts.wait(undefined, timeoutMs)));
  }

  release(): void {
    this.#used--;
    this.#admit();
  }

  /** The carrier accepted a PDU. */
  succeeded(): void {
    this.#pauses = 0;
    this.#limit = Math.min(this.#max, this.#limit + 1 / this.#limit);
  }

  /** The carrier throttled a PDU: halves the limit and pauses. Returns the rest of the pause, in ms. */
  throttled(): number {
    if (this.#closed) return this.#pauseMs;
    // All PDUs on the wire are throttled together: halve the limit once, not once for each.
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

  /** From now on, admits only later parts of messages whose first part has left. */
  refuseNew(): void {
    this.#newRefused = true;
    this.#newMessages.rejectAll();
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#pauseTimer);
    this.#pauseTimer = undefined;
    this.#laterParts.rejectAll();
    this.#newMessages.rejectAll();
  }

  /** Needs no look at the queues: `#admit` leaves no room while anybody waits. */
  #take(): boolean {
    if (!this.#hasRoom()) return false;
    this.#used++;
    return true;
  }

  #hasRoom(): boolean {
    return !this.#closed && this.#pauseTimer === undefined && this.#used < this.limit;
  }

  #admit(): void {
    while (this.#hasRoom() && (this.#laterParts.wakeFirst() || this.#newMessages.wakeFirst())) this.#used++;
  }
}
