import pg from 'pg';
import { type DatabaseConnection, POOL_SIZE } from './sql.ts';

/** What a server reports about itself. */
export interface ServerFacts {
  /** Such as `18.4`, and as a number, 180004. */
  readonly version: string;
  readonly versionNumber: number;
  /** True if it replays another server's writes. */
  readonly isStandby: boolean;
  /** If `default_transaction_read_only` is on: what set it, in the words of pg_settings (`database`, `user`, …). */
  readonly readOnlyBy: string | null;
  /** True if a pool such as PgBouncer is in between. */
  readonly isPooled: boolean;
}

/** The oldest supported major version. */
const OLDEST_MAJOR = 14;
const TIMEOUT_MS = 5_000;
/** In a pool that another client uses at the same time, one round may get the same connections by chance. */
const ROUNDS = 3;

const FACTS = `SELECT pg_backend_pid() AS pid, current_setting('server_version') AS version,
  current_setting('server_version_num')::int AS "versionNumber", pg_is_in_recovery() AS "isStandby",
  (SELECT source FROM pg_settings WHERE name = 'default_transaction_read_only' AND setting = 'on') AS "readOnlyBy"`;

/**
 * Checks that a gateway can work on this server, before anything is written. Throws an Error that says why not: the
 * server is too old, read-only, or behind a pool that changes connections between transactions.
 */
export async function checkServer(connection: DatabaseConnection): Promise<ServerFacts> {
  const first = connect(connection);
  const second = connect(connection);
  try {
    await first.connect();
    const { pid, ...found } = (await first.query<ServerFacts & { pid: number }>(FACTS)).rows[0]!;
    // A pool answers the login itself, with an invented process number.
    const facts = { ...found, isPooled: first.processID !== pid };
    const fault = faultOfServer(facts);
    if (fault !== undefined) throw new Error(fault);
    await checkPooling(first, second, pid);
    return facts;
  } finally {
    await Promise.all([first, second].map((client) => client.end().catch(() => undefined)));
  }
}

/** Why a gateway cannot work on such a server, and the fix; undefined if it can. */
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
 * Throws when a pool gives a client different connections: it would lose prepared statements, LISTEN, session settings
 * and locks. With a direct connection, or a pool of sessions, a client keeps its backend process and no other client
 * has it. A pool of transactions that is idle hands out the connection used last, so one client alone always meets the
 * same process: a second client must hold a transaction meanwhile. A pool that hands out the connection unused longest
 * is found with one client that asks twice.
 */
async function checkPooling(first: Probe, second: Probe, pid: number): Promise<void> {
  await second.connect();
  for (let round = 0; round < ROUNDS; round += 1) {
    if ((await pidOf(first)) !== pid) throw new Error(TRANSACTION_POOL);
    await hold(second);
    if ((await pidOf(second)) === pid || (await pidOf(first)) !== pid) throw new Error(TRANSACTION_POOL);
    await second.query('COMMIT');
  }
}

const TRANSACTION_POOL =
  'The database is behind a pool that gives out connections for a transaction or a statement at a time, such as ' +
  'PgBouncer with pool_mode=transaction. The gateway needs connections that stay its own: it listens to NOTIFY, ' +
  'prepares statements and locks on them. Set pool_mode=session for this database, or name PostgreSQL itself in ' +
  'DATABASE_URL.';

const SMALL_POOL =
  'The database is behind a pool that gave one connection, and no second one within ' +
  `${TIMEOUT_MS / 1_000} s. A gateway process needs up to ${POOL_SIZE + 1}: let the pool have as many ` +
  '(default_pool_size in PgBouncer), or name PostgreSQL itself in DATABASE_URL.';

/** Begins a transaction, which keeps its connection until it ends. */
async function hold(client: Probe): Promise<void> {
  try {
    await client.query('BEGIN');
  } catch (error) {
    const { message } = error as Error;
    if (/statement pooling/.test(message)) throw new Error(TRANSACTION_POOL, { cause: error });
    if (/Query read timeout|query_wait_timeout/.test(message)) throw new Error(SMALL_POOL, { cause: error });
    throw error;
  }
}

async function pidOf(client: Probe): Promise<number> {
  return (await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')).rows[0]!.pid;
}

/** pg's types omit the process number of the login. */
type Probe = pg.Client & { readonly processID?: number };

function connect(connection: DatabaseConnection): Probe {
  const base = typeof connection === 'string' ? { connectionString: connection } : connection;
  const client = new pg.Client({
    ...base,
    application_name: 'messaging-gateway check',
    connectionTimeoutMillis: TIMEOUT_MS,
    query_timeout: TIMEOUT_MS,
  });
  // The running statement fails with the same error.
  client.on('error', () => undefined);
  return client;
}
