import type pg from 'pg';

/**
 * Planner settings of every connection. A connection plans each statement and each foreign key check once, often while
 * the tables are small. A sequential scan that is chosen then would stay when the tables have grown. So sequential
 * scans are off, and every query has an index. JIT compilation would take longer than the query.
 */
const PLANS: Readonly<Record<string, string>> = {
  plan_cache_mode: 'force_generic_plan',
  enable_seqscan: 'off',
  jit: 'off',
  TimeZone: 'UTC',
};

/**
 * Time limits, shorter than the gateway's own limit (`STATEMENT_TIMEOUT_MS` in sql.ts), so that PostgreSQL times out
 * first. Otherwise PostgreSQL could still commit a transaction after its request has been answered with an error. The
 * last limit bounds how long a frozen process holds its locks inside a transaction.
 */
const LIMITS: Readonly<Record<string, string>> = {
  lock_timeout: '5s',
  statement_timeout: '12s',
  idle_in_transaction_session_timeout: '5s',
};

/** Settings of connections for requests and jobs. The command `doctor` checks that a connection has them. */
export const SESSION_SETTINGS: Readonly<Record<string, string>> = { ...PLANS, ...LIMITS };

/**
 * Makes PostgreSQL release the locks of clients that are gone. It notices a host that vanished within about 20 seconds,
 * and a closed connection within 2. On a local socket, PostgreSQL ignores the first four settings. It refuses the last
 * one on systems that do not support it.
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
 * Applies the settings to a new connection, in one round trip. The startup parameter `options` is not used, because
 * PgBouncer refuses it. `isBounded` is false for long work such as a migration, which then has no time limits.
 * `serverTimeout` is a shorter limit of statements.
 */
export async function setSession(
  client: pg.Client,
  isBounded: boolean,
  serverTimeout?: string,
): Promise<void> {
  const shorter = serverTimeout === undefined ? '' : `; ${sets({ statement_timeout: serverTimeout })}`;
  await client.query(isBounded ? BOUNDED + shorter : UNBOUNDED);
}
