import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import type { ServerConnection } from './database.ts';

/** A TCP proxy in front of a PostgreSQL server. It simulates network failures. */
export interface DatabaseProxy {
  /** The DATABASE_URL that reaches the database through the proxy. */
  readonly url: string;
  /** Closes every connection and refuses new ones. */
  cut(): Promise<void>;
  /** Drops all packets. Clients and server see open connections without an answer. */
  silence(): void;
  /**
   * Drops PostgreSQL's answers on a connection after the text `asked` was sent on it. Resolves when PostgreSQL has
   * answered.
   */
  loseAnswerTo(asked: string): Promise<void>;
  /** Forwards packets again. A connection that lost packets stays silent until it is closed. */
  restore(): Promise<void>;
  stop(): Promise<void>;
}

export async function startDatabaseProxy(connection: ServerConnection): Promise<DatabaseProxy> {
  const sockets = new Set<Socket>();
  let lost: { readonly asked: string; readonly tell: () => void } | undefined;
  let isSilent = false;
  let server: Server | undefined;
  const keep = (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
  };
  const listen = (port: number) =>
    new Promise<void>((resolve) => {
      server = createServer((client) => {
        keep(client);
        if (isSilent) return;
        const upstream = connection.host.startsWith('/')
          ? connect(join(connection.host, `.s.PGSQL.${connection.port}`))
          : connect(connection.port, connection.host);
        keep(upstream);
        client.pipe(upstream).pipe(client);
        client.prependListener('data', (piece: Buffer) => {
          if (lost === undefined || !piece.includes(lost.asked)) return;
          upstream.unpipe(client);
          upstream.once('data', lost.tell);
          upstream.resume();
        });
        client.on('close', () => upstream.destroy());
        upstream.on('close', () => client.destroy());
      });
      server.listen(port, '127.0.0.1', resolve);
    });
  const close = () =>
    new Promise<void>((resolve) => {
      if (!server?.listening) return resolve();
      server.close(() => resolve());
      for (const socket of sockets) socket.destroy();
    });
  await listen(0);
  const { port } = (server as unknown as Server).address() as AddressInfo;
  return {
    url: `postgres://${connection.user}${connection.password ? `:${connection.password}` : ''}@127.0.0.1:${port}/${connection.database}`,
    cut: close,
    silence() {
      isSilent = true;
      for (const socket of sockets) socket.unpipe();
    },
    loseAnswerTo(asked) {
      return new Promise((resolve) => {
        lost = { asked, tell: resolve };
      });
    },
    async restore() {
      isSilent = false;
      lost = undefined;
      if (!server?.listening) await listen(port);
    },
    stop: close,
  };
}
