import type { PgBoss } from 'pg-boss';
import type { QueueName } from '../domain/ports/job-queue.ts';
import { Batcher } from '../runtime/batcher.ts';
import { jobLeases, type SqlRunner } from './job-leases.ts';

const MAX_DELETES = 500;

/** The row of a job that this process holds. */
export interface HeldRow {
  readonly id: string;
  readonly retryCount: number;
  /**
   * True for a row of `job_leases`: renewing it extends the lease. False for a job that was fetched from pg-boss:
   * heartbeats keep it.
   */
  readonly isLeased: boolean;
}

/** The result of pg-boss's `touch`. Its types omit the ids. */
type Touched = Awaited<ReturnType<PgBoss['touch']>> & { readonly settled?: readonly string[] };

/** Deletes, gives back and renews the rows of the jobs that this process holds. */
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

  /** Deletes a job whose work is recorded. Concurrent calls share a statement. */
  done(row: HeldRow): Promise<void> {
    return this.#done.add(row);
  }

  /** Gives the job back. After a short pause, any process may take it. */
  async giveBack(row: HeldRow, why: string): Promise<void> {
    if (row.isLeased) await jobLeases.giveBack(this.#pool, row.id);
    else await this.#boss.fail(this.#queue, attemptOf(row), { why });
  }

  /** Renews the rows of this process's jobs. Returns the rows of jobs that another process has now. */
  async refresh(rows: readonly HeldRow[]): Promise<readonly HeldRow[]> {
    const leased = rows.filter((row) => row.isLeased);
    const fetched = rows.filter((row) => !row.isLeased);
    const kept = new Set<string>();
    if (leased.length > 0) {
      const ids = leased.map(({ id }) => id);
      for (const id of await jobLeases.extend(this.#pool, ids)) kept.add(id);
    }
    if (fetched.length > 0) {
      const touched: Touched = await this.#boss.touch(this.#queue, fetched.map(attemptOf));
      for (const id of touched.settled ?? []) kept.add(id);
    }
    return rows.filter(({ id }) => !kept.has(id));
  }

  async #delete(rows: readonly HeldRow[]): Promise<undefined[]> {
    const leased = rows.filter((row) => row.isLeased).map((row) => row.id);
    const fetched = rows.filter((row) => !row.isLeased).map(attemptOf);
    if (leased.length > 0) await jobLeases.end(this.#pool, leased);
    if (fetched.length > 0) await this.#boss.deleteJob(this.#queue, fetched);
    return rows.map(() => undefined);
  }
}

function attemptOf({ id, retryCount }: HeldRow) {
  return { id, retryCount };
}
