import { randomBytes } from 'node:crypto';
import type { Knex } from 'knex';
import pg from 'pg';
import type { Logger } from '../../src/domain/ports/logger.ts';
import { PgBossQueue } from '../../src/queue/pg-boss-queue.ts';
import type { DatabaseConnection } from '../../src/storage/postgres/connection.ts';
import { migrate } from '../../src/storage/postgres/migrate.ts';
import { createKnex, Sql } from '../../src/storage/postgres/sql.ts';
import { machineClock } from './system.ts';

export interface ServerConnection {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly database: string;
  readonly password?: string;
}

const OLDEST_POSTGRES = 14;
const PACKAGED_POSTGRES = 18;
/** Name of the database that all test databases are cloned from. */
const TEMPLATE = 'gateway_template';

const silent = () => undefined;
export const silentLogger: Logger = {
  debug: silent,
  info: silent,
  warn: silent,
  error: silent,
  child: () => silentLogger,
};

declare global {
  /**
   * Name of the environment variable that holds the server of this jest project. jest.config.js sets it if it is not
   * TEST_PG.
   */
  var testServerVariable: string | undefined;
}

/** Returns the server that the global setup started. */
export function testServer(): ServerConnection {
  const variable = globalThis.testServerVariable ?? 'TEST_PG';
  const text = process.env[variable];
  if (text === undefined) throw new Error(`${variable} is missing: the global setup did not run`);
  return JSON.parse(text);
}

/** Returns the major version of that server. */
export function testVersion(): number {
  if (globalThis.testServerVariable !== undefined) return OLDEST_POSTGRES;
  return Number(process.env.TEST_POSTGRES ?? PACKAGED_POSTGRES);
}

export interface TestDatabase {
  readonly connection: ServerConnection;
  /** The same connection parameters as a DATABASE_URL. */
  readonly url: string;
  drop(): Promise<void>;
}

/** Creates a database for a test file: a clone of the migrated template, or an empty database. */
export async function createTestDatabase(template = TEMPLATE): Promise<TestDatabase> {
  const server = testServer();
  const name = `test_${randomBytes(6).toString('hex')}`;
  // Copying files takes less than half of the time of the default, which writes each page to the WAL. Version 14 knows
  // only the copy, and no option for it.
  const strategy = testVersion() > OLDEST_POSTGRES ? 'STRATEGY FILE_COPY' : '';
  await onServer(server, (client) =>
    client.query(`CREATE DATABASE ${name} TEMPLATE ${template} ${strategy}`),
  );
  const connection = { ...server, database: name };
  return {
    connection,
    url: databaseUrl(connection),
    drop: () => onServer(server, (client) => client.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)),
  };
}

/** Creates the template database. Applies all migrations and pg-boss's own. */
export async function createTemplate(server: ServerConnection): Promise<void> {
  await onServer(server, async (client) => {
    await client.query(`DROP DATABASE IF EXISTS ${TEMPLATE} WITH (FORCE)`);
    await client.query(`CREATE DATABASE ${TEMPLATE}`);
  });
  await withKnex({ ...server, database: TEMPLATE }, async (knex) => {
    await migrate(knex);
    const queue = new PgBossQueue({
      pool: new Sql(knex).pool,
      transaction: (work) => new Sql(knex).transaction((_, connection) => work(connection)),
      clock: machineClock,
      logger: silentLogger,
      listen: async () => async () => undefined,
    });
    await queue.start();
    await queue.stop();
  });
}

/** Runs `work` with a new connection pool, and closes the pool afterwards. */
export async function withKnex<T>(
  connection: DatabaseConnection,
  work: (knex: Knex) => Promise<T>,
): Promise<T> {
  const knex = createKnex(connection, silentLogger, { poolSize: 4 });
  try {
    return await work(knex);
  } finally {
    await knex.destroy();
  }
}

/** Returns the connection parameters as a DATABASE_URL. */
export function databaseUrl({ host, port, user, password, database }: ServerConnection): string {
  const secret = password === undefined ? '' : `:${encodeURIComponent(password)}`;
  return `postgres://${encodeURIComponent(user)}${secret}@${encodeURIComponent(host)}:${port}/${database}`;
}

async function onServer(
  server: ServerConnection,
  work: (client: pg.Client) => Promise<unknown>,
): Promise<void> {
  const client = new pg.Client({ ...server });
  await client.connect();
  try {
    await work(client);
  } finally {
    await client.end();
  }
}
