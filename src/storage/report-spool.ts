/**
 * The spool keeps delivery reports on disk while the database is unreachable. It consists of append-only files of JSON
 * lines in a directory. One process writes each file.
 *
 * Next to `<milliseconds>-<uuid>.jsonl` is a lock file `<milliseconds>-<uuid>.lock`. The operating system releases the
 * lock when the process is gone. Then another process, or the next start, takes over the file. The files contain
 * complete phone numbers, so their mode is 0600. A file is deleted when all its reports are applied.
 */
import { randomUUID } from 'node:crypto';
import { type FileHandle, mkdir, open, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { serviceUnavailable } from '../domain/errors.ts';
import type { DeliveryReport } from '../domain/ports/provider.ts';
import type { KeptReport, ReportSpool, SpoolBatch } from '../domain/ports/report-stores.ts';
import { syncDirectory } from '../runtime/sync-directory.ts';
import { OwnerLock } from './embedded-postgres/owner-lock.ts';

/**
 * Size in bytes at which a new file begins. Disk space is only freed by deleting a whole file, so files must not grow
 * large.
 */
const MAX_FILE_BYTES = 4 * 2 ** 20;
/**
 * Bytes read at a time. That is many times the longest line: limits on the texts of reports keep a line below 16 KiB.
 */
const READ_BYTES = 512 * 1024;
const NEWLINE = 0x0a;
const FILE = /^(\d+-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}))\.jsonl$/;

interface SpoolFile {
  readonly id: string;
  /** Path without the extension. */
  readonly base: string;
  readonly lock: OwnerLock;
  /** The open file. Only the newest file of this process has one: reports are appended to it. */
  readonly handle: FileHandle | undefined;
  /** Number of bytes that are certainly on the disk. */
  size: number;
}

/** The content of one line. */
interface Line {
  readonly at: string;
  readonly provider: string;
  readonly report: DeliveryReport;
}

export interface FileSpoolOptions {
  readonly directory: string;
  /** Largest number of bytes in all files of this process together. 0 disables the spool. */
  readonly maxBytes: number;
}

/** A `ReportSpool` in a directory. The directory is created with the first report. */
export class FileReportSpool implements ReportSpool {
  readonly #options: FileSpoolOptions;
  /** The files, oldest first. */
  #files: SpoolFile[] = [];
  #isAppending = false;
  /** The last change of the files. Changes run one at a time. */
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
    // Remember the size now. Reports that are appended from here on must not count as part of this batch. The caller
    // would mark them as applied without reading them.
    const { size } = file;
    const buffer = Buffer.alloc(Math.max(0, Math.min(READ_BYTES, size - from)));
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
    // The last line may have no end, because its process died while writing it. That report was never acknowledged, so
    // skip it.
    const to = taken === 0 ? Math.max(from, size) : from + taken;
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
        // A part of the report may have been written. Remove it, so that the next report does not follow half a line.
        await file.handle?.truncate(from).catch(() => undefined);
        throw error;
      }
      file.size += bytes.length;
      return { spool: file.id, from, to: file.size };
    } catch (cause) {
      throw refusal('Delivery reports cannot be kept at the moment. Try again.', cause);
    }
  }

  /** Returns the newest file of this process. Creates a new file if there is none or it is full. */
  async #fileToWrite(): Promise<SpoolFile> {
    const last = this.#files.at(-1);
    if (last?.handle && last.size < MAX_FILE_BYTES) return last;
    const { directory } = this.#options;
    await mkdir(directory, { recursive: true, mode: 0o700 });
    const id = randomUUID();
    const base = join(directory, `${Date.now()}-${id}`);
    const lock = new OwnerLock(`${base}.lock`);
    // The file does not exist yet, so no other process tries to take this lock.
    if (!lock.tryAcquire()) throw new Error(`the lock of ${base} is taken`);
    const handle = await open(`${base}.jsonl`, 'wx', 0o600);
    await syncDirectory(directory);
    const file = { id, base, lock, handle, size: 0 };
    this.#files.push(file);
    return file;
  }

  /** Runs `work` after all earlier calls have ended. */
  #alone<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#last.then(work);
    this.#last = done.catch(() => undefined);
    return done;
  }
}

const refusal = (message: string, cause?: unknown) =>
  serviceUnavailable(message, 1, 'reports_not_kept', cause);

/** Takes over the file if the process that wrote it is gone. Otherwise returns undefined. */
async function adoptedFile(base: string, id: string): Promise<SpoolFile | undefined> {
  const lock = new OwnerLock(`${base}.lock`);
  const isOurs = lock.tryAcquire();
  const found = isOurs && (await stat(`${base}.jsonl`).catch(() => undefined));
  if (found) return { id, base, lock, handle: undefined, size: found.size };
  lock.close();
  // Another process deleted the file in the meantime. Remove its lock file.
  if (isOurs) await rm(`${base}.lock`, { force: true });
  return undefined;
}

/** Releases and deletes the lock of a deleted file. */
async function release({ base, lock }: SpoolFile): Promise<void> {
  lock.close();
  await rm(`${base}.lock`, { force: true });
}

function lineOf({ provider, report, receivedAt }: KeptReport): string {
  const line: Line = { at: receivedAt.toISOString(), provider, report };
  return `${JSON.stringify(line)}\n`;
}

/** Returns undefined for an invalid line. A crash may leave part of a report, which was never acknowledged. */
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
