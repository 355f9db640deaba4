import { type Config, ConfigError } from './config.ts';
import { loadOrCreateMasterKey } from './crypto/master-key.ts';
import type { Logger } from './domain/ports/logger.ts';
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from './storage/embedded-postgres/embedded-postgres.ts';

/** The master key of the configuration, or the one that is kept in DATA_DIR. Throws `ConfigError` when it cannot be. */
export function masterKeyOf({ masterKey, dataDir }: Config): Promise<Buffer> {
  return masterKey ? Promise.resolve(masterKey) : within(dataDir, loadOrCreateMasterKey(dataDir));
}

/** The PostgreSQL in DATA_DIR, running. Throws `ConfigError` when that is no directory to work in. */
export function embeddedPostgresOf({ dataDir }: Config, logger: Logger): Promise<EmbeddedPostgres> {
  return within(dataDir, startEmbeddedPostgres({ dataDir, database: 'gateway', logger }));
}

/** Names the variable where the file system refuses. */
async function within<T>(dataDir: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (cause) {
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
