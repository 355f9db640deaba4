/**
 * The write-ahead log (WAL) that `backup --continuous` keeps next to the bases, in the directory `wal`. PostgreSQL cuts
 * its WAL into **segments** of equal size. A complete segment is stored as one compressed file. The segment that is
 * being written has the suffix `.partial`, and may be shorter. A `.history` file says from which timeline another one
 * branched off.
 */
import { constants as files } from 'node:fs';
import {
  type FileHandle,
  mkdir,
  open,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { constants, zstdCompress, zstdDecompress } from 'node:zlib';
import { syncDirectory } from '../../runtime/sync-directory.ts';
import { lsnOf, type WalPosition } from './replication.ts';

const COMPLETE = '.zst';
const PARTIAL = '.partial';
const HISTORY = /^[0-9A-F]{8}\.history$/;
const SEGMENT = /^([0-9A-F]{8})([0-9A-F]{8})([0-9A-F]{8})\.(zst|partial)$/;
/** Name of the file that identifies the server whose WAL the directory holds. */
const SYSTEM = 'system';
/**
 * Name of a file that exists while a base is missing: from the start of the kept WAL until the next base is complete.
 */
const BASE_WANTED = 'base-wanted';
const COMPRESSION = {
  params: { [constants.ZSTD_c_compressionLevel]: 3, [constants.ZSTD_c_checksumFlag]: 1 },
};

const walDirectory = (directory: string): string => join(directory, 'wal');

const hex = (value: bigint | number) => value.toString(16).toUpperCase().padStart(8, '0');
/** PostgreSQL also counts its WAL in units of this many bytes. Each unit has a whole number of segments. */
const UNIT = 2n ** 32n;

function segmentName({ timeline, position }: WalPosition, segmentBytes: bigint): string {
  const start = position - (position % segmentBytes);
  return `${hex(timeline)}${hex(start / UNIT)}${hex((start % UNIT) / segmentBytes)}`;
}

interface SegmentFile extends WalPosition {
  readonly file: string;
  /** Name in PostgreSQL's `pg_wal`. */
  readonly name: string;
  readonly isComplete: boolean;
}

/** Returns the segments in a directory, oldest first, with the position at which each starts. */
async function segmentsIn(directory: string, segmentBytes: bigint): Promise<readonly SegmentFile[]> {
  const names = await readdir(directory).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw error;
  });
  return names.sort().flatMap((file) => {
    const [, timeline = '', unit = '', segment = '', kind] = SEGMENT.exec(file) ?? [];
    if (kind === undefined) return [];
    const position = BigInt(`0x${unit}`) * UNIT + BigInt(`0x${segment}`) * segmentBytes;
    const name = `${timeline}${unit}${segment}`;
    return [
      {
        file: join(directory, file),
        name,
        timeline: Number.parseInt(timeline, 16),
        position,
        isComplete: kind === 'zst',
      },
    ];
  });
}

/** Thrown if the directory holds the WAL of another server. */
export class OtherServer extends Error {}

/**
 * True if a base is needed: no base was completed since the kept WAL began. The kept WAL begins again after a part was
 * lost.
 */
export const wantsBase = (backups: string): Promise<boolean> =>
  stat(join(walDirectory(backups), BASE_WANTED)).then(
    () => true,
    () => false,
  );

export const hasBase = (backups: string): Promise<void> =>
  rm(join(walDirectory(backups), BASE_WANTED), { force: true });

/** Writes the WAL of one server into a directory. */
export class WalWriter {
  readonly #directory: string;
  readonly #segmentBytes: bigint;
  /** The segment that is being written, and the position up to which it is written. */
  #current: { readonly file: FileHandle; readonly path: string; readonly timeline: number } | undefined;
  #written: bigint | undefined;

  private constructor(directory: string, segmentBytes: bigint) {
    this.#directory = directory;
    this.#segmentBytes = segmentBytes;
  }

  /** Opens `wal` in a directory of backups. Throws `OtherServer` if it holds the log of another server. */
  static async open(backups: string, systemIdentifier: string, segmentBytes: number): Promise<WalWriter> {
    const directory = walDirectory(backups);
    await mkdir(directory, { recursive: true, mode: 0o700 });
    const path = join(directory, SYSTEM);
    const known = await readFile(path, 'utf8').catch(() => undefined);
    if (known === undefined) await writeFile(path, `${systemIdentifier}\n`, { mode: 0o600, flush: true });
    else if (known.trim() !== systemIdentifier)
      throw new OtherServer(`${directory} holds the log of another database. Name another directory.`);
    return new WalWriter(directory, BigInt(segmentBytes));
  }

  /** Returns the start of the first segment that is not complete. Undefined if the directory has no segment. */
  async next(): Promise<WalPosition | undefined> {
    const last = (await segmentsIn(this.#directory, this.#segmentBytes)).at(-1);
    if (!last) return undefined;
    const { timeline, position, isComplete } = last;
    return { timeline, position: isComplete ? position + this.#segmentBytes : position };
  }

  /** Records that the kept WAL begins here, so that a base is needed. */
  async begin(): Promise<void> {
    await writeFile(join(this.#directory, BASE_WANTED), '', { mode: 0o600, flush: true });
  }

  /** Returns the start of the segment that contains a position. */
  startOf(position: bigint): bigint {
    return position - (position % this.#segmentBytes);
  }

  async addHistory(name: string, content: Buffer | string): Promise<void> {
    if (!HISTORY.test(name)) throw new Error(`the server named a history ${JSON.stringify(name)}`);
    await writeFile(join(this.#directory, name), content, { mode: 0o600, flush: true });
  }

  /** Writes a piece of the WAL. It must continue the last piece, or start a segment. */
  async write({ timeline, position }: WalPosition, piece: Buffer): Promise<void> {
    let at = position;
    let rest = piece;
    while (rest.length > 0) {
      const offset = at % this.#segmentBytes;
      const current = await this.#segmentAt({ timeline, position: at });
      const part = rest.subarray(0, Number(this.#segmentBytes - offset));
      await current.file.write(part, 0, part.length, Number(offset));
      at += BigInt(part.length);
      this.#written = at;
      rest = rest.subarray(part.length);
      if (at % this.#segmentBytes === 0n) await this.#complete();
    }
  }

  /** Writes everything to the disk. Returns the position up to which the WAL is on the disk. */
  async flush(): Promise<bigint | undefined> {
    await this.#current?.file.sync();
    return this.#written;
  }

  /** Closes the segment that is being written. It stays partial. */
  async close(): Promise<void> {
    const current = this.#current;
    this.#current = undefined;
    await current?.file.sync();
    await current?.file.close();
  }

  async #segmentAt(at: WalPosition) {
    if (this.#current?.timeline === at.timeline && this.#written === at.position) return this.#current;
    if (at.position % this.#segmentBytes !== 0n) throw new Error('the server left out a part of its log');
    await this.close();
    const path = join(this.#directory, segmentName(at, this.#segmentBytes));
    // Do not truncate: after a new connection the server sends the segment again from its start. Until it has, the file
    // keeps what was on the disk before.
    const file = await open(`${path}${PARTIAL}`, files.O_CREAT | files.O_WRONLY, 0o600);
    await syncDirectory(this.#directory);
    this.#current = { file, path, timeline: at.timeline };
    return this.#current;
  }

  /** Replaces the file of the partial segment by the file of the complete segment. */
  async #complete(): Promise<void> {
    const { path = '' } = this.#current ?? {};
    await this.close();
    const content = await readFile(`${path}${PARTIAL}`);
    const draft = `${path}${COMPLETE}.new`;
    await writeFile(draft, await promisify(zstdCompress)(content, COMPRESSION), { mode: 0o600, flush: true });
    await rename(draft, `${path}${COMPLETE}`);
    await rm(`${path}${PARTIAL}`);
    await syncDirectory(this.#directory);
  }
}

/** The part of a base's description that says which WAL continues the base. */
interface BaseLog {
  readonly systemIdentifier: string;
  readonly startLsn: string;
  readonly endLsn: string;
}

/**
 * Writes the WAL that continues a base into `pg_wal` of the restored cluster. Calls `own` with each path. Returns the
 * number of segments. It is 0 if the directory of backups has no WAL.
 */
export async function layOutWal(
  backups: string,
  base: BaseLog,
  cluster: string,
  own: (path: string) => Promise<void>,
): Promise<number> {
  const directory = walDirectory(backups);
  const system = await readFile(join(directory, SYSTEM), 'utf8').catch(() => undefined);
  if (system?.trim() !== base.systemIdentifier) return 0;
  const target = join(cluster, 'pg_wal');
  const segmentBytes = await segmentBytesOf(target);
  const start = lsnOf(base.startLsn);
  const later = (await segmentsIn(directory, segmentBytes)).filter(
    ({ position }) => position + segmentBytes > start,
  );
  let placed = 0;
  for (const { file, name, position, isComplete } of later) {
    const stored = await readFile(file);
    // Skip a partial segment if the base contains more of that segment.
    if (!isComplete && position + BigInt(stored.length) <= lsnOf(base.endLsn)) continue;
    const content = isComplete ? await promisify(zstdDecompress)(stored) : stored;
    const path = join(target, name);
    await writeFile(path, padded(content, Number(segmentBytes)), { mode: 0o600, flush: true });
    await own(path);
    placed += 1;
  }
  for (const name of (await readdir(directory)).filter((each) => HISTORY.test(each))) {
    await writeFile(join(target, name), await readFile(join(directory, name)), { mode: 0o600, flush: true });
    await own(join(target, name));
  }
  return placed;
}

/** Fills a partial segment with zeros up to its full size, because PostgreSQL refuses a shorter file. */
function padded(content: Buffer, bytes: number): Buffer {
  return content.length === bytes ? content : Buffer.concat([content, Buffer.alloc(bytes - content.length)]);
}

/** Returns the size of the segments in a restored base. */
async function segmentBytesOf(target: string): Promise<bigint> {
  const name = (await readdir(target)).find((each) => /^[0-9A-F]{24}$/.test(each));
  if (name === undefined) throw new Error('the backup is damaged: it has no write-ahead log');
  return BigInt((await stat(join(target, name))).size);
}
