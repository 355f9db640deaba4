import { statfs } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { loadOrCreateMasterKey } from '../crypto/master-key.ts';
import type { Logger } from '../domain/ports/logger.ts';
import { clusterDirectory, hasCluster } from '../storage/embedded-postgres/cluster.ts';
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from '../storage/embedded-postgres/embedded-postgres.ts';
import { type Config, ConfigError } from './config.ts';

/** How the system, SQLite and PostgreSQL say that a disk is full. */
const FULL = /ENOSPC|EDQUOT|no space left on device|quota exceeded|disk is full/i;

/** The master key of the configuration, or the one that is kept in DATA_DIR. Throws `ConfigError` when it cannot be. */
export function masterKeyOf({ masterKey, dataDir }: Config): Promise<Buffer> {
  return masterKey ? Promise.resolve(masterKey) : within(dataDir, loadOrCreateMasterKey(dataDir));
}

/** The PostgreSQL in DATA_DIR, running. Throws `ConfigError` when that is no directory to work in. */
export function embeddedPostgresOf({ dataDir }: Config, logger: Logger): Promise<EmbeddedPostgres> {
  return within(dataDir, startEmbeddedPostgres({ dataDir, database: 'gateway', logger }));
}

/**
 * Throws `ConfigError` where the embedded PostgreSQL would have to be made first: who asks something of a gateway in the
 * wrong directory wants to hear that, and not a new database that is empty.
 */
export async function requireCluster({ databaseUrl, dataDir }: Config): Promise<void> {
  if (databaseUrl !== undefined || (await hasCluster(dataDir))) return;
  throw new ConfigError(
    `DATA_DIR is ${JSON.stringify(dataDir)}, but there is no database of a gateway in ` +
      `${resolve(await clusterDirectory(dataDir))}. Set DATA_DIR to the directory of the gateway, or DATABASE_URL to its ` +
      'database; npm start, and the commands migrate and account create, make a new one.',
  );
}

/** The directory that holds DATA_DIR's cluster, and how many MB its disk has left; undefined where none can tell. */
export async function roomOf(dataDir: string): Promise<{ readonly place: string; readonly freeMb?: number }> {
  const place = dirname(await clusterDirectory(dataDir));
  const disk = await statfs(place).catch(() => undefined);
  return disk ? { place, freeMb: Math.floor((disk.bavail * disk.bsize) / 2 ** 20) } : { place };
}

/** What to tell of an error that says that no room is left where DATA_DIR keeps its files; undefined for any other. */
export async function faultOfFullDisk(dataDir: string, cause: unknown): Promise<ConfigError | undefined> {
  if (!FULL.test((cause as Error).message)) return undefined;
  const { place, freeMb } = await roomOf(dataDir);
  const free = freeMb === undefined ? '' : ` (${freeMb} MB are free)`;
  return new ConfigError(
    `DATA_DIR is ${JSON.stringify(dataDir)}, but no room is left in ${place}${free}. A new gateway takes 60 MB there, ` +
      'and one in use up to 1 GB more than its data. Make room, or move the directory to a larger disk and set ' +
      'DATA_DIR to where it is then.',
    { cause },
  );
}

/** Names the variable where the file system refuses. */
async function within<T>(dataDir: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (cause) {
    const full = await faultOfFullDisk(dataDir, cause);
    if (full) throw full;
    const { code, syscall, path, message } = cause as NodeJS.ErrnoException;
    const isOfFiles = code !== undefined && path !== undefined && !syscall?.startsWith('spawn');
    if (!isOfFiles) throw cause;
    throw new ConfigError(
      `DATA_DIR is ${JSON.stringify(dataDir)}, but must be a directory that can be made, or read and written by ` +
        `this user (${message}).`,
      { cause },
    );
  }
}
