/** Reads a base and compares each file with the server's checksum. It writes the files to disk only on request. */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, open, stat } from 'node:fs/promises';
import { dirname, join, normalize, sep } from 'node:path';
import { Readable } from 'node:stream';
import { createZstdDecompress } from 'node:zlib';
import { type BackupDescription, DESCRIPTION, KEYS, MANIFEST } from './backup-files.ts';
import { readTar, type TarEntry } from './tar.ts';

interface ManifestFile {
  readonly Path?: string;
  /** The path in hex, if it is not valid UTF-8. */
  readonly 'Encoded-Path'?: string;
  readonly Size: number;
  readonly 'Checksum-Algorithm'?: string;
  readonly Checksum?: string;
}

export interface UnpackedBase {
  readonly description: BackupDescription;
  /** Key files in the backup: their content by file name. */
  readonly keys: Readonly<Record<string, Buffer>>;
  readonly files: number;
}

/**
 * Reads and checks the base at `path`. If `directory` is set, writes the files there and calls `own` with each path.
 * Throws an Error that says what is wrong with the backup. Files already written then stay.
 */
export async function unpackBase(
  path: string,
  options: {
    readonly directory?: string;
    /** Called with the path of each created file and directory. */
    readonly own?: (path: string) => Promise<void>;
    /** Called with the bytes read so far and the total bytes. */
    readonly onProgress: (done: number, expected: number) => void;
  },
): Promise<UnpackedBase> {
  const { size } = await stat(path);
  const source = createReadStream(path, { highWaterMark: 2 ** 20 });
  const sums = new Map<string, { readonly size: number; readonly sha256: string }>();
  const kept = new Map<string, Buffer>();
  const keys: Record<string, Buffer> = {};
  try {
    for await (const entry of readTar(Readable.from(source.pipe(createZstdDecompress())))) {
      const { name } = entry;
      if (name === MANIFEST || name === DESCRIPTION) kept.set(name, await contentOf(entry));
      else if (name.startsWith(`${KEYS}/`)) keys[name.slice(KEYS.length + 1)] = await contentOf(entry);
      else if (entry.kind === 'other')
        throw new Error(`the backup is damaged: ${name} is a link, and backups contain none`);
      else if (entry.kind === 'file') sums.set(name, await readFileEntry(entry, options));
      else await makeDirectory(entry, options);
      options.onProgress(source.bytesRead, size);
    }
  } catch (error) {
    const isDamaged = /^(ZSTD|Z)_|zstd/i.test(String((error as NodeJS.ErrnoException).code ?? ''));
    throw isDamaged
      ? new Error(`the backup is damaged: ${(error as Error).message}`, { cause: error })
      : error;
  } finally {
    source.destroy();
  }
  checkManifest(kept.get(MANIFEST), sums);
  const description = kept.get(DESCRIPTION);
  if (!description) throw new Error('the backup is cut off: its description is missing');
  return { description: JSON.parse(description.toString('utf8')), keys, files: sums.size };
}

async function contentOf(entry: TarEntry): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of entry.body()) pieces.push(Buffer.from(piece));
  return Buffer.concat(pieces);
}

type Placed = Parameters<typeof unpackBase>[1];

function placeOf(name: string, directory: string): string {
  const relative = normalize(name);
  if (relative.startsWith('..') || relative.startsWith(sep))
    throw new Error(`the backup is damaged: the file ${name} is outside its directory`);
  return join(directory, relative);
}

async function makeDirectory({ name }: TarEntry, { directory, own }: Placed): Promise<void> {
  if (directory === undefined) return;
  const path = placeOf(name, directory);
  await mkdir(path, { recursive: true, mode: 0o700 });
  await own?.(path);
}

async function readFileEntry(entry: TarEntry, { directory, own }: Placed) {
  const hash = createHash('sha256');
  if (directory === undefined) {
    for await (const piece of entry.body()) hash.update(piece);
    return { size: entry.size, sha256: hash.digest('hex') };
  }
  const path = placeOf(entry.name, directory);
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await using file = await open(path, 'wx', 0o600);
  for await (const piece of entry.body()) {
    hash.update(piece);
    await file.writeFile(piece);
  }
  await own?.(path);
  return { size: entry.size, sha256: hash.digest('hex') };
}

/**
 * Compares all files with the manifest. The manifest has a checksum of itself and of every file except the WAL. The
 * records of the WAL have their own checksums.
 */
function checkManifest(
  manifest: Buffer | undefined,
  sums: ReadonlyMap<string, { readonly size: number; readonly sha256: string }>,
): void {
  const text = manifest?.toString('utf8');
  const end = text?.lastIndexOf('"Manifest-Checksum"') ?? -1;
  if (text === undefined || end < 0) throw new Error('the backup is cut off: its list of files is missing');
  const parsed: { readonly Files: readonly ManifestFile[]; readonly 'Manifest-Checksum': string } =
    JSON.parse(text);
  if (createHash('sha256').update(text.slice(0, end)).digest('hex') !== parsed['Manifest-Checksum'])
    throw new Error('the backup is damaged: its list of files has a wrong checksum');
  for (const file of parsed.Files) {
    const name = file.Path ?? Buffer.from(file['Encoded-Path'] ?? '', 'hex').toString('utf8');
    const found = sums.get(name);
    if (!found) throw new Error(`the backup is damaged: the file ${name} is missing`);
    if (found.size !== file.Size || (file.Checksum !== undefined && found.sha256 !== file.Checksum))
      throw new Error(`the backup is damaged: the file ${name} has a wrong checksum`);
  }
}
