/** Runs SQL with `$n` placeholders, either on the pool or on the connection of one transaction. */
export interface SqlRunner {
  query(config: { name?: string; text: string; values?: unknown[] }): Promise<{ rows: unknown[] }>;
}

/** A job outside the queue. `job` is the row that pg-boss would store. */
export interface LeasedJob {
  readonly id: string;
  readonly queue: string;
  readonly job: object;
}

/** A lease ends this long after its last renewal. Then another process may take the job. */
const LEASE_SECONDS = 15;
/** A job that was given back is free for other processes after this time. */
const GIVEN_BACK_SECONDS = 1;
/** The most expired jobs that one statement takes. */
export const MAX_LAPSED = 200;
/** NOTIFY channel for jobs that any process with a worker may take. */
export const LEFT_CHANNEL = 'gateway_left_jobs';

const hold = (seconds: number) => `INSERT INTO job_leases (id, due_at, queue, job)
  SELECT id, now() + ${seconds} * interval '1 second', queue, job
  FROM json_to_recordset($1::json) AS j (id uuid, queue text, job json)`;
const HOLD = hold(LEASE_SECONDS);
const LEAVE = `${hold(0)} RETURNING pg_notify('${LEFT_CHANNEL}', '')`;
const EXTEND = `UPDATE job_leases SET due_at = now() + $2 * interval '1 second' WHERE id = ANY($1::uuid[]) RETURNING id`;
const END = 'DELETE FROM job_leases WHERE id = ANY($1::uuid[])';
const TAKE_LAPSED = `DELETE FROM job_leases WHERE id IN (
    SELECT id FROM job_leases WHERE due_at < now() ORDER BY due_at LIMIT ${MAX_LAPSED} FOR UPDATE SKIP LOCKED)
  RETURNING id, queue, job`;

/**
 * Jobs outside the queue, in the table `job_leases`. They are either leased by a process, or left for others by a
 * process without a worker. They are not rows of pg-boss, because such a row takes ten times as long to write.
 */
export const jobLeases = {
  /** The statements, for the check (`doctor`) that the server can parse them. */
  statements: [
    { name: 'job-leases-hold', text: HOLD },
    { name: 'job-leases-leave', text: LEAVE },
    { name: 'job-leases-end', text: END },
    { name: 'job-leases-extend', text: EXTEND },
    { name: 'job-leases-take-lapsed', text: TAKE_LAPSED },
  ],

  /** Stores jobs that this process holds under a lease from the commit on. */
  async hold(sql: SqlRunner, jobs: readonly LeasedJob[]): Promise<void> {
    await sql.query({ name: 'job-leases-hold', text: HOLD, values: [JSON.stringify(jobs)] });
  },

  /**
   * Stores jobs that any worker may take. From the commit on they are free, and a NOTIFY on `LEFT_CHANNEL` announces
   * them.
   */
  async leave(sql: SqlRunner, jobs: readonly LeasedJob[]): Promise<void> {
    await sql.query({ name: 'job-leases-leave', text: LEAVE, values: [JSON.stringify(jobs)] });
  },

  /** Deletes jobs whose work is recorded. */
  async end(sql: SqlRunner, ids: readonly string[]): Promise<void> {
    await sql.query({ name: 'job-leases-end', text: END, values: [ids] });
  },

  /** Renews leases and returns the ids of those that still exist. Another process has taken the others. */
  async extend(sql: SqlRunner, ids: readonly string[]): Promise<readonly string[]> {
    const { rows } = await sql.query({
      name: 'job-leases-extend',
      text: EXTEND,
      values: [ids, LEASE_SECONDS],
    });
    return (rows as { id: string }[]).map(({ id }) => id);
  },

  async giveBack(sql: SqlRunner, id: string): Promise<void> {
    await sql.query({ name: 'job-leases-extend', text: EXTEND, values: [[id], GIVEN_BACK_SECONDS] });
  },

  /** Deletes and returns up to `MAX_LAPSED` jobs that are free: left, given back, or with an expired lease. */
  async takeLapsed(sql: SqlRunner): Promise<readonly LeasedJob[]> {
    return (await sql.query({ name: 'job-leases-take-lapsed', text: TAKE_LAPSED })).rows as LeasedJob[];
  },
};
