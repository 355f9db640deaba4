/**
 * Restores a backup as a cluster that recovers to its end, or to a time. The mark `gateway.restored_as` in its
 * configuration makes a gateway hold the copy (R230).
 */
import { randomUUID } from 'node:crypto';
import { appendFile, mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import pg from 'pg';
import type { Logger } from '../../domain/ports/logger.ts';
import { clusterDirectory, placeCluster } from '../embedded-postgres/cluster.ts';
import { startEmbeddedPostgres } from '../embedded-postgres/embedded-postgres.ts';
import { giveTo, makePrivateDirectory, type ServerUser } from '../embedded-postgres/server-user.ts';
import { type BackupDescription, basesIn, isDirectory, syncDirectory } from './backup-files.ts';
import { unpackBase } from './unpack.ts';

/** Recovery reads the WAL in the cluster and fetches nothing, so this command always fails. It works in sh and cmd. */
const FETCH_NOTHING = 'exit 1';

export interface RestoreRequest {
  /** A base, or a directory with bases. */
  readonly from: string;
  /** In a directory, take the newest base that was complete at this time. Undefined: the newest. */
  readonly until: Date | undefined;
  readonly onProgress: (done: number, expected: number) => void;
}

interface Restored {
  readonly base: string;
  readonly description: BackupDescription;
  /** The time of the last change in it; null without a change since the base. */
  readonly lastChangeAt: string | null;
  /** Keys from the backup, by file name. */
  readonly keys: Readonly<Record<string, Buffer>>;
}

/** Reads and checks a whole backup without writing anything. */
export async function checkBackup(request: RestoreRequest): Promise<Restored> {
  const base = await baseFor(request);
  const { description, keys } = await unpackBase(base, { onProgress: request.onProgress });
  return { base, description, keys, lastChangeAt: null };
}

/**
 * Restores into the cluster of a DATA_DIR and lets the embedded server recover it. Throws an Error with the reason if
 * it cannot, and leaves nothing behind.
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
          `it is of a PostgreSQL ${postgres} of your own: restore it with --to DIRECTORY, and start that PostgreSQL on it`,
        );
      if (embeddedOn !== here)
        throw new Error(
          `it was made on ${embeddedOn}, and files of PostgreSQL fit no other than that; this is ${here}`,
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
 * Restores into `directory`, for the operator's own PostgreSQL to recover from. Throws an Error with the reason if it
 * cannot, and leaves nothing behind.
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
  // Along the timeline of the base.
  recovery_target_timeline: 'current',
};

/** Lets the server apply the WAL and accept writes. Returns the time of the last change. */
async function recover(dataDir: string, database: string, logger: Logger): Promise<string | null> {
  // Without this the server would be ready before all WAL is applied.
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

/** The base to start from. Throws an Error if there is none. */
async function baseFor({ from, until }: RestoreRequest): Promise<string> {
  if (!(await isDirectory(from))) return from;
  const bases = await basesIn(from);
  const usable = until ? bases.filter(({ at }) => at <= until) : bases;
  const last = usable.at(-1);
  if (last) return last.path;
  const [oldest] = bases;
  throw new Error(
    oldest
      ? `${from} reaches back to ${oldest.at.toISOString()} only.`
      : `There is no backup in ${from}: name a file that ends in .tar.zst, or a directory with such files.`,
  );
}
