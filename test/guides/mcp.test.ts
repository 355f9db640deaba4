/**
 * Five tasks of a language model's assistant, with the protocol's official client, over HTTP and over standard input
 * and output.
 */
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/free-port.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { buildWorkplace, type Workplace } from '../support/server-process.ts';

// biome-ignore lint/suspicious/noExplicitAny: a test reads whatever the answer holds
type Told = any;

describe('the gateway for language models (R325)', () => {
  let gateway: TestGateway;
  let account: TestAccount;
  let workplace: Workplace;
  const open: Client[] = [];
  beforeAll(async () => {
    workplace = await buildWorkplace();
    gateway = await startTestGateway();
    account = await gateway.createAccount();
  });
  afterAll(async () => {
    for (const client of open) await client.close();
    await gateway?.stop();
    await workplace?.remove();
  });

  async function connect(transport: Transport) {
    const client = new Client({ name: 'test', version: '1' });
    open.push(client);
    await client.connect(transport);
    return {
      client,
      /** Calls a tool. Returns the parsed content of the result, with `isError` if it is an error. */
      async ask(name: string, args: Record<string, unknown> = {}): Promise<Told> {
        const { content, isError } = await client.callTool({ name, arguments: args });
        const [first] = content as { text: string }[];
        return { ...JSON.parse(first?.text ?? ''), ...(isError ? { isError } : {}) };
      },
    };
  }
  const overHttp = (headers: Record<string, string>) =>
    connect(
      new StreamableHTTPClientTransport(new URL('/mcp', gateway.url), {
        requestInit: { headers },
      }) as Transport,
    );
  const overStdio = (key: string) =>
    connect(
      new StdioClientTransport({
        command: process.execPath,
        args: [join(workplace.build, 'dist/src/cli/main.js'), 'mcp'],
        env: { GATEWAY_URL: gateway.url, GATEWAY_API_KEY: key },
      }),
    );
  const messages = async (environment: string) =>
    (await gateway.call('GET', `/developers/sms/history?environment=${environment}`, { key: account.key }))
      .body.pagination.total;

  const ways = {
    'over HTTP': () => overHttp({ 'X-Api-Key': account.key }),
    'over HTTP with a bearer token': () => overHttp({ Authorization: `Bearer ${account.key}` }),
    'over standard input and output': () => overStdio(account.key),
  };
  it.each(Object.entries(ways))(
    'sends after a quote, and explains what became of it, %s',
    async (_way, way) => {
      const { ask } = await way();
      const quote = await ask('quote_sms', { to: '0700001000, 12', message: 'Hello' });
      expect(quote).toMatchObject({ cost: 30, invalidNumbers: ['12'], sandbox: false });
      const sent = await ask('send_sms', { to: '0700001000', message: 'Hello', production: true });
      expect(sent).toMatchObject({ status: 'pending', cost: 30, sandbox: false });
      await eventually(async () => {
        const { message, explanation } = await ask('explain_message', { id: sent.id });
        return message.status === 'delivered' && explanation.cause === 'delivered';
      });
    },
  );

  it('sends to the sandbox unless told otherwise, and never with a sandbox key', async () => {
    const { ask } = await overHttp({ 'X-Api-Key': account.key });
    const before = await messages('production');
    expect(await ask('send_sms', { to: '0700001000', message: 'Try' })).toMatchObject({
      sandbox: true,
      cost: 0,
      status: 'sent',
    });
    const sandbox = await overHttp({ 'X-Api-Key': account.sandboxKey });
    const meant = { to: '0700001000', message: 'Try', production: true };
    expect(await sandbox.ask('send_sms', meant)).toMatchObject({ sandbox: true, cost: 0 });
    expect(await messages('production')).toBe(before);
    const named = { to: '0700001000', message: 'Once', idempotencyKey: 'once' };
    const first = await ask('send_sms', named);
    expect((await ask('send_sms', named)).id).toBe(first.id);
    expect(await ask('send_email', { to: 'ann@example.com', subject: 'Hi', text: 'Hello' })).toMatchObject({
      channel: 'email',
      sandbox: true,
    });
  });

  it('tells purposes apart, in quotes and on every channel (R376)', async () => {
    const { ask } = await overHttp({ 'X-Api-Key': account.key });
    const offer = { to: '0700001000', message: 'Mangoes {{optOut}}', purpose: 'marketing' };
    expect(await ask('quote_sms', offer)).toMatchObject({ cost: 30 });
    expect(await ask('quote_sms', { ...offer, purpose: 'otp' })).toMatchObject({ code: 'validation_error' });
    expect(await ask('send_sms', offer)).toMatchObject({ purpose: 'marketing' });
    const mail = { to: 'ann@example.com', subject: 'Hi', text: 'Hello', purpose: 'marketing' };
    expect(await ask('send_email', mail)).toMatchObject({ purpose: 'marketing' });
  });

  it('says why a message failed and what to do, with the page of the error (R274)', async () => {
    const { ask, client } = await overHttp({ 'X-Api-Key': account.key });
    const failing = { to: '+256700000001', message: 'Hello', production: true };
    const sent = await ask('send_sms', failing);
    await eventually(async () => {
      const { explanation } = await ask('explain_message', { id: sent.id });
      return explanation.cause === 'rejected';
    });
    const { explanation } = await ask('explain_message', { id: sent.id });
    expect(explanation.evidence).toMatchObject([
      { recipient: '+256700000001', text: expect.stringMatching(/^SIM_REJECTED: /) },
    ]);
    expect(explanation.actions[0].action).toBe('check_recipient');
    expect(explanation.retryCost).toBe(30);
    const missing = await ask('explain_message', { id: '01939f5e-7a00-7000-8000-000000000009' });
    expect(missing).toMatchObject({ isError: true, code: 'not_found', docUrl: '/docs/errors/not_found' });
    const { contents } = await client.readResource({ uri: 'docs://errors/not_found' });
    expect((contents[0] as { text: string }).text).toContain('What to do');
    const { resources } = await client.listResources();
    expect(resources.map(({ uri }) => uri)).toEqual(
      expect.arrayContaining(['docs://quickstart', 'docs://states']),
    );
    const states = await client.readResource({ uri: 'docs://states' });
    expect((states.contents[0] as { text: string }).text).toMatch(/^# States/);
  });

  it('searches, and tells balance and usage', async () => {
    const owner = await gateway.createAccount();
    const { ask } = await overHttp({ 'X-Api-Key': owner.key });
    const sent = await ask('send_sms', { to: '0700001001', message: 'Find me', production: true });
    await ask('send_sms', { to: '0700001002', message: 'Not me', production: true });
    const found = await ask('search_messages', { channel: 'sms', to: '0700001001', limit: 5 });
    expect(found.data.map(({ id }: { id: string }) => id)).toEqual([sent.id]);
    await eventually(async () => {
      const usage = await ask('usage', { channel: 'sms' });
      return usage.account.balance === 99_940 && usage.messages.delivered === 2;
    });
  });

  it('tells which webhook fails, and why', async () => {
    const owner = await gateway.createAccount();
    const { ask } = await overHttp({ 'X-Api-Key': owner.key });
    // No receiver listens on this port, so the delivery fails.
    const body = { url: `http://127.0.0.1:${await freePort()}/`, events: ['sms.sent'], maxRetries: 0 };
    const { webhook } = (await gateway.call('POST', '/developers/webhooks', { key: owner.key, body })).body;
    await gateway.call('POST', `/developers/webhooks/${webhook.id}/test`, { key: owner.key });
    await eventually(async () => {
      const [endpoint] = (await ask('webhook_health')).endpoints;
      return endpoint.id === webhook.id && endpoint.failed === 1 && endpoint.lastError !== null;
    });
  });

  it('uses the scopes of the key, as its requests over REST do (R276)', async () => {
    const { key, keyId } = await gateway.createKey(account.accountId, {
      scopes: ['SEND_SMS', 'READ_MESSAGES'],
    });
    const { ask } = await overHttp({ 'X-Api-Key': key });
    await ask('quote_sms', { to: '0700001000', message: 'Hello' });
    const { authenticator, stores } = gateway.parts;
    await authenticator.flushUses();
    const uses = (await stores.apiKeys.scopeUses([keyId])).get(keyId);
    expect(uses?.filter(({ lastUsedAt }) => lastUsedAt !== null).map(({ scope }) => scope)).toEqual([
      'SEND_SMS',
    ]);
    const [day, end] = [new Date(Date.now() - 24 * 3_600_000), new Date()];
    const usage = await stores.apiKeys.usage(account.accountId, [keyId], day, end, 10);
    expect(usage).toMatchObject([{ operation: 'message.quoteSms', requests: 1 }]);
  });

  it('acts with the scopes of the key, and counts each message against it', async () => {
    const { key } = await gateway.createKey(account.accountId, { scopes: ['READ_MESSAGES'] });
    const { ask } = await overHttp({ 'X-Api-Key': key });
    expect(await ask('send_sms', { to: '0700001000', message: 'No', production: true })).toMatchObject({
      isError: true,
      code: 'forbidden',
    });
    const post = (body: unknown, headers: Record<string, string> = { 'X-Api-Key': account.key }) =>
      fetch(`${gateway.url}/mcp`, {
        method: 'POST',
        headers: {
          'Content-Type': 'application/json',
          Accept: 'application/json, text/event-stream',
          ...headers,
        },
        body: JSON.stringify(body),
      });
    const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
    const left = async () => Number((await post(list)).headers.get('x-ratelimit-remaining'));
    const before = await left();
    expect(await left()).toBe(before - 1);
    expect((await post([list, list])).status).toBe(400);
    expect((await post(list, {})).status).toBe(401);
    const get = await fetch(`${gateway.url}/mcp`, { headers: { 'X-Api-Key': account.key } });
    expect([get.status, get.headers.get('allow')]).toEqual([405, 'POST']);
  });
});
