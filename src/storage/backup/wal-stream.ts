/** Receives the write-ahead log (WAL) of a running server by streaming replication, and keeps it in files. */
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { configOf, type DatabaseConnection } from '../postgres/connection.ts';
import { DatabaseServers } from '../postgres/database-servers.ts';
import { endWhenUnanswered } from '../postgres/unanswered.ts';
import {
  connectReplication,
  identifySystem,
  lsnOf,
  type ReplicationClient,
  reportWal,
  reserveWal,
  streamWal,
  type WalPosition,
} from './replication.ts';
import { OtherServer, WalWriter } from './wal-files.ts';

const RECONNECT_MS = 1_000;
/**
 * Interval in ms at which WAL is written to the disk, and at which a mark is added to the WAL. A restore can end at any
 * mark.
 */
const FLUSH_MS = 1_000;
/**
 * A server that sends nothing for this time, in ms, counts as unreachable. A working server sends at least one mark
 * each second.
 */
const SILENT_MS = 15_000;
/** Reading from the server pauses while more than this many bytes wait for the disk. */
const HIGH_WATER_BYTES = 4 * 2 ** 20;
/**
 * Matches error codes of a server that cannot serve now. Any other error means that the server refuses the position.
 */
const PASSING = /^(08|53|57)/;

/**
 * Writes a mark into the WAL and commits it. So an idle server also has a commit each second, and a restore to a time
 * finds its end. The time is read before the mark is written. So everything that was committed before that time
 * precedes the mark.
 */
const MARK = `SELECT clock_timestamp() AS at, pg_logical_emit_message(true, 'messaging-gateway', '')`;
const FLUSHED = 'SELECT pg_current_wal_flush_lsn()::text AS lsn';
const SEGMENT_BYTES = `SELECT setting::int AS bytes FROM pg_settings WHERE name = 'wal_segment_size'`;

export interface WalStreamRequest {
  readonly connection: DatabaseConnection;
  /** The directory of backups. */
  readonly to: string;
  readonly signal: AbortSignal;
  /** Called about every second. All commits up to the time `until` are on the disk. */
  readonly onKept: (until: Date) => void;
  /** Called when the stream broke. A new connection is tried every second. */
  readonly onFault: (error: unknown) => void;
}

/** Thrown if the server no longer has the WAL at the position where the kept WAL ends. */
class Gap extends Error {}

/**
 * Keeps the WAL until `signal` aborts. Reconnects after the server was unreachable. If the server no longer has the
 * next part of the WAL, keeps the WAL from the present position on. Then `wantsBase` is true. Rejects with
 * `OtherServer` if the directory holds the WAL of another server.
 */
export async function keepWal(request: WalStreamRequest): Promise<void> {
  const { signal } = request;
  let beginsAgain = false;
  while (!signal.aborted) {
    try {
      await keepOnce(request, beginsAgain);
    } catch (error) {
      if (error instanceof OtherServer) throw error;
      if (!signal.aborted) request.onFault(error instanceof Gap ? error.cause : error);
      beginsAgain = error instanceof Gap;
      if (request.connection instanceof DatabaseServers) request.connection.doubt();
    }
    await sleep(RECONNECT_MS, undefined, { signal }).catch(() => undefined);
  }
}

/**
 * Keeps the WAL over one connection. Rejects when the connection ends, or with `Gap` if a part of the WAL is missing.
 */
async function keepOnce(request: WalStreamRequest, beginsAgain: boolean): Promise<void> {
  await using opened = new AsyncDisposableStack();
  const marker = new pg.Client({
    ...(await configOf(request.connection)),
    application_name: 'messaging-gateway backup',
    connectionTimeoutMillis: SILENT_MS,
    query_timeout: SILENT_MS,
  });
  marker.on('error', () => undefined);
  opened.defer(() => marker.end().catch(() => undefined));
  await marker.connect();
  const { rows } = await marker.query<{ bytes: number }>(SEGMENT_BYTES);
  const client = await connectReplication(request.connection);
  opened.defer(() => client.end().catch(() => undefined));
  endWhenUnanswered(client, SILENT_MS);
  const identity = await identifySystem(client);
  const writer = await WalWriter.open(request.to, identity.systemIdentifier, rows[0]?.bytes ?? 0);
  const receiver = new Receiver(client, writer);
  opened.defer(() => receiver.close());
  const stop = () => receiver.fail(new Error('the backup ends'));
  request.signal.addEventListener('abort', stop);
  opened.defer(() => request.signal.removeEventListener('abort', stop));
  const timer = setInterval(() => receiver.mark(marker, request.onKept), FLUSH_MS);
  opened.defer(() => clearInterval(timer));
  request.signal.throwIfAborted();
  const next = beginsAgain ? undefined : await writer.next();
  if (!next) await writer.begin();
  const from = next ?? { timeline: identity.timeline, position: writer.startOf(lsnOf(identity.position)) };
  await receiver.run(from).catch((error: unknown) => {
    const isRefused = error instanceof pg.DatabaseError && !PASSING.test(error.code ?? '');
    throw isRefused && next && !receiver.hasReceived ? new Gap('a part is missing', { cause: error }) : error;
  });
}

/** Writes the WAL that the server sends, and confirms to the server what is on the disk. */
class Receiver {
  readonly #client: ReplicationClient;
  readonly #writer: WalWriter;
  /** Resolves when everything that was received is written. */
  #writing: Promise<void> = Promise.resolve();
  #waitingBytes = 0;
  #marks: { readonly position: bigint; readonly at: Date }[] = [];
  #isMarking = false;
  #hasStarted = false;
  /** True if the server has sent a part of the WAL. */
  hasReceived = false;

  constructor(client: ReplicationClient, writer: WalWriter) {
    this.#client = client;
    this.#writer = writer;
  }

  /** Receives the WAL from a position on, and continues after promotions. Rejects when the connection ends. */
  async run(from: WalPosition): Promise<never> {
    const slot = await reserveWal(this.#client);
    for (let at = from; ; ) {
      const { timeline } = at;
      const next = await streamWal(this.#client, slot, at, {
        onStart: () => {
          this.#hasStarted = true;
        },
        onPiece: (position, piece) => this.#add({ timeline, position }, piece),
      });
      await this.#writing;
      const [history] = (
        await this.#client.query<{ filename: string; content: Buffer | string }>(
          `TIMELINE_HISTORY ${next.timeline}`,
        )
      ).rows;
      if (!history) throw new Error('the server did not send the history of its timeline');
      await this.#writer.addHistory(history.filename, history.content);
      // The new timeline has its own copy of the segment in which it began.
      at = { timeline: next.timeline, position: this.#writer.startOf(next.position) };
    }
  }

  #add(at: WalPosition, piece: Buffer): void {
    const { stream } = this.#client.connection;
    this.hasReceived = true;
    this.#waitingBytes += piece.length;
    if (this.#waitingBytes >= HIGH_WATER_BYTES) stream.pause();
    this.#writing = this.#writing.then(async () => {
      await this.#writer.write(at, piece);
      this.#waitingBytes -= piece.length;
      if (this.#waitingBytes < HIGH_WATER_BYTES) stream.resume();
    });
    this.#writing.catch((error: Error) => this.fail(error));
  }

  /** Adds a mark to the WAL, and writes the received WAL to the disk. Calls `onKept` if the disk has a new mark now. */
  mark(marker: pg.Client, onKept: (until: Date) => void): void {
    if (this.#isMarking || !this.#hasStarted) return;
    this.#isMarking = true;
    this.#mark(marker, onKept)
      .catch((error: Error) => this.fail(error))
      .finally(() => {
        this.#isMarking = false;
      });
  }

  async #mark(marker: pg.Client, onKept: (until: Date) => void): Promise<void> {
    const [made] = (await marker.query<{ at: Date }>(MARK)).rows;
    const [flushed] = (await marker.query<{ lsn: string }>(FLUSHED)).rows;
    if (made && flushed) this.#marks.push({ at: made.at, position: lsnOf(flushed.lsn) });
    await this.#writing;
    const kept = (await this.#writer.flush()) ?? 0n;
    reportWal(this.#client, kept);
    const last = this.#marks.findLast(({ position }) => position <= kept);
    if (!last) return;
    this.#marks = this.#marks.filter(({ position }) => position > kept);
    onKept(last.at);
  }

  /** Ends the connection. `run` then rejects with the error. */
  fail(error: Error): void {
    this.#client.connection.stream.destroy(error);
  }

  async close(): Promise<void> {
    await this.#writing.catch(() => undefined);
    await this.#writer.close();
  }
}
