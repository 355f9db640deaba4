import { once } from 'node:events';
import { ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { announceLive } from '../../src/storage/postgres/pg-live.ts';
import { createKnex, Sql } from '../../src/storage/postgres/sql.ts';
import { silentLogger } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { signIn } from '../support/graphql.ts';

describe('a subscriber that does not read', () => {
  let gateway: TestGateway;
  let account: TestAccount;
  let token: string;
  let knex: ReturnType<typeof createKnex>;
  let socket: Socket | undefined;
  beforeAll(async () => {
    gateway = await startTestGateway();
    account = await gateway.createAccount();
    token = await signIn(gateway, account);
    knex = createKnex(gateway.database.url, silentLogger);
  });
  afterAll(async () => {
    jest.restoreAllMocks();
    socket?.destroy();
    await knex?.destroy();
    await gateway?.stop();
  });

  const send = async (message: string) => {
    const body = { to: '+256700123456', message };
    return (await gateway.call('POST', '/developers/sms', { key: account.sandboxKey, body })).body
      .id as string;
  };
  const touch = (ids: readonly string[]) =>
    new Sql(knex).transaction(async (sql) =>
      announceLive(
        sql,
        'message',
        ids.map((id) => ({ accountId: account.accountId, id })),
      ),
    );

  it('gets a bounded queue, and is told to read everything again when it reads', async () => {
    const responses = new Set<ServerResponse>();
    const write = ServerResponse.prototype.write;
    jest.spyOn(ServerResponse.prototype, 'write').mockImplementation(function (
      this: ServerResponse,
      ...given: unknown[]
    ) {
      responses.add(this);
      return (write as (...all: unknown[]) => boolean).apply(this, given);
    });
    const content = Array.from({ length: 15 }, (_, i) => `a${i}: content`).join(' ');
    socket = await openSocket(`subscription { messageUpdated { id ${content} } }`);
    await eventually(() => gateway.parts.live.size === 1);
    const text = '中'.repeat(1_000);
    const ids = await Promise.all(Array.from({ length: 50 }, () => send(text)));
    const [response] = responses;
    const eventBytes = 15 * Buffer.byteLength(text) + 1_000;
    // Repeat until the socket buffers on both sides are full. From then on the gateway reads at most one batch from the
    // database.
    await eventually(async () => {
      await touch(ids);
      return response?.writableNeedDrain && gateway.parts.live.waiting === ids.length;
    });
    const many = Array.from({ length: 20 }, (_, i) =>
      Array.from({ length: 500 }, (_, j) => idOf(i * 500 + j)),
    );
    for (const some of many) {
      await touch(some);
      expect(gateway.parts.live.waiting).toBeLessThanOrEqual(1_000);
      expect(response?.writableLength).toBeLessThan((response?.writableHighWaterMark ?? 0) + eventBytes);
    }
    // This exceeds the number of changes that the gateway keeps for a reader, so it drops them all.
    await eventually(() => gateway.parts.live.waiting === 0);
    let read = '';
    socket.on('data', (chunk: Buffer) => {
      read = (read + chunk.toString()).slice(-100_000);
    });
    socket.resume();
    await eventually(() => read.includes('"code":"REFETCH"'));
    const id = await send('after');
    await eventually(() => read.includes(id));
  });

  /** Opens a client that reads nothing until the test adds a `data` listener. */
  async function openSocket(query: string): Promise<Socket> {
    const { hostname, port } = new URL(gateway.url);
    const reader = connect(Number(port), hostname);
    await once(reader, 'connect');
    reader.pause();
    const body = JSON.stringify({ query });
    reader.write(
      `POST /graphql/stream HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\n` +
        `Accept: text/event-stream\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    return reader;
  }
  const idOf = (number: number) => `01a00000-0000-7000-8000-${number.toString(16).padStart(12, '0')}`;
});
