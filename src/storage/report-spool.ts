/**
 * The spool of delivery reports: append-only files in a directory, JSON lines, each file that of one process at a time.
 *
 * A file `<milliseconds>-<uuid>.jsonl` has a lock `<milliseconds>-<uuid>.lock` beside it, which the operating system
 * frees when its process is gone: then another process, or the next start, takes the file over. Whole phone numbers
 * stand in the files, so their mode is 0600; a file is removed when all of it is applied.
 */
import { randomUUID } from 'node:crypto';
import { type FileHandle, mkdir, open, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { serviceUnavailable } from '../domain/errors.ts';
import type { DeliveryReport } from '../domain/ports/provider.ts';
import type { KeptReport, ReportSpool, SpoolBatch } from '../domain/ports/report-stores.ts';
import { OwnerLock } from './embedded-postgres/owner-lock.ts';

/** A file takes no more reports above this size: what is applied is given back to the disk file by file. */
const MAX_FILE_BYTES = 4 * 2 ** 20;
/** What is read at once: many times the longest line, which the bounds of a report's texts keep below 16 KiB. */
const READ_BYTES = 512 * 1024;
const NEWLINE = 0x0a;
const FILE = /^(\d+-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}))\.jsonl$/;

interface SpoolFile {
  readonly id: string;
  /** Its path without the ending. */
  readonly base: string;
  readonly lock: OwnerLock;
  /** Only this process's own, newest file takes more. */
  readonly handle: FileHandle | undefined;
  /** What is known to be on the disk. */
  size: number;
}

/** What is in one line. */
interface Line {
  readonly at: string;
  readonly provider: string;
  readonly report: DeliveryReport;
}

export interface FileSpoolOptions {
  readonly directory: string;
  /** All files of this process together; 0 keeps nothing. */
  readonly maxBytes: number;
}

/** `ReportSpool` in a directory, which is made when the first report is kept. */
export class FileReportSpool implements ReportSpool {
  readonly #options: FileSpoolOptions;
  /** The oldest first. */
  #files: SpoolFile[] = [];
  #isAppending = false;
  /** One change of the files at a time. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: FileSpoolOptions) {
    this.#options = options;
  }

  get isEmpty(): boolean {
    return this.#files.length === 0 && !this.#isAppending;
  }

  get bytes(): number {
    return this.#files.reduce((sum, { size }) => sum + size, 0);
  }

  append(reports: readonly KeptReport[]): Promise<Omit<SpoolBatch, 'reports'>> {
    const bytes = Buffer.from(reports.map(lineOf).join(''), 'utf8');
    this.#isAppending = true;
    return this.#alone(async () => {
      try {
        return await this.#append(bytes);
      } finally {
        this.#isAppending = false;
      }
    });
  }

  oldest(): string | undefined {
    return this.#files[0]?.id;
  }

  async read(spool: string, from: number, most: number): Promise<SpoolBatch> {
    const file = this.#files.find(({ id }) => id === spool);
    if (!file) throw new Error(`there is no file ${spool} in the spool`);
    const buffer = Buffer.alloc(Math.max(0, Math.min(READ_BYTES, file.size - from)));
    await using handle = await open(`${file.base}.jsonl`, 'r');
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, from);
    const reports: KeptReport[] = [];
    let taken = 0;
    while (reports.length < most) {
      const end = buffer.subarray(0, bytesRead).indexOf(NEWLINE, taken);
      if (end === -1) break;
      const report = readLine(buffer.toString('utf8', taken, end));
      if (report) reports.push(report);
      taken = end + 1;
    }
    // What is left without its end was being written when its process died: nobody was told that it is kept.
    const to = taken === 0 ? Math.max(from, file.size) : from + taken;
    return { spool, from, to, reports };
  }

  remove(spool: string, to: number): Promise<boolean> {
    return this.#alone(async () => {
      const file = this.#files.find(({ id }) => id === spool);
      if (!file || file.size > to) return false;
      await file.handle?.close();
      await rm(`${file.base}.jsonl`, { force: true });
      await release(file);
      this.#files = this.#files.filter((other) => other !== file);
      return true;
    });
  }

  adopt(): Promise<number> {
    return this.#alone(async () => {
      const { directory } = this.#options;
      const names = await readdir(directory).catch((error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT') return [];
        throw error;
      });
      const adopted: SpoolFile[] = [];
      for (const name of names) {
        const [, base = '', id] = FILE.exec(name) ?? [];
        if (id === undefined || this.#files.some((file) => file.id === id)) continue;
        const file = await adoptedFile(join(directory, base), id);
        if (file) adopted.push(file);
      }
      this.#files = [...this.#files, ...adopted].sort((left, right) => (left.base < right.base ? -1 : 1));
      return adopted.length;
    });
  }

  close(): Promise<void> {
    return this.#alone(async () => {
      for (const file of this.#files) {
        await file.handle?.close();
        file.lock.close();
      }
      this.#files = [];
    });
  }

  async #append(bytes: Buffer): Promise<Omit<SpoolBatch, 'reports'>> {
    if (this.bytes + bytes.length > this.#options.maxBytes) {
      throw refusal('No more delivery reports can be kept at the moment. Try again.');
    }
    try {
      const file = await this.#fileToWrite();
      const from = file.size;
      try {
        await file.handle?.write(bytes, 0, bytes.length, from);
        await file.handle?.datasync();
      } catch (error) {
        // A part of it may be there, behind which nothing may come.
        await file.handle?.truncate(from).catch(() => undefined);
        throw error;
      }
      file.size += bytes.length;
      return { spool: file.id, from, to: file.size };
    } catch (cause) {
      throw refusal('Delivery reports cannot be kept at the moment. Try again.', cause);
    }
  }

  /** The newest file of this process, or another one where it has none or that is full. */
  async #fileToWrite(): Promise<SpoolFile> {
    const last = this.#files.at(-1);
    if (last?.handle && last.size < MAX_FILE_BYTES) return last;
    const { directory } = this.#options;
    await mkdir(directory, { recursive: true, mode: 0o700 });
    const id = randomUUID();
    const base = join(directory, `${Date.now()}-${id}`);
    const lock = new OwnerLock(`${base}.lock`);
    // Nobody looks for the lock of a file that is not there yet.
    if (!lock.tryAcquire()) throw new Error(`the lock of ${base} is taken`);
    const handle = await open(`${base}.jsonl`, 'wx', 0o600);
    await syncDirectory(directory);
    const file = { id, base, lock, handle, size: 0 };
    this.#files.push(file);
    return file;
  }

  /** Does one thing at a time, in the order in which they are asked for. */
  #alone<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#last.then(work);
    this.#last = done.catch(() => undefined);
    return done;
  }
}

const refusal = (message: string, cause?: unknown) =>
  serviceUnavailable(message, 1, 'reports_not_kept', cause);

/** The file, when its process is gone. */
async function adoptedFile(base: string, id: string): Promise<SpoolFile | undefined> {
  const lock = new OwnerLock(`${base}.lock`);
  const isOurs = lock.tryAcquire();
  const found = isOurs && (await stat(`${base}.jsonl`).catch(() => undefined));
  if (found) return { id, base, lock, handle: undefined, size: found.size };
  lock.close();
  // It was removed meanwhile.
  if (isOurs) await rm(`${base}.lock`, { force: true });
  return undefined;
}

/** Frees the lock of a file that is removed. */
async function release({ base, lock }: SpoolFile): Promise<void> {
  lock.close();
  await rm(`${base}.lock`, { force: true });
}

function lineOf({ provider, report, receivedAt }: KeptReport): string {
  const line: Line = { at: receivedAt.toISOString(), provider, report };
  return `${JSON.stringify(line)}\n`;
}

/** Undefined for what is no report: a disk may have kept a part of what nobody was told that it is kept. */
function readLine(text: string): KeptReport | undefined {
  try {
    const { at, provider, report } = JSON.parse(text) as Line;
    const receivedAt = new Date(at);
    const isWhole = typeof provider === 'string' && typeof report.sid === 'string' && report.status;
    return isWhole && receivedAt.getTime() > 0 ? { provider, report, receivedAt } : undefined;
  } catch {
    return undefined;
  }
}

/** The name must survive a power failure as the reports do. Windows has no such call. */
async function syncDirectory(directory: string): Promise<void> {
  if (process.platform === 'win32') return;
  await using handle = await open(directory, 'r');
  await handle.sync();
}
