/**
 * The names of a backup and of its parts. A **base** is one file, `base-TIME.tar.zst`. It contains the server's files,
 * their checksums (`backup_manifest`, written by PostgreSQL) and a description (`gateway.json`).
 */
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';

export const SUFFIX = '.tar.zst';
export const MANIFEST = 'backup_manifest';
export const DESCRIPTION = 'gateway.json';
/** Key files. A backup includes them only on request. A restore writes them into DATA_DIR. */
export const KEYS = 'gateway-keys';
export const KEY_FILES: readonly string[] = ['master.key', 'vapid.json'];
const BASE = /^base-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z\.tar\.zst$/;

/** The content of `gateway.json` in a base. */
export interface BackupDescription {
  readonly format: 1;
  /** The version of PostgreSQL, such as `18.4`. */
  readonly postgres: string;
  /** Platform and architecture of an embedded server, such as `linux-x64`. Null for the operator's own server. */
  readonly embeddedOn: string | null;
  readonly database: string;
  readonly systemIdentifier: string;
  readonly timeline: number;
  readonly startLsn: string;
  readonly endLsn: string;
  /** Times of the server: the start of the backup, and the time up to which the backup has all commits. */
  readonly startedAt: string;
  readonly wholeUntil: string;
  /** Name of the master key that encrypted the stored secrets. A restored gateway needs the same key. */
  readonly masterKey: string;
}

export const baseName = (at: Date): string =>
  `base-${at
    .toISOString()
    .replace(/[-:]/g, '')
    .replace(/\.\d+Z$/, 'Z')}${SUFFIX}`;

/** A base file and the time at which its backup started. */
export interface Base {
  readonly path: string;
  readonly at: Date;
}

/** Returns the bases in a directory, oldest first. Returns an empty list if the directory does not exist. */
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
