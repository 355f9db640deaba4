/**
 * Runs one migration so that it holds up no gateway. A statement that waits for an exclusive lock lets everyone wait who
 * comes after it, also those that only read. So it gives up soon, and the migration begins again when the lock is free.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Knex } from 'knex';
import type { Migration } from '../../../migrations/index.ts';

/**
 * Longest wait of a migration for a lock. It must be longer than PostgreSQL's `deadlock_timeout` of 1 s: after that
 * time, autovacuum gives its lock to the one who waits.
 */
const LOCK_TIMEOUT = '2s';
/** Time in ms in which a migration must get its locks. */
export const PATIENCE_MS = 5 * 60_000;
/** Longest pause in ms between two attempts. Accepts wait only during an attempt. */
const PAUSE_MS = 10_000;
const LOOK_MS = 250;
/** PostgreSQL's code for a statement that `lock_timeout` canceled. */
const LOCK_NOT_AVAILABLE = '55P03';

/** Selects who keeps a backend waiting. A prepared transaction has the pid 0. */
const BLOCKING = `SELECT b.pid, a.xact_start::text AS begun,
    nullif(a.application_name, '') AS application, a.usename::text AS "user",
    extract(epoch FROM clock_timestamp() - a.xact_start)::int AS "ageSeconds"
  FROM (SELECT DISTINCT unnest(pg_blocking_pids(?)) AS pid) b LEFT JOIN pg_stat_activity a USING (pid) ORDER BY pid`;
/** Selects the transactions among these that are still open. */
const STILL_OPEN = `SELECT FROM pg_stat_activity a
  JOIN jsonb_to_recordset(?::jsonb) AS h (pid int, begun text) ON h.pid = a.pid AND h.begun = a.xact_start::text`;

/** A session that holds a lock, as far as the user may see it. */
interface Holder {
  readonly pid: number;
  readonly begun: string | null;
  readonly application: string | null;
  readonly user: string | null;
  /** How long its transaction has been open. */
  readonly ageSeconds: number | null;
}

export interface StepOptions {
  /** Called with the name of the migration and who holds the lock, once for each set of holders. */
  readonly onWait: (migration: string, holders: string) => void;
  /** Time in ms in which the migration must get its locks. */
  readonly patienceMs: number;
}

/**
 * Calls `run` until the migration got its locks. `run` runs the migration once: as one transaction, in which it calls
 * the hook first. A migration without a transaction has no time limit, because what it runs holds up nobody: it builds
 * an index concurrently, which waits for all older transactions.
 *
 * Throws an error that names the holders and says what to do, if the migration does not get its locks in time.
 */
export async function runStep(
  knex: Knex,
  { name, config }: Migration,
  run: (hook: (transaction: Knex) => Promise<void>) => Promise<unknown>,
  { onWait, patienceMs }: StepOptions,
): Promise<void> {
  if (config?.transaction === false) {
    await run(async () => undefined);
    return;
  }
  const end = performance.now() + patienceMs;
  let told = '';
  for (;;) {
    const { error, holders } = await attempt(knex, run);
    if (error === undefined) return;
    if ((error as { code?: unknown }).code !== LOCK_NOT_AVAILABLE) throw error;
    const left = end - performance.now();
    if (left <= 0) throw new Error(refusal(name, holders, patienceMs), { cause: error });
    const pids = holders.map(({ pid }) => pid).join();
    if (pids !== told) onWait(name, describe(holders));
    told = pids;
    await untilFree(knex, holders, Math.min(left, PAUSE_MS));
  }
}

/** Runs the migration once. Returns its error, and who kept it waiting last. */
async function attempt(
  knex: Knex,
  run: (hook: (transaction: Knex) => Promise<void>) => Promise<unknown>,
): Promise<{ readonly error?: unknown; readonly holders: readonly Holder[] }> {
  const ended = Promise.withResolvers<true>();
  let watch: Promise<readonly Holder[]> = Promise.resolve([]);
  const hook = async (transaction: Knex) => {
    await transaction.raw(`SET LOCAL lock_timeout = '${LOCK_TIMEOUT}'`);
    const { rows } = await transaction.raw('SELECT pg_backend_pid() AS pid');
    watch = watchHolders(knex, rows[0].pid, ended.promise);
  };
  const [outcome] = await Promise.allSettled([run(hook).finally(() => ended.resolve(true))]);
  const holders = await watch;
  return outcome.status === 'rejected' ? { error: outcome.reason, holders } : { holders };
}

/** Returns who kept the backend waiting last, when `ended` resolves. */
async function watchHolders(knex: Knex, pid: number, ended: Promise<true>): Promise<readonly Holder[]> {
  let last: readonly Holder[] = [];
  while (!(await Promise.race([ended, sleep(LOOK_MS, false, { ref: false })]))) {
    // A look that fails, as without a free connection, says nothing. The migration's own error counts.
    const found: { rows: Holder[] } | undefined = await knex.raw(BLOCKING, [pid]).catch(() => undefined);
    if (found && found.rows.length > 0) last = found.rows;
  }
  return last;
}

/** Waits until the transactions of the holders have ended, or `longestMs`. */
async function untilFree(knex: Knex, holders: readonly Holder[], longestMs: number): Promise<void> {
  const end = performance.now() + longestMs;
  const known = holders.flatMap(({ pid, begun }) => (begun === null ? [] : [{ pid, begun }]));
  do {
    await sleep(Math.min(LOOK_MS, Math.max(0, end - performance.now())));
    // Without the right to see the holders' transactions, wait for the whole pause.
    if (known.length < holders.length) continue;
    if ((await knex.raw(STILL_OPEN, [JSON.stringify(known)])).rows.length === 0) return;
  } while (performance.now() < end);
}

function describe(holders: readonly Holder[]): string {
  const texts = holders.map(({ pid, application, user, ageSeconds }) => {
    if (pid === 0) return 'a prepared transaction (see pg_prepared_xacts)';
    const facts = [
      application,
      user === null ? null : `user ${user}`,
      ageSeconds === null ? null : `its transaction is ${ageSeconds} s old`,
    ].filter((fact) => fact !== null);
    return `process ${pid}${facts.length > 0 ? ` (${facts.join(', ')})` : ''}`;
  });
  return texts.join('; ') || 'a transaction that has ended meanwhile';
}

function refusal(name: string, holders: readonly Holder[], patienceMs: number): string {
  const pids = holders.flatMap(({ pid }) => (pid === 0 ? [] : `SELECT pg_terminate_backend(${pid})`));
  const orEnd = pids.length > 0 ? `, or end it with ${pids.join('; ')}` : '';
  return (
    `The migration ${name} got no lock on a table within ${Math.round(patienceMs / 1000)} s, ` +
    `because of ${describe(holders)}. Wait until that has ended${orEnd}. Then run migrate again: ` +
    'the migrations before it stay.'
  );
}
