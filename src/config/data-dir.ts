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

/** The database in the embedded cluster. */
export const GATEWAY_DATABASE = 'gateway';

/** Messages of a full disk: the system's, SQLite's and PostgreSQL's. */
const FULL = /ENOSPC|EDQUOT|no space left on device|quota exceeded|disk is full/i;

/** The configured master key, or the one in DATA_DIR. Throws `ConfigError` when it cannot be read or created. */
export function masterKeyOf({ masterKey, dataDir }: Config): Promise<Buffer> {
  return masterKey ? Promise.resolve(masterKey) : within(dataDir, loadOrCreateMasterKey(dataDir));
}

/** Starts the PostgreSQL in DATA_DIR. Throws `ConfigError` when the directory cannot be used. */
export function embeddedPostgresOf({ dataDir }: Config, logger: Logger): Promise<EmbeddedPostgres> {
  return within(dataDir, startEmbeddedPostgres({ dataDir, database: GATEWAY_DATABASE, logger }));
}

/**
 * Throws `ConfigError` when DATA_DIR has no cluster yet: a command run in the wrong directory must not create an
 * empty database.
 */
export async function requireCluster({ databaseUrl, dataDir }: Config): Promise<void> {
  if (databaseUrl !== undefined || (await hasCluster(dataDir))) return;
  throw new ConfigError(
    `DATA_DIR is ${JSON.stringify(dataDir)}, but there is no database of a gateway in ` +
      `${resolve(await clusterDirectory(dataDir))}. Set DATA_DIR to the directory of the gateway, or DATABASE_URL to its ` +
      'database; npm start, and the commands migrate and account create, make a new one.',
  );
}

/** The directory of DATA_DIR's cluster, and the free MB on its disk, which are undefined if the system cannot say. */
export async function roomOf(dataDir: string): Promise<{ readonly place: string; readonly freeMb?: number }> {
  const place = dirname(await clusterDirectory(dataDir));
  const disk = await statfs(place).catch(() => undefined);
  return disk ? { place, freeMb: Math.floor((disk.bavail * disk.bsize) / 2 ** 20) } : { place };
}

/** The fault when `cause` says that the disk of DATA_DIR is full; undefined for any other error. */
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

/** Adds the name of the variable to an error of the file system. */
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
