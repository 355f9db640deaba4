/**
 * The **database's** time decides about rows. Each process computes it from PostgreSQL's answer and its own
 * **monotonic** clock, which nobody sets. The **wall** clock of the machine decides nothing; its difference from the
 * database's clock is the **skew**. Above the tolerance one of the two clocks is wrong, and nobody can tell which
 * (docs/decisions/ADR-0021-database-time-decides-about-rows.md).
 */

import type { Logger } from '../../domain/ports/logger.ts';
import type { AgreedClock } from '../../domain/ports/system.ts';
import { OutageLog } from '../../runtime/outage-log.ts';
import { type Sql, statement } from './sql.ts';

/** Skew up to which the clocks of process and database agree, in ms. */
export const CLOCK_TOLERANCE_MS = 5_000;
/** The database is asked again at this interval, in ms. */
const ASK_EVERY_MS = 5_000;
/** The fastest of this many answers counts. */
const QUESTIONS = 3;
/** Wall and monotonic clock diverge by more only if the wall clock was set or the machine was suspended, in ms. */
const PARTED_MS = 500;

const NOW = statement('clock-now', 'SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS ms');

const NOT_ASKED = 'the database was not asked for its time yet';

/** The clocks of the process, in ms. */
export interface ProcessClocks {
  readonly monotonicMs: number;
  readonly wallMs: number;
}

/** Lets `work` ask the database for its time (ms since 1970) several times on one connection. */
export type AskDatabase = (work: (databaseMs: () => Promise<number>) => Promise<void>) => Promise<void>;

/** An answer of the database: its time minus the monotonic clock, wrong by at most `errorMs`. */
interface Anchor {
  readonly offsetMs: number;
  readonly errorMs: number;
}

const readProcess = (): ProcessClocks => ({ monotonicMs: performance.now(), wallMs: Date.now() });
const apartOf = ({ monotonicMs, wallMs }: ProcessClocks) => wallMs - monotonicMs;
const haveParted = (apartMs: number, clocks: ProcessClocks) =>
  Math.abs(apartOf(clocks) - apartMs) > PARTED_MS;

/** Asks for the database's time. */
export function askOn(sql: Sql): AskDatabase {
  return (work) =>
    sql.onOneConnection((one) =>
      work(async () => {
        const [row] = await one.query<{ ms: number }>(NOW, []);
        if (!row) throw new Error('the database gave no answer');
        return row.ms;
      }),
    );
}

/** The database's clock, known in this process without asking it each time. */
export class DatabaseClock implements AgreedClock {
  #askDatabase: AskDatabase = () => Promise.reject(new Error(NOT_ASKED));
  readonly #read: () => ProcessClocks;
  readonly #disagreement: OutageLog;
  #anchor: Anchor | undefined;
  /** Wall minus monotonic clock at the last answer. */
  #apartMs = 0;
  #asking: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;

  constructor(logger: Logger, read: () => ProcessClocks = readProcess) {
    this.#read = read;
    this.#disagreement = new OutageLog(
      logger,
      'the clocks disagree: this process expires and deletes nothing until they agree',
      'the clocks agree again',
    );
  }

  /** Asks the database, and again at the interval. Rejects when it does not answer; until then there is no time. */
  async start(ask: AskDatabase): Promise<void> {
    this.#askDatabase = ask;
    await this.#ask();
    this.#schedule();
  }

  /** Resolves when the last question is answered. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    await this.#asking?.catch(() => undefined);
  }

  /** The database's time, without a round trip, within some hundred microseconds. */
  now(): Date {
    const clocks = this.#read();
    const now = new Date(Math.floor(this.#databaseMs(clocks)));
    if (haveParted(this.#apartMs, clocks)) {
      // Once for each divergence. While the database is unreachable, the timer keeps trying.
      this.#apartMs = apartOf(clocks);
      this.#askSoon();
    }
    return now;
  }

  /** Wall clock minus the database's, in ms: positive if this machine is ahead. */
  get skewMs(): number {
    const clocks = this.#read();
    return clocks.wallMs - this.#databaseMs(clocks);
  }

  /** Asks the database now. True if the skew is within the tolerance. Rejects when it does not answer. */
  async agrees(): Promise<boolean> {
    await this.#ask();
    return this.fault() === undefined;
  }

  /** What is wrong with the clocks, as a sentence for operators; undefined while they agree. */
  fault(): string | undefined {
    const { skewMs } = this;
    if (Math.abs(skewMs) <= CLOCK_TOLERANCE_MS) return undefined;
    return `This machine's clock is ${describeSkew(skewMs)}. Let NTP set the clocks of both machines.`;
  }

  #databaseMs({ monotonicMs }: ProcessClocks): number {
    if (!this.#anchor) throw new Error(NOT_ASKED);
    return this.#anchor.offsetMs + monotonicMs;
  }

  #schedule(): void {
    this.#timer = setTimeout(() => {
      void this.#ask()
        .catch(() => undefined)
        .finally(() => {
          if (!this.#isStopped) this.#schedule();
        });
    }, ASK_EVERY_MS).unref();
  }

  /** Other statements report the same failure. Until the next answer the monotonic clock is used. */
  #askSoon(): void {
    if (!this.#isStopped) this.#ask().catch(() => undefined);
  }

  /** Callers at the same time share the answer. */
  #ask(): Promise<void> {
    this.#asking ??= this.#question().finally(() => {
      this.#asking = undefined;
    });
    return this.#asking;
  }

  async #question(): Promise<void> {
    let best: Anchor | undefined;
    await this.#askDatabase(async (databaseMs) => {
      for (let number = 0; number < QUESTIONS; number += 1) {
        const before = this.#read();
        const answeredMs = await databaseMs();
        const after = this.#read();
        // The monotonic clock stops while a machine is suspended, so earlier answers are too old.
        if (haveParted(apartOf(before), after)) best = undefined;
        else best = better(best, anchorOf(before, answeredMs, after));
      }
    });
    if (!best) throw new Error('the clock of this machine was set while the database was asked for its time');
    this.#anchor = corrected(this.#anchor, best);
    this.#apartMs = apartOf(this.#read());
    const fault = this.fault();
    if (fault === undefined) this.#disagreement.worked();
    else this.#disagreement.failed(new Error(fault));
  }
}

/** The answer was given between `before` and `after`; half of the round trip counts as the way back. */
function anchorOf(before: ProcessClocks, answeredMs: number, after: ProcessClocks): Anchor {
  const errorMs = (after.monotonicMs - before.monotonicMs) / 2;
  return { offsetMs: answeredMs + errorMs - after.monotonicMs, errorMs };
}

const better = (one: Anchor | undefined, other: Anchor): Anchor =>
  one && one.errorMs <= other.errorMs ? one : other;

/** An answer within the known error changes nothing, so that time does not jump with each answer. */
function corrected(known: Anchor | undefined, found: Anchor): Anchor {
  return known && Math.abs(found.offsetMs - known.offsetMs) <= found.errorMs ? known : found;
}

/** The largest unit with a count of two or more is used. */
const UNITS = [
  { name: 'days', ms: 86_400_000 },
  { name: 'h', ms: 3_600_000 },
  { name: 'min', ms: 60_000 },
  { name: 's', ms: 1_000 },
];

/** Such as `25 h ahead of the database's`. */
export function describeSkew(skewMs: number): string {
  const ms = Math.abs(skewMs);
  const unit = UNITS.find((each) => ms >= 2 * each.ms) ?? { name: 'ms', ms: 1 };
  const amount = Math.round((ms / unit.ms) * 10) / 10;
  return `${amount} ${unit.name} ${skewMs < 0 ? 'behind' : 'ahead of'} the database's`;
}
