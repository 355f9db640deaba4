import { Client } from 'pg';
import { identityOf, SUPERUSER } from './cluster.ts';
import type { Endpoint } from './endpoint.ts';

const DUPLICATE_DATABASE = '42P04';
const UNIQUE_VIOLATION = '23505';
const CONNECT_TIMEOUT_MS = 5_000;

/**
 * Creates the database on the running server if it does not exist. Throws if the server is unreachable, or if it serves
 * another cluster. The latter happens when DATA_DIR is a copy and its postgres.json still names the original's server.
 */
export async function ensureDatabase(endpoint: Endpoint, cluster: string, database: string): Promise<void> {
  const client = new Client({
    ...endpoint,
    user: SUPERUSER,
    database: 'postgres',
    // Set this explicitly. Otherwise the environment variable PGSSLMODE would decide.
    ssl: false,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
  });
  // Ignore the event. If the server stops between two statements, the next statement fails.
  client.on('error', () => undefined);
  try {
    await client.connect();
    const settings = await client.query<{ data_directory: string }>('SHOW data_directory');
    const served = settings.rows[0]!.data_directory;
    if ((await identityOf(served)) !== (await identityOf(cluster))) {
      throw new Error(`the server at ${endpoint.host}:${endpoint.port} runs the cluster ${served}`);
    }
    const found = await client.query('SELECT 1 FROM pg_database WHERE datname = $1', [database]);
    if (found.rowCount === 0) await client.query(`CREATE DATABASE ${client.escapeIdentifier(database)}`);
  } catch (error) {
    // Another process was faster and created the database.
    const { code } = error as { code?: string };
    if (code !== DUPLICATE_DATABASE && code !== UNIQUE_VIOLATION) throw error;
  } finally {
    await client.end().catch(() => undefined);
  }
}
