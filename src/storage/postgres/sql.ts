import knexModule, { type Knex } from 'knex';
import pg from 'pg';
import type { Logger } from '../../domain/ports/logger.ts';
import { presentQuery, presentReader } from '../../runtime/read-scope.ts';
import { arrayLiteral } from './array-literal.ts';
import type { DatabaseConnection } from './connection.ts';
import { DatabaseServers, primaryMoved } from './database-servers.ts';
import { type BoundStatement, isUndecided, Pipeline, READ_ON_DISK } from './pipeline.ts';
import { setSession } from './session-settings.ts';
import { endWhenUnanswered, isUnanswered } from './unanswered.ts';

// Read `bigint` as a number. Amounts, sequences and counts stay far below 2^53. A larger value must throw, because
// rounding would corrupt it.
pg.types.setTypeParser(pg.types.builtins.INT8, (text) => {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new Error(`bigint ${text} is out of range`);
  return value;
});

/**
 * Lets the driver send statements without waiting for the answer to the previous one. Knex's types omit this option.
 */
const PIPELINED: object = { pipeline: true };

/** Name of the event that reports a callback which threw after its transaction had ended. */
const CALLBACK_ERROR = 'callback-error';
/** Name of the event that says that the existing connections of a pool are useless. */
const USELESS = 'useless-connections';

/**
 * Default of DATABASE_POOL_SIZE: the connections of a process for requests and jobs. Those for NOTIFY and for reads of
 * dashboards (`READ_POOL_SIZE`) come on top.
 */
export const POOL_SIZE = 12;
/**
 * A connection without an answer for this long, in ms, is considered dead. PostgreSQL cancels a statement earlier
 * (session-settings.ts).
 */
const STATEMENT_TIMEOUT_MS = 15_000;

export interface PoolOptions {
  readonly poolSize?: number;
  /** A new connection that is not ready within this time, in ms, is given up. */
  readonly connectTimeoutMs?: number;
  /** A connection without an answer for this long, in ms, is closed. 0: never, for long work. */
  readonly statementTimeoutMs?: number;
  /** PostgreSQL's time limit of a statement, if this pool has a shorter limit than other sessions. */
  readonly serverTimeout?: string;
  /** Name of the connections in `pg_stat_activity`. */
  readonly name?: string;
}

/** Connections of a pool that are lost within this time after another one are lost for the same reason, in ms. */
const LOST_TOGETHER_MS = 1_000;

/**
 * Creates the pool of connections. An idle connection that breaks is only logged, because the pool replaces it. After a
 * statement without an answer, or one refused as read-only, all existing connections are replaced.
 */
export function createKnex(connection: DatabaseConnection, logger: Logger, options: PoolOptions = {}): Knex {
  let lostAt = Number.NEGATIVE_INFINITY;
  /** A server that ends takes all connections of the pool with it: one warning says so, the others are details. */
  const tellOfLoss = (error: Error) => {
    const isFirst = performance.now() - lostAt > LOST_TOGETHER_MS;
    lostAt = performance.now();
    if (isFirst) logger.warn({ err: error }, 'database connection lost');
    else logger.debug({ err: error }, 'database connection lost');
  };
  const { poolSize = POOL_SIZE, statementTimeoutMs = STATEMENT_TIMEOUT_MS } = options;
  const connections = new Set<PooledClient>();
  const common = {
    ...PIPELINED,
    application_name: options.name ?? 'messaging-gateway',
    connectionTimeoutMillis: options.connectTimeoutMs ?? 5_000,
    keepAlive: true,
  };
  const knex = knexModule({
    client: 'pg',
    // Without this setting, Knex writes to stdout.
    log: {
      warn: (detail: unknown) => logger.debug({ detail: String(detail) }, 'knex'),
      error: (detail: unknown) => logger.warn({ detail: String(detail) }, 'knex'),
      deprecate: () => undefined,
      debug: () => undefined,
    },
    connection: {
      ...(typeof connection === 'string' && { connectionString: connection }),
      ...(typeof connection === 'object' && !(connection instanceof DatabaseServers) && connection),
      ...common,
    },
    pool: {
      min: 0,
      max: poolSize,
      acquireTimeoutMillis: 5_000,
      idleTimeoutMillis: 30_000,
      afterCreate(client: PooledClient, done: (error: Error | null, client: pg.Client) => void) {
        connections.add(client);
        endWhenUnanswered(client, statementTimeoutMs);
        client.on('end', () => connections.delete(client));
        client.on('error', tellOfLoss);
        setSession(client, statementTimeoutMs > 0, options.serverTimeout).then(
          () => done(null, client),
          (error: Error) => {
            // Knex discards the connection after this error.
            client.end().catch(() => undefined);
            done(error, client);
          },
        );
      },
    },
  });
  if (connection instanceof DatabaseServers) connectToPrimary(knex, connection, common, connections);
  knex.on('query-error', (error: unknown) => {
    if (isUseless(error)) replaceConnections(knex, error);
  });
  knex.on(USELESS, (why: unknown) => {
    for (const client of connections) client.__knex__disposed = why;
  });
  knex.on(CALLBACK_ERROR, (error: unknown) =>
    logger.error({ err: error }, 'a callback failed after its transaction had ended'),
  );
  return knex;
}

/** Replaces all connections of a pool that was made with `createKnex`. Those in use are closed after their use. */
export function replaceConnections(knex: Knex, why: unknown): void {
  knex.emit(USELESS, why);
}

/** A connection. Knex's pool does not hand it out if it has the mark `__knex__disposed`. */
type PooledClient = pg.Client & { __knex__disposed?: unknown };
/** The types of `pg` omit the socket. */
type DriverClient = pg.Client & { readonly connection: { readonly stream: { destroy(error: Error): void } } };

/**
 * Connects the pool to the primary of several servers. When another server becomes the primary, connections to the
 * former primary are closed. Statements that wait for its answer fail.
 */
function connectToPrimary(
  knex: Knex,
  servers: DatabaseServers,
  common: pg.ClientConfig,
  connections: ReadonlySet<PooledClient>,
): void {
  const { client } = knex;
  const configs = new WeakMap<pg.Client, pg.ClientConfig>();
  const connect: () => Promise<pg.Client> = client.acquireRawConnection.bind(client);
  client.acquireRawConnection = async () => {
    const config = await servers.primary();
    try {
      client.connectionSettings = { ...config, ...common };
      const made = await connect();
      configs.set(made, config);
      await servers.confirm(made);
      return made;
    } catch (error) {
      servers.doubt();
      throw error;
    }
  };
  knex.on('query-error', (error: unknown) => {
    if (isUseless(error)) servers.doubt();
  });
  servers.onMove(() => {
    for (const made of connections) {
      const config = configs.get(made);
      if (config && !servers.isPrimary(config))
        (made as DriverClient).connection.stream.destroy(primaryMoved());
    }
  });
}

/**
 * True if the existing connections are useless, because PostgreSQL does not answer or they are read-only. A read-only
 * connection stays so, even if the database accepts writes again or another server has become the primary.
 */
const isUseless = (error: unknown) =>
  isUnanswered(error) || (error as { code?: unknown } | undefined)?.code === '25006';

/** A named statement. PostgreSQL parses and plans it once for each connection. */
export interface Statement {
  readonly name: string;
  readonly text: string;
}

const statements: Statement[] = [];

/** Defines a frequent statement. The name must be unique in the project. */
export function statement(name: string, text: string): Statement {
  const made = { name, text };
  statements.push(made);
  return made;
}

/** Returns all statements that were defined with `statement`. */
export const knownStatements = (): readonly Statement[] => statements;

/** Sends notifications. Parameters: the channels, and a payload for each of them. */
const NOTIFY = statement(
  'notify',
  'SELECT pg_notify(channel, payload) FROM unnest($1::text[], $2::text[]) AS n (channel, payload)',
);

const SNAPSHOT = statement('snapshot', 'SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY');

/** A standby that may serve reads in place of the primary. */
export interface ReplicaReads {
  /** Runs `read` on a connection to the standby. Resolves with undefined if the primary must serve the read. */
  read<T>(read: (connection: pg.Client) => Promise<T>): Promise<{ readonly result: T } | undefined>;
}

/** Thrown if a read needs the primary, but its caller was recognised without it (R520). */
class PrimaryNotAsked extends Error {
  /** The same code as if there was no primary. */
  readonly code = '57P03';
}

interface SqlOptions {
  /** The connection of a transaction, or of a replica. */
  readonly connection?: pg.Client;
  readonly reads?: Knex;
  readonly replica?: ReplicaReads;
  /** True if `connection` leads to a replica. */
  readonly isOnReplica?: boolean;
}

/** Runs queries, either on the pool or on the connection of one transaction. All stores use it. */
export class Sql {
  readonly #main: Knex;
  readonly #reads: Knex | undefined;
  readonly #replica: ReplicaReads | undefined;
  readonly #isOnReplica: boolean;
  readonly #connection: pg.Client | undefined;
  readonly #pipeline: Pipeline | undefined;
  readonly #notices: { readonly channel: string; readonly payload: string }[] = [];
  readonly #onEnd: ((isCommitted: boolean) => void)[] = [];
  /** The statements sent in this transaction, in order. Each promise resolves with the failure, or undefined. */
  readonly #sent: Promise<{ readonly error: unknown } | undefined>[] = [];

  /**
   * Outside transactions, reads of dashboards (`presentReader`) use the pool `reads`. Their prepared statements and
   * snapshots use `replica` first.
   */
  constructor(knex: Knex, { connection, reads, replica, isOnReplica = false }: SqlOptions = {}) {
    this.#main = knex;
    this.#reads = reads;
    this.#replica = replica;
    this.#isOnReplica = isOnReplica;
    this.#connection = connection;
    this.#pipeline = connection && Pipeline.of(connection);
  }

  /** The pool for the present statement. */
  get #knex(): Knex {
    if (!this.#reads || !presentReader()) return this.#main;
    if (presentQuery()?.withoutPrimary) throw new PrimaryNotAsked('Only a replica may serve this request');
    return this.#reads;
  }

  /** Starts a query with Knex's query builder. Inside a transaction, it runs in that transaction. */
  table<Row extends object>(name: string): Knex.QueryBuilder<Row, Row[]> {
    const query = this.#knex<Row>(name) as unknown as Knex.QueryBuilder<Row, Row[]>;
    return this.#connection ? query.connection(this.#connection) : query;
  }

  /** Returns the number of rows that a query of the query builder matches. */
  async count<Row extends object>(query: Knex.QueryBuilder<Row, Row[]>): Promise<number> {
    const counted: { count: number }[] = await query.clone().select(this.#knex.raw('count(*) AS count'));
    return counted[0]?.count ?? 0;
  }

  /** Returns an SQL fragment for the query builder. */
  raw(fragment: string, bindings: readonly Knex.RawBinding[] = []): Knex.Raw {
    return this.#knex.raw(fragment, bindings);
  }

  /** Runs a prepared statement and returns its rows. */
  async query<Row extends object>(prepared: Statement, values: readonly unknown[]): Promise<Row[]> {
    const bound = bind(prepared, values);
    if (this.#pipeline) return this.#pipeline.add<Row>(bound);
    const served = await this.#replica?.read((connection) => Pipeline.of(connection).add<Row>(bound));
    if (served) return served.result;
    return this.#onConnection((connection) => Pipeline.of(connection).add<Row>(bound));
  }

  /**
   * Runs a prepared statement whose rows go to a client. Resolves when everything that it may have seen is on the disk.
   * Otherwise a client could see a commit that is lost in a crash of PostgreSQL. In a transaction the rows arrive at
   * once, and the commit waits for the disk.
   */
  async queryOnDisk<Row extends object>(prepared: Statement, values: readonly unknown[]): Promise<Row[]> {
    // A standby receives only what is on the primary's disk.
    if (this.#isOnReplica) return this.query(prepared, values);
    const bound = bind(prepared, values);
    if (this.#pipeline) {
      this.#pipeline.tellWhatIsRead();
      return this.#pipeline.add<Row>(bound);
    }
    const served = await this.#replica?.read((connection) => Pipeline.of(connection).add<Row>(bound));
    if (served) return served.result;
    return this.#onConnection((connection) => Pipeline.of(connection).addOnDisk<Row>(bound));
  }

  /**
   * Does what `queryOnDisk` does for reads with Knex's query builder. `read` gets one connection, and that connection
   * then waits for the disk.
   */
  async readOnDisk<T>(read: (sql: Sql) => Promise<T>): Promise<T> {
    if (this.#isOnReplica) return read(this);
    if (this.#pipeline) {
      this.#pipeline.tellWhatIsRead();
      return read(this);
    }
    return this.#onConnection(async (connection) => {
      const result = await read(new Sql(this.#main, { connection }));
      await Pipeline.of(connection).add(READ_ON_DISK);
      return result;
    });
  }

  /**
   * Runs a prepared statement whose result is not needed. In a transaction, it does not wait for the answer. The
   * transaction fails if the statement fails, and later statements see its effect.
   */
  async execute(prepared: Statement, values: readonly unknown[]): Promise<void> {
    if (this.#pipeline) this.#add(bind(prepared, values));
    else await this.query(prepared, values);
  }

  /** Runs a prepared statement whose rows are needed only after the commit. Do not await the rows before the commit. */
  send<Row extends object>(prepared: Statement, values: readonly unknown[]): Promise<Row[]> {
    return this.#add(bind(prepared, values));
  }

  /** This transaction, as an object that runs statements without rows. pg-boss uses it. */
  get sender() {
    return {
      query: async (bound: { name?: string; text: string; values?: unknown[] }) => {
        this.#add(bound);
        return { rows: [] };
      },
    };
  }

  /** Sends a statement of a transaction, and remembers whether it fails. */
  #add<Row>(bound: BoundStatement): Promise<Row[]> {
    if (!this.#pipeline) throw new Error('only a transaction sends');
    const rows = this.#pipeline.add<Row>(bound);
    this.#sent.push(
      rows.then(
        () => undefined,
        (error: unknown) => ({ error }),
      ),
    );
    return rows;
  }

  /** Runs `work` on one connection, without a transaction. */
  onOneConnection<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    return this.#onConnection((connection) => work(new Sql(this.#main, { connection })));
  }

  /** Returns the failure of the first statement that failed. Later failures are only its consequences. */
  async #failure(): Promise<{ readonly error: unknown } | undefined> {
    return (await Promise.all(this.#sent)).find((failure) => failure !== undefined);
  }

  /** The pool, for statements that each take a connection of their own. */
  get pool() {
    return {
      query: (config: { name?: string; text: string; values?: unknown[] }) =>
        this.#onConnection(async (connection) => {
          try {
            return await connection.query(config);
          } catch (error) {
            // An unnamed query may contain BEGIN and COMMIT. If such a query fails, its transaction stays open. Roll
            // the transaction back, so that the next user of the connection does not continue it.
            if (config.name === undefined && !isUnanswered(error))
              await connection.query('ROLLBACK').catch(() => undefined);
            throw error;
          }
        }),
    };
  }

  /** Sends a notification when this transaction commits. Listeners may receive it before the commit is on the disk. */
  notify(channel: string, payload: string): void {
    if (!this.#pipeline) throw new Error('only a transaction notifies');
    this.#notices.push({ channel, payload });
  }

  /** Calls `callback` when this transaction has ended. `isCommitted` is false also if the outcome is unknown. */
  onEnd(callback: (isCommitted: boolean) => void): void {
    this.#onEnd.push(callback);
  }

  /**
   * Runs `work` as one transaction on one connection. Rolls back if `work` throws. Inside a transaction, `work` is a
   * part of it: it commits with the outer transaction, and after a failed statement no other statement can run.
   */
  async transaction<T>(work: (sql: Sql, connection: pg.Client) => Promise<T>): Promise<T> {
    if (this.#connection) {
      const result = await work(this, this.#connection);
      const failure = await this.#failure();
      if (failure) throw failure.error;
      return result;
    }
    return onConnection(this.#main, (connection) =>
      new Sql(this.#main, { connection }).#whole((inside) => work(inside, connection)),
    );
  }

  /** Runs `work` as one transaction on the connection of this object, from its beginning to its end. */
  async #whole<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    const pipeline = this.#pipeline!;
    let isCommitted = false;
    try {
      pipeline.begin();
      const result = await work(this);
      this.#sendNotices();
      await pipeline.commit();
      const failure = await this.#failure();
      if (failure) throw failure.error;
      isCommitted = true;
      return result;
    } catch (error) {
      const failure = await this.#failure();
      // If the outcome of the commit is unknown, report that. Otherwise report the first statement that failed.
      const cause = failure && !isUndecided(error) ? failure.error : error;
      // If the rollback fails, the connection is broken, and the pool drops it at its next check.
      if (!isUnanswered(cause)) await pipeline.rollBack().catch(() => undefined);
      throw cause;
    } finally {
      this.#end(isCommitted);
    }
  }

  /**
   * Runs reads in one snapshot. Inside a transaction, `read` is a part of it, and each statement sees a snapshot of its
   * own. The reason: PostgreSQL sets the isolation level only at the beginning of a transaction.
   */
  async snapshot<T>(read: (sql: Sql) => Promise<T>): Promise<T> {
    if (this.#connection) return read(this);
    const inSnapshot = (connection: pg.Client, isOnReplica: boolean) =>
      new Sql(this.#main, { connection, isOnReplica }).#whole(async (inside) => {
        await inside.execute(SNAPSHOT, []);
        return read(inside);
      });
    const served = await this.#replica?.read((connection) => inSnapshot(connection, true));
    return served ? served.result : this.#onConnection((connection) => inSnapshot(connection, false));
  }

  /**
   * Runs the callbacks. An error of a callback is only logged. If it was thrown, a committed transaction would seem to
   * have failed, and the caller would run it again.
   */
  #end(isCommitted: boolean): void {
    for (const callback of this.#onEnd) {
      try {
        callback(isCommitted);
      } catch (error) {
        this.#knex.emit(CALLBACK_ERROR, error);
      }
    }
  }

  #sendNotices(): void {
    if (this.#notices.length === 0) return;
    const columns = [
      this.#notices.map(({ channel }) => channel),
      this.#notices.map(({ payload }) => payload),
    ];
    this.#add(bind(NOTIFY, columns));
    // PostgreSQL commits transactions with notifications one at a time. If each waited for the disk, they could not
    // share a disk write. So they commit first, and then wait for the disk.
    this.#pipeline?.letGoEarly();
  }

  #onConnection<T>(work: (connection: pg.Client) => Promise<T>): Promise<T> {
    return onConnection(this.#knex, work);
  }
}

async function onConnection<T>(knex: Knex, work: (connection: pg.Client) => Promise<T>): Promise<T> {
  const connection: pg.Client = await knex.client.acquireConnection();
  try {
    return await work(connection);
  } catch (error) {
    // Knex emits this event only for queries of its own query builder. So emit it here, too.
    if (isUseless(error)) knex.emit('query-error', error);
    throw error;
  } finally {
    await knex.client.releaseConnection(connection);
  }
}

/** True for arrays that `arrayLiteral` converts. The driver converts arrays of bytes. */
const isTextArray = (value: unknown): value is unknown[] =>
  Array.isArray(value) && !(value[0] instanceof Uint8Array);

function bind({ name, text }: Statement, values: readonly unknown[]) {
  return { name, text, values: values.map((value) => (isTextArray(value) ? arrayLiteral(value) : value)) };
}
