/**
 * The submit window of one SMPP session: how many submit_sm may be unanswered at the same time. The carrier's answers
 * change this limit. When it throttles a PDU, the limit is halved and submission pauses. After as many successes as the
 * limit, the limit grows by one, up to the configured maximum. It is not a `Semaphore`, because it has two queues and a
 * pause (ADR-0022).
 */
import { WaitQueue } from '../../../runtime/wait-queue.ts';

const MAX_PAUSE_MS = 5_000;

export class SubmitWindow {
  readonly #max: number;
  readonly #pauseMs: number;
  /** Later parts of messages get a place first, so that few messages are partly sent. */
  readonly #laterParts = new WaitQueue();
  readonly #newMessages = new WaitQueue();
  #limit: number;
  #used = 0;
  #pauses = 0;
  #pausedUntil = 0;
  #pauseTimer: NodeJS.Timeout | undefined;
  #newRefused = false;
  #closed = false;

  /**
   * `max` is a number of PDUs. `pauseMs` is the first pause after throttling. Each further pause is twice as long, up
   * to 5 s.
   */
  constructor(max: number, pauseMs: number) {
    this.#max = max;
    this.#limit = max;
    this.#pauseMs = pauseMs;
  }

  /** Number of PDUs that may be unanswered now. */
  get limit(): number {
    return Math.floor(this.#limit);
  }

  /**
   * Waits for a place for the first part of a message. Resolves with true when the part has a place. After each true,
   * call `release` once. Resolves with false if `signal` aborts, if new messages are refused, or if the window is
   * closed.
   */
  async acquire(signal: AbortSignal): Promise<boolean> {
    if (signal.aborted || this.#newRefused) return false;
    if (this.#take()) return true;
    const woken = !this.#closed && (await this.#newMessages.wait(signal));
    if (!woken || !signal.aborted) return woken;
    this.release();
    return false;
  }

  /**
   * Waits for a place for a later part of a message, at most `timeoutMs`. It works even while new messages are refused.
   */
  async acquireForLaterPart(timeoutMs: number): Promise<boolean> {
    return this.#take() || (!this.#closed && (await this.#laterParts.wait(undefined, timeoutMs)));
  }

  release(): void {
    this.#used--;
    this.#admit();
  }

  /** Call this when the carrier accepted a PDU. */
  succeeded(): void {
    this.#pauses = 0;
    this.#limit = Math.min(this.#max, this.#limit + 1 / this.#limit);
  }

  /** Call this when the carrier throttled a PDU. Halves the limit and pauses. Returns the rest of the pause in ms. */
  throttled(): number {
    if (this.#closed) return this.#pauseMs;
    // The carrier throttles all PDUs that are in flight. So halve the limit once for all of them.
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

  /** From now on, only later parts get a place, so that messages in progress can be completed. */
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

  /**
   * Takes a place if there is one. It need not check the queues: while somebody waits, `#admit` leaves no place free.
   */
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
