import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import type { ServerConnection } from './database.ts';

/** A connection pool in front of a PostgreSQL server. For a client it behaves like PgBouncer. */
export interface Pooler extends AsyncDisposable {
  /** The DATABASE_URL that reaches the database through the pool. */
  readonly url: string;
  stop(): Promise<void>;
}

interface PoolerOptions {
  /** How long a client keeps its connection to the server. */
  readonly mode: 'session' | 'transaction' | 'statement';
  /** The largest number of connections to the server. If all are in use, clients wait. */
  readonly size?: number;
  /** Which idle connection a client gets: the one used last, or the one that was idle longest. */
  readonly gives?: 'newest' | 'oldest';
  /** Number of connections that are opened before the first client arrives. */
  readonly warm?: number;
}

const SSL_REQUEST = 80_877_103;
/** The startup parameters that PgBouncer accepts by default. */
const KNOWN = ['user', 'database', 'client_encoding', 'datestyle', 'timezone', 'application_name'];
const TERMINATE = 'X'.charCodeAt(0);
const READY = 'Z'.charCodeAt(0);
const IDLE = 'I'.charCodeAt(0);

const message = (type: string, body: Buffer): Buffer => {
  const head = Buffer.alloc(5);
  head.write(type);
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
};
const texts = (...parts: string[]) => Buffer.from(`${parts.join('\0')}\0`);
const numbers = (...values: number[]) => {
  const body = Buffer.alloc(4 * values.length);
  for (const [index, value] of values.entries()) body.writeInt32BE(value, 4 * index);
  return body;
};
const refusal = (code: string, text: string) =>
  message('E', Buffer.concat([texts('SFATAL', 'VFATAL', `C${code}`, `M${text}`), Buffer.from('\0')]));
const ready = message('Z', Buffer.from('I'));

/** Calls `take` with each complete message of the socket. */
function eachMessage(socket: Socket, take: (whole: Buffer) => void): void {
  let rest = Buffer.alloc(0);
  socket.on('data', (data: Buffer) => {
    rest = Buffer.concat([rest, data]);
    while (rest.length >= 5 && rest.length > rest.readInt32BE(1)) {
      const end = rest.readInt32BE(1) + 1;
      const whole = rest.subarray(0, end);
      rest = rest.subarray(end);
      take(whole);
    }
  });
}

/** A connection to the server. `client` is the client that uses it. */
interface Backend {
  readonly socket: Socket;
  client: Socket | undefined;
  /** True if no transaction is open. */
  isIdle: boolean;
}

export async function startPooler(server: ServerConnection, options: PoolerOptions): Promise<Pooler> {
  const { mode, size = 100, gives = 'newest', warm = 0 } = options;
  const sockets = new Set<Socket>();
  const idle: Backend[] = [];
  const waiting: ((backend: Backend) => void)[] = [];
  let opened = 0;

  const keep = (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
    return socket;
  };
  const release = (backend: Backend) => {
    backend.client = undefined;
    const next = waiting.shift();
    if (next) next(backend);
    else idle.push(backend);
  };
  const open = () =>
    new Promise<Backend>((resolve) => {
      opened += 1;
      const socket = keep(
        server.host.startsWith('/')
          ? connect(join(server.host, `.s.PGSQL.${server.port}`))
          : connect(server.port, server.host),
      );
      const backend: Backend = { socket, client: undefined, isIdle: true };
      const names = Buffer.concat([
        texts('user', server.user, 'database', server.database),
        Buffer.from('\0'),
      ]);
      socket.write(Buffer.concat([numbers(8 + names.length, 196_608), names]));
      let isOpen = false;
      eachMessage(socket, (whole) => {
        const isReady = whole[0] === READY;
        backend.isIdle = isReady && whole[5] === IDLE;
        if (!isOpen) {
          if (!isReady) return;
          isOpen = true;
          return resolve(backend);
        }
        backend.client?.write(whole);
        if (isReady && mode !== 'session' && backend.isIdle && backend.client) release(backend);
      });
    });
  const take = async (): Promise<Backend> => {
    const found = gives === 'newest' ? idle.pop() : idle.shift();
    if (found) return found;
    if (opened < size) return open();
    return new Promise((resolve) => waiting.push(resolve));
  };

  function serve(client: Socket): void {
    let backend: Backend | undefined;
    let asked = Promise.resolve();
    eachMessage(client, (whole) => {
      if (whole[0] === TERMINATE) return void client.end();
      if (mode === 'statement' && /^Q....BEGIN/s.test(whole.toString('latin1'))) {
        client.write(
          Buffer.concat([refusal('08P01', 'transaction blocks not allowed in statement pooling mode')]),
        );
        return void client.end();
      }
      asked = asked.then(async () => {
        if (backend?.client !== client) {
          backend = await take();
          backend.client = client;
        }
        backend.socket.write(whole);
      });
    });
    client.on('close', () => {
      if (backend?.client !== client) return;
      // End the session on the server, as PgBouncer's `server_reset_query` or a closed connection does.
      opened -= 1;
      backend.socket.destroy();
    });
  }

  function welcome(client: Socket): void {
    client.once('data', (data: Buffer) => {
      if (data.readInt32BE(4) === SSL_REQUEST) {
        client.write('N');
        return welcome(client);
      }
      const words = data.subarray(8).toString().split('\0');
      const unknown = words.find((word, index) => index % 2 === 0 && word && !KNOWN.includes(word));
      if (unknown !== undefined) {
        client.end(refusal('08P01', `unsupported startup parameter: ${unknown}`));
        return;
      }
      serve(client);
      // The client is logged in, but has no server connection yet. The process id and the key are invented.
      client.write(Buffer.concat([message('R', numbers(0)), message('K', numbers(1, 1)), ready]));
    });
  }

  idle.push(...(await Promise.all(Array.from({ length: warm }, open))));
  // Without noDelay, each answer of several messages waits 40 ms for a delayed ACK.
  const listener = createServer({ noDelay: true }, (client) => welcome(keep(client)));
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  const { port } = listener.address() as AddressInfo;
  const stop = () =>
    new Promise<void>((resolve) => {
      listener.close(() => resolve());
      for (const socket of sockets) socket.destroy();
    });
  return {
    url: `postgres://${server.user}@127.0.0.1:${port}/${server.database}`,
    stop,
    [Symbol.asyncDispose]: stop,
  };
}
