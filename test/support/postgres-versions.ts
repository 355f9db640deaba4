/**
 * PostgreSQL servers of the supported versions. Version 18 comes with the gateway, the others with
 * `test/postgres-versions`.
 */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile, rename, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import type { Logger } from '../../src/domain/ports/logger.ts';
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from '../../src/storage/embedded-postgres/embedded-postgres.ts';
import { makeDirectory, makeOnce } from './make-once.ts';

export interface TestPostgres {
  readonly connection: EmbeddedPostgres['connection'];
  /** The data directory of the server. */
  readonly cluster: string;
  /** Stops the server, and keeps its files. */
  halt(): Promise<void>;
  /** Kills the server with SIGKILL, and keeps its files. */
  crash(): Promise<void>;
  /** Stops the server and removes its files. */
  stop(): Promise<void>;
}

interface Wanted {
  /** Settings that override those of a test server. */
  readonly settings?: Record<string, string>;
  /** Creates the data directory at the given path, instead of copying the template's. */
  readonly prepare?: (cluster: string) => Promise<void>;
  /** True if initdb creates the data directory. Copies of the template have the template's system identifier. */
  readonly isFresh?: boolean;
}

/** Starts a server of a major version. Default: the packaged version. Its files are in a new directory. */
export async function startPostgresVersion(
  version?: number,
  { settings, prepare, isFresh = false }: Wanted = {},
): Promise<TestPostgres> {
  const dataDir = await makeDirectory(join(tmpdir(), 'gateway-test-'));
  const cluster = join(dataDir, 'postgres');
  const template = isFresh || prepare ? undefined : await templateCluster(version);
  if (template !== undefined) await promisify(execFile)('cp', ['-a', template, cluster]);
  await prepare?.(cluster);
  const postgres = await startEmbeddedPostgres({
    dataDir,
    database: 'gateway_test',
    logger: problemsOnly,
    settings: {
      fsync: 'off',
      synchronous_commit: 'off',
      full_page_writes: 'off',
      max_connections: '200',
      ...settings,
    },
    ...(version !== undefined && version < PACKAGED && { release: releaseOf(version) }),
  });
  return {
    connection: postgres.connection,
    cluster,
    halt: () => postgres.stop(),
    async crash() {
      const [pid] = (await readFile(join(cluster, 'postmaster.pid'), 'utf8')).split('\n');
      // Stop the watchdog first. It would start the killed server again.
      const stopped = postgres.stop();
      process.kill(Number(pid), 'SIGKILL');
      await stopped;
    },
    async stop() {
      await postgres.stop();
      await rm(dataDir, { recursive: true, force: true });
      if (process.platform !== 'win32') await rm(postgres.connection.host, { recursive: true, force: true });
    },
  };
}

const PACKAGED = 18;

/**
 * Returns the data directory of a server that was started and stopped once. All test files of a jest run share it:
 * initdb takes ten times longer than a copy. Undefined outside of jest.
 */
async function templateCluster(version = PACKAGED): Promise<string | undefined> {
  const shared = process.env.TEST_BUILD_DIR;
  if (shared === undefined) return undefined;
  return makeOnce(join(shared, `cluster-${version}`), async (into) => {
    const first = await startPostgresVersion(version, { isFresh: true });
    await first.halt();
    await rename(first.cluster, into);
    await first.stop();
  });
}

/** PostgreSQL has its builtin locale provider since version 17. Older servers use the locales of the C library. */
function releaseOf(version: number) {
  const entry = createRequire(import.meta.url).resolve(`postgres-${version}`);
  const directory = join(dirname(dirname(entry)), 'native');
  if (!existsSync(directory))
    throw new Error(`there are no binaries of PostgreSQL ${version} in ${directory}`);
  return { directory, localeArguments: ['--locale=C.UTF-8'] };
}

const silent = () => undefined;
const problemsOnly: Logger = {
  debug: silent,
  info: silent,
  warn: (fields, message) => console.warn(message, fields),
  error: (fields, message) => console.error(message, fields),
  child: () => problemsOnly,
};
