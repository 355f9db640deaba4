import type pg from 'pg';

/**
 * Planner settings of every connection. A statement's plan, and that of each foreign key check, is made once for a
 * connection, often while the tables are small; a sequential scan chosen then would stay when they have grown. Every
 * query has its index, and JIT compilation would take longer than the query.
 */
const PLANS: Readonly<Record<string, string>> = {
  plan_cache_mode: 'force_generic_plan',
  enable_seqscan: 'off',
  jit: 'off',
  TimeZone: 'UTC',
};

/**
 * PostgreSQL times out before the gateway (`STATEMENT_TIMEOUT_MS` in sql.ts). Otherwise a whole transaction, sent up to
 * its COMMIT, could be done after its request was told that it failed. A process that is frozen inside a transaction
 * holds its locks no longer than the last limit.
 */
const LIMITS: Readonly<Record<string, string>> = {
  lock_timeout: '5s',
  statement_timeout: '12s',
  idle_in_transaction_session_timeout: '5s',
};

/** Settings of connections for requests and jobs. `doctor` checks that they are in force. */
export const SESSION_SETTINGS: Readonly<Record<string, string>> = { ...PLANS, ...LIMITS };

/**
 * Releases the locks of a host that vanished silently within some 20 seconds, and of a client that disconnected at
 * once. PostgreSQL ignores the first four on a local socket, and refuses the last one on systems that do not support
 * it.
 */
const GONE_CLIENTS = `SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 2;
  SET tcp_user_timeout = '20s';
  SELECT set_config('client_connection_check_interval', CASE WHEN version() ~ 'linux' THEN '2s' ELSE '0' END, false)`;

const sets = (settings: Readonly<Record<string, string>>) =>
  Object.entries(settings)
    .map(([name, value]) => `SET ${name} = '${value}'`)
    .join('; ');
const BOUNDED = `${sets(SESSION_SETTINGS)}; ${GONE_CLIENTS}`;
const UNBOUNDED = sets(PLANS);

/**
 * Makes the settings of a new connection, in one round trip. The startup parameter `options` is not used, because
 * PgBouncer refuses it. `isBounded` is false for long work, such as a migration.
 */
export async function setSession(client: pg.Client, isBounded: boolean): Promise<void> {
  await client.query(isBounded ? BOUNDED : UNBOUNDED);
}
