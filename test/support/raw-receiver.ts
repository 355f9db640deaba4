/** Receivers on plain sockets, for tests of outgoing HTTP. */
import { readFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, type TLSSocket } from 'node:tls';

const FIXTURES = new URL('../fixtures/', import.meta.url);

/** Returns the text of a file in test/fixtures. */
export const fixture = (path: string): string => readFileSync(new URL(path, FIXTURES), 'utf8');

/** Returns a key and certificate from test/fixtures/tls-test-only. They are for tests only. */
export const identity = (name: string): { key: string; cert: string } => ({
  key: fixture(`tls-test-only/${name}.key`),
  cert: fixture(`tls-test-only/${name}.pem`),
});

export interface RawReceiver {
  readonly port: number;
  /** Number of connections accepted so far. */
  readonly accepted: number;
  readonly open: number;
  readonly requests: readonly string[];
  close(): Promise<void>;
}

/** Returns a complete HTTP answer. */
export const answer = (status: number, body: string | Buffer = '', headers: string[] = []): Buffer =>
  Buffer.concat([
    Buffer.from(
      [`HTTP/1.1 ${status} Whatever`, `Content-Length: ${Buffer.byteLength(body)}`, ...headers, '', ''].join(
        '\r\n',
      ),
    ),
    Buffer.from(body),
  ]);

/**
 * Starts a receiver on a free port of loopback. `onRequest` gets the socket when a whole request (by its
 * Content-Length) has arrived. With `tls` it gets the decrypted socket.
 */
export async function rawReceiver(
  onRequest: (socket: Socket | TLSSocket, request: string) => void,
  options: {
    tls?: { key: string; cert: string };
    host?: string;
    onConnection?: (socket: Socket) => void;
  } = {},
): Promise<RawReceiver> {
  const sockets = new Set<Socket>();
  const requests: string[] = [];
  let accepted = 0;
  const serve = (socket: Socket) => {
    let seen = '';
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => {
      seen += chunk.toString('latin1');
      const head = seen.indexOf('\r\n\r\n');
      const length = Number(/content-length: (\d+)/i.exec(seen)?.[1] ?? 0);
      if (head < 0 || seen.length < head + 4 + length) return;
      const request = seen;
      seen = '';
      requests.push(request);
      onRequest(socket, request);
    });
  };
  const server: Server = options.tls ? createTlsServer(options.tls, serve) : createServer(serve);
  server.on('connection', (socket: Socket) => {
    accepted += 1;
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
    options.onConnection?.(socket);
  });
  server.on('tlsClientError', () => undefined);
  await new Promise<void>((resolve) => server.listen(0, options.host ?? '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    requests,
    get accepted() {
      return accepted;
    },
    get open() {
      return sockets.size;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}
