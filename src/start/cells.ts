/** The directory of cells, the files of the proxy, and the keys of this cell (docs/operations/cells.md). */
import { once } from 'node:events';
import { mkdir, open, readFile, rename } from 'node:fs/promises';
import { connect } from 'node:net';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Config, ConfigError } from '../config/config.ts';
import { masterKeyOf } from '../config/data-dir.ts';
import { createSecretBox } from '../crypto/secret-box.ts';
import {
  type CellDirectory,
  CellDirectoryFault,
  directoryText,
  parseDirectory,
  withKeysOf,
} from '../domain/cells/cell-directory.ts';
import { HAPROXY_SOCKET, haproxyFiles, KEYS_MAP, keysMap } from '../domain/cells/haproxy.ts';
import { areSameSlots, slotsText } from '../domain/cells/slots.ts';
import type { Logger } from '../domain/ports/logger.ts';
import { accountJobs } from '../queue/account-jobs.ts';
import { type MoveReport, moveAccount as move } from '../storage/cells/account-move.ts';
import { activeKeys } from '../storage/cells/cell-keys.ts';
import { OwnerLock } from '../storage/embedded-postgres/owner-lock.ts';
import { connectionOfUrl, type DatabaseConnection } from '../storage/postgres/connection.ts';
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

/** How long a move waits for requests that the proxy passed on before it was told of the move, in ms. */
const SETTLE_MS = 1_000;
/** How long a command waits for another one that changes the directory, in ms. */
const LOCKED_MS = 30_000;
const LOCK_PAUSE_MS = 50;

/**
 * Runs `change`, which reads the directory and writes it. Another command waits until it has ended: of two that read the
 * same text, the second would undo what the first one wrote (R517).
 */
async function whileLocked<T>(file: string, change: () => Promise<T>): Promise<T> {
  let lock: OwnerLock;
  try {
    lock = new OwnerLock(`${file}.lock`);
  } catch (error) {
    const why = ((error as Error).cause as Error | undefined)?.message ?? (error as Error).message;
    throw new ConfigError(`The lock of the directory of cells, ${file}.lock, cannot be used: ${why}.`, {
      cause: error,
    });
  }
  try {
    const until = performance.now() + LOCKED_MS;
    while (!lock.tryAcquire()) {
      if (performance.now() > until)
        throw new ConfigError(`Another command has been changing ${file} for 30 s. Try again.`);
      await sleep(LOCK_PAUSE_MS);
    }
    return await change();
  } finally {
    lock.close();
  }
}

/** Replaces a file at once. A reader sees the old text or the new one, also after a crash. */
async function replaceFile(path: string, text: string): Promise<void> {
  // Two commands may replace the file at once.
  const other = `${path}.${process.pid}.new`;
  const file = await open(other, 'w');
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(other, path);
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
  await mkdir(path, { recursive: true });
  for (;;) {
    const known = await readDirectory(directory);
    const files = Object.entries(haproxyFiles(known, { directory: path, bind }));
    for (const [name, text] of files) await replaceFile(join(path, name), text);
    // A move may have changed the directory, and then the map that was just written.
    const isSame = directoryText(await readDirectory(directory)) === directoryText(known);
    if (isSame) return files.map(([name]) => join(path, name));
  }
}

/**
 * Throws `ConfigError` if the cell has other slots than these settings. Then the settings are those of another cell, and
 * the proxy would send the keys of that cell to this one (R571).
 */
function checkSlots(
  slots: Config['slots'],
  directory: CellDirectory,
  { file, cell }: { readonly file: string; readonly cell: string },
): void {
  const listed = directory.cells.get(cell)?.slots;
  if (listed === undefined || areSameSlots(listed, slots)) return;
  throw new ConfigError(
    `CELL_SLOTS is ${slotsText(slots)}, but cell ${cell} has ${slotsText(listed)} in ${file}: run the command with ` +
      `the settings of cell ${cell}, in which CELL_SLOTS is the same as in the file.`,
  );
}

export async function listKeys(
  config: Config,
  logger: Logger,
  { directory: file, cell }: { readonly directory: string; readonly cell: string },
): Promise<number> {
  return withDatabase(config, logger, async (connection) => {
    const knex = createKnex(connection, logger, { poolSize: 2 });
    try {
      return await whileLocked(file, async () => {
        const before = await readDirectory(file);
        checkSlots(config.slots, before, { file, cell });
        // Read while no move changes the directory: else its line would be undone.
        const { own, moving } = await activeKeys(knex);
        const after = faultsOf(file, () => withKeysOf(before, cell, own, moving));
        await replaceFile(file, directoryText(after));
        return [...after.keys.values()].filter((of) => of === cell).length;
      });
    } finally {
      await knex.destroy();
    }
  });
}

export interface MoveAccountOptions {
  readonly accountId: string;
  readonly toDatabase: string;
  readonly toCell: string | undefined;
  readonly directory: string | undefined;
  readonly proxy: string | undefined;
  readonly drainSeconds: number;
  readonly onStep: (step: string) => void;
}

/** Moves an account from this cell to another one, and lists its keys in the directory. */
export async function moveAccount(
  config: Config,
  logger: Logger,
  { accountId, toDatabase, toCell, directory, proxy, drainSeconds, onStep }: MoveAccountOptions,
): Promise<MoveReport> {
  const to = connectionOf(toDatabase);
  if (directory !== undefined && toCell !== undefined) {
    // Refuse a faulty directory before the move.
    const known = await readDirectory(directory);
    faultsOf(directory, () => withKeysOf(known, toCell, [], 'all'));
  }
  const secrets = createSecretBox(await masterKeyOf(config), config.previousMasterKeys);
  return withDatabase(config, logger, (from) =>
    move({
      accountId,
      from,
      to,
      toCell,
      toDatabaseSealed: secrets.seal(toDatabase),
      jobs: accountJobs,
      drainMs: drainSeconds * 1_000,
      settleMs: proxy === undefined ? 0 : SETTLE_MS,
      onStep,
      async redirect(keyIds) {
        if (directory === undefined || toCell === undefined) return;
        await whileLocked(directory, async () => {
          const before = await readDirectory(directory);
          const after = faultsOf(directory, () => withKeysOf(before, toCell, keyIds, 'all'));
          await replaceFile(directory, directoryText(after));
          if (proxy !== undefined) await redirectProxy(resolve(proxy), toCell, keyIds, after);
        });
      },
    }),
  );
}

function connectionOf(url: string): DatabaseConnection {
  try {
    return connectionOfUrl(url);
  } catch (error) {
    throw new ConfigError(`--to-database cannot be used: ${error instanceof Error ? error.message : error}.`);
  }
}

/** Changes the map of keys, in the file and in the proxy that runs with it. */
async function redirectProxy(
  path: string,
  cell: string,
  keyIds: readonly string[],
  directory: CellDirectory,
): Promise<void> {
  await replaceFile(join(path, KEYS_MAP), keysMap(directory));
  const map = join(path, KEYS_MAP);
  const commands = keyIds.flatMap((keyId) => [`del map ${map} ${keyId}`, `add map ${map} ${keyId} ${cell}`]);
  const socket = connect(join(path, HAPROXY_SOCKET));
  let answer = '';
  socket.on('data', (text) => {
    answer += text;
  });
  try {
    await once(socket, 'connect');
    socket.end(`${commands.join(';')}\n`);
    await once(socket, 'close');
  } catch (cause) {
    throw new Error(
      `The proxy cannot be told on ${join(path, HAPROXY_SOCKET)}: ${(cause as Error).message}. Its files are changed: reload it, and run the move again without --proxy.`,
      { cause },
    );
  }
  // To delete a key that is not listed is no fault.
  const faults = answer.split('\n').filter((line) => line.trim() !== '' && !/not found/i.test(line));
  if (faults.length > 0) throw new Error(`The proxy did not take the keys: ${faults.join(' ')}`);
}
