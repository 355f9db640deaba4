/** A proxy between one gateway and PostgreSQL, which delays and loses what passes. */
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import type { ServerConnection } from '../support/database.ts';

/** `lose`: a commit's answer is lost. `drop`: the commit itself is. Both end the connection. */
export type CommitFate = 'pass' | 'lose' | 'drop';

export interface PostgresProxy {
  /** DATABASE_URL of the database behind it. */
  readonly url: string;
  /** Each piece is held back for so many milliseconds, in both directions. */
  delayMs: number;
  commits: CommitFate;
  /** While set, connections end and no new ones begin. */
  setCut(isCut: boolean): void;
  stop(): Promise<void>;
}

/** The gateway sends a group of statements in one piece; this is in the one that ends a transaction. */
const COMMIT = 'COMMIT';

export async function startPostgresProxy(server: ServerConnection): Promise<PostgresProxy> {
  const clients = new Set<Socket>();
  let isCut = false;
  const listener = createServer((client) => {
    if (isCut) return void client.destroy();
    const upstream = server.host.startsWith('/')
      ? connect(join(server.host, `.s.PGSQL.${server.port}`))
      : connect(server.port, server.host);
    clients.add(client);
    const end = () => {
      clients.delete(client);
      client.destroy();
      upstream.destroy();
    };
    for (const socket of [client, upstream]) socket.on('error', end).on('close', end);
    let isLost = false;
    /** Pieces keep their order, also while the delay changes. */
    const passing = (to: Socket) => {
      let last = Promise.resolve();
      return (piece: Buffer) => {
        const until = performance.now() + proxy.delayMs;
        last = last.then(async () => {
          const leftMs = until - performance.now();
          if (leftMs > 0) await new Promise((resolve) => setTimeout(resolve, leftMs));
          if (!to.destroyed) to.write(piece);
        });
      };
    };
    const up = passing(upstream);
    const down = passing(client);
    client.on('data', (piece: Buffer) => {
      if (proxy.commits !== 'pass' && piece.includes(COMMIT)) {
        if (proxy.commits === 'drop') return end();
        isLost = true;
      }
      up(piece);
    });
    upstream.on('data', (piece: Buffer) => {
      if (isLost) end();
      else down(piece);
    });
  });
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  const { port } = listener.address() as AddressInfo;
  const password = server.password ? `:${server.password}` : '';
  const proxy: PostgresProxy = {
    url: `postgres://${server.user}${password}@127.0.0.1:${port}/${server.database}`,
    delayMs: 0,
    commits: 'pass',
    setCut(cut) {
      isCut = cut;
      if (cut) for (const client of clients) client.destroy();
    },
    stop: () =>
      new Promise((resolve) => {
        listener.close(() => resolve());
        for (const client of clients) client.destroy();
      }),
  };
  return proxy;
}
