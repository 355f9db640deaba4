/**
 * Checks whether this process could accept a message now. Three parts must work: the database, the queue and the
 * worker.
 * - The database commits a small write to its disk and has space for more.
 * - The queue answers.
 * - A worker in this process looks for jobs.
 * If this machine's clock is wrong, the process still accepts messages by the database's time, but it is `degraded`: it
 * expires and deletes nothing (R222).
 */
import { DomainError, serviceUnavailable } from '../domain/errors.ts';
import type { Logger } from '../domain/ports/logger.ts';
import { UNAVAILABLE_TEXTS } from '../domain/refusal-monitor.ts';
import { OutageLog } from '../runtime/outage-log.ts';

/** A verdict is reused for this time, in milliseconds. */
const FRESH_MS = 1_000;
/**
 * A refused request makes a verdict stale only if the verdict is older than this, in ms. So many refused requests do
 * not cause many checks.
 */
const UNDOUBTED_MS = 100;
/** A part that does not answer within this time, in ms, is not ready. */
const TIMEOUT_MS = 3_000;

export interface ReadinessPart {
  readonly name: 'database' | 'queue' | 'worker';
  /** Checks the part. Rejects if the part does not work. */
  readonly look: () => Promise<void>;
}

export type Verdict =
  | {
      readonly isReady: true;
      readonly degraded?: { readonly check: 'clock'; readonly reason: string };
      /** Set if this copy of the data is held: the process answers reads and sends nothing. */
      readonly held?: { readonly reason: string };
    }
  | Fault;

/** `reason` is a text for the operator without internal details. */
interface Fault {
  readonly isReady: false;
  readonly check: ReadinessPart['name'];
  readonly reason: string;
}

interface ReadinessOptions {
  readonly parts: readonly ReadinessPart[];
  /** Returns the refusal for an infrastructure fault. Undefined for any other error. */
  readonly faultOf: (error: unknown) => DomainError | undefined;
  /** Describes what is wrong with this machine's clock, as a sentence. Undefined if nothing is wrong. */
  readonly clockFault: () => string | undefined;
  /** Says why this copy of the data is held, as a sentence. Undefined if it is not held. */
  readonly whyHeld: () => string | undefined;
  readonly logger: Logger;
  readonly timeoutMs?: number;
}

/**
 * Checks on demand. Only one check runs at a time. All calls during a check, and within a second after it, get what this
 * check found about the parts. The clock and whether the data is held cost nothing to know, so each call looks anew.
 */
export class Readiness {
  readonly #options: ReadinessOptions;
  readonly #outage: OutageLog;
  #fault: Promise<Fault | undefined> | undefined;
  /** Time at which the verdict was reached (performance.now, ms). Undefined while a check runs. */
  #reachedAt: number | undefined;
  /** True while a check that timed out still waits for its part. A new check of this part would wait as well. */
  #isLooking = false;

  constructor(options: ReadinessOptions) {
    this.#options = options;
    this.#outage = new OutageLog(options.logger, 'not ready', 'ready again');
  }

  /** Returns the verdict. Resolves within the time limit and never rejects. */
  async check(): Promise<Verdict> {
    const fault = await this.#currentFault();
    if (fault) return fault;
    const reason = this.#options.clockFault();
    const whyHeld = this.#options.whyHeld();
    return {
      isReady: true,
      ...(reason === undefined ? {} : { degraded: { check: 'clock', reason } }),
      ...(whyHeld === undefined ? {} : { held: { reason: whyHeld } }),
    };
  }

  #currentFault(): Promise<Fault | undefined> {
    const isFresh = this.#reachedAt === undefined || performance.now() - this.#reachedAt < FRESH_MS;
    if (this.#fault && (isFresh || this.#isLooking)) return this.#fault;
    this.#reachedAt = undefined;
    this.#fault = this.#findFault().finally(() => {
      this.#reachedAt = performance.now();
    });
    return this.#fault;
  }

  /** Call this when a request was refused because of the database. The next `check` then looks again. */
  doubt(): void {
    if (this.#reachedAt !== undefined && performance.now() - this.#reachedAt > UNDOUBTED_MS)
      this.#reachedAt = Number.NEGATIVE_INFINITY;
  }

  /** Checks the parts one after the other, because each part needs the parts before it. */
  async #findFault(): Promise<Fault | undefined> {
    for (const { name, look } of this.#options.parts) {
      try {
        await this.#inTime(look);
      } catch (error) {
        const fault = error instanceof DomainError ? error : this.#options.faultOf(error);
        const kind = fault?.kind;
        const reason = kind ? UNAVAILABLE_TEXTS[kind] : WORDS[name];
        this.#outage.failed(error);
        return {
          isReady: false,
          check: name,
          reason: `${reason.charAt(0).toUpperCase()}${reason.slice(1)}.`,
        };
      }
    }
    this.#outage.worked();
    return undefined;
  }

  async #inTime(look: () => Promise<void>): Promise<void> {
    const { timeoutMs = TIMEOUT_MS } = this.#options;
    this.#isLooking = true;
    const looked = look().finally(() => {
      this.#isLooking = false;
    });
    let timer: NodeJS.Timeout | undefined;
    const timeout = new Promise<never>((_resolve, reject) => {
      const late = () =>
        reject(serviceUnavailable(`No answer within ${timeoutMs} ms.`, 1, 'database_silent'));
      timer = setTimeout(late, timeoutMs);
    });
    // `looked` may reject after the time limit, when nobody waits for it any more. This handler avoids an unhandled
    // rejection.
    looked.catch(() => undefined);
    await Promise.race([looked, timeout]).finally(() => clearTimeout(timer));
  }
}

/** The reason of a part whose error has no reason of its own. */
const WORDS: Readonly<Record<ReadinessPart['name'], string>> = {
  database: 'the database refuses a write; the log says why',
  queue: 'the job queue does not work; the log says why',
  worker: 'the worker has stopped looking for jobs; the log says why',
};
