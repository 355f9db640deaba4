/** Tests the HTTP client for providers against a server on loopback. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import { ProviderHttp, type WaitLimits } from '../../src/channels/provider-http.ts';

const opened: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close();
});

const CONNECTIONS = 4;

/** Creates a client with few connections, and a server that answers after `answerMs`. */
async function open(answerMs: number, timeoutMs: number) {
  const reached: string[] = [];
  const server = createServer(async (request, response) => {
    reached.push(request.url ?? '');
    await sleep(answerMs);
    response.writeHead(200).end('{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const http = new ProviderHttp({ baseUrl: `http://127.0.0.1:${port}`, timeoutMs, connections: CONNECTIONS });
  opened.push(
    async () => {
      server.close();
      server.closeAllConnections();
    },
    () => http.close(),
  );
  const post = (path: string, patience: WaitLimits = {}) =>
    http.post(() => ({ path, headers: {}, body: '' }), patience);
  return { reached, http, post };
}

describe('more requests to a provider than connections', () => {
  it('wait for a connection, and their timeout starts with it: each is answered, none is cut off after it was sent', async () => {
    const { reached, post } = await open(300, 2_000);
    const paths = Array.from({ length: 10 * CONNECTIONS }, (_, n) => `/${n}`);
    const exchanges = await Promise.all(paths.map((path) => post(path)));
    expect(new Set(exchanges.map(({ kind }) => kind))).toEqual(new Set(['answer']));
    expect(reached.toSorted()).toEqual(paths.toSorted());
  });

  it('are not sent after they expired, were aborted, or the client was closed', async () => {
    const { reached, http, post } = await open(1_000, 30_000);
    const first = Array.from({ length: CONNECTIONS }, () => post('/first'));
    const abort = new AbortController();
    const waiting = [
      post('/expired', { expiresAt: new Date(Date.now() + 100) }),
      post('/aborted', { signal: abort.signal }),
    ];
    abort.abort();
    for (const exchange of await Promise.all(waiting)) {
      expect(exchange).toMatchObject({ kind: 'failure', definitelyNotSent: true, onlyThis: true });
    }
    await Promise.all(first);
    const second = Array.from({ length: CONNECTIONS }, () => post('/second'));
    const closedBefore = post('/closed before');
    expect(http.inFlight).toBe(CONNECTIONS);
    await http.close();
    expect(await closedBefore).toMatchObject({ kind: 'failure', definitelyNotSent: true });
    for (const exchange of await Promise.all([...first, ...second]))
      expect(exchange).toMatchObject({ kind: 'answer', status: 200 });
    expect(new Set(reached)).toEqual(new Set(['/first', '/second']));
  });
});
