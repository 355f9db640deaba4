import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createClient } from 'graphql-sse';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { graphql, signIn } from '../support/graphql.ts';
import { askSharedStream, openSharedStream, STREAM_TOKEN } from '../support/live.ts';

const MESSAGES = 'subscription { messageUpdated { id } }';

describe('one event stream for all operations of a page (R286)', () => {
  let gateway: TestGateway;
  let account: TestAccount;
  let token: string;
  beforeAll(async () => {
    gateway = await startTestGateway();
    account = await gateway.createAccount();
    token = await signIn(gateway, account);
  });
  afterAll(() => gateway?.stop());

  const ask = (method: string, path = '', headers: Record<string, string> = {}, body?: object, as = token) =>
    askSharedStream(gateway, as, method, { path, headers, ...(body && { body }) });
  const send = async (message: string): Promise<string> => {
    const body = { to: '+256700123456', message };
    return (await gateway.call('POST', '/developers/sms', { key: account.sandboxKey, body })).body.id;
  };
  const reserve = async (as = token) => (await ask('PUT', '', {}, undefined, as)).text();

  const open = (reserved: string, as = token) => openSharedStream(gateway, as, reserved);

  it("serves graphql-sse's client: two subscriptions and a query on one connection", async () => {
    const client = createClient({
      url: `${gateway.url}/graphql/stream`,
      singleConnection: true,
      headers: { Authorization: `Bearer ${token}` },
      retryAttempts: 0,
    });
    const events: unknown[][] = [[], []];
    const ends: unknown[] = [];
    const stops = events.map((seen) =>
      client.subscribe(
        { query: MESSAGES },
        {
          next: (event) => void seen.push(event),
          error: (error) => void ends.push(error),
          complete: () => void ends.push('complete'),
        },
      ),
    );
    const viewer = await new Promise((resolve, reject) => {
      client.subscribe(
        { query: '{ viewer { email } }' },
        { next: resolve, error: reject, complete: () => undefined },
      );
    });
    expect(viewer).toMatchObject({ data: { viewer: { email: account.email } } });
    await eventually(async () => {
      const id = await send('shared');
      const event = { data: { messageUpdated: { id } } };
      return eventually(
        () => events.every((seen) => JSON.stringify(seen).includes(JSON.stringify(event))),
        5_000,
      );
    });
    for (const stop of stops) stop();
    client.dispose();
    expect(ends.filter((end) => end !== 'complete')).toEqual([]);
  });

  it('ends one operation by its id, and the others go on', async () => {
    const reserved = await reserve();
    const stream = await open(reserved);
    const begin = (operationId: string) =>
      ask('POST', '', { [STREAM_TOKEN]: reserved }, { query: MESSAGES, extensions: { operationId } });
    expect((await begin('a')).status).toBe(202);
    expect((await begin('b')).status).toBe(202);
    expect((await begin('b')).status).toBe(409);
    expect((await ask('DELETE', '?operationId=a', { [STREAM_TOKEN]: reserved })).status).toBe(200);
    // The end of `a` does not stop the other operation of the stream.
    await eventually(async () => {
      await send('hello');
      return stream.seen.text.includes('"id":"b","payload"');
    });
    expect(stream.seen.text).not.toContain('"id":"a","payload"');
    stream.stop();
  });

  it('a stream is reserved once, for one session, and opened once', async () => {
    const reserved = await reserve();
    const other = await signIn(gateway, account);
    expect((await open('none')).status).toBe(404);
    expect((await open(reserved, other)).status).toBe(404);
    const operation = { query: MESSAGES, extensions: { operationId: 'a' } };
    expect((await ask('POST', '', { [STREAM_TOKEN]: reserved }, operation)).status).toBe(404);
    const stream = await open(reserved);
    expect(stream.status).toBe(200);
    expect((await open(reserved)).status).toBe(409);
    expect((await ask('POST', '', { [STREAM_TOKEN]: reserved }, { query: MESSAGES })).status).toBe(400);
    expect((await ask('PUT', '', {}, undefined, '')).status).toBe(400);
    stream.stop();
  });

  it('a session reserves 20 streams and no more, so that others can reserve theirs', async () => {
    const own = await signIn(gateway, account);
    const reserved: string[] = [];
    for (let index = 0; index < 20; index += 1) reserved.push(await reserve(own));
    expect(new Set(reserved).size).toBe(20);
    const refused = await ask('PUT', '', {}, undefined, own);
    expect(refused.status).toBe(429);
    expect(await refused.json()).toMatchObject({ errors: [{ extensions: { code: 'RATE_LIMITED' } }] });
    expect((await ask('PUT', '', {}, undefined, await signIn(gateway, account))).status).toBe(201);
    // An open stream that ends makes room.
    const stream = await open(reserved[0] ?? '', own);
    stream.stop();
    await eventually(async () => (await ask('PUT', '', {}, undefined, own)).status === 201);
  });

  it('ends with its session', async () => {
    const own = await signIn(gateway, account);
    const reserved = await reserve(own);
    const stream = await open(reserved, own);
    await ask(
      'POST',
      '',
      { [STREAM_TOKEN]: reserved },
      { query: MESSAGES, extensions: { operationId: 'a' } },
      own,
    );
    await graphql(gateway, 'mutation { signOut }', { token: own });
    await eventually(() => stream.seen.hasEnded);
    expect(stream.seen.text).toContain('UNAUTHENTICATED');
  });
});
