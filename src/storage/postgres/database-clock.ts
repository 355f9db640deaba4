/**
 * There are three clocks:
 * - The **database's** clock decides about rows. Each process computes it from PostgreSQL's answer and its own
 *   monotonic clock.
 * - The **monotonic** clock of the process cannot be set.
 * - The **wall** clock of the machine decides nothing. Its difference from the database's clock is the **skew**.
 *
 * If the skew exceeds the tolerance, one of the two clocks is wrong, and nobody can tell which
 * (docs/decisions/ADR-0021-database-time-decides-about-rows.md).
 */

import { uptime } from 'node:os';
import type { Logger } from '../../domain/ports/logger.ts';
import type { AgreedClock } from '../../domain/ports/system.ts';
import { OutageLog } from '../../runtime/outage-log.ts';
import { type Sql, statement } from './sql.ts';

/** The largest skew, in ms, at which the clocks of process and database count as equal. */
export const CLOCK_TOLERANCE_MS = 5_000;
/** Interval of the queries for the database's time, in ms. */
const ASK_EVERY_MS = 5_000;
/** Number of queries each time. The answer with the shortest round trip is used. */
const QUESTIONS = 3;
/**
 * Largest difference in ms by which wall clock and monotonic clock may move apart. Above it, the wall clock was set or
 * the machine was suspended.
 */
const PARTED_MS = 500;

const NOW = statement('clock-now', 'SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS ms');

const NOT_ASKED = 'the database was not asked for its time yet';

/** The readings of this process's clocks, in ms. */
export interface ProcessClocks {
  readonly monotonicMs: number;
  readonly wallMs: number;
  /**
   * Returns the time since the machine started, which costs a system call. On Linux, this time goes on while the
   * machine is suspended, and the monotonic clock does not. Undefined on other systems.
   */
  readonly uptimeMs?: (() => number) | undefined;
}

/**
 * Calls `work` with a function that returns the database's time in ms since 1970. All calls of that function use one
 * connection.
 */
export type AskDatabase = (work: (databaseMs: () => Promise<number>) => Promise<void>) => Promise<void>;

/** The result of a query: the database's time minus the monotonic clock. The error is at most `errorMs`. */
interface Anchor {
  readonly offsetMs: number;
  readonly errorMs: number;
}

const uptimeMs = process.platform === 'linux' ? () => uptime() * 1_000 : undefined;
const readProcess = (): ProcessClocks => ({
  monotonicMs: performance.now(),
  wallMs: Date.now(),
  uptimeMs,
});
const apartOf = ({ monotonicMs, wallMs }: ProcessClocks) => wallMs - monotonicMs;
const asleepOf = ({ monotonicMs, uptimeMs }: ProcessClocks) => uptimeMs && uptimeMs() - monotonicMs;
const haveParted = (apartMs: number, clocks: ProcessClocks) =>
  Math.abs(apartOf(clocks) - apartMs) > PARTED_MS;

/** Returns an `AskDatabase` that uses one connection of `sql`. */
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

/** The database's clock, computed in this process, so that reading it needs no query. */
export class DatabaseClock implements AgreedClock {
  #askDatabase: AskDatabase = () => Promise.reject(new Error(NOT_ASKED));
  readonly #read: () => ProcessClocks;
  readonly #disagreement: OutageLog;
  #anchor: Anchor | undefined;
  /** Wall clock minus monotonic clock at the last answer of the database, in ms. */
  #apartMs = 0;
  /** Uptime minus monotonic clock at the last answer, in ms. */
  #asleepMs: number | undefined;
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

  /**
   * Queries the database's time, then repeats that at the interval. Rejects if the database does not answer. Before the
   * first answer, `now` throws.
   */
  async start(ask: AskDatabase): Promise<void> {
    this.#askDatabase = ask;
    await this.#ask();
    this.#schedule();
  }

  /** Stops the queries. Resolves when the last one has ended. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    await this.#asking?.catch(() => undefined);
  }

  /** Returns the database's time without a query. The error is some hundred microseconds. */
  now(): Date {
    const clocks = this.#read();
    let nowMs = this.#databaseMs(clocks);
    if (haveParted(this.#apartMs, clocks)) {
      // Query the database once after each jump of a clock. While the database is unreachable, the timer keeps trying.
      this.#apartMs = apartOf(clocks);
      this.#addSleep(clocks);
      this.#askSoon();
      nowMs = this.#databaseMs(clocks);
    }
    return new Date(Math.floor(nowMs));
  }

  /**
   * Adds the time for which the machine was suspended. Without it, events would get too early a time until the database
   * answers.
   */
  #addSleep(clocks: ProcessClocks): void {
    const before = this.#asleepMs;
    this.#asleepMs = asleepOf(clocks);
    if (before === undefined || this.#asleepMs === undefined || !this.#anchor) return;
    const sleptMs = this.#asleepMs - before;
    // If the wall clock was set, the uptime does not jump. Then there is nothing to add.
    if (sleptMs > PARTED_MS) this.#anchor = { ...this.#anchor, offsetMs: this.#anchor.offsetMs + sleptMs };
  }

  /** Wall clock minus the database's clock, in ms. Positive if this machine is ahead. */
  get skewMs(): number {
    const clocks = this.#read();
    return clocks.wallMs - this.#databaseMs(clocks);
  }

  /** Queries the database now. True if the skew is within the tolerance. Rejects if the database does not answer. */
  async agrees(): Promise<boolean> {
    await this.#ask();
    return this.fault() === undefined;
  }

  /** Describes in a sentence for operators what is wrong with the clocks. Undefined if nothing is. */
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

  /**
   * Queries the database without waiting. Ignores errors, because other statements report the same failure. Until the
   * next answer, the time is computed from the last one.
   */
  #askSoon(): void {
    if (!this.#isStopped) this.#ask().catch(() => undefined);
  }

  /** Queries the database. Concurrent callers share one query. */
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
        // The machine was suspended, and the monotonic clock stopped during that time. So earlier answers are not valid
        // any more.
        if (haveParted(apartOf(before), after)) best = undefined;
        else best = better(best, anchorOf(before, answeredMs, after));
      }
    });
    if (!best) throw new Error('the clock of this machine was set while the database was asked for its time');
    this.#anchor = corrected(this.#anchor, best);
    const clocks = this.#read();
    this.#apartMs = apartOf(clocks);
    this.#asleepMs = asleepOf(clocks);
    const fault = this.fault();
    if (fault === undefined) this.#disagreement.worked();
    else this.#disagreement.failed(new Error(fault));
  }
}

/**
 * The database answered at some moment between `before` and `after`. Assume that the answer took half of the round
 * trip.
 */
function anchorOf(before: ProcessClocks, answeredMs: number, after: ProcessClocks): Anchor {
  const errorMs = (after.monotonicMs - before.monotonicMs) / 2;
  return { offsetMs: answeredMs + errorMs - after.monotonicMs, errorMs };
}

const better = (one: Anchor | undefined, other: Anchor): Anchor =>
  one && one.errorMs <= other.errorMs ? one : other;

/**
 * Keeps the known anchor if the new answer confirms it within its error. Otherwise the time would jump a little with
 * each answer.
 */
function corrected(known: Anchor | undefined, found: Anchor): Anchor {
  return known && Math.abs(found.offsetMs - known.offsetMs) <= found.errorMs ? known : found;
}

/** The units in which a skew is written. The largest unit of which there are at least two is used. */
const UNITS = [
  { name: 'days', ms: 86_400_000 },
  { name: 'h', ms: 3_600_000 },
  { name: 'min', ms: 60_000 },
  { name: 's', ms: 1_000 },
];

/** Returns a text such as `25 h ahead of the database's`. */
export function describeSkew(skewMs: number): string {
  const ms = Math.abs(skewMs);
  const unit = UNITS.find((each) => ms >= 2 * each.ms) ?? { name: 'ms', ms: 1 };
  const amount = Math.round((ms / unit.ms) * 10) / 10;
  return `${amount} ${unit.name} ${skewMs < 0 ? 'behind' : 'ahead of'} the database's`;
}
