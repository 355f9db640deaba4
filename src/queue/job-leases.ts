/** Runs SQL with `$n` placeholders: on the pool, or on one transaction's connection. */
export interface SqlRunner {
  query(config: { name?: string; text: string; values?: unknown[] }): Promise<{ rows: unknown[] }>;
}

/** A job that is not in the queue; `job` is what the queue is given where it comes there. */
export interface LeasedJob {
  readonly id: string;
  readonly queue: string;
  readonly job: object;
}

/** A job's row belongs to the process that took it with the commit, until so many seconds after its last sign of life. */
const LEASE_SECONDS = 15;
/** What is given back is anybody's after this time. */
const GIVEN_BACK_SECONDS = 1;
/** So many lapsed jobs are taken at once. */
export const MAX_LAPSED = 200;
/** Here it is told that jobs were left for whoever works. */
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
 * Jobs that are not in the queue: leases of those that a process holds, and what a process that works on none has left for
 * the others. They are no rows of the queue because such a row takes ten times as long to write.
 */
export const jobLeases = {
  /** Its statements, for who looks whether a server understands them. */
  statements: [
    { name: 'job-leases-hold', text: HOLD },
    { name: 'job-leases-leave', text: LEAVE },
    { name: 'job-leases-end', text: END },
    { name: 'job-leases-extend', text: EXTEND },
    { name: 'job-leases-take-lapsed', text: TAKE_LAPSED },
  ],

  /** Leases jobs to this process, from the commit on. */
  async hold(sql: SqlRunner, jobs: readonly LeasedJob[]): Promise<void> {
    await sql.query({ name: 'job-leases-hold', text: HOLD, values: [JSON.stringify(jobs)] });
  },

  /** Leaves jobs for whoever works: lapsed from the commit on, which is told on `LEFT_CHANNEL`. */
  async leave(sql: SqlRunner, jobs: readonly LeasedJob[]): Promise<void> {
    await sql.query({ name: 'job-leases-leave', text: LEAVE, values: [JSON.stringify(jobs)] });
  },

  /** Forgets jobs whose work is recorded. */
  async end(sql: SqlRunner, ids: readonly string[]): Promise<void> {
    await sql.query({ name: 'job-leases-end', text: END, values: [ids] });
  },

  /** Renews the leases of jobs and returns the ids that it renewed: the others are not this process's any more. */
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

  /** Takes jobs out that were left or given back, or whose process shows no life any more; `MAX_LAPSED` at the most. */
  async takeLapsed(sql: SqlRunner): Promise<readonly LeasedJob[]> {
    return (await sql.query({ name: 'job-leases-take-lapsed', text: TAKE_LAPSED })).rows as LeasedJob[];
  },
};
