/**
 * Counts responses with status 503, and logs the beginning and the end of outages. An **outage** begins with the first
 * refusal for a reason. It ends after `QUIET_MS` without a refusal. If the database is the reason, it must also accept
 * writes again.
 */
import type { DomainError, ErrorCode, UnavailableReason } from './errors.ts';
import type { Logger } from './ports/logger.ts';

/**
 * An outage ends after this time in ms without a refusal. A shorter time without refusals does not end it, so a fault
 * that returns again and again is one outage.
 */
const QUIET_MS = 5_000;

/** The reasons in words, for the operator. */
export const UNAVAILABLE_TEXTS: Readonly<Record<UnavailableReason, string>> = {
  database_unreachable: 'the database cannot be reached',
  database_silent: 'the database does not answer in time',
  database_full: 'the disk of the database is full',
  database_disk: 'the disk of the database fails, or is read-only',
  database_read_only: 'the database takes no writes: it is a standby, or set to read-only',
  database_connections: 'the database has no connection left',
  database_memory: 'the database is out of memory',
  database_busy: 'the database is too busy: statements time out, or get in the way of each other',
  reports_not_kept: 'delivery reports can neither be recorded nor kept on disk',
  overloaded: 'more is asked of this process than it can answer in time',
  provider_missing: 'no provider is configured for the channel',
  public_url_missing: 'PUBLIC_URL is not set: marketing messages need it for opt-out links',
  held: 'this copy of the data is held until npm run cli -- release',
  account_moving: 'an account is being moved to another cell',
};

const isOfDatabase = (kind: UnavailableReason) => kind.startsWith('database_');

interface Outage {
  readonly kind: UnavailableReason;
  readonly answer: string;
  /** Times in ms of a monotonic clock: of the first and the last refusal. */
  readonly since: number;
  last: number;
  refused: number;
}

interface RefusalsOptions {
  readonly logger: Logger;
  /** Resolves with true if the database accepts a write. */
  readonly takesWrites: () => Promise<boolean>;
  /** Called for each refusal that the database caused. */
  readonly onDatabaseFault?: () => void;
  /** Returns monotonic time in milliseconds. */
  readonly now: () => number;
}

export class RefusalMonitor {
  readonly #logger: Logger;
  readonly #takesWrites: () => Promise<boolean>;
  readonly #onDatabaseFault: () => void;
  readonly #now: () => number;
  /**
   * Open outages. The key is the reason if the database is at fault. Otherwise the key is the message, because one
   * reason can have several messages.
   */
  readonly #outages = new Map<string, Outage>();
  readonly #totals = new Map<UnavailableReason, number>();
  readonly #codes = new Map<ErrorCode, number>();

  constructor({ logger, takesWrites, onDatabaseFault = () => undefined, now }: RefusalsOptions) {
    this.#logger = logger;
    this.#takesWrites = takesWrites;
    this.#onDatabaseFault = onDatabaseFault;
    this.#now = now;
  }

  /**
   * Counts a refused request by its error code. An error with a reason (`kind`) is part of an outage. Logs the
   * beginning of an outage.
   */
  note(refused: DomainError): void {
    const { kind, message, code } = refused;
    this.#codes.set(code, (this.#codes.get(code) ?? 0) + 1);
    if (kind === undefined) return;
    if (isOfDatabase(kind)) this.#onDatabaseFault();
    this.#totals.set(kind, (this.#totals.get(kind) ?? 0) + 1);
    const key = isOfDatabase(kind) ? kind : message;
    const outage = this.#outages.get(key);
    const now = this.#now();
    if (outage) {
      outage.last = now;
      outage.refused += 1;
      return;
    }
    this.#outages.set(key, { kind, answer: message, since: now, last: now, refused: 1 });
    const cause = refused.cause === undefined ? {} : { err: refused.cause };
    this.#logger.warn(
      { refusal: kind, answer: message, ...cause },
      `requests are refused: ${UNAVAILABLE_TEXTS[kind]}`,
    );
  }

  /** Ends and logs the outages that are over. Call it about once a second. */
  async settle(): Promise<void> {
    const quiet = [...this.#outages].filter(([, { last }]) => this.#now() - last >= QUIET_MS);
    if (quiet.length === 0) return;
    const takesWrites = quiet.some(([, { kind }]) => isOfDatabase(kind)) ? await this.#takesWrites() : true;
    for (const [key, outage] of quiet) {
      const isOver = this.#now() - outage.last >= QUIET_MS && (takesWrites || !isOfDatabase(outage.kind));
      if (!isOver) continue;
      this.#outages.delete(key);
      this.#logger.info(
        {
          refusal: outage.kind,
          answer: outage.answer,
          refused: outage.refused,
          durationMs: Math.round(outage.last - outage.since),
        },
        `requests are no longer refused: ${UNAVAILABLE_TEXTS[outage.kind]}`,
      );
    }
  }

  /** Returns the number of refused requests since the start, by code. */
  codes(): ReadonlyMap<ErrorCode, number> {
    return this.#codes;
  }

  /** Returns, by reason, the number of refusals since the start and whether an outage is in progress. */
  counts(): ReadonlyMap<UnavailableReason, { readonly total: number; readonly isInProgress: boolean }> {
    const inProgress = new Set([...this.#outages.values()].map(({ kind }) => kind));
    return new Map(
      [...this.#totals].map(([kind, total]) => [kind, { total, isInProgress: inProgress.has(kind) }]),
    );
  }
}
