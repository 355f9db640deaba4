/** The receiver of webhooks. On request it hangs, fails or cuts connections. It records the deliveries it accepted. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Disorder } from './schedule.ts';

type Misbehaviour = Extract<Disorder, { kind: 'receiver' }>['how'];

export interface Hook {
  /** The last segment of the URL that received the delivery. It names the endpoint. */
  readonly endpoint: string;
  readonly deliveryId: string;
  readonly body: string;
}

export interface Receiver {
  readonly url: string;
  /** The deliveries that the receiver answered with success. */
  readonly hooks: Hook[];
  /** Sets the misbehaviour from now on. Undefined: the receiver accepts every delivery. */
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
