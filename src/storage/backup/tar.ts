/**
 * Reads and writes archives in the tar format that PostgreSQL uses (ustar, names up to 100 bytes). Numbers without a
 * name are the offsets of the format.
 */

const BLOCK = 512;
const NAME = { at: 0, length: 100 };
const SIZE = { at: 124, length: 12 };
const TYPE_AT = 156;
const PREFIX = { at: 345, length: 155 };
const FILE_TYPES = new Set(['0', '\0']);
const DIRECTORY_TYPE = '5';
/** Two blocks of zeros end an archive. */
export const END_OF_ARCHIVE = Buffer.alloc(2 * BLOCK);

export interface TarEntry {
  readonly name: string;
  readonly kind: 'file' | 'directory' | 'other';
  readonly size: number;
  /** Returns the bytes of the file. What the caller leaves unread is skipped when it takes the next entry. */
  body(): AsyncGenerator<Buffer>;
}

/** Reads the entries of an archive in order. Throws an Error if the archive is truncated or not tar. */
export async function* readTar(source: AsyncIterable<Buffer>): AsyncGenerator<TarEntry> {
  const bytes = new ByteReader(source);
  for (;;) {
    const header = await bytes.take(BLOCK);
    if (header === undefined || header.every((byte) => byte === 0)) return;
    checkHeader(header);
    const size = sizeOf(header);
    let left = size;
    const body = async function* () {
      while (left > 0) {
        const piece = await bytes.piece(left);
        left -= piece.length;
        yield piece;
      }
    };
    const prefix = textOf(header, PREFIX);
    const type = String.fromCharCode(header[TYPE_AT] ?? 0);
    yield {
      name: `${prefix ? `${prefix}/` : ''}${textOf(header, NAME)}`,
      kind: FILE_TYPES.has(type) ? 'file' : type === DIRECTORY_TYPE ? 'directory' : 'other',
      size,
      body,
    };
    for await (const _ of body());
    await bytes.skip((BLOCK - (size % BLOCK)) % BLOCK);
  }
}

/** Returns a whole file as one entry of an archive. */
export function tarFile(name: string, content: Buffer, modifiedAt: Date): Buffer {
  const header = Buffer.alloc(BLOCK);
  header.write(name, NAME.at, NAME.length, 'utf8');
  header.write('0000600\0', 100);
  header.write('0000000\0', 108);
  header.write('0000000\0', 116);
  header.write(`${content.length.toString(8).padStart(11, '0')}\0`, SIZE.at);
  header.write(
    `${Math.floor(modifiedAt.getTime() / 1000)
      .toString(8)
      .padStart(11, '0')}\0`,
    136,
  );
  header.write('0', TYPE_AT);
  header.write('ustar\x0000', 257);
  header.write(`${checksumOf(header).toString(8).padStart(6, '0')}\0 `, 148);
  return Buffer.concat([header, content, Buffer.alloc((BLOCK - (content.length % BLOCK)) % BLOCK)]);
}

function checkHeader(header: Buffer): void {
  if (Number.parseInt(header.toString('latin1', 148, 156), 8) !== checksumOf(header))
    throw new Error('the backup is damaged: a file header in it has a wrong checksum');
}

/** Returns the sum of the header's bytes. The format counts the eight bytes of the checksum itself as spaces. */
function checksumOf(header: Buffer): number {
  return header.reduce((sum, byte, at) => sum + (at >= 148 && at < 156 ? 32 : byte), 0);
}

function textOf(header: Buffer, { at, length }: { at: number; length: number }): string {
  return header.toString('utf8', at, at + length).replace(/\0.*$/s, '');
}

function sizeOf(header: Buffer): number {
  // A size above 8 GiB is stored in binary. The first bit says so.
  if ((header[SIZE.at] ?? 0) & 0x80) return header.readUIntBE(SIZE.at + 6, 6);
  return Number.parseInt(textOf(header, SIZE).trim() || '0', 8);
}

/** Reads a stream in pieces of the requested size. */
class ByteReader {
  readonly #source: AsyncIterator<Buffer>;
  #rest: Buffer = Buffer.alloc(0);

  constructor(source: AsyncIterable<Buffer>) {
    this.#source = source[Symbol.asyncIterator]();
  }

  /** Returns between 1 and `most` bytes. Throws at the end of the stream. */
  async piece(most: number): Promise<Buffer> {
    while (this.#rest.length === 0) {
      const next = await this.#source.next();
      if (next.done) throw new Error('the backup is cut off');
      this.#rest = next.value;
    }
    const piece = this.#rest.subarray(0, most);
    this.#rest = this.#rest.subarray(piece.length);
    return piece;
  }

  /** Returns exactly `count` bytes. Returns undefined if the stream ended before the first byte. */
  async take(count: number): Promise<Buffer | undefined> {
    const pieces: Buffer[] = [];
    for (let left = count; left > 0; ) {
      if (this.#rest.length === 0 && left === count) {
        const next = await this.#source.next();
        if (next.done) return undefined;
        this.#rest = next.value;
        continue;
      }
      const piece = await this.piece(left);
      left -= piece.length;
      pieces.push(piece);
    }
    return Buffer.concat(pieces);
  }

  async skip(count: number): Promise<void> {
    for (let left = count; left > 0; ) left -= (await this.piece(left)).length;
  }
}
