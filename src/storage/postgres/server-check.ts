import pg from 'pg';
import { configOf, type DatabaseConnection } from './connection.ts';
import { READ_POOL_SIZE } from './read-pool.ts';
import { POOL_SIZE } from './sql.ts';

/** What a server reports about itself. */
export interface ServerFacts {
  /** The version as text, such as `18.4`, and as a number, such as 180004. */
  readonly version: string;
  readonly versionNumber: number;
  /** True if the server is a standby, which replays the writes of another server. */
  readonly isStandby: boolean;
  /**
   * Set if `default_transaction_read_only` is on: where the setting comes from, as in pg_settings (`database`, `user`,
   * …).
   */
  readonly readOnlyBy: string | null;
  /** True if the connection goes through a connection pool such as PgBouncer. */
  readonly isPooled: boolean;
}

/** The oldest supported major version. */
const OLDEST_MAJOR = 14;
const TIMEOUT_MS = 5_000;
/**
 * Number of tests of a connection pool. If other clients use the pool, one test may get the same connections by chance.
 */
const ROUNDS = 3;

const FACTS = `SELECT pg_backend_pid() AS pid, current_setting('server_version') AS version,
  current_setting('server_version_num')::int AS "versionNumber", pg_is_in_recovery() AS "isStandby",
  (SELECT source FROM pg_settings WHERE name = 'default_transaction_read_only' AND setting = 'on') AS "readOnlyBy"`;

/**
 * Checks that a gateway can work on this server, before anything is written. Throws an Error with the reason if it
 * cannot. The reasons: the server is too old, read-only, or behind a pool that changes connections between
 * transactions. `poolSize` is the number of connections that the gateway uses for requests and jobs.
 */
export async function checkServer(
  connection: DatabaseConnection,
  poolSize = POOL_SIZE,
): Promise<ServerFacts> {
  const config = await configOf(connection);
  const first = connect(config);
  const second = connect(config);
  try {
    await first.connect();
    const { pid, ...found } = (await first.query<ServerFacts & { pid: number }>(FACTS)).rows[0]!;
    // A pool such as PgBouncer answers the login itself and invents a process id. So the ids differ.
    const facts = { ...found, isPooled: first.processID !== pid };
    const fault = faultOfServer(facts);
    if (fault !== undefined) throw new Error(fault);
    await checkPooling(first, second, pid, poolSize);
    return facts;
  } finally {
    await Promise.all([first, second].map((client) => client.end().catch(() => undefined)));
  }
}

/** Says why a gateway cannot work on such a server, and how to fix it. Undefined if it can. */
export function faultOfServer(facts: ServerFacts): string | undefined {
  if (facts.versionNumber < OLDEST_MAJOR * 10_000) {
    return (
      `PostgreSQL ${facts.version} is too old: the gateway needs ${OLDEST_MAJOR} or newer. Upgrade the server, or ` +
      'name another in DATABASE_URL.'
    );
  }
  if (facts.isStandby) {
    return (
      'The database is a hot standby: it follows another server and only reads. Name the primary in DATABASE_URL, ' +
      'or promote this server.'
    );
  }
  if (facts.readOnlyBy !== null) {
    return (
      `The database is read-only: default_transaction_read_only is on (set by: ${facts.readOnlyBy}). Some services ` +
      'turn it on when the disk is nearly full. Make room if that is why, then set it to off for the database, the ' +
      'user or the server.'
    );
  }
  return undefined;
}

/**
 * Throws if a pool gives a client different connections. The client would then lose prepared statements, LISTEN,
 * session settings and locks. With a direct connection or a session pool, a client keeps its backend process, and no
 * other client uses it. Transaction pools are found in two ways:
 * - Some pools hand out the connection that was used last. If such a pool is idle, a client always gets the same
 *   process. So a second client holds a transaction meanwhile.
 * - Some pools hand out the connection that was unused for longest. So one client asks twice.
 */
async function checkPooling(first: Probe, second: Probe, pid: number, poolSize: number): Promise<void> {
  await second.connect();
  for (let round = 0; round < ROUNDS; round += 1) {
    if ((await pidOf(first)) !== pid) throw new Error(TRANSACTION_POOL);
    await hold(second, poolSize);
    if ((await pidOf(second)) === pid || (await pidOf(first)) !== pid) throw new Error(TRANSACTION_POOL);
    await second.query('COMMIT');
  }
}

const TRANSACTION_POOL =
  'The database is behind a pool that gives out connections for a transaction or a statement at a time, such as ' +
  'PgBouncer with pool_mode=transaction. The gateway needs connections that stay its own: it listens to NOTIFY, ' +
  'prepares statements and locks on them. Set pool_mode=session for this database, or name PostgreSQL itself in ' +
  'DATABASE_URL.';

const smallPool = (poolSize: number) =>
  'The database is behind a pool that gave one connection, and no second one within ' +
  `${TIMEOUT_MS / 1_000} s. A gateway process needs up to ${poolSize + READ_POOL_SIZE + 1}: let the pool have as many ` +
  '(default_pool_size in PgBouncer), or name PostgreSQL itself in DATABASE_URL.';

/** Begins a transaction. Behind a pool, the client then keeps its connection until the transaction ends. */
async function hold(client: Probe, poolSize: number): Promise<void> {
  try {
    await client.query('BEGIN');
  } catch (error) {
    const { message } = error as Error;
    if (/statement pooling/.test(message)) throw new Error(TRANSACTION_POOL, { cause: error });
    if (/Query read timeout|query_wait_timeout/.test(message))
      throw new Error(smallPool(poolSize), { cause: error });
    throw error;
  }
}

async function pidOf(client: Probe): Promise<number> {
  return (await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')).rows[0]!.pid;
}

/** The types of `pg` omit the process id that the login returned. */
export type Probe = pg.Client & { readonly processID?: number };

/** Makes a client for a check, which waits 5 s at most. It is not connected yet. */
export function connect(config: pg.ClientConfig): Probe {
  const client = new pg.Client({
    ...config,
    application_name: 'messaging-gateway check',
    connectionTimeoutMillis: TIMEOUT_MS,
    query_timeout: TIMEOUT_MS,
  });
  // Ignore the event. The running statement fails with the same error.
  client.on('error', () => undefined);
  return client;
}
