import type { Knex } from 'knex';
import { up } from '../../migrations/0001_baseline.ts';
import type { RateLimits, RateVerdict } from '../../src/domain/ports/rate-limiter.ts';
import { createKnex, Sql } from '../../src/storage/postgres/sql.ts';
import { PgRateLimiter } from '../../src/storage/rate-limit/rate-limiter.ts';
import { silentLogger, testServer } from './database.ts';

/** Noon (UTC) of a day in 2026: a whole minute. */
export const START = Date.UTC(2026, 10, 21, 12);
export const MINUTE_MS = 60_000;

export const perMinute = (limit: number, perSecond = 0): RateLimits => ({
  perMinute: limit,
  perSecond,
});
export const allowed = (verdicts: readonly RateVerdict[]) =>
  verdicts.filter(({ isAllowed }) => isAllowed).length;

let buckets = 0;
export const freshBucket = () => `bucket ${buckets++}`;

export function takeMany(
  limits: PgRateLimiter,
  bucket: string,
  count: number,
  rule: RateLimits,
): Promise<RateVerdict[]> {
  return Promise.all(Array.from({ length: count }, () => limits.take(bucket, rule)));
}

/** A database for the rate limiter. Its clock stands still until a test sets it. */
export class RateLimitDatabase {
  readonly server = testServer();
  readonly name = `rate_limits_${process.pid}`;
  readonly admin: Knex = createKnex(this.server, silentLogger, { poolSize: 1 });
  /** Two connection pools, like those of two processes. */
  pools!: [Knex, Knex];
  nowMs = START;

  async open(): Promise<void> {
    await this.admin.raw(`CREATE DATABASE ${this.name}`);
    // A statement that waits too long for a lock must fail and not hang.
    await this.admin.raw(`ALTER DATABASE ${this.name} SET lock_timeout = '30s'`);
    const pool = () => createKnex({ ...this.server, database: this.name }, silentLogger);
    this.pools = [pool(), pool()];
    await up(this.pools[0]);
  }

  async close(): Promise<void> {
    for (const pool of this.pools ?? []) await pool.destroy();
    await this.admin.raw(`DROP DATABASE IF EXISTS ${this.name} WITH (FORCE)`);
    await this.admin.destroy();
  }

  /** Sets the clock to this many ms after `START`. */
  at(ms: number): void {
    this.nowMs = START + ms;
  }

  /** Creates a limiter as a process has it, with this clock. */
  limiter(sql = new Sql(this.pools[0])): PgRateLimiter {
    return new PgRateLimiter(sql, { now: () => new Date(this.nowMs) });
  }
}
