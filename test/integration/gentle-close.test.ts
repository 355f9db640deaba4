import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, it } from '@jest/globals';
import { closeGently } from '../../src/http/gentle-close.ts';
import { eventually } from '../support/eventually.ts';

const REQUEST = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';
const NEVER_MS = 600_000;

describe('a server that closes (R521)', () => {
  const closings: (() => void)[] = [];
  afterEach(() => {
    for (const close of closings.splice(0)) close();
  });

  async function serve(answer: RequestListener = (_request, response) => response.end('answered')) {
    const server = createServer(answer);
    const closing = closeGently(server);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    closings.push(() => server.closeAllConnections());
    return { server, closing };
  }
  /** Opens a connection. Collects what comes over it. */
  function open(server: Server): { socket: Socket; all: Promise<string> } {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    closings.push(() => socket.destroy());
    return { socket, all: text(socket) };
  }
  const answersIn = (all: string) => all.split('HTTP/1.1 200 OK').length - 1;

  it('answers what comes over open connections, and lets their clients use them no more', async () => {
    const { server, closing } = await serve();
    const { port } = server.address() as AddressInfo;
    const { socket, all } = open(server);
    socket.write(REQUEST);
    await once(socket, 'readable');
    const closed = closing.close(NEVER_MS, NEVER_MS);
    await expect(once(connect(port, '127.0.0.1'), 'connect')).rejects.toThrow('ECONNREFUSED');
    socket.write(REQUEST);
    await closed;
    const received = await all;
    expect(answersIn(received)).toBe(2);
    expect(received.split('HTTP/1.1 200 OK')[1]).not.toContain('Connection: close');
    expect(received.split('HTTP/1.1 200 OK')[2]).toContain('Connection: close');
  });

  it('says so in the answers too whose requests came before', async () => {
    const waiting: (() => void)[] = [];
    const { server, closing } = await serve(
      (_request, response) => void waiting.push(() => response.end('late')),
    );
    const { socket, all } = open(server);
    socket.write(REQUEST);
    await eventually(() => waiting.length === 1);
    const closed = closing.close(NEVER_MS, NEVER_MS);
    waiting[0]!();
    await closed;
    const received = await all;
    expect(received).toContain('Connection: close');
    expect(received).toContain('late');
  });

  it('closes connections without a request after the grace, and those with one at the time limit', async () => {
    let isBusy = false;
    const { server, closing } = await serve((_request, response) => {
      if (isBusy) return;
      isBusy = true;
      response.end('answered');
    });
    const [idle, busy] = [open(server), open(server)];
    const isBroken = expect(busy.all).resolves.toBe('');
    idle.socket.write(REQUEST);
    await once(idle.socket, 'readable');
    busy.socket.write(REQUEST);
    await once(server, 'request');
    const closed = closing.close(0, 2_000);
    expect(await idle.all).toContain('answered');
    expect(busy.socket.readableEnded).toBe(false);
    await closed;
    await isBroken;
  });
});
