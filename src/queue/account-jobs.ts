import { randomUUID } from 'node:crypto';
import type { SubmitJob } from '../domain/ports/job-queue.ts';
import { jobLeases, LEFT_CHANNEL, type LeasedJob, type SqlRunner } from './job-leases.ts';

/** SQL that is true if the job with `data` and `queue` works on a row of the account $1. */
const OWN = `CASE queue
    WHEN 'submit' THEN EXISTS (SELECT FROM messages m WHERE m.account_id = $1
      AND m.id IN (SELECT n.id::uuid FROM jsonb_array_elements_text(data->'messageIds') AS n (id)))
    WHEN 'contact-import' THEN EXISTS (
      SELECT FROM contact_imports i WHERE i.id = (data->>'importId')::uuid AND i.account_id = $1)
    WHEN 'person-mail' THEN false
    ELSE EXISTS (SELECT FROM webhooks w WHERE w.id = (data->>'webhookId')::uuid AND w.account_id = $1) END`;
/** Deletes the jobs of the account that no process holds, and returns them as rows of `job_leases`. */
const TAKE = `WITH queued AS (
    DELETE FROM pgboss.job WHERE state < 'active' AND (name, id) IN (
      SELECT name, id FROM (SELECT name, id, data, name AS queue FROM pgboss.job WHERE state < 'active') j WHERE ${OWN})
    RETURNING id, name AS queue, priority, start_after, retry_count, group_id, data
  ), free AS (
    DELETE FROM job_leases WHERE id IN (
      SELECT id FROM (SELECT id, queue, (job->'data')::jsonb AS data FROM job_leases WHERE due_at <= now()) j WHERE ${OWN})
    RETURNING id, queue, job
  )
  SELECT id, queue, json_build_object('id', id,
      'data', CASE WHEN retry_count > 0 THEN data || '{"wasHandedOver": true}' ELSE data END,
      'group', json_build_object('id', group_id), 'priority', priority,
      'startAfter', to_char(start_after AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) AS job FROM queued
  UNION ALL SELECT id, queue, job FROM free`;
const HELD = `SELECT count(*)::int AS count FROM (
    SELECT id, queue, (job->'data')::jsonb AS data FROM job_leases WHERE due_at > now()
    UNION ALL SELECT id, name, data FROM pgboss.job WHERE state = 'active') j WHERE ${OWN}`;
const OWN_MESSAGES = 'SELECT id FROM messages WHERE account_id = $1 AND id = ANY ($2::uuid[])';
const PARK = `INSERT INTO account_move_jobs (id, account_id, queue, job)
  SELECT id, $1, queue, job FROM json_to_recordset($2::json) AS j (id uuid, queue text, job json)`;
const UNPARK = `WITH parked AS (DELETE FROM account_move_jobs WHERE account_id = $1 RETURNING id, queue, job)
  INSERT INTO job_leases (id, due_at, queue, job) SELECT id, now(), queue, job FROM parked
  RETURNING pg_notify('${LEFT_CHANNEL}', '')`;
const PARKED = 'SELECT id, queue, job FROM account_move_jobs WHERE account_id = $1';

interface StoredJob extends LeasedJob {
  readonly job: { readonly id: string; readonly data: SubmitJob };
}

/**
 * The jobs of one account, while it moves to another cell (R506). A parked job is in no queue, so no process can start
 * it. The statements must run in a transaction.
 */
export const accountJobs = {
  /** Parks the jobs of the account that no process holds. Returns their number. */
  async park(sql: SqlRunner, accountId: string): Promise<number> {
    const taken = (await sql.query({ text: TAKE, values: [accountId] })).rows as StoredJob[];
    if (taken.length === 0) return 0;
    const own = await ownMessages(sql, accountId, taken);
    const parts = taken.map((each) => (each.queue === 'submit' ? split(each, own) : { own: each }));
    const others = parts.flatMap(({ other }) => other ?? []);
    if (others.length > 0) await jobLeases.leave(sql, others);
    const parked = parts.map((part) => part.own);
    await sql.query({ text: PARK, values: [accountId, JSON.stringify(parked)] });
    return parked.length;
  },
  /** Returns the number of jobs of the account that processes hold. */
  async held(sql: SqlRunner, accountId: string): Promise<number> {
    const { rows } = await sql.query({ text: HELD, values: [accountId] });
    return (rows as { count: number }[])[0]?.count ?? 0;
  },
  /** Returns parked jobs to the queue. */
  async unpark(sql: SqlRunner, accountId: string): Promise<void> {
    await sql.query({ text: UNPARK, values: [accountId] });
  },
  async parked(sql: SqlRunner, accountId: string): Promise<readonly LeasedJob[]> {
    return (await sql.query({ text: PARKED, values: [accountId] })).rows as LeasedJob[];
  },
  /** Stores jobs that any process may take. */
  leave: (sql: SqlRunner, jobs: readonly LeasedJob[]) => jobLeases.leave(sql, jobs),
};

async function ownMessages(
  sql: SqlRunner,
  accountId: string,
  jobs: readonly StoredJob[],
): Promise<ReadonlySet<string>> {
  const ids = jobs.flatMap(({ queue, job }) => (queue === 'submit' ? job.data.messageIds : []));
  const { rows } = await sql.query({ text: OWN_MESSAGES, values: [accountId, ids] });
  return new Set((rows as { id: string }[]).map(({ id }) => id));
}

/** A submit job may have messages of several accounts. Divides it into the account's part and the rest. */
function split(stored: StoredJob, own: ReadonlySet<string>): { own: StoredJob; other?: StoredJob } {
  const { messageIds } = stored.job.data;
  const rest = messageIds.filter((id) => !own.has(id));
  if (rest.length === 0) return { own: stored };
  const part = (id: string, ids: readonly string[]): StoredJob => {
    const data = { ...stored.job.data, messageIds: ids };
    return { ...stored, id, job: { ...stored.job, id, data } };
  };
  return {
    own: part(
      randomUUID(),
      messageIds.filter((id) => own.has(id)),
    ),
    other: part(stored.id, rest),
  };
}
