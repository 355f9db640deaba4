/** Runs SQL with `$n` placeholders, either on the pool or on the connection of one transaction. */
export interface SqlRunner {
  query(config: { name?: string; text: string; values?: unknown[] }): Promise<{ rows: unknown[] }>;
}

/** A job in the table `job_leases`, outside pg-boss. `job` holds the row that pg-boss would store. */
export interface LeasedJob {
  readonly id: string;
  readonly queue: string;
  readonly job: object;
}

/** A lease ends this long after its last renewal, in seconds. Then another process may take the job. */
const LEASE_SECONDS = 15;
/** A job that was given back is free for other processes after this time, in seconds. */
const GIVEN_BACK_SECONDS = 1;
/** Number of free jobs that one statement takes. */
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
 * The jobs in the table `job_leases`. Either a process holds the job under a lease, or a process without a worker has
 * left it for others. These jobs are not rows of pg-boss, because writing such a row takes ten times as long.
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

  /** Stores jobs that this process holds. Their leases begin at the commit. */
  async hold(sql: SqlRunner, jobs: readonly LeasedJob[]): Promise<void> {
    await sql.query({ name: 'job-leases-hold', text: HOLD, values: [JSON.stringify(jobs)] });
  },

  /**
   * Stores jobs that any worker may take. They are free from the commit on, and a NOTIFY on `LEFT_CHANNEL` announces
   * them.
   */
  async leave(sql: SqlRunner, jobs: readonly LeasedJob[]): Promise<void> {
    await sql.query({ name: 'job-leases-leave', text: LEAVE, values: [JSON.stringify(jobs)] });
  },

  /** Deletes jobs whose work is recorded. */
  async end(sql: SqlRunner, ids: readonly string[]): Promise<void> {
    await sql.query({ name: 'job-leases-end', text: END, values: [ids] });
  },

  /** Renews leases. Returns the ids of the jobs that still exist. Another process has taken the others. */
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

  /**
   * Deletes and returns up to `MAX_LAPSED` free jobs. A job is free if it was left, was given back, or has an expired
   * lease.
   */
  async takeLapsed(sql: SqlRunner): Promise<readonly LeasedJob[]> {
    return (await sql.query({ name: 'job-leases-take-lapsed', text: TAKE_LAPSED })).rows as LeasedJob[];
  },
};
