/** The directory of cells, the files of the proxy, and the keys of this cell (docs/operations/cells.md). */
import { mkdir, open, readFile, rename } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { type Config, ConfigError } from '../config/config.ts';
import {
  type CellDirectory,
  CellDirectoryFault,
  directoryText,
  parseDirectory,
  withKeysOf,
} from '../domain/cells/cell-directory.ts';
import { haproxyFiles } from '../domain/cells/haproxy.ts';
import type { Logger } from '../domain/ports/logger.ts';
import { activeKeys } from '../storage/cells/cell-keys.ts';
import { createKnex } from '../storage/postgres/sql.ts';
import { withDatabase } from './database.ts';

/** Reads a directory of cells. Throws `ConfigError` if the file is missing or faulty. */
async function readDirectory(file: string): Promise<CellDirectory> {
  const text = await readFile(file, 'utf8').catch((cause: NodeJS.ErrnoException) => {
    throw new ConfigError(`The directory of cells cannot be read: ${cause.message}.`);
  });
  return faultsOf(file, () => parseDirectory(text));
}

/** Runs `work`. Turns a fault of the directory into a `ConfigError` that names the file. */
function faultsOf<T>(file: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof CellDirectoryFault)) throw error;
    throw new ConfigError(`${file} is no directory of cells: ${error.message}`);
  }
}

/** Replaces a file at once. A reader sees the old text or the new one, also after a crash. */
async function replaceFile(path: string, text: string): Promise<void> {
  const file = await open(`${path}.new`, 'w');
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(`${path}.new`, path);
}

export async function writeProxyFiles({
  directory,
  to,
  bind,
}: {
  readonly directory: string;
  readonly to: string;
  readonly bind: string;
}): Promise<readonly string[]> {
  const path = resolve(to);
  if (/\s/.test(path)) throw new ConfigError('--to must be a path without spaces, because HAProxy reads it.');
  if (/[\r\n]/.test(bind)) throw new ConfigError('--bind must be one line.');
  const files = haproxyFiles(await readDirectory(directory), { directory: path, bind });
  await mkdir(path, { recursive: true });
  const written: string[] = [];
  for (const [name, text] of Object.entries(files)) {
    await replaceFile(join(path, name), text);
    written.push(join(path, name));
  }
  return written;
}

export async function listKeys(
  config: Config,
  logger: Logger,
  { directory: file, cell }: { readonly directory: string; readonly cell: string },
): Promise<number> {
  const keyIds = await withDatabase(config, logger, async (connection) => {
    const knex = createKnex(connection, logger, { poolSize: 2 });
    try {
      return await activeKeys(knex);
    } finally {
      await knex.destroy();
    }
  });
  const before = await readDirectory(file);
  const after = faultsOf(file, () => withKeysOf(before, cell, keyIds, false));
  await replaceFile(file, directoryText(after));
  return [...after.keys.values()].filter((of) => of === cell).length;
}
