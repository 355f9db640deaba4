/** The receiver of webhooks: it hangs, fails and cuts connections when it is told to, and remembers what it took. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Disorder } from './schedule.ts';

type Misbehaviour = Extract<Disorder, { kind: 'receiver' }>['how'];

export interface Hook {
  /** The last part of the address that it came to. */
  readonly endpoint: string;
  readonly deliveryId: string;
  readonly body: string;
}

export interface Receiver {
  readonly url: string;
  /** What it answered with success. */
  readonly hooks: Hook[];
  /** What it does from now on; undefined is well. */
  misbehave(how: Misbehaviour | undefined): void;
  stop(): Promise<void>;
}

export async function startReceiver(): Promise<Receiver> {
  const hooks: Hook[] = [];
  let how: Misbehaviour | undefined;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      if (how === 'hang') return;
      if (how === 'reset') return void request.socket.resetAndDestroy();
      if (how === 'fail') return void response.writeHead(500).end();
      hooks.push({
        endpoint: request.url?.split('/').at(-1) ?? '',
        deliveryId: String(request.headers['x-service-delivery']),
        body: Buffer.concat(chunks).toString('utf8'),
      });
      response.end('ok');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/hook`,
    hooks,
    misbehave(next) {
      how = next;
    },
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
