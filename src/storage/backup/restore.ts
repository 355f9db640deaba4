/**
 * Restores a backup into a new cluster (PostgreSQL's data directory). PostgreSQL then applies the write-ahead log (WAL)
 * of the backup. The setting `gateway.restored_as` marks the copy: a gateway on a marked copy sends nothing until an
 * operator releases it (R230).
 */
import { randomUUID } from 'node:crypto';
import { appendFile, mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import pg from 'pg';
import type { Logger } from '../../domain/ports/logger.ts';
import { syncDirectory } from '../../runtime/sync-directory.ts';
import { clusterDirectory, placeCluster } from '../embedded-postgres/cluster.ts';
import { startEmbeddedPostgres } from '../embedded-postgres/embedded-postgres.ts';
import { giveTo, makePrivateDirectory, type ServerUser } from '../embedded-postgres/server-user.ts';
import { type BackupDescription, basesIn, isDirectory } from './backup-files.ts';
import { unpackBase } from './unpack.ts';

/**
 * PostgreSQL's `restore_command`. It always fails, because there is nothing to fetch: all WAL is already in the
 * cluster. It works in sh and cmd.
 */
const FETCH_NOTHING = 'exit 1';

export interface RestoreRequest {
  /** A base file, or a directory with bases. */
  readonly from: string;
  /**
   * If `from` is a directory: restore the newest base that started at this time or earlier. Undefined: the newest base.
   */
  readonly until: Date | undefined;
  readonly onProgress: (done: number, expected: number) => void;
}

interface Restored {
  readonly base: string;
  readonly description: BackupDescription;
  /**
   * The time of the last restored commit. Null if the WAL of the base has no commit, or if this process did not run the
   * recovery.
   */
  readonly lastChangeAt: string | null;
  /** Key files in the backup: their content by file name. */
  readonly keys: Readonly<Record<string, Buffer>>;
}

/** Reads a whole backup and compares its checksums. Writes nothing. */
export async function checkBackup(request: RestoreRequest): Promise<Restored> {
  const base = await baseFor(request);
  const { description, keys } = await unpackBase(base, { onProgress: request.onProgress });
  return { base, description, keys, lastChangeAt: null };
}

/**
 * Restores into the cluster of DATA_DIR, and starts the embedded server once so that it applies the WAL. Throws an
 * Error with the reason if it cannot, and then leaves nothing behind.
 */
export async function restoreIntoDataDir(
  request: RestoreRequest,
  dataDir: string,
  database: string,
  logger: Logger,
): Promise<Restored> {
  await mkdir(dataDir, { recursive: true });
  await refuseUsed(await clusterDirectory(dataDir));
  const base = await baseFor(request);
  const { directory, user } = await placeCluster(dataDir);
  await refuseUsed(directory);
  try {
    const { description, keys } = await layOut(request, base, directory, user, ({ embeddedOn, postgres }) => {
      const here = `${process.platform}-${process.arch}`;
      if (embeddedOn === null)
        throw new Error(
          `The backup is of your own PostgreSQL ${postgres}. Restore it with --to DIRECTORY, and start that PostgreSQL on it.`,
        );
      if (embeddedOn !== here)
        throw new Error(
          `The backup was made on ${embeddedOn}, and this is ${here}. PostgreSQL's files work on the same platform only.`,
        );
    });
    const lastChangeAt = await recover(dataDir, database, logger);
    return { base, description, keys, lastChangeAt };
  } catch (error) {
    await rm(directory, { recursive: true, force: true });
    throw error;
  }
}

/**
 * Restores into `directory`. The operator starts their own PostgreSQL there, which applies the WAL. Throws an Error
 * with the reason if it cannot, and then leaves nothing behind.
 */
export async function restoreIntoDirectory(request: RestoreRequest, directory: string): Promise<Restored> {
  await refuseUsed(directory);
  const base = await baseFor(request);
  try {
    const { description, keys } = await layOut(
      request,
      base,
      resolve(directory),
      { name: 'you' },
      () => undefined,
    );
    await appendFile(
      join(directory, 'postgresql.auto.conf'),
      Object.entries(RECOVERY_SETTINGS)
        .map(([name, value]) => `${name} = '${value}'\n`)
        .join(''),
    );
    return { base, description, keys, lastChangeAt: null };
  } catch (error) {
    await rm(directory, { recursive: true, force: true });
    throw error;
  }
}

async function layOut(
  { onProgress }: RestoreRequest,
  base: string,
  directory: string,
  user: ServerUser,
  check: (description: BackupDescription) => void,
) {
  const unfinished = `${directory}.restoring`;
  await rm(unfinished, { recursive: true, force: true });
  await mkdir(dirname(unfinished), { recursive: true });
  try {
    await makePrivateDirectory(unfinished, user);
    const own = (path: string) => giveTo(user, path);
    const unpacked = await unpackBase(base, { directory: unfinished, own, onProgress });
    check(unpacked.description);
    await writeFile(join(unfinished, 'recovery.signal'), '', { mode: 0o600 });
    await own(join(unfinished, 'recovery.signal'));
    const mark = `# Restored by the messaging gateway, which sends nothing until it is released.\ngateway.restored_as = '${randomUUID()}'\n`;
    await appendFile(join(unfinished, 'postgresql.auto.conf'), mark);
    await rm(directory, { recursive: true, force: true });
    await rename(unfinished, directory);
    await syncDirectory(dirname(directory));
    return unpacked;
  } catch (error) {
    await rm(unfinished, { recursive: true, force: true });
    throw error;
  }
}

const RECOVERY_SETTINGS = {
  restore_command: FETCH_NOTHING,
  // Recover along the timeline of the base, not along a newer one.
  recovery_target_timeline: 'current',
};

/** Starts the server, which applies the WAL and then accepts writes. Returns the time of the last commit. */
async function recover(dataDir: string, database: string, logger: Logger): Promise<string | null> {
  // With `hot_standby` on, the server would accept connections before it has applied all WAL.
  const settings = { ...RECOVERY_SETTINGS, hot_standby: 'off' };
  const postgres = await startEmbeddedPostgres({ dataDir, database, logger, settings });
  try {
    const client = new pg.Client(postgres.connection);
    await client.connect();
    try {
      const { rows } = await client.query<{ at: Date | null }>(
        'SELECT pg_last_xact_replay_timestamp() AS at',
      );
      return rows[0]?.at?.toISOString() ?? null;
    } finally {
      await client.end();
    }
  } finally {
    await postgres.stop();
  }
}

async function refuseUsed(directory: string): Promise<void> {
  const names = await readdir(directory).catch(() => []);
  if (names.length === 0) return;
  throw new Error(`${directory} is in use: restore into another directory, or move this one away.`);
}

/** Returns the path of the base to restore. Throws an Error if there is none. */
async function baseFor({ from, until }: RestoreRequest): Promise<string> {
  if (!(await isDirectory(from))) return from;
  const bases = await basesIn(from);
  const usable = until ? bases.filter(({ at }) => at <= until) : bases;
  const last = usable.at(-1);
  if (last) return last.path;
  const [oldest] = bases;
  throw new Error(
    oldest
      ? `${from} has no backup before ${oldest.at.toISOString()}.`
      : `There is no backup in ${from}. Name a file that ends in .tar.zst, or a directory with such files.`,
  );
}
