import knexModule, { type Knex } from 'knex';
import pg from 'pg';
import type { Logger } from '../domain/ports/logger.ts';

// Whole numbers come back as numbers: amounts, sequences and counts stay far below 2^53, and a value that
// does not is a fault to be seen, not to be rounded.
pg.types.setTypeParser(pg.types.builtins.INT8, (text) => {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new Error(`bigint ${text} is out of range`);
  return value;
});

/** Where PostgreSQL is: a connection string, or its parts (`host` may be a socket directory). */
export type DatabaseConnection =
  | string
  | { host: string; port: number; user: string; database: string; password?: string };

// A statement's plan, and that of each foreign key's check, is made once a connection, often while the tables are
// still small; a sequential scan chosen then would stay when they have grown. Every query here has its index.
const SESSION_SETTINGS = '-c plan_cache_mode=force_generic_plan -c enable_seqscan=off -c TimeZone=UTC';

/**
 * The pool. `plan_cache_mode` makes named statements keep one plan; an idle connection that breaks is only
 * logged, since the pool replaces it.
 */
export function createKnex(connection: DatabaseConnection, logger: Logger, poolSize = 12): Knex {
  const base = typeof connection === 'string' ? { connectionString: connection } : connection;
  return knexModule({
    client: 'pg',
    connection: {
      ...base,
      application_name: 'messaging-gateway',
      options: SESSION_SETTINGS,
      connectionTimeoutMillis: 5_000,
      keepAlive: true,
    },
    pool: {
      min: 0,
      max: poolSize,
      acquireTimeoutMillis: 5_000,
      idleTimeoutMillis: 30_000,
      afterCreate(client: pg.Client, done: (error: Error | null, client: pg.Client) => void) {
        client.on('error', (error) => logger.warn({ err: error }, 'database connection lost'));
        done(null, client);
      },
    },
  });
}

/** A statement with a name: PostgreSQL parses and plans it once a connection. */
export interface Statement {
  readonly name: string;
  readonly text: string;
}

/** Gives each hot statement a name of its own; the name must be unique within the project. */
export function statement(name: string, text: string): Statement {
  return { name, text };
}

/** Queries on the pool, or on one transaction's connection: what every store is built on. */
export class Sql {
  readonly #knex: Knex;
  readonly #connection: pg.Client | undefined;

  constructor(knex: Knex, connection?: pg.Client) {
    this.#knex = knex;
    this.#connection = connection;
  }

  /** Starts a query with Knex's builder, on this transaction when there is one. */
  table<Row extends object>(name: string): Knex.QueryBuilder<Row, Row[]> {
    const query = this.#knex<Row>(name) as unknown as Knex.QueryBuilder<Row, Row[]>;
    return this.#connection ? query.connection(this.#connection) : query;
  }

  /** How many rows a builder query matches. */
  async count<Row extends object>(query: Knex.QueryBuilder<Row, Row[]>): Promise<number> {
    const counted: { count: number }[] = await query.clone().select(this.#knex.raw('count(*) AS count'));
    return counted[0]?.count ?? 0;
  }

  /** An SQL fragment for a builder query. */
  raw(fragment: string, bindings: readonly Knex.RawBinding[] = []): Knex.Raw {
    return this.#knex.raw(fragment, bindings);
  }

  /** Runs a prepared statement and returns its rows. */
  async query<Row extends object>(prepared: Statement, values: readonly unknown[]): Promise<Row[]> {
    if (this.#connection) return run<Row>(this.#connection, prepared, values);
    const connection: pg.Client = await this.#knex.client.acquireConnection();
    try {
      return await run<Row>(connection, prepared, values);
    } finally {
      await this.#knex.client.releaseConnection(connection);
    }
  }

  /** The pool as a thing that runs statements: each on a connection of its own. */
  get pool() {
    return {
      query: async (config: { name?: string; text: string; values?: unknown[] }) => {
        const connection: pg.Client = await this.#knex.client.acquireConnection();
        try {
          return await connection.query(config);
        } finally {
          await this.#knex.client.releaseConnection(connection);
        }
      },
    };
  }

  /** Runs `work` on one connection inside BEGIN and COMMIT; rolls back when it throws. */
  async transaction<T>(work: (sql: Sql, connection: pg.Client) => Promise<T>): Promise<T> {
    const connection: pg.Client = await this.#knex.client.acquireConnection();
    try {
      await connection.query('BEGIN');
      const result = await work(new Sql(this.#knex, connection), connection);
      await connection.query('COMMIT');
      return result;
    } catch (error) {
      // A connection that cannot even roll back is broken; the pool drops it on its own validation.
      await connection.query('ROLLBACK').catch(() => undefined);
      throw error;
    } finally {
      await this.#knex.client.releaseConnection(connection);
    }
  }
}

async function run<Row extends object>(
  connection: pg.Client,
  prepared: Statement,
  values: readonly unknown[],
): Promise<Row[]> {
  const result = await connection.query<Row>({ name: prepared.name, text: prepared.text, values: [...values] });
  return result.rows;
}
