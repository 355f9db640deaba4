import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A TCP proxy in front of an HTTP server. It can lose answers, as networks do. */
export interface HttpProxy {
  /** Base address, without a path. */
  readonly url: string;
  /** The first line of each forwarded request. */
  readonly requests: readonly string[];
  /** Number of lost answers. */
  readonly lost: number;
  stop(): Promise<void>;
}

/**
 * Starts a proxy that forwards requests to `target`. If `loses` is true for a request's head, the proxy resets the
 * connection at the first byte of the answer. So the server has done the work, but the client does not know.
 */
export async function startHttpProxy(target: string, loses: (head: string) => boolean): Promise<HttpProxy> {
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  const requests: string[] = [];
  let lost = 0;
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => sockets.delete(socket));
    }
    let isLosing = false;
    client.on('data', (piece: Buffer) => {
      const text = piece.toString('latin1');
      const head = /^(?:GET|POST|PUT|DELETE) \S+ HTTP/.test(text) ? text.split('\r\n\r\n')[0] : undefined;
      if (head !== undefined) {
        requests.push(head.slice(0, head.indexOf(' HTTP')));
        isLosing = loses(head);
      }
      upstream.write(piece);
    });
    upstream.on('data', (piece: Buffer) => {
      if (!isLosing) return client.write(piece);
      lost += 1;
      client.resetAndDestroy();
      return upstream.destroy();
    });
    client.on('close', () => upstream.destroy());
    upstream.on('close', () => client.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    get lost() {
      return lost;
    },
    stop: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

/** Returns a function for `startHttpProxy` that loses the first answer to each idempotency key. */
export function losesFirstAnswers(): (head: string) => boolean {
  const seen = new Set<string>();
  return (head) => {
    const key = headerIn(head, 'idempotency-key');
    if (key === undefined || seen.has(key)) return false;
    seen.add(key);
    return true;
  };
}

/** Returns the value of a header in a request's head. Undefined if it is missing. */
function headerIn(head: string, name: string): string | undefined {
  return new RegExp(`^${name}: (.*)$`, 'im').exec(head)?.[1];
}
