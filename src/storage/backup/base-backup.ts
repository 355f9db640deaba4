/**
 * Copies the files of a running server with the command BASE_BACKUP of PostgreSQL's replication protocol. The server
 * reads its own files, sends each file's SHA-256, and takes no lock that would delay senders. It works in the same way
 * for the embedded server and a remote one.
 */
import { createWriteStream } from 'node:fs';
import { mkdir, open, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { constants, createZstdCompress } from 'node:zlib';
import pg from 'pg';
import { syncDirectory } from '../../runtime/sync-directory.ts';
import { configOf, type DatabaseConnection } from '../postgres/connection.ts';
import {
  type BackupDescription,
  baseName,
  DESCRIPTION,
  isDirectory,
  KEYS,
  MANIFEST,
  SUFFIX,
} from './backup-files.ts';
import { connectReplication, identifySystem, lsnOf, type ReplicationClient, runCopy } from './replication.ts';
import { END_OF_ARCHIVE, tarFile } from './tar.ts';

/**
 * Interval in ms at which the server's flushed WAL position is queried. The backup contains all commits up to the last
 * sample before its end position.
 */
const SAMPLE_MS = 200;
/**
 * From this version on, BASE_BACKUP takes its options in parentheses, and each piece of data begins with a letter that
 * says what it is.
 */
const NEW_PROTOCOL = 150_000;
/** Reading from the server pauses while more than this many bytes wait for compression. */
const HIGH_WATER_BYTES = 4 * 2 ** 20;

export interface BackupRequest {
  readonly connection: DatabaseConnection;
  /** A directory, or a file name ending in `.tar.zst`. In a directory, the file's name is made from the start time. */
  readonly to: string;
  /** Platform and architecture of the embedded server. Null for another server. */
  readonly embeddedOn: string | null;
  /**
   * True for an immediate checkpoint. The backup then starts sooner, but the disk is busy. False spreads the checkpoint
   * over minutes.
   */
  readonly isFast: boolean;
  /** Name of the gateway's master key, for the description of the backup. */
  readonly masterKey: string;
  /** Key files to include, by their names in `KEY_FILES`. */
  readonly keys: Readonly<Record<string, Buffer>>;
  /** Called with the bytes copied so far and the bytes expected. */
  readonly onProgress: (done: number, expected: number) => void;
}

export interface BackupResult extends BackupDescription {
  readonly file: string;
  /** Size of the file in bytes. */
  readonly bytes: number;
}

/**
 * Copies the server's files into a new base. Throws an Error with the reason if it cannot. While incomplete, the file
 * has the suffix `.partial`. After an error, that file is removed.
 */
export async function takeBaseBackup(request: BackupRequest): Promise<BackupResult> {
  const watcher = await watchServer(request.connection);
  const client = await connectReplication(request.connection).catch(async (error) => {
    await watcher.end();
    throw error;
  });
  const file = await placeOf(request.to, watcher.startedAt);
  const partial = `${file}.partial`;
  try {
    const identity = await identifySystem(client);
    const source = new BackupSource(client, watcher.version, request);
    await pipeline(
      Readable.from(source.archive(() => watcher.describe(request, identity, source.start, source.end))),
      createZstdCompress({
        params: { [constants.ZSTD_c_compressionLevel]: 3, [constants.ZSTD_c_checksumFlag]: 1 },
      }),
      createWriteStream(partial, { mode: 0o600, flush: true }),
    );
    await rename(partial, file);
    await syncDirectory(dirname(file));
    const described = watcher.describe(request, identity, source.start, source.end);
    return { file, bytes: (await stat(file)).size, ...described };
  } catch (error) {
    await rm(partial, { force: true });
    throw error;
  } finally {
    await watcher.end();
    await client.end().catch(() => undefined);
  }
}

/** Returns the path of the new base and creates its directory. Throws if the file already exists. */
async function placeOf(to: string, at: Date): Promise<string> {
  const isFile = to.endsWith(SUFFIX) && !(await isDirectory(to));
  const directory = isFile ? dirname(to) : to;
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const file = isFile ? to : join(directory, baseName(at));
  const there = await open(file, 'r').catch(() => undefined);
  if (!there) return file;
  await there.close();
  throw new Error(`${basename(file)} is there already. Name another file, or a directory.`);
}

/** Opens a connection that samples the server's time and flushed WAL position until `end` is called. */
async function watchServer(connection: DatabaseConnection) {
  const client = new pg.Client({
    ...(await configOf(connection)),
    application_name: 'messaging-gateway backup',
  });
  client.on('error', () => undefined);
  await client.connect();
  const samples: { readonly lsn: bigint; readonly at: Date }[] = [];
  const sample = async () => {
    const { rows } = await client.query<{ lsn: string; at: Date }>(
      'SELECT pg_current_wal_flush_lsn()::text AS lsn, clock_timestamp() AS at',
    );
    for (const { lsn, at } of rows) samples.push({ lsn: lsnOf(lsn), at });
  };
  const { rows } = await client.query<{
    version: string;
    number: number;
    database: string;
    tablespaces: string | null;
  }>(
    `SELECT current_setting('server_version') AS version, current_setting('server_version_num')::int AS number,
       current_database() AS database, string_agg(spcname, ', ') AS tablespaces
     FROM pg_tablespace WHERE spcname NOT IN ('pg_default', 'pg_global')`,
  );
  const [facts] = rows;
  if (!facts) throw new Error('the server did not return its version');
  if (facts.tablespaces !== null) {
    await client.end();
    throw new Error(
      `The database has tablespaces (${facts.tablespaces}), which this command cannot copy. Use pg_basebackup or pgBackRest.`,
    );
  }
  await sample();
  const [first] = samples;
  if (!first) throw new Error('the server did not return its time');
  let asking = Promise.resolve();
  const timer = setInterval(() => {
    asking = asking.then(sample).catch(() => undefined);
  }, SAMPLE_MS);
  return {
    version: facts.number,
    startedAt: first.at,
    describe(
      request: BackupRequest,
      identity: { readonly systemIdentifier: string; readonly timeline: number },
      startLsn: string,
      endLsn: string,
    ): BackupDescription {
      const end = lsnOf(endLsn);
      const whole = samples.findLast(({ lsn }) => lsn <= end) ?? first;
      return {
        format: 1,
        postgres: facts.version,
        embeddedOn: request.embeddedOn,
        database: facts.database,
        systemIdentifier: identity.systemIdentifier,
        timeline: identity.timeline,
        startLsn,
        endLsn,
        startedAt: first.at.toISOString(),
        wholeUntil: whole.at.toISOString(),
        masterKey: request.masterKey,
      };
    },
    async end() {
      clearInterval(timer);
      await asking;
      await client.end().catch(() => undefined);
    },
  };
}

/**
 * Turns the server's answer to BASE_BACKUP into one archive: the server's files, then the keys, the manifest and the
 * description.
 */
class BackupSource {
  readonly #client: ReplicationClient;
  readonly #version: number;
  readonly #request: BackupRequest;
  readonly #manifest: Buffer[] = [];
  readonly #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #wake: (() => void) | undefined;
  /** Before version 15: how many data streams have begun. The first one is the archive, the second the manifest. */
  #copies = 0;
  #isInManifest = false;
  #done = 0;
  #expected = 0;
  start = '';
  end = '';

  constructor(client: ReplicationClient, version: number, request: BackupRequest) {
    this.#client = client;
    this.#version = version;
    this.#request = request;
  }

  async *archive(describe: () => BackupDescription): AsyncGenerator<Buffer> {
    let failure: { readonly error: unknown } | undefined;
    let isOver = false;
    const copied = runCopy(this.#client, this.#command(), {
      onRow: (fields) => this.#onRow(fields),
      onCopy: () => {
        this.#copies += 1;
      },
      onData: (chunk) => this.#onData(chunk),
    })
      .catch((error: unknown) => {
        failure = { error };
      })
      .finally(() => {
        isOver = true;
        this.#wake?.();
      });
    // `held` keeps back the last bytes, which may be the end mark of the server's archive. More entries follow here, so
    // that mark must not be written.
    let held = Buffer.alloc(0);
    for (;;) {
      const piece = this.#waiting.shift();
      if (piece) {
        this.#waitingBytes -= piece.length;
        if (this.#waitingBytes < HIGH_WATER_BYTES) this.#client.connection.stream.resume();
        const joined = Buffer.concat([held, piece]);
        const cut = Math.max(0, joined.length - END_OF_ARCHIVE.length);
        held = joined.subarray(cut);
        yield joined.subarray(0, cut);
        continue;
      }
      if (isOver) break;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    await copied;
    if (failure) throw failure.error;
    if (this.end === '') throw new Error('the server ended the backup before it was complete');
    if (held.some((byte) => byte !== 0)) yield held;
    const now = new Date();
    for (const [name, content] of Object.entries(this.#request.keys))
      yield tarFile(`${KEYS}/${name}`, content, now);
    yield tarFile(MANIFEST, Buffer.concat(this.#manifest), now);
    yield tarFile(DESCRIPTION, Buffer.from(JSON.stringify(describe(), null, 2)), now);
    yield END_OF_ARCHIVE;
  }

  #command(): string {
    const { isFast } = this.#request;
    if (this.#version < NEW_PROTOCOL) {
      return `BASE_BACKUP LABEL 'messaging-gateway' PROGRESS ${isFast ? 'FAST ' : ''}WAL MANIFEST 'yes' MANIFEST_CHECKSUMS 'SHA256'`;
    }
    return `BASE_BACKUP (LABEL 'messaging-gateway', PROGRESS, CHECKPOINT '${isFast ? 'fast' : 'spread'}', WAL, MANIFEST 'yes', MANIFEST_CHECKSUMS 'SHA256')`;
  }

  /**
   * The server sends three kinds of rows: the start position, the expected size in KB of each tablespace (three
   * columns), and the end position.
   */
  #onRow(fields: readonly (string | null)[]): void {
    const [first, , size] = fields;
    if (fields.length === 3) this.#expected += Number(size ?? 0) * 1024;
    else if (this.start === '') this.start = first ?? '';
    else this.end = first ?? '';
  }

  #onData(chunk: Buffer): void {
    if (this.#version < NEW_PROTOCOL) {
      if (this.#copies > 1) this.#manifest.push(Buffer.from(chunk));
      else this.#push(Buffer.from(chunk));
      return;
    }
    const letter = String.fromCharCode(chunk[0] ?? 0);
    if (letter === 'm') this.#isInManifest = true;
    else if (letter === 'd' && this.#isInManifest) this.#manifest.push(Buffer.from(chunk.subarray(1)));
    else if (letter === 'd') this.#push(Buffer.from(chunk.subarray(1)));
  }

  #push(piece: Buffer): void {
    this.#waiting.push(piece);
    this.#waitingBytes += piece.length;
    this.#done += piece.length;
    if (this.#waitingBytes >= HIGH_WATER_BYTES) this.#client.connection.stream.pause();
    this.#request.onProgress(this.#done, this.#expected);
    this.#wake?.();
  }
}
