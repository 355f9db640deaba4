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

/** Name of the database in the embedded PostgreSQL cluster. */
export const GATEWAY_DATABASE = 'gateway';

/** Matches error messages of a full disk. They come from the operating system, SQLite or PostgreSQL. */
const FULL = /ENOSPC|EDQUOT|no space left on device|quota exceeded|disk is full/i;

/**
 * Returns the configured master key, or else the one in DATA_DIR. Creates it there if there is none. Throws
 * `ConfigError` if it cannot be read or created.
 */
export function masterKeyOf({ masterKey, dataDir }: Config): Promise<Buffer> {
  return masterKey ? Promise.resolve(masterKey) : within(dataDir, loadOrCreateMasterKey(dataDir));
}

/** Starts the PostgreSQL in DATA_DIR. Throws `ConfigError` if the directory cannot be used. */
export function embeddedPostgresOf({ dataDir }: Config, logger: Logger): Promise<EmbeddedPostgres> {
  return within(dataDir, startEmbeddedPostgres({ dataDir, database: GATEWAY_DATABASE, logger }));
}

/**
 * Throws `ConfigError` if DATA_DIR has no PostgreSQL cluster yet. Otherwise a command that runs in the wrong directory
 * would create an empty database there.
 */
export async function requireCluster({ databaseUrl, dataDir }: Config): Promise<void> {
  if (databaseUrl !== undefined || (await hasCluster(dataDir))) return;
  throw new ConfigError(
    `DATA_DIR is ${JSON.stringify(dataDir)}, but there is no database of a gateway in ` +
      `${resolve(await clusterDirectory(dataDir))}. Set DATA_DIR to the directory of the gateway, or DATABASE_URL to its ` +
      'database; npm start, and the commands migrate and account create, make a new one.',
  );
}

/**
 * Returns the directory that holds DATA_DIR's cluster, and the free space on its disk in MB. `freeMb` is absent if the
 * system does not tell it.
 */
export async function roomOf(dataDir: string): Promise<{ readonly place: string; readonly freeMb?: number }> {
  const place = dirname(await clusterDirectory(dataDir));
  const disk = await statfs(place).catch(() => undefined);
  return disk ? { place, freeMb: Math.floor((disk.bavail * disk.bsize) / 2 ** 20) } : { place };
}

/**
 * Returns an error that explains what to do if `cause` means that the disk of DATA_DIR is full. Undefined for any other
 * error.
 */
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

/** Awaits `work`. Turns an error of the file system into a `ConfigError` that names DATA_DIR. */
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
