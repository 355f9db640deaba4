/** Keeps one session bound: connects, binds, and does so again with growing pauses whenever it ends. */
import type { ProviderHealth, SubmitOutcome } from '../../../domain/ports/provider.ts';
import { WaitQueue } from '../../../runtime/wait-queue.ts';
import { type SessionOptions, SmppSession } from './smpp-session.ts';

/** A session that held for so long was a good one: the next reconnection begins with the shortest pause. */
const GOOD_SESSION_MS = 10_000;

export interface LinkOptions extends SessionOptions {
  /** 0 to 1, for jitter. */
  readonly random: () => number;
}

export type Unavailable = Extract<SubmitOutcome, { kind: 'unavailable' }>;

export class SmppLink {
  readonly #options: LinkOptions;
  readonly #waiting = new WaitQueue();
  readonly #pause = new WaitQueue();
  #health: Pick<ProviderHealth, 'state' | 'detail'> = { state: 'starting' };
  #session: SmppSession | undefined;
  #running: Promise<void> | undefined;
  /** While pausing between two attempts, in `performance.now()` ms. */
  #nextAttemptAt: number | undefined;
  #stopping = false;

  constructor(options: LinkOptions) {
    this.#options = options;
  }

  get health(): Pick<ProviderHealth, 'state' | 'detail'> {
    if (this.#health.state !== 'up' || !this.#session?.isRetired) return this.#health;
    return { state: 'down', detail: 'a submission was not answered in time; it binds anew soon' };
  }

  /** Begins to connect, in the background. */
  start(): void {
    this.#running ??= this.#run();
  }

  /**
   * The bound session; waits for it as long as `signal` and boundWaitMs allow, and not at all when the next
   * attempt to bind lies further ahead: then another carrier can have the message sooner.
   */
  async session(signal: AbortSignal): Promise<SmppSession | Unavailable> {
    const deadline = performance.now() + this.#options.settings.timing.boundWaitMs;
    for (;;) {
      if (this.#stopping) return untouched('the SMPP session is being stopped');
      const session = this.#session;
      if (session?.hasEnded === false && this.health.state === 'up') return session;
      const leftMs = deadline - performance.now();
      const pauseMs = (this.#nextAttemptAt ?? 0) - performance.now();
      if (pauseMs > leftMs) return this.#notBound(Math.ceil(pauseMs));
      if (leftMs <= 0 || !(await this.#waiting.wait(signal, leftMs))) return this.#notBound();
    }
  }

  /** Sends waiting submissions away; messages that have begun to leave may finish. */
  refuseNew(): void {
    this.#stopping = true;
    this.#waiting.rejectAll();
    this.#session?.window.refuseNew();
  }

  /** Unbinds, closes the socket and ends the reconnecting. */
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
    // Those who wait look again, and go when it is too long for them.
    this.#waiting.wakeAll();
    await this.#pause.wait(undefined, delayMs);
    this.#nextAttemptAt = undefined;
  }

  /** Doubled each time, and between half and the whole of it by chance, so that processes do not bind all at once. */
  #backoff(failures: number): number {
    const { reconnectMinMs, reconnectMaxMs } = this.#options.settings.timing;
    const fullMs = Math.min(reconnectMaxMs, reconnectMinMs * 2 ** Math.min(failures - 1, 30));
    return Math.ceil(fullMs * (0.5 + 0.5 * this.#options.random()));
  }

  #notBound(retryAfterMs?: number): Unavailable {
    const { detail } = this.health;
    return untouched(`no SMPP session is bound${detail === undefined ? '' : `: ${detail}`}`, retryAfterMs);
  }
}

/** Not now, and the carrier has nothing of the message; `retryAfterMs` when it is known to be in vain before. */
export function untouched(reason: string, retryAfterMs?: number): Unavailable {
  return { ...unavailable(reason, retryAfterMs), definitelyNotSent: true };
}

/** Not now; `retryAfterMs` when it is known to be in vain before. */
export function unavailable(reason: string, retryAfterMs?: number): Unavailable {
  return retryAfterMs === undefined
    ? { kind: 'unavailable', reason }
    : { kind: 'unavailable', reason, retryAfterMs };
}
