/** Keeps one session bound. It connects and binds, and after each end connects again with a growing pause. */
import type { ProviderHealth, ProviderOutcome } from '../../../domain/ports/provider.ts';
import { WaitQueue } from '../../../runtime/wait-queue.ts';
import { type SessionOptions, SmppSession } from './smpp-session.ts';

/** If a session lasted at least this long, in ms, the next pause is the shortest one. */
const GOOD_SESSION_MS = 10_000;

export interface LinkOptions extends SessionOptions {
  /** Returns a number from 0 to 1, for random variation of the pause. */
  readonly random: () => number;
}

export type Unavailable = Extract<ProviderOutcome, { kind: 'unavailable' }>;

export class SmppLink {
  readonly #options: LinkOptions;
  readonly #waiting = new WaitQueue();
  readonly #pause = new WaitQueue();
  #health: Pick<ProviderHealth, 'state' | 'detail'> = { state: 'starting' };
  #session: SmppSession | undefined;
  #running: Promise<void> | undefined;
  /** When the next attempt starts, during a pause (performance.now, ms). */
  #nextAttemptAt: number | undefined;
  #stopping = false;

  constructor(options: LinkOptions) {
    this.#options = options;
  }

  get health(): Pick<ProviderHealth, 'state' | 'detail'> {
    if (this.#health.state !== 'up' || !this.#session?.isRetired) return this.#health;
    return { state: 'down', detail: 'a submission was not answered in time; it binds anew soon' };
  }

  /** Starts connecting in the background. */
  start(): void {
    this.#running ??= this.#run();
  }

  /**
   * Returns the bound session. Waits for it until `signal` aborts or boundWaitMs have passed. Does not wait if the next
   * attempt to bind comes after that time, because another carrier can send the message sooner.
   */
  async session(signal: AbortSignal): Promise<SmppSession | Unavailable> {
    const deadline = performance.now() + this.#options.settings.timing.boundWaitMs;
    for (;;) {
      if (this.#stopping) return unasked('the SMPP session is being stopped');
      const session = this.#session;
      if (session?.hasEnded === false && this.health.state === 'up') return session;
      const leftMs = deadline - performance.now();
      const pauseMs = (this.#nextAttemptAt ?? 0) - performance.now();
      if (pauseMs > leftMs) return this.#notBound(Math.ceil(pauseMs));
      if (leftMs <= 0 || !(await this.#waiting.wait(signal, leftMs))) return this.#notBound();
    }
  }

  /** Rejects submissions that wait for a session. A message whose first part was sent may still be completed. */
  refuseNew(): void {
    this.#stopping = true;
    this.#waiting.rejectAll();
    this.#session?.window.refuseNew();
  }

  /** Unbinds, closes the socket and stops reconnecting. */
  async stop(): Promise<void> {
    this.refuseNew();
    this.#pause.wakeAll();
    if (this.#health.state === 'up') await this.#session?.unbind();
    else this.#session?.end('stopped');
    await this.#running;
  }

  async #run(): Promise<void> {
    const { logger, settings, role } = this.#options;
    let failures = 0;
    while (!this.#stopping) {
      const session = new SmppSession(this.#options);
      this.#session = session;
      const outcome = await session.open();
      let reason: string;
      if (outcome.bound) {
        const boundAt = performance.now();
        this.#health = { state: 'up' };
        logger.info({ role, window: settings.window }, 'SMPP session bound');
        this.#waiting.wakeAll();
        reason = await session.ended;
        if (performance.now() - boundAt >= GOOD_SESSION_MS) failures = 0;
      } else {
        reason = outcome.reason;
        await session.ended;
      }
      this.#health = { state: 'down', detail: reason };
      if (this.#stopping) break;
      const delayMs = this.#backoff(++failures);
      const fields = { role, reason, retryInMs: delayMs, attempt: failures };
      if (!outcome.bound && outcome.badCredentials) {
        logger.error(fields, 'SMPP bind refused: check systemId, password and systemType');
      } else {
        logger.warn(fields, outcome.bound ? 'SMPP session lost' : 'SMPP session not bound');
      }
      await this.#sleep(delayMs);
    }
  }

  async #sleep(delayMs: number): Promise<void> {
    this.#nextAttemptAt = performance.now() + delayMs;
    // Wake the submissions that wait, so that each checks whether this pause is too long for it.
    this.#waiting.wakeAll();
    await this.#pause.wait(undefined, delayMs);
    this.#nextAttemptAt = undefined;
  }

  /**
   * The pause doubles with each failure. Its length varies between 50 and 100 %, so that processes do not bind at the
   * same time.
   */
  #backoff(failures: number): number {
    const { reconnectMinMs, reconnectMaxMs } = this.#options.settings.timing;
    const fullMs = Math.min(reconnectMaxMs, reconnectMinMs * 2 ** Math.min(failures - 1, 30));
    return Math.ceil(fullMs * (0.5 + 0.5 * this.#options.random()));
  }

  #notBound(retryAfterMs?: number): Unavailable {
    const { detail } = this.health;
    return notSent(`no SMPP session is bound${detail === undefined ? '' : `: ${detail}`}`, retryAfterMs);
  }
}

/** Returns the outcome of a message that was certainly not sent. A retry before `retryAfterMs` would fail. */
export function notSent(reason: string, retryAfterMs?: number): Unavailable {
  return { ...unavailable(reason, retryAfterMs), definitelyNotSent: true };
}

/** Returns the outcome of a message about which the SMSC was not asked, and which may be retried. */
export function unasked(reason: string): Unavailable {
  return { ...notSent(reason), asked: false, onlyThis: true };
}

/** Returns the outcome of a message that may be retried. A retry before `retryAfterMs` would fail. */
export function unavailable(reason: string, retryAfterMs?: number): Unavailable {
  return retryAfterMs === undefined
    ? { kind: 'unavailable', asked: true, reason }
    : { kind: 'unavailable', asked: true, reason, retryAfterMs };
}
