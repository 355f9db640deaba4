/** A client of PostgreSQL's streaming replication protocol, for copies of the server's files. */
import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import pg from 'pg';
import { configOf, type DatabaseConnection } from '../postgres/connection.ts';

const CONNECT_MS = 10_000;

/** Members of the driver's connection that the types of `pg` lack. */
interface DriverConnection {
  readonly stream: Socket;
  query(text: string): void;
  sendCopyFromChunk(chunk: Buffer): void;
  endCopyFrom(): void;
  on(event: 'copyOutResponse', listener: () => void): void;
  once(event: 'replicationStart' | 'copyDone', listener: () => void): void;
  off(event: 'replicationStart' | 'copyDone', listener: () => void): void;
}
export type ReplicationClient = pg.Client & { readonly connection: DriverConnection };

/** Opens a replication connection. If the user lacks a right, throws an Error that names the right. */
export async function connectReplication(connection: DatabaseConnection): Promise<ReplicationClient> {
  const config: pg.ClientConfig & { replication: string } = {
    ...(await configOf(connection)),
    replication: 'true',
    application_name: 'messaging-gateway backup',
    connectionTimeoutMillis: CONNECT_MS,
    keepAlive: true,
  };
  const client = new pg.Client(config) as ReplicationClient;
  // Ignore the event. A lost connection also makes the running command fail.
  client.on('error', () => undefined);
  try {
    await client.connect();
    return client;
  } catch (cause) {
    client.end().catch(() => undefined);
    const { code, message } = cause as { code?: string; message: string };
    if (code === '42501' || (code === '28000' && /replication/.test(message))) {
      throw new Error(
        'The user in DATABASE_URL may not copy the database. Give it the attribute REPLICATION (ALTER ROLE … REPLICATION) ' +
          'and a line for "replication" in pg_hba.conf. If your database service allows neither, use its own backups.',
        { cause },
      );
    }
    throw cause;
  }
}

/** The server's answer to IDENTIFY_SYSTEM. */
export interface SystemIdentity {
  readonly systemIdentifier: string;
  readonly timeline: number;
  readonly position: string;
}

export async function identifySystem(client: ReplicationClient): Promise<SystemIdentity> {
  const { rows } = await client.query<{ systemid: string; timeline: string; xlogpos: string }>(
    'IDENTIFY_SYSTEM',
  );
  const [row] = rows;
  if (!row) throw new Error('the server did not identify itself');
  return { systemIdentifier: row.systemid, timeline: Number(row.timeline), position: row.xlogpos };
}

/** Converts a position in the write-ahead log, such as `0/2000028`, to a number. */
export function lsnOf(text: string): bigint {
  const [high = '', low = ''] = text.split('/');
  return (BigInt(`0x${high}`) << 32n) | BigInt(`0x${low}`);
}

interface CopyHandlers {
  /** Called for each result row, which comes before or after the data. */
  onRow?(fields: readonly (string | null)[]): void;
  /** Called when a new stream of data begins. */
  onCopy?(): void;
  /** Called with each piece of data. The driver reuses the buffer: copy it to keep it. */
  onData(chunk: Buffer): void;
}

/**
 * Runs a command that answers with data streams. Resolves at the end of the streams. Rejects with the server's error.
 */
export function runCopy(client: ReplicationClient, command: string, handlers: CopyHandlers): Promise<void> {
  const { connection } = client;
  connection.on('copyOutResponse', () => handlers.onCopy?.());
  return new Promise((resolve, reject) => {
    let failure: unknown;
    const query = {
      submit: () => {
        connection.query(command);
        return null;
      },
      handleRowDescription: () => undefined,
      handleDataRow: ({ fields }: { fields: (string | null)[] }) => handlers.onRow?.(fields),
      handleCopyData: ({ chunk }: { chunk: Buffer }) => handlers.onData(chunk),
      handleCommandComplete: () => undefined,
      handleEmptyQuery: () => undefined,
      handlePortalSuspended: () => undefined,
      handleCopyInResponse: () => undefined,
      handleError: (error: unknown) => {
        failure ??= error;
        reject(error);
      },
      handleReadyForQuery: () => (failure === undefined ? resolve() : reject(failure)),
    };
    (client.query as unknown as (submitted: typeof query) => void)(query);
  });
}

/** A position in the write-ahead log of a timeline. */
export interface WalPosition {
  readonly timeline: number;
  readonly position: bigint;
}

/** Seconds from 1970 to 2000. PostgreSQL's times start in 2000. */
const EPOCH_SECONDS = 946_684_800;
/** Length in bytes of the head of a WAL message: a letter, two positions and a time. */
const HEAD_BYTES = 25;

const textOf = (position: bigint) =>
  `${(position >> 32n).toString(16)}/${(position & 0xffff_ffffn).toString(16)}`;

/**
 * Makes the server keep the WAL that was not confirmed with `reportWal` yet. Without this, a checkpoint could remove
 * it. It holds until the connection ends. Returns the name of the replication slot.
 */
export async function reserveWal(client: ReplicationClient): Promise<string> {
  const slot = `messaging_gateway_${randomBytes(8).toString('hex')}`;
  await client.query(`CREATE_REPLICATION_SLOT ${slot} TEMPORARY PHYSICAL RESERVE_WAL`);
  return slot;
}

/**
 * Receives the WAL of a timeline from a position on. When a later timeline begins, resolves with that timeline and the
 * position where it begins. Rejects with the server's error, or when the connection ends.
 */
export function streamWal(
  client: ReplicationClient,
  slot: string,
  { timeline, position }: WalPosition,
  handlers: {
    onStart(): void;
    onPiece(position: bigint, piece: Buffer): void;
  },
): Promise<WalPosition> {
  const { connection } = client;
  const onStart = () => handlers.onStart();
  const onDone = () => connection.endCopyFrom();
  connection.once('replicationStart', onStart);
  connection.once('copyDone', onDone);
  return new Promise<WalPosition>((resolve, reject) => {
    let failure: unknown = new Error('the server ended the stream of its log');
    let next: WalPosition | undefined;
    const query = {
      submit: () => {
        connection.query(`START_REPLICATION SLOT ${slot} PHYSICAL ${textOf(position)} TIMELINE ${timeline}`);
        return null;
      },
      handleRowDescription: () => undefined,
      handleDataRow: ({ fields: [found, start] }: { fields: (string | null)[] }) => {
        next = { timeline: Number(found), position: lsnOf(start ?? '') };
      },
      handleCopyData: ({ chunk }: { chunk: Buffer }) => {
        // Copy the bytes, because the driver reuses its buffer.
        if (chunk[0] === 'w'.charCodeAt(0))
          handlers.onPiece(chunk.readBigUInt64BE(1), Buffer.from(chunk.subarray(HEAD_BYTES)));
      },
      handleCommandComplete: () => undefined,
      handleEmptyQuery: () => undefined,
      handlePortalSuspended: () => undefined,
      handleCopyInResponse: () => undefined,
      handleError: (error: unknown) => {
        failure = error;
        reject(error);
      },
      handleReadyForQuery: () => (next ? resolve(next) : reject(failure)),
    };
    (client.query as unknown as (submitted: typeof query) => void)(query);
  }).finally(() => {
    connection.off('replicationStart', onStart);
    connection.off('copyDone', onDone);
  });
}

/** Confirms to the server up to which position the WAL is on this disk. */
export function reportWal({ connection }: ReplicationClient, position: bigint): void {
  const report = Buffer.alloc(34);
  report.write('r');
  report.writeBigUInt64BE(position, 1);
  report.writeBigUInt64BE(position, 9);
  report.writeBigUInt64BE(0n, 17);
  report.writeBigInt64BE(BigInt(Date.now() - EPOCH_SECONDS * 1_000) * 1_000n, 25);
  connection.sendCopyFromChunk(report);
}
