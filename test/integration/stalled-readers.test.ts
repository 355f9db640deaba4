import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { dropStalledReaders } from '../../src/http/stalled-readers.ts';
import { eventually } from '../support/eventually.ts';

/** An answer that is larger than the socket buffers of both ends. */
const LARGE = Buffer.alloc(32 * 1024 * 1024, 'x');
const REQUEST = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';
const NEVER_MS = 600_000;

describe('clients that do not read', () => {
  const closings: (() => void)[] = [];
  afterEach(() => {
    for (const close of closings.splice(0)) close();
  });

  async function serve(
    patience: { patienceMs?: number; closingPatienceMs?: number },
    answer: RequestListener,
  ) {
    const server = createServer();
    let underWay = 0;
    server.on('request', (request, response) => {
      underWay += 1;
      response.on('close', () => {
        underWay -= 1;
      });
      answer(request, response);
    });
    const stalled = dropStalledReaders(server, () => underWay > 0, patience);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    closings.push(() => {
      server.closeAllConnections();
      server.close();
    });
    return { server, stalled };
  }
  /** A client that sends `text` and does not read until the test resumes it. */
  function open(server: Server, text: string): Socket {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    closings.push(() => socket.destroy());
    socket.on('error', () => undefined);
    socket.write(text);
    return socket;
  }
  const connections = (server: Server) =>
    new Promise<number>((resolve, reject) =>
      server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
    );
  const isLetGo = (server: Server) => eventually(async () => (await connections(server)) === 0);

  it.each([
    ['a large answer', REQUEST],
    ['one of many that were asked for at once', REQUEST.repeat(20)],
  ])('are disconnected when they read nothing of %s for a while', async (_what, text) => {
    const { server } = await serve({ patienceMs: 300 }, (_request, response) => response.end(LARGE));
    open(server, text);
    await eventually(async () => (await connections(server)) === 1);
    await isLetGo(server);
  });

  it('are disconnected sooner when the server closes', async () => {
    const { server, stalled } = await serve(
      { patienceMs: NEVER_MS, closingPatienceMs: 300 },
      (_request, response) => response.end(LARGE),
    );
    const asked = once(server, 'request');
    open(server, REQUEST);
    await asked;
    stalled.closing();
    await isLetGo(server);
  });

  it('for a while only get all of it, however long it takes', async () => {
    const { server } = await serve({ patienceMs: 2_000 }, (_request, response) => response.end(LARGE));
    const socket = open(server, REQUEST);
    let bytes = 0;
    socket.on('data', (chunk) => {
      bytes += chunk.length;
      // Read so slowly that the download takes several times the stall timeout.
      socket.pause();
      setTimeout(() => socket.resume(), chunk.length / 5_000);
    });
    await eventually(() => bytes > LARGE.length);
    expect(socket.destroyed).toBe(false);
  });

  it('stay connected while they wait for a slow response', async () => {
    let idle = 0;
    const { server } = await serve({ patienceMs: 100 }, (_request, response) => {
      server.on('timeout', () => {
        idle += 1;
        setTimeout(() => response.end('made'), 300);
      });
    });
    const socket = open(server, REQUEST);
    let text = '';
    socket.on('data', (chunk) => {
      text += chunk;
    });
    await eventually(() => text.endsWith('made'));
    expect(idle).toBeGreaterThan(0);
  });

  it('stay connected no longer than Node keeps idle connections', async () => {
    const { server } = await serve({ patienceMs: NEVER_MS }, (_request, response) => response.end('short'));
    server.keepAliveTimeout = 100;
    open(server, REQUEST).resume();
    await eventually(async () => (await connections(server)) === 1);
    await isLetGo(server);
  });
});
