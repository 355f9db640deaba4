/**
 * Names in a backup. **Base**: one file `base-TIME.tar.zst` with the server's files, their checksums
 * (`backup_manifest`, as PostgreSQL makes it) and a description (`gateway.json`). **WAL**: beside it in `wal/`, what was
 * written since, as `SEGMENT.zst`, the last segment as `SEGMENT.partial`.
 */
import { open, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';

export const SUFFIX = '.tar.zst';
export const MANIFEST = 'backup_manifest';
export const DESCRIPTION = 'gateway.json';
/** Keys that are in a backup only where they are asked for; restored into DATA_DIR. */
export const KEYS = 'gateway-keys';
export const KEY_FILES: readonly string[] = ['master.key', 'vapid.json'];
export const WAL_DIRECTORY = 'wal';
const BASE = /^base-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z\.tar\.zst$/;

/** What a base says of itself. */
export interface BackupDescription {
  readonly format: 1;
  /** Such as `18.4`. */
  readonly postgres: string;
  /** Platform and architecture of the server where it was the embedded one, such as `linux-x64`. */
  readonly embeddedOn: string | null;
  readonly database: string;
  readonly systemIdentifier: string;
  readonly timeline: number;
  readonly startLsn: string;
  readonly endLsn: string;
  /** The server's time when the backup began, and the time up to which all that was committed is in it. */
  readonly startedAt: string;
  readonly wholeUntil: string;
  /** Name of the master key that seals the secrets in it. */
  readonly masterKey: string;
}

export const baseName = (at: Date): string =>
  `base-${at
    .toISOString()
    .replace(/[-:]/g, '')
    .replace(/\.\d+Z$/, 'Z')}${SUFFIX}`;

/** A base in a directory, and when it was begun. */
export interface Base {
  readonly path: string;
  readonly at: Date;
}

/** The bases in a directory, the oldest first; none where there is no directory. */
export async function basesIn(directory: string): Promise<readonly Base[]> {
  const names = await readdir(directory).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw error;
  });
  return names.sort().flatMap((name) => {
    const [, year, month, day, hour, minute, second] = BASE.exec(name) ?? [];
    if (year === undefined) return [];
    return [
      {
        path: join(directory, name),
        at: new Date(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`),
      },
    ];
  });
}

export async function isDirectory(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isDirectory() ?? false;
}

/** Has the names in a directory survive a power failure. Windows has no such call. */
export async function syncDirectory(directory: string): Promise<void> {
  if (process.platform === 'win32') return;
  await using handle = await open(directory, 'r');
  await handle.sync();
}

/** The name of the file of the write-ahead log that holds a position; `timeline` in eight hex digits. */
export function segmentOf(timeline: string, lsn: bigint, segmentBytes: number): string {
  const number = lsn / BigInt(segmentBytes);
  const perName = 0x1_0000_0000n / BigInt(segmentBytes);
  const hex = (part: bigint) => part.toString(16).toUpperCase().padStart(8, '0');
  return `${timeline}${hex(number / perName)}${hex(number % perName)}`;
}
