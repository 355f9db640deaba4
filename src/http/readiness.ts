/**
 * Whether this process could accept a message now: the database commits a small write to its disk and has room for
 * more, the queue answers, and a worker in this process looks for jobs. With a wrong clock the process still accepts,
 * by the database's time, but is `degraded`: it expires and deletes nothing (R222).
 */
import { DomainError, serviceUnavailable } from '../domain/errors.ts';
import type { Logger } from '../domain/ports/logger.ts';
import { UNAVAILABLE_TEXTS } from '../domain/refusal-monitor.ts';
import { OutageLog } from '../runtime/outage-log.ts';

/** A verdict serves all callers for this long. */
const FRESH_MS = 1_000;
/** A verdict holds this long however many requests are refused. */
const UNDOUBTED_MS = 100;
/** A part that takes longer is not ready. */
const TIMEOUT_MS = 3_000;

export interface ReadinessPart {
  readonly name: 'database' | 'queue' | 'worker';
  /** Rejects when the part does not work. */
  readonly look: () => Promise<void>;
}

export type Verdict =
  | {
      readonly isReady: true;
      readonly degraded?: { readonly check: 'clock'; readonly reason: string };
      /** It serves reads and sends nothing. */
      readonly held?: { readonly reason: string };
    }
  /** `reason` is for the operator and names no internals. */
  | { readonly isReady: false; readonly check: ReadinessPart['name']; readonly reason: string };

interface ReadinessOptions {
  readonly parts: readonly ReadinessPart[];
  /** The refusal that an infrastructure fault maps to. */
  readonly faultOf: (error: unknown) => DomainError | undefined;
  /** The fault of this machine's clock, as a sentence. */
  readonly clockFault: () => string | undefined;
  /** Why this copy of the data is held, in a sentence. */
  readonly whyHeld: () => string | undefined;
  readonly logger: Logger;
  readonly timeoutMs?: number;
}

/**
 * Checks on demand. One check runs at a time; its verdict serves everybody who asks meanwhile and for a second after.
 */
export class Readiness {
  readonly #options: ReadinessOptions;
  readonly #outage: OutageLog;
  #verdict: Promise<Verdict> | undefined;
  /** When the verdict was reached (performance.now, ms); undefined while a check runs. */
  #reachedAt: number | undefined;
  /** Whether a check that timed out still waits for its answer. Another one would only wait beside it. */
  #isLooking = false;

  constructor(options: ReadinessOptions) {
    this.#options = options;
    this.#outage = new OutageLog(options.logger, 'not ready', 'ready again');
  }

  /** Resolves within the time limit. Never rejects. */
  check(): Promise<Verdict> {
    const isFresh = this.#reachedAt === undefined || performance.now() - this.#reachedAt < FRESH_MS;
    if (this.#verdict && (isFresh || this.#isLooking)) return this.#verdict;
    this.#reachedAt = undefined;
    this.#verdict = this.#judge().finally(() => {
      this.#reachedAt = performance.now();
    });
    return this.#verdict;
  }

  /** A request was refused because of the database: check anew when somebody next asks. */
  doubt(): void {
    if (this.#reachedAt !== undefined && performance.now() - this.#reachedAt > UNDOUBTED_MS)
      this.#reachedAt = Number.NEGATIVE_INFINITY;
  }

  /** One part after the other: each depends on those before it. */
  async #judge(): Promise<Verdict> {
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
    const reason = this.#options.clockFault();
    const whyHeld = this.#options.whyHeld();
    return {
      isReady: true,
      ...(reason === undefined ? {} : { degraded: { check: 'clock', reason } }),
      ...(whyHeld === undefined ? {} : { held: { reason: whyHeld } }),
    };
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
    // It may reject after the time limit.
    looked.catch(() => undefined);
    await Promise.race([looked, timeout]).finally(() => clearTimeout(timer));
  }
}

/** The reason when nothing more is known of a part. */
const WORDS: Readonly<Record<ReadinessPart['name'], string>> = {
  database: 'the database refuses a write; the log says why',
  queue: 'the job queue does not work; the log says why',
  worker: 'the worker has stopped looking for jobs; the log says why',
};
