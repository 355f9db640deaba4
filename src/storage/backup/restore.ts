/**
 * Restores a backup into a new cluster (PostgreSQL's data directory). PostgreSQL then applies the write-ahead log (WAL)
 * of the backup. The setting `gateway.restored_as` marks the copy: a gateway on a marked copy sends nothing until an
 * operator releases it (R230).
 */
import { randomUUID } from 'node:crypto';
import { appendFile, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import pg from 'pg';
import type { Logger } from '../../domain/ports/logger.ts';
import { syncDirectory } from '../../runtime/sync-directory.ts';
import { clusterDirectory, placeCluster } from '../embedded-postgres/cluster.ts';
import { startEmbeddedPostgres } from '../embedded-postgres/embedded-postgres.ts';
import { giveTo, makePrivateDirectory, type ServerUser } from '../embedded-postgres/server-user.ts';
import { type BackupDescription, basesIn, isDirectory } from './backup-files.ts';
import { unpackBase } from './unpack.ts';
import { layOutWal } from './wal-files.ts';

/**
 * PostgreSQL's `restore_command`. It always fails, because there is nothing to fetch: all WAL is already in the
 * cluster. It works in sh and cmd.
 */
const FETCH_NOTHING = 'exit 1';

const SETTINGS_FILE = 'postgresql.auto.conf';
/** Marks a setting that is for the recovery only. */
const FOR_RECOVERY = '# only for the recovery';
/**
 * PostgreSQL's `recovery_end_command` in a data directory of the operator: takes the settings of the recovery out of
 * their file. A standby that is made from this server would inherit them: it would end its recovery at the time of
 * the restore, and promote itself (R573). Windows has no `grep`: there PostgreSQL logs a warning.
 */
const FORGET_RECOVERY = `grep -v "${FOR_RECOVERY}" ${SETTINGS_FILE} > ${SETTINGS_FILE}.new && mv ${SETTINGS_FILE}.new ${SETTINGS_FILE}`;

/** Targets that an earlier recovery of the copied server has left in its settings. It would stop at them again. */
const TARGETS = /^recovery_target.*\n?/gm;

export interface RestoreRequest {
  /** A base file, or a directory with bases. */
  readonly from: string;
  /**
   * If `from` is a directory: restore the state at this time. If the directory has no WAL, restore the newest base that
   * started at this time or earlier. Undefined: restore everything.
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
  const [base = ''] = await basesFor(request);
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
  const bases = await basesFor(request);
  const { directory, user } = await placeCluster(dataDir);
  await refuseUsed(directory);
  try {
    const laidOut = await layOutNewest(request, bases, { directory, user }, ({ embeddedOn, postgres }) => {
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
    const { base, description, keys, settings } = laidOut;
    const lastChangeAt = await recover(dataDir, database, logger, settings);
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
  const bases = await basesFor(request);
  try {
    const place = { directory: resolve(directory), user: { name: 'you' } };
    const { base, description, keys, settings } = await layOutNewest(request, bases, place, () => undefined);
    await appendFile(
      join(directory, SETTINGS_FILE),
      Object.entries({ ...settings, recovery_end_command: FORGET_RECOVERY })
        .map(([name, value]) => `${name} = '${value}' ${FOR_RECOVERY}\n`)
        .join(''),
    );
    return { base, description, keys, lastChangeAt: null };
  } catch (error) {
    await rm(directory, { recursive: true, force: true });
    throw error;
  }
}

/** Thrown if a base contains changes that are later than the wanted time. */
class TooNew extends Error {}

interface Place {
  readonly directory: string;
  readonly user: ServerUser;
}
type Check = (description: BackupDescription) => void;

/** Restores the files of the first base that contains no change after the wanted time. */
async function layOutNewest(request: RestoreRequest, bases: readonly string[], place: Place, check: Check) {
  for (const base of bases) {
    try {
      return { base, ...(await layOut(request, base, place, check)) };
    } catch (error) {
      if (!(error instanceof TooNew) || base === bases.at(-1)) throw error;
    }
  }
  throw new Error('there is no base');
}

async function layOut(
  { from, until, onProgress }: RestoreRequest,
  base: string,
  { directory, user }: Place,
  check: Check,
) {
  const unfinished = `${directory}.restoring`;
  await rm(unfinished, { recursive: true, force: true });
  await mkdir(dirname(unfinished), { recursive: true });
  try {
    await makePrivateDirectory(unfinished, user);
    const own = (path: string) => giveTo(user, path);
    const unpacked = await unpackBase(base, { directory: unfinished, own, onProgress });
    const { description } = unpacked;
    check(description);
    const segments = base === from ? 0 : await layOutWal(from, description, unfinished, own);
    const settings = recoverySettings(segments > 0, until);
    if (segments > 0 && until && until < new Date(description.wholeUntil))
      throw new TooNew(`${from} has no backup that was complete at ${until.toISOString()}.`);
    await writeFile(join(unfinished, 'recovery.signal'), '', { mode: 0o600 });
    await own(join(unfinished, 'recovery.signal'));
    const mark = `# Restored by the messaging gateway, which sends nothing until it is released.\ngateway.restored_as = '${randomUUID()}'\n`;
    const settingsFile = join(unfinished, SETTINGS_FILE);
    await appendFile(settingsFile, mark);
    await writeFile(settingsFile, (await readFile(settingsFile, 'utf8')).replace(TARGETS, ''));
    await rm(directory, { recursive: true, force: true });
    await rename(unfinished, directory);
    await syncDirectory(dirname(directory));
    return { ...unpacked, settings };
  } catch (error) {
    await rm(unfinished, { recursive: true, force: true });
    throw error;
  }
}

function recoverySettings(hasWalBeside: boolean, until: Date | undefined): Record<string, string> {
  return {
    restore_command: FETCH_NOTHING,
    // The WAL inside a base belongs to the timeline of the base. The WAL that was kept next to it continues after
    // promotions.
    recovery_target_timeline: hasWalBeside ? 'latest' : 'current',
    ...(hasWalBeside &&
      until && {
        // Replace the letters T and Z of ISO 8601, because PostgreSQL does not accept them here.
        recovery_target_time: until.toISOString().replace('T', ' ').replace('Z', '+00'),
        recovery_target_action: 'promote',
      }),
  };
}

/** PostgreSQL's message when the WAL has no commit after the wanted time. */
const ENDS_BEFORE = 'recovery ended before configured recovery target was reached';

/** Starts the server, which applies the WAL and then accepts writes. Returns the time of the last commit. */
async function recover(
  dataDir: string,
  database: string,
  logger: Logger,
  settings: Record<string, string>,
): Promise<string | null> {
  // With `hot_standby` on, the server would accept connections before it has applied all WAL.
  const request = { dataDir, database, logger, settings: { ...settings, hot_standby: 'off' } };
  const postgres = await startEmbeddedPostgres(request).catch((error: Error) => {
    if (!error.message.includes(ENDS_BEFORE)) throw error;
    const { recovery_target_time: until } = settings;
    throw new Error(
      `The log beside the backup ends before ${until}. Choose an earlier time, or leave --until out to restore all of it.`,
      { cause: error },
    );
  });
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

/** Returns the paths of the bases that may be restored, newest first. Throws an Error if there is none. */
async function basesFor({ from, until }: RestoreRequest): Promise<readonly string[]> {
  if (!(await isDirectory(from))) return [from];
  const bases = await basesIn(from);
  const usable = until ? bases.filter(({ at }) => at <= until) : bases;
  if (usable.length > 0) return usable.map(({ path }) => path).reverse();
  const [oldest] = bases;
  throw new Error(
    oldest
      ? `${from} has no backup before ${oldest.at.toISOString()}.`
      : `There is no backup in ${from}. Name a file that ends in .tar.zst, or a directory with such files.`,
  );
}
