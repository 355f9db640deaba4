/**
 * **Directory of cells**: a file (`cells.json`) that says which cells there are, which slots each owns, and which keys
 * live elsewhere than their slot says. The configuration of the proxy is generated from it.
 *
 * Invariants. Each slot belongs to exactly one cell. A key of an account that was moved keeps its id, so it is listed
 * until it is rotated (R501).
 */
import { isKeyId } from '../api-keys/key-format.ts';
import { isInSlots, parseSlots, SLOTS, type SlotRange, slotsText, slotText } from './slots.ts';

export interface Cell {
  /** Name of the host at which people sign in to this cell. */
  readonly host: string;
  readonly slots: readonly SlotRange[];
  /** Addresses of the cell's gateways, such as `10.0.0.1:3000`. */
  readonly servers: readonly string[];
}

export interface CellDirectory {
  /** By name. The first cell gets requests that name no cell. */
  readonly cells: ReadonlyMap<string, Cell>;
  /** The cell of each key whose id does not begin with a slot of its cell. */
  readonly keys: ReadonlyMap<string, string>;
}

const CELL_NAME = /^[a-z][a-z0-9-]{0,30}$/;
const HOST = /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/;
const SERVER = /^(\[[0-9a-f:]+\]|[a-z0-9.-]+):([1-9][0-9]{0,4})$/i;
/** Slots without an owner that an error names. */
const NAMED_SLOTS = 5;

/** A directory that cannot be used. The message says what is wrong, where, and what would be right. */
export class CellDirectoryFault extends Error {
  override readonly name = 'CellDirectoryFault';
}

/** Reads the text of a directory. Throws `CellDirectoryFault`. */
export function parseDirectory(text: string): CellDirectory {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (cause) {
    throw new CellDirectoryFault('It is not JSON.', { cause });
  }
  const { cells: named, keys: listed = {} } = recordOf(json, 'The directory');
  const cells = new Map(
    Object.entries(recordOf(named, 'cells')).map(([name, value]) => [name, cellOf(name, value)]),
  );
  if (cells.size === 0) throw new CellDirectoryFault('cells is empty: name at least one cell.');
  checkOwners(cells);
  checkHosts(cells);
  const keys = new Map(
    Object.entries(recordOf(listed, 'keys')).map(([keyId, cell]) => {
      if (!isKeyId(keyId))
        throw new CellDirectoryFault(`keys.${keyId}: a key id is 16 hex digits in lower case.`);
      if (typeof cell !== 'string' || !cells.has(cell))
        throw new CellDirectoryFault(`keys.${keyId}: there is no cell ${JSON.stringify(cell)}.`);
      return [keyId, cell];
    }),
  );
  return { cells, keys };
}

/** Returns the text of a directory, as `parseDirectory` reads it. */
export function directoryText({ cells, keys }: CellDirectory): string {
  const written = [...cells].map(([name, { host, slots, servers }]) => [
    name,
    { host, slots: slotsText(slots), servers },
  ]);
  const sorted = [...keys].sort(([one], [other]) => (one < other ? -1 : 1));
  return `${JSON.stringify({ cells: Object.fromEntries(written), keys: Object.fromEntries(sorted) }, null, 2)}\n`;
}

/**
 * Returns the directory after it was learned that `keyIds` are keys of `cell`. Other lines of the cell are dropped,
 * except those of the keys `kept`, or with `all` every line. Keys that begin with a slot of the cell are not listed.
 */
export function withKeysOf(
  directory: CellDirectory,
  cell: string,
  keyIds: readonly string[],
  kept: 'all' | readonly string[],
): CellDirectory {
  const found = directory.cells.get(cell);
  if (!found) {
    const names = [...directory.cells.keys()].join(', ');
    throw new CellDirectoryFault(`There is no cell ${cell}; the directory has ${names}.`);
  }
  const keys = new Map(
    [...directory.keys].filter(([keyId, of]) => of !== cell || kept === 'all' || kept.includes(keyId)),
  );
  for (const keyId of keyIds) {
    if (isInSlots(keyId, found.slots)) keys.delete(keyId);
    else keys.set(keyId, cell);
  }
  return { ...directory, keys };
}

function recordOf(value: unknown, what: string): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new CellDirectoryFault(`${what} must be an object.`);
  return value as Readonly<Record<string, unknown>>;
}

function cellOf(name: string, value: unknown): Cell {
  if (!CELL_NAME.test(name))
    throw new CellDirectoryFault(
      `cells.${name}: a name has lower-case letters, digits and hyphens, and begins with a letter.`,
    );
  const { host, slots, servers } = recordOf(value, `cells.${name}`);
  const ranges = typeof slots === 'string' ? parseSlots(slots) : undefined;
  if (!ranges)
    throw new CellDirectoryFault(
      `cells.${name}.slots must be ranges of three hex digits that do not overlap, such as 000-7ff,a00.`,
    );
  if (typeof host !== 'string' || !HOST.test(host))
    throw new CellDirectoryFault(`cells.${name}.host must be a name such as a.sms.example.com.`);
  if (!Array.isArray(servers) || servers.length === 0 || !servers.every(isServer))
    throw new CellDirectoryFault(`cells.${name}.servers must list addresses such as 10.0.0.1:3000.`);
  return { host, slots: ranges, servers };
}

function isServer(value: unknown): value is string {
  const [, , port] = (typeof value === 'string' && SERVER.exec(value)) || [];
  return port !== undefined && Number(port) <= 65_535;
}

function checkOwners(cells: ReadonlyMap<string, Cell>): void {
  const owners = ownersOf(cells);
  const free: string[] = [];
  owners.forEach((names, slot) => {
    if (names.length > 1)
      throw new CellDirectoryFault(`The slot ${slotText(slot)} belongs to ${names.join(' and ')}.`);
    if (names.length === 0) free.push(slotText(slot));
  });
  if (free.length === 0) return;
  const more = free.length > NAMED_SLOTS ? ` and ${free.length - NAMED_SLOTS} more` : '';
  throw new CellDirectoryFault(`No cell has the slots ${free.slice(0, NAMED_SLOTS).join(', ')}${more}.`);
}

function checkHosts(cells: ReadonlyMap<string, Cell>): void {
  const hosts = [...cells.values()].map(({ host }) => host);
  const twice = hosts.find((host, index) => hosts.indexOf(host) !== index);
  if (twice !== undefined) throw new CellDirectoryFault(`Two cells have the host ${twice}.`);
}

/** Returns the names of the cells that own each slot. */
export function ownersOf(cells: ReadonlyMap<string, Cell>): readonly (readonly string[])[] {
  const owners = Array.from({ length: SLOTS }, (): string[] => []);
  for (const [name, { slots }] of cells)
    for (const { first, last } of slots)
      for (let slot = first; slot <= last; slot += 1) owners[slot]?.push(name);
  return owners;
}
