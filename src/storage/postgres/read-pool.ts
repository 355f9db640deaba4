import type { Knex } from 'knex';
import type pg from 'pg';
import type { Logger } from '../../domain/ports/logger.ts';
import { presentReader } from '../../runtime/read-scope.ts';
import type { DatabaseConnection } from './connection.ts';
import { createKnex, type PoolOptions, Sql, statement } from './sql.ts';

/** Number of connections that a process has for reads of dashboards. */
export const READ_POOL_SIZE = 4;
/** PostgreSQL cancels a read that takes longer. The format is that of a PostgreSQL interval. */
const READ_TIMEOUT = '5s';
export const READS_NAME = 'messaging-gateway reads';

/**
 * Cancels the statement of a backend: $1 is its process id, and $2 the time of its start. A proxy before several replicas
 * may lead to another server than that of the backend, where the id is that of something else.
 */
const CANCEL = statement(
  'cancel-read',
  'SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE pid = $1 AND backend_start::text = $2',
);
const OWN_BACKEND = `SELECT pid, backend_start::text AS start FROM pg_stat_activity WHERE pid = pg_backend_pid()`;

interface Backend {
  readonly pid: number;
  readonly start: string;
}

/** The use of a connection by a request. The client may disconnect before the use ends. */
interface Use {
  /** Ends the use. Resolves when a cancellation can no longer hit the next user of the connection. */
  end(): Promise<void>;
}
type Connection = pg.Client & { __knex__disposed?: unknown };

/**
 * A pool for reads of dashboards, so that these never take connections from intake. A read is cancelled after 5
 * seconds, or when its client disconnects. The cancellation is sent over a connection of the pool `main`. The cancelled
 * connection is not used again, because the cancellation may arrive late and hit a later statement. When the
 * connections of `main` are replaced, this pool replaces its connections, too. Reads alone would not notice that
 * another server is the primary now.
 */
export function createReadPool(
  connection: DatabaseConnection,
  logger: Logger,
  main: Knex,
  limits: Pick<PoolOptions, 'connectTimeoutMs' | 'statementTimeoutMs'> = {},
): Knex {
  const sql = new Sql(main);
  const knex = createKnex(connection, logger, {
    ...limits,
    poolSize: READ_POOL_SIZE,
    serverTimeout: READ_TIMEOUT,
    name: READS_NAME,
  });
  main.on('query-error', (error: unknown) => knex.emit('query-error', error));
  const { client } = knex;
  const acquire: () => Promise<Connection> = client.acquireConnection.bind(client);
  const release: (connection: Connection) => Promise<void> = client.releaseConnection.bind(client);
  const uses = new WeakMap<Connection, Use>();
  const backends = new WeakMap<Connection, Backend>();
  const backendOf = async (held: Connection): Promise<Backend> => {
    // A connection pool such as PgBouncer tells the driver an invented process id. So ask PostgreSQL for the real one.
    const known = backends.get(held) ?? (await held.query<Backend>(OWN_BACKEND)).rows[0]!;
    backends.set(held, known);
    return known;
  };
  client.acquireConnection = async () => {
    const signal = presentReader();
    signal?.throwIfAborted();
    const held = await acquire();
    if (!signal) return held;
    try {
      const { pid, start } = await backendOf(held);
      signal.throwIfAborted();
      uses.set(
        held,
        cancelOnAbort(held, signal, () => sql.query(CANCEL, [pid, start])),
      );
      return held;
    } catch (error) {
      await release(held);
      throw error;
    }
  };
  client.releaseConnection = async (held: Connection) => {
    await uses.get(held)?.end();
    uses.delete(held);
    await release(held);
  };
  return knex;
}

function cancelOnAbort(held: Connection, signal: AbortSignal, cancel: () => Promise<unknown>): Use {
  let cancelled: Promise<unknown> | undefined;
  const onAbort = () => {
    // Knex's pool does not hand out a connection that has this mark.
    held.__knex__disposed = signal.reason;
    // If the cancellation fails, the read continues until its timeout.
    cancelled = cancel().catch(() => undefined);
  };
  signal.addEventListener('abort', onAbort, { once: true });
  return {
    async end() {
      signal.removeEventListener('abort', onAbort);
      await cancelled;
    },
  };
}
