/** Backup and restore of a gateway's database and keys. */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Config, ConfigError } from '../config/config.ts';
import { GATEWAY_DATABASE, masterKeyOf } from '../config/data-dir.ts';
import { createSecretBox, sealedUnder } from '../crypto/secret-box.ts';
import type { Logger } from '../domain/ports/logger.ts';
import { type BackupDescription, basesIn, KEY_FILES, SUFFIX } from '../storage/backup/backup-files.ts';
import { type BackupResult, takeBaseBackup } from '../storage/backup/base-backup.ts';
import { checkBackup, restoreIntoDataDir, restoreIntoDirectory } from '../storage/backup/restore.ts';
import { hasBase, wantsBase } from '../storage/backup/wal-files.ts';
import { keepWal } from '../storage/backup/wal-stream.ts';
import type { DatabaseConnection } from '../storage/postgres/connection.ts';
import { withDatabase } from './database.ts';

/** Called with two numbers of bytes: the bytes that are done, and the bytes that are expected. */
export type OnProgress = (done: number, expected: number) => void;

export interface BackupOptions {
  readonly to: string;
  readonly withKeys: boolean;
  readonly isFast: boolean;
  readonly onProgress: OnProgress;
}

/** Copies the database while the gateway runs (docs/operations/backup.md). */
export async function backUp(config: Config, logger: Logger, options: BackupOptions): Promise<BackupResult> {
  return withDatabase(config, logger, (connection) => takeBase(config, connection, options));
}

async function takeBase(
  config: Config,
  connection: DatabaseConnection,
  options: BackupOptions,
): Promise<BackupResult> {
  return takeBaseBackup({
    connection,
    to: options.to,
    embeddedOn: config.databaseUrl === undefined ? `${process.platform}-${process.arch}` : null,
    // An embedded server has only a small cache to write to the disk, so a fast checkpoint takes little time.
    isFast: options.isFast || config.databaseUrl === undefined,
    masterKey: nameOf(await masterKeyOf(config)),
    keys: options.withKeys ? await keysOf(config) : {},
    onProgress: options.onProgress,
  });
}

export interface ContinuousOptions extends BackupOptions {
  /** Aborts to end the backup. A base in progress is completed first. */
  readonly signal: AbortSignal;
  readonly baseEveryHours: number;
  readonly onBase: (made: BackupResult) => void;
  /** Called about every second. `until` is the latest time that a restore can reach. */
  readonly onKept: (until: Date) => void;
  /** Called if the server is unreachable or refuses the backup. The backup is then tried again. */
  readonly onFault: (error: unknown) => void;
}

const HOUR_MS = 3_600_000;
/** Pause in ms after a base that failed. */
const PAUSE_MS = 60_000;

/**
 * Keeps the write-ahead log (WAL) next to the bases until `signal` aborts. Takes a base at the start, unless the kept
 * WAL continues an existing base. Later takes a base every `baseEveryHours`.
 */
export async function backUpContinuously(
  config: Config,
  logger: Logger,
  options: ContinuousOptions,
): Promise<void> {
  const { to, signal, onBase, onKept, onFault } = options;
  if (to.endsWith(SUFFIX)) throw new ConfigError('With --continuous, --to is a directory.');
  const newest = (await basesIn(to)).at(-1);
  let dueAt = newest ? newest.at.getTime() + options.baseEveryHours * HOUR_MS : 0;
  await withDatabase(config, logger, async (connection) => {
    let isBusy = false;
    let copying = Promise.resolve();
    // Take a base only after the WAL stream has started. Otherwise the WAL between the base and the start of the stream
    // could be missing.
    const takeDueBase = async () => {
      if (Date.now() < dueAt && !(await wantsBase(to))) return;
      const at = Date.now();
      dueAt = at + PAUSE_MS;
      const made = await takeBase(config, connection, options);
      await hasBase(to);
      dueAt = at + options.baseEveryHours * HOUR_MS;
      onBase(made);
    };
    await keepWal({
      connection,
      to,
      signal,
      onFault,
      onKept(until) {
        onKept(until);
        if (isBusy || signal.aborted) return;
        isBusy = true;
        copying = takeDueBase()
          .catch(onFault)
          .finally(() => {
            isBusy = false;
          });
      },
    });
    await copying;
  });
}

const nameOf = (masterKey: Buffer): string => sealedUnder(createSecretBox(masterKey).seal(''));

/** Returns the keys to include in a backup, from DATA_DIR or the environment. */
async function keysOf(config: Config): Promise<Record<string, Buffer>> {
  const keys: Record<string, Buffer> = {
    'master.key': Buffer.from(`${(await masterKeyOf(config)).toString('base64')}\n`),
  };
  const vapid = await readFile(join(config.dataDir, 'vapid.json')).catch(() => undefined);
  if (vapid) keys['vapid.json'] = vapid;
  return keys;
}

export interface RestoreOptions {
  readonly from: string;
  readonly until: Date | undefined;
  /** Directory for a PostgreSQL that the operator runs. Undefined: restore into DATA_DIR. */
  readonly to: string | undefined;
  /** True: only read and check the backup, restore nothing. */
  readonly isCheck: boolean;
  readonly onProgress: OnProgress;
}

export interface RestoreReport {
  readonly base: string;
  readonly description: BackupDescription;
  readonly lastChangeAt: string | null;
  /** Directory of the restored files. Null after a check. */
  readonly directory: string | null;
  /**
   * True if the gateway's master key (configured or in DATA_DIR) is the one of the backup. Null if there is no master
   * key yet.
   */
  readonly isMasterKeyRight: boolean | null;
}

/** Restores or checks a backup. If that is impossible, throws an Error with the reason and leaves no files behind. */
export async function restore(
  config: Config,
  logger: Logger,
  options: RestoreOptions,
): Promise<RestoreReport> {
  const { from, until, to, isCheck, onProgress } = options;
  const request = { from, until, onProgress };
  if (!isCheck && to === undefined && config.databaseUrl !== undefined) {
    throw new ConfigError(
      'DATABASE_URL is set, so the gateway uses a PostgreSQL of your own: restore with --to DIRECTORY and start that ' +
        'PostgreSQL on it, or unset DATABASE_URL to restore into DATA_DIR.',
    );
  }
  const restored = isCheck
    ? await checkBackup(request)
    : to === undefined
      ? await restoreIntoDataDir(request, config.dataDir, GATEWAY_DATABASE, logger)
      : await restoreIntoDirectory(request, to);
  if (!isCheck) await keepKeys(config, restored.keys);
  const { base, description, lastChangeAt } = restored;
  const directory = isCheck ? null : (to ?? config.dataDir);
  const masterKey = config.masterKey ?? (await masterKeyIn(config.dataDir));
  const isMasterKeyRight = masterKey ? nameOf(masterKey) === description.masterKey : null;
  return { base, description, lastChangeAt, directory, isMasterKeyRight };
}

async function masterKeyIn(dataDir: string): Promise<Buffer | undefined> {
  const text = await readFile(join(dataDir, 'master.key'), 'utf8').catch(() => undefined);
  return text === undefined ? undefined : Buffer.from(text.trim(), 'base64');
}

/** Writes the keys of a backup into DATA_DIR. Keys that exist there are not overwritten. */
async function keepKeys({ dataDir }: Config, keys: Readonly<Record<string, Buffer>>): Promise<void> {
  await mkdir(dataDir, { recursive: true });
  for (const [name, content] of Object.entries(keys)) {
    if (!KEY_FILES.includes(name)) continue;
    await writeFile(join(dataDir, name), content, { mode: 0o600, flag: 'wx', flush: true }).catch(
      (error: NodeJS.ErrnoException) => {
        if (error.code !== 'EEXIST') throw error;
      },
    );
  }
}
