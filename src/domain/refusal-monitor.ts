/**
 * Refusals of requests that the gateway cannot serve for now (503). **Spell**: from the first refusal for one reason
 * until nobody has been refused for it for `QUIET_MS` and, where the database was the reason, it takes writes again. A
 * spell is logged when it begins and when it ends, and each refusal is counted.
 */
import type { DomainError, RefusalKind } from './errors.ts';
import type { Logger } from './ports/logger.ts';

/** Of a spell that flickers, as too many connections do, each end would be another beginning. */
const QUIET_MS = 5_000;

/** What each kind means to the operator. */
export const REFUSAL_TEXTS: Readonly<Record<RefusalKind, string>> = {
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
};

const isOfDatabase = (kind: RefusalKind) => kind.startsWith('database_');

interface Spell {
  readonly kind: RefusalKind;
  readonly answer: string;
  /** Milliseconds, by the clock of `now`. */
  readonly since: number;
  last: number;
  refused: number;
}

interface RefusalsOptions {
  readonly logger: Logger;
  /** Resolves with true when the database takes a write. */
  readonly takesWrites: () => Promise<boolean>;
  /** Called for each refusal that the database is the reason of. */
  readonly onDatabaseFault?: () => void;
  /** Monotonic time in milliseconds. */
  readonly now: () => number;
}

export class RefusalMonitor {
  readonly #logger: Logger;
  readonly #takesWrites: () => Promise<boolean>;
  readonly #onDatabaseFault: () => void;
  readonly #now: () => number;
  /** By kind for the database, else by what those who are refused are told: there may be several reasons. */
  readonly #spells = new Map<string, Spell>();
  readonly #totals = new Map<RefusalKind, number>();

  constructor({ logger, takesWrites, onDatabaseFault = () => undefined, now }: RefusalsOptions) {
    this.#logger = logger;
    this.#takesWrites = takesWrites;
    this.#onDatabaseFault = onDatabaseFault;
    this.#now = now;
  }

  /** Counts a refusal; one without a kind is the caller's affair and passed over. */
  note(refused: DomainError): void {
    const { kind, message } = refused;
    if (kind === undefined) return;
    if (isOfDatabase(kind)) this.#onDatabaseFault();
    this.#totals.set(kind, (this.#totals.get(kind) ?? 0) + 1);
    const key = isOfDatabase(kind) ? kind : message;
    const spell = this.#spells.get(key);
    const now = this.#now();
    if (spell) {
      spell.last = now;
      spell.refused += 1;
      return;
    }
    this.#spells.set(key, { kind, answer: message, since: now, last: now, refused: 1 });
    const cause = refused.cause === undefined ? {} : { err: refused.cause };
    this.#logger.warn(
      { refusal: kind, answer: message, ...cause },
      `requests are refused: ${REFUSAL_TEXTS[kind]}`,
    );
  }

  /** Ends the spells that are over. To be called every second or so. */
  async settle(): Promise<void> {
    const quiet = [...this.#spells].filter(([, { last }]) => this.#now() - last >= QUIET_MS);
    if (quiet.length === 0) return;
    const takesWrites = quiet.some(([, { kind }]) => isOfDatabase(kind)) ? await this.#takesWrites() : true;
    for (const [key, spell] of quiet) {
      const isOver = this.#now() - spell.last >= QUIET_MS && (takesWrites || !isOfDatabase(spell.kind));
      if (!isOver) continue;
      this.#spells.delete(key);
      this.#logger.info(
        {
          refusal: spell.kind,
          answer: spell.answer,
          refused: spell.refused,
          durationMs: Math.round(spell.last - spell.since),
        },
        `requests are no longer refused: ${REFUSAL_TEXTS[spell.kind]}`,
      );
    }
  }

  /** How many were refused since the start, and whether a spell goes on now, by kind. */
  counts(): ReadonlyMap<RefusalKind, { readonly total: number; readonly isGoingOn: boolean }> {
    const goingOn = new Set([...this.#spells.values()].map(({ kind }) => kind));
    return new Map([...this.#totals].map(([kind, total]) => [kind, { total, isGoingOn: goingOn.has(kind) }]));
  }
}
