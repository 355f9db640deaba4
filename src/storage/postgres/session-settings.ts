import type pg from 'pg';

/**
 * What every connection is set to. A statement's plan, and that of each foreign key's check, is made once a connection,
 * often while the tables are still small; a sequential scan chosen then would stay when they have grown. Every query
 * has its index, and compiling it would take longer than it takes.
 */
const PLANS: Readonly<Record<string, string>> = {
  plan_cache_mode: 'force_generic_plan',
  enable_seqscan: 'off',
  jit: 'off',
  TimeZone: 'UTC',
};

/**
 * PostgreSQL gives up before the gateway does (`STATEMENT_TIMEOUT_MS` of sql.ts): a whole transaction may lie at the server
 * up to its COMMIT, and would be done after its request was told that it was not. A process that stands still inside a
 * transaction holds the locks of others no longer than its last limit here.
 */
const LIMITS: Readonly<Record<string, string>> = {
  lock_timeout: '5s',
  statement_timeout: '12s',
  idle_in_transaction_session_timeout: '5s',
};

/** What a connection for requests and jobs is set to; `doctor` looks whether it holds. */
export const SESSION_SETTINGS: Readonly<Record<string, string>> = { ...PLANS, ...LIMITS };

/**
 * A host that is gone without a word keeps its locks no longer than some 20 seconds, and a client that went away none.
 * PostgreSQL ignores the first four on a local socket, and refuses the last one where its system cannot tell.
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
 * Makes the settings of a new connection, in one round trip. Not by the startup parameter `options`, which PgBouncer
 * refuses. `isBounded` is false for work that may take long, such as a migration.
 */
export async function setSession(client: pg.Client, isBounded: boolean): Promise<void> {
  await client.query(isBounded ? BOUNDED : UNBOUNDED);
}
