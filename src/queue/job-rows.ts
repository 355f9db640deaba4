import type { PgBoss } from 'pg-boss';
import { Batcher } from '../domain/batcher.ts';
import type { QueueName } from '../domain/ports/job-queue.ts';

/** Runs SQL with `$n` placeholders: on the pool, or on one transaction's connection. */
export interface SqlRunner {
  query(config: { name?: string; text: string; values?: unknown[] }): Promise<{ rows: unknown[] }>;
}

/** Schema that pg-boss keeps its tables in. */
export const SCHEMA = 'pgboss';
/**
 * A job handed over within the process that caused it stays in its row as one that is due this much later, so that
 * no other process takes it, and all of them find it when this process is gone.
 */
export const LEASE_SECONDS = 15;
/** What is given back is looked at again after this time. */
const GIVEN_BACK_SECONDS = 1;
const MAX_DELETES = 500;

const POSTPONE = `UPDATE ${SCHEMA}.job SET start_after = ${SCHEMA}.job_now() + $3 * interval '1 second'
  WHERE name = $1 AND id = ANY($2::uuid[]) AND state < 'active'`;

/** The row of a job that this process holds. */
export interface HeldRow {
  readonly id: string;
  readonly retryCount: number;
  /** Handed over within the process; otherwise fetched, and kept by heartbeats. */
  readonly isLeased: boolean;
}

/** What becomes of the rows of held jobs. */
export class JobRows {
  readonly #boss: PgBoss;
  readonly #pool: SqlRunner;
  readonly #queue: QueueName;
  readonly #done = new Batcher<HeldRow, undefined>((rows) => this.#delete(rows), { maxWeight: MAX_DELETES });

  constructor(boss: PgBoss, pool: SqlRunner, queue: QueueName) {
    this.#boss = boss;
    this.#pool = pool;
    this.#queue = queue;
  }

  /** Forgets a job whose work is recorded; those that end at once go together. */
  done(row: HeldRow): Promise<void> {
    return this.#done.add(row);
  }

  /** Lets every process have the job, a moment from now. */
  async giveBack(row: HeldRow, why: string): Promise<void> {
    if (row.isLeased) await this.#postpone([row], GIVEN_BACK_SECONDS);
    else await this.#boss.fail(this.#queue, attemptOf(row), { why });
  }

  /** Shows that this process lives and still holds the jobs. */
  async refresh(rows: readonly HeldRow[]): Promise<void> {
    const leased = rows.filter((row) => row.isLeased);
    const fetched = rows.filter((row) => !row.isLeased);
    if (leased.length > 0) await this.#postpone(leased, LEASE_SECONDS);
    if (fetched.length > 0) await this.#boss.touch(this.#queue, fetched.map(attemptOf));
  }

  async #postpone(rows: readonly HeldRow[], seconds: number): Promise<void> {
    const values = [this.#queue, rows.map((row) => row.id), seconds];
    await this.#pool.query({ name: 'job-postpone', text: POSTPONE, values });
  }

  async #delete(rows: readonly HeldRow[]): Promise<undefined[]> {
    const leased = rows.filter((row) => row.isLeased).map((row) => row.id);
    const fetched = rows.filter((row) => !row.isLeased).map(attemptOf);
    if (leased.length > 0) await this.#boss.deleteJob(this.#queue, leased);
    if (fetched.length > 0) await this.#boss.deleteJob(this.#queue, fetched);
    return rows.map(() => undefined);
  }
}

function attemptOf({ id, retryCount }: HeldRow) {
  return { id, retryCount };
}
