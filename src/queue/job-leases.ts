/** Runs SQL with `$n` placeholders: on the pool, or on one transaction's connection. */
export interface SqlRunner {
  query(config: { name?: string; text: string; values?: unknown[] }): Promise<{ rows: unknown[] }>;
}

/** A job outside the queue; `job` is what the queue would store. */
export interface LeasedJob {
  readonly id: string;
  readonly queue: string;
  readonly job: object;
}

/** A job belongs to the process that took it at the commit, until this long after the last renewal. */
const LEASE_SECONDS = 15;
/** A job that was given back is free after this time. */
const GIVEN_BACK_SECONDS = 1;
/** Lapsed jobs taken by one statement. */
export const MAX_LAPSED = 200;
/** NOTIFY channel for jobs that any worker may take. */
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
 * Jobs outside the queue: those leased by a process, and those that a process without a worker left for others. They
 * are not rows of the queue, because such a row takes ten times as long to write.
 */
export const jobLeases = {
  /** The statements, for the check that the server can parse them. */
  statements: [
    { name: 'job-leases-hold', text: HOLD },
    { name: 'job-leases-leave', text: LEAVE },
    { name: 'job-leases-end', text: END },
    { name: 'job-leases-extend', text: EXTEND },
    { name: 'job-leases-take-lapsed', text: TAKE_LAPSED },
  ],

  /** Leases jobs to this process at the commit. */
  async hold(sql: SqlRunner, jobs: readonly LeasedJob[]): Promise<void> {
    await sql.query({ name: 'job-leases-hold', text: HOLD, values: [JSON.stringify(jobs)] });
  },

  /** Leaves jobs for any worker. At the commit they are free and announced on `LEFT_CHANNEL`. */
  async leave(sql: SqlRunner, jobs: readonly LeasedJob[]): Promise<void> {
    await sql.query({ name: 'job-leases-leave', text: LEAVE, values: [JSON.stringify(jobs)] });
  },

  /** Deletes jobs whose work is recorded. */
  async end(sql: SqlRunner, ids: readonly string[]): Promise<void> {
    await sql.query({ name: 'job-leases-end', text: END, values: [ids] });
  },

  /** Renews leases and returns the ids that it renewed. This process has lost the others. */
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

  /** Takes up to `MAX_LAPSED` jobs that were left, given back, or not renewed. */
  async takeLapsed(sql: SqlRunner): Promise<readonly LeasedJob[]> {
    return (await sql.query({ name: 'job-leases-take-lapsed', text: TAKE_LAPSED })).rows as LeasedJob[];
  },
};
