/**
 * One PostgreSQL for the whole run of jest. Workers find it in TEST_PG: JSON with host, port, user, database
 * and perhaps password. With TEST_DATABASE_URL set, it is that server instead of an embedded one.
 */
import { execFileSync } from 'node:child_process';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Logger } from '../../src/domain/ports/logger.ts';
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from '../../src/storage/embedded-postgres/embedded-postgres.ts';
import { createTemplate } from './database.ts';

type Connection = EmbeddedPostgres['connection'];

declare global {
  /** Set here for global-teardown.ts, which runs in the same process. */
  var stopTestPostgres: (() => Promise<void>) | undefined;
}

export default async function globalSetup(): Promise<void> {
  // Served by the gateways of the tests from where the build puts it.
  execFileSync(process.execPath, ['tools/build-when-old.js', 'console'], { stdio: 'inherit' });
  const url = process.env.TEST_DATABASE_URL;
  const connection = url ? connectionOf(url) : await startTestPostgres();
  await createTemplate(connection);
  process.env.TEST_PG = JSON.stringify(connection);
}

async function startTestPostgres(): Promise<Connection> {
  const dataDir = await mkdtemp(join(tmpdir(), 'gateway-test-'));
  // Under root another user runs the server, and must be able to enter.
  await chmod(dataDir, 0o755);
  const postgres = await startEmbeddedPostgres({
    dataDir,
    database: 'gateway_test',
    logger: problemsOnly,
    settings: { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', max_connections: '200' },
  });
  globalThis.stopTestPostgres = async () => {
    await postgres.stop();
    await rm(dataDir, { recursive: true, force: true });
    if (process.platform !== 'win32') await rm(postgres.connection.host, { recursive: true, force: true });
  };
  return postgres.connection;
}

function connectionOf(url: string): Connection {
  const { hostname, port, username, password, pathname } = new URL(url);
  return {
    host: hostname,
    port: Number(port || 5432),
    user: decodeURIComponent(username),
    database: decodeURIComponent(pathname.slice(1)),
    ...(password ? { password: decodeURIComponent(password) } : {}),
  };
}

const silent = () => undefined;
const problemsOnly: Logger = {
  debug: silent,
  info: silent,
  warn: (fields, message) => console.warn(message, fields),
  error: (fields, message) => console.error(message, fields),
  child: () => problemsOnly,
};
