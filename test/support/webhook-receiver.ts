import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { eventually } from './eventually.ts';

export interface ReceivedHook {
  readonly at: number;
  readonly headers: IncomingHttpHeaders;
  readonly raw: Buffer;
  // biome-ignore lint/suspicious/noExplicitAny: a test reads whatever the envelope holds
  readonly body: any;
}

/**
 * Starts an HTTP endpoint on loopback that records what it receives. `answer` returns the HTTP status of each answer.
 * Default: 200.
 */
export async function startWebhookReceiver(
  answer: (hook: ReceivedHook, count: number) => number | Promise<number> = () => 200,
) {
  const received: ReceivedHook[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', async () => {
      const raw = Buffer.concat(chunks);
      const hook = { at: Date.now(), headers: request.headers, raw, body: JSON.parse(raw.toString('utf8')) };
      received.push(hook);
      response.statusCode = await answer(hook, received.length);
      response.end('ok');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/hook`,
    received,
    /** Resolves with the first recorded request that fits. */
    waitFor: (fits: (hook: ReceivedHook) => boolean) => eventually(() => received.find(fits)),
    stop: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
