/**
 * Starts one PostgreSQL for the whole run of jest. Its version is TEST_POSTGRES (set by `npm run test:postgres`).
 * Default: the packaged one. If TEST_DATABASE_URL is set, that server is used and none is started. jest's workers find
 * the address in TEST_PG as JSON: host, port, user, database and perhaps password.
 */
import { execFileSync } from 'node:child_process';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createTemplate } from './database.ts';
import { startPostgresVersion, type TestPostgres } from './postgres-versions.ts';

declare global {
  /** Read by global-teardown.ts, which runs in the same process. */
  var stopTestRun: (() => Promise<void>)[] | undefined;
}

export default async function globalSetup(): Promise<void> {
  // The tests' gateways serve the built console, explorer and docs. Build what is out of date.
  execFileSync(process.execPath, ['tools/build-when-old.js', 'console', 'explorer', 'docs'], {
    stdio: 'inherit',
  });
  // Directory for a build of the gateway. The first test that starts a process builds it, and all others use it
  // (server-process.ts).
  const build = await mkdtemp(join(tmpdir(), 'gateway-build-'));
  await chmod(build, 0o755);
  process.env.TEST_BUILD_DIR = build;
  globalThis.stopTestRun = [...(globalThis.stopTestRun ?? []), () => rm(build, { recursive: true })];
  const { TEST_DATABASE_URL: url, TEST_POSTGRES: version } = process.env;
  if (url) {
    await createTemplate(connectionOf(url));
    process.env.TEST_PG = JSON.stringify(connectionOf(url));
    return;
  }
  await provideTestPostgres('TEST_PG', version === undefined ? undefined : Number(version));
}

/**
 * Starts a server with the template database. Sets the environment variable `variable` to its address for jest's
 * workers.
 */
export async function provideTestPostgres(variable: string, version?: number): Promise<void> {
  const postgres = await startPostgresVersion(version, { isFresh: true });
  globalThis.stopTestRun = [...(globalThis.stopTestRun ?? []), () => postgres.stop()];
  await createTemplate(postgres.connection);
  process.env[variable] = JSON.stringify(postgres.connection);
}

function connectionOf(url: string): TestPostgres['connection'] {
  const { hostname, port, username, password, pathname } = new URL(url);
  return {
    host: hostname,
    port: Number(port || 5432),
    user: decodeURIComponent(username),
    database: decodeURIComponent(pathname.slice(1)),
    ...(password ? { password: decodeURIComponent(password) } : {}),
  };
}
