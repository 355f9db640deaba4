/** Sends each request of corpus/inputs.json, and checks its expected outcome. The requests are hostile or unusual. */
import { existsSync, readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { isBehindProxy, isRefusalOfProxy } from '../support/cell-proxy.ts';
import { withKnex } from '../support/database.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { type RawAnswer, rawExchange, rawRequest } from '../support/raw-http.ts';

type Generator =
  | { kind: 'numbers' | 'sameNumber'; count: number }
  | { kind: 'deepArray' | 'deepField'; depth: number }
  | { kind: 'bigString'; kb: number }
  | { kind: 'gzipZeros'; mb: number }
  | { kind: 'gzipTruncated'; of: string };

interface Call {
  readonly method: string;
  readonly path: string;
  readonly headers?: Record<string, string | string[]>;
  readonly body?: unknown;
  readonly rawBody?: string;
  readonly rawBase64?: string;
  readonly gen?: Generator;
  readonly as?: string;
  readonly setup?: string;
}
interface Expected {
  readonly status?: number[];
  readonly code?: string[];
  readonly shape?: string;
  readonly error?: string;
  readonly message?: string;
  readonly body?: Record<string, unknown>;
  readonly numeric?: string[];
}
interface Entry {
  readonly id: string;
  readonly field: string;
  readonly note: string;
  readonly request: Call & { readonly raw?: string; readonly sequence?: Call[] };
  readonly expect: Expected & {
    readonly anyOf?: Expected[];
    readonly statuses?: number[];
    readonly sameBody?: boolean;
    readonly messagesCreated?: number;
    readonly debits?: number;
    readonly connection?: string;
    readonly secondResponse?: boolean;
    readonly closedWithinS?: number;
  };
}

const SHARED = new URL('../../../shared/corpus/inputs.json', import.meta.url);
const OWN = new URL('../fixtures/corpus/inputs.json', import.meta.url);
const entries: Entry[] = JSON.parse(readFileSync(existsSync(SHARED) ? SHARED : OWN, 'utf8'));

const ALLOWED_IP = '198.51.100.7';
const RATE_HEADERS = ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset'];
const HEADER_NAME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/;
const LEAKS = /\bat .+\(.+:\d+:\d+\)|node_modules|\bSELECT\b|\bINSERT\b|syntax error|pg_|knex|[a-z]+\.ts:\d+/;

/** What HAProxy does otherwise than the gateway, and safely, with raw bytes: by the id of the entry. */
const AT_PROXY: Readonly<Record<string, { readonly text: unknown; readonly isClosed: boolean }>> = {
  // It takes a bare LF for the end of a line, and writes CR LF to the gateway, which finds no key.
  'IN-HTTP-11': { text: expect.stringMatching(/^HTTP\/1\.1 401 /), isClosed: false },
  // The gateway refuses the NUL and closes its own connection. HAProxy keeps that of the client.
  'IN-HTTP-17': { text: expect.stringMatching(/^HTTP\/1\.1 400 (?![\s\S]*HTTP\/1\.1 )/), isClosed: false },
  // It speaks HTTP/2, and answers with a frame of its settings.
  'IN-HTTP-23': { text: expect.stringContaining('\u0004\0\0\0\0\0'), isClosed: false },
};

function generate(gen: Generator): Buffer {
  const sms = (to: string) => Buffer.from(JSON.stringify({ to, message: 'Hello' }));
  switch (gen.kind) {
    case 'numbers':
      return sms(Array.from({ length: gen.count }, (_, index) => `0700${String(100_000 + index)}`).join(','));
    case 'sameNumber':
      return sms(Array<string>(gen.count).fill('0700123456').join(','));
    case 'deepArray':
      return Buffer.from('['.repeat(gen.depth) + ']'.repeat(gen.depth));
    case 'deepField':
      return Buffer.from(
        `{"to":"0700123456","message":"Hello","x":${'['.repeat(gen.depth)}${']'.repeat(gen.depth)}}`,
      );
    case 'bigString':
      return Buffer.from(JSON.stringify({ to: '0700123456', message: 'a'.repeat(gen.kb * 1024) }));
    case 'gzipZeros':
      return gzipSync(Buffer.alloc(gen.mb * 1024 * 1024));
    case 'gzipTruncated':
      return gzipSync(gen.of).subarray(0, -10);
  }
}

const at = (body: unknown, path: string) =>
  path
    .split('.')
    .reduce<unknown>((value, name) => (value as Record<string, unknown> | undefined)?.[name], body);

/** Returns the differences between an answer and the expected answer. */
function faultsOf(answer: RawAnswer, expected: Expected): string[] {
  const { body } = answer;
  const faults: string[] = [];
  const check = (isRight: boolean, fault: string) => {
    if (!isRight) faults.push(fault);
  };
  if (expected.status) check(expected.status.includes(answer.status), `status ${answer.status}`);
  if (expected.code && answer.status >= 400)
    check(expected.code.includes(body?.error?.code), `code ${body?.error?.code}`);
  if (expected.error) check(body?.error === expected.error, `error ${body?.error}`);
  if (expected.message) check(new RegExp(expected.message).test(body?.message), `message ${body?.message}`);
  if (expected.shape === 'A') {
    check(body?.statusCode === answer.status && typeof body?.message === 'string', 'is not of shape A');
  }
  if (expected.shape === 'B') {
    check(
      typeof body?.error?.code === 'string' && typeof body?.error?.message === 'string',
      'is not of shape B',
    );
  }
  if (expected.shape === 'webhook+secret') {
    check(
      typeof body?.webhook?.id === 'string' && typeof body?.secret === 'string',
      'is no webhook with its secret',
    );
  }
  for (const [path, value] of Object.entries(expected.body ?? {})) {
    check(
      JSON.stringify(at(body, path)) === JSON.stringify(value),
      `${path} is ${JSON.stringify(at(body, path))}`,
    );
  }
  for (const path of expected.numeric ?? [])
    check(typeof at(body, path) === 'number', `${path} is no number`);
  return faults;
}

describe('corpus/inputs.json', () => {
  let gateway: TestGateway;
  let account: TestAccount;
  const names = new Map<string, string>();
  const keys = new Map<string, string>();
  let drip: ReturnType<typeof rawExchange>;

  const fill = (text: string) =>
    text.replaceAll(/\{\{([^}]*)\}\}/g, (_, name: string) => {
      const value = names.get(name);
      const [, seconds, milliseconds] = /^NOW([+-]\d+)s(:ms)?$/.exec(name) ?? [];
      if (seconds) {
        const time = new Date(Date.now() + Number(seconds) * 1000).toISOString();
        return milliseconds ? time : time.replace(/\.\d+Z$/, 'Z');
      }
      const [, repeated, count] = /^REPEAT (.) (\d+)$/.exec(name) ?? [];
      if (repeated) return repeated.repeat(Number(count));
      if (value === undefined)
        throw new Error(`the corpus asks for {{${name}}}, which this test does not know`);
      return value;
    });

  function bodyOf(call: Call): Buffer | undefined {
    if (call.gen) return generate(call.gen);
    if (call.rawBase64 !== undefined) return Buffer.from(call.rawBase64, 'base64');
    if (call.rawBody !== undefined) return Buffer.from(fill(call.rawBody));
    // Host names of the corpus do not resolve in a test. That is enough, because registering an endpoint does not
    // connect to it.
    const text = call.body === undefined ? undefined : JSON.stringify(call.body);
    return text === undefined
      ? undefined
      : Buffer.from(fill(text.replaceAll('//example.com', '//93.184.215.14')));
  }

  async function send(call: Call, key: string | undefined): Promise<RawAnswer> {
    const headers = Object.fromEntries(
      Object.entries(call.headers ?? {}).map(([name, value]) => [
        name,
        Array.isArray(value) ? value.map(fill) : fill(value),
      ]),
    );
    const body = bodyOf(call);
    const answer = await rawRequest(gateway.url, {
      method: call.method,
      path: fill(call.path),
      headers: { ...(key === undefined ? {} : { 'x-api-key': key }), ...headers },
      ...(body ? { body } : {}),
    });
    expect(answer.status).toBeLessThan(500);
    for (const header of RATE_HEADERS) expect(answer.headers[header]).toMatch(/^\d+$/);
    expect(answer.headers['content-type']).toMatch(/^application\/json/);
    expect(answer.text).not.toMatch(LEAKS);
    return answer;
  }

  beforeAll(async () => {
    gateway = await startTestGateway();
    account = await gateway.createAccount(50_000_000);
    const other = await gateway.createAccount();
    const webhookOf = async (key: string) => {
      const body = { url: 'https://93.184.215.14/hook', events: ['webhook.test'] };
      return (await gateway.call('POST', '/developers/webhooks', { key, body })).body.webhook.id;
    };
    const managed = await gateway.createKey(account.accountId, {});
    const revoked = await gateway.createKey(account.accountId, {});
    await gateway.call('DELETE', `/developer/keys/${revoked.keyId}`, { key: account.key });
    for (const scope of [
      'READ_MESSAGES',
      'SEND_SMS',
      'READ_CONTACTS',
      'FULL_ACCESS',
      'MANAGE_WEBHOOKS',
      'SEND_EMAIL',
    ]) {
      keys.set(`key:${scope}`, (await gateway.createKey(account.accountId, { scopes: [scope] })).key);
    }
    keys.set(
      'key:allowlist',
      (await gateway.createKey(account.accountId, { ipAllowlist: [ALLOWED_IP] })).key,
    );
    keys.set('sandboxKey', account.sandboxKey);
    names.set('HOST', new URL(gateway.url).host);
    names.set('KEY', account.key);
    names.set('KEY upper', account.key.toUpperCase());
    names.set('KEY minus last', account.key.slice(0, -1));
    names.set('KID', managed.keyId);
    names.set('REVOKED_KEY', revoked.key);
    names.set('OTHER_ACCOUNT_KID', other.key.split('_')[1] ?? '');
    names.set('WEBHOOK_ID', await webhookOf(account.key));
    names.set('OTHER_ACCOUNT_WEBHOOK', await webhookOf(other.key));
    names.set('ALLOWED_IP', ALLOWED_IP);
    names.set('DRIP 1 byte per s', '');
    // This entry takes as long as the server's timeout, so it runs at the same time as the others.
    const slow = entries.find((entry) => entry.expect.closedWithinS !== undefined);
    drip = slow?.request.raw
      ? // HAProxy closes the connection up to two bytes after the answer.
        rawExchange(gateway.url, fill(slow.request.raw), { quietMs: 3_000, drip: () => 'x' })
      : Promise.resolve({ text: '', isClosed: true, seconds: 0 });
  });
  afterAll(async () => {
    await gateway?.stop();
  });

  async function runOne(entry: Entry): Promise<void> {
    const { request, expect: expected } = entry;
    const isPerAccountLimited = request.method === 'POST' && request.path === '/api/v1/developers/webhooks';
    const own = isPerAccountLimited && !request.as ? (await gateway.createAccount()).key : account.key;
    const isAboutKeys = entry.id.startsWith('IN-AUTH') && !request.as && expected.error === 'unauthorized';
    const key = isAboutKeys ? undefined : request.as ? keys.get(request.as) : own;
    if (Object.keys(request.headers ?? {}).some((name) => !HEADER_NAME.test(name))) return runNoHeader(entry);
    const answer = await send(request, key);
    const outcomes = (expected.anyOf ?? [expected]).map((outcome) => faultsOf(answer, outcome));
    if (!outcomes.some((faults) => faults.length === 0)) {
      throw new Error(
        `${outcomes.map((faults) => faults.join(', ')).join(' | ')}: ${answer.text.slice(0, 400)}`,
      );
    }
  }

  /** The entry has an invalid header name. Node's HTTP parser refuses the request before the gateway reads the key. */
  async function runNoHeader({ request, expect: expected }: Entry): Promise<void> {
    const lines = Object.entries(request.headers ?? {}).map(
      ([name, value]) => `${name}: ${fill(String(value))}\r\n`,
    );
    const head = `${request.method} ${request.path} HTTP/1.1\r\nHost: ${names.get('HOST')}\r\n`;
    const { text } = await rawExchange(gateway.url, `${head}${lines.join('')}\r\n`);
    expect([400, ...(expected.status ?? [])]).toContain(Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1]));
    if (isRefusalOfProxy(text)) return;
    for (const header of RATE_HEADERS) expect(text.toLowerCase()).toContain(`${header}: `);
  }

  async function runRaw(entry: Entry): Promise<void> {
    const { expect: expected } = entry;
    if (expected.closedWithinS !== undefined) {
      const { isClosed, seconds } = await drip;
      expect(isClosed).toBe(true);
      expect(seconds).toBeLessThanOrEqual(expected.closedWithinS);
      return;
    }
    const { text, isClosed } = await rawExchange(gateway.url, fill(entry.request.raw ?? ''));
    const atProxy = isBehindProxy ? AT_PROXY[entry.id] : undefined;
    if (atProxy) return expect({ text, isClosed }).toEqual(atProxy);
    const statuses = [...text.matchAll(/^HTTP\/1\.1 (\d+)/gm)].map(([, status]) => Number(status));
    expect(expected.status).toContain(statuses[0]);
    if (expected.connection === 'closed') expect(isClosed).toBe(true);
    if (expected.secondResponse === false) expect(statuses).toHaveLength(1);
    if (isRefusalOfProxy(text)) return;
    for (const header of RATE_HEADERS) expect(text.toLowerCase()).toContain(`${header}: `);
    expect(text).not.toMatch(LEAKS);
  }

  async function runSequence(entry: Entry, sequence: readonly Call[]): Promise<void> {
    const { expect: expected } = entry;
    const setups = sequence.map((call) => call.setup ?? '');
    const balance = setups.some((setup) => setup === 'balance=0') ? 0 : 100_000;
    const owner = await gateway.createAccount(balance);
    const answers: RawAnswer[] = [];
    let toppedUp = balance;
    for (const call of sequence) {
      const [, amount] = /^balance=(\d+)$/.exec(call.setup ?? '') ?? [];
      const [, hours, minutes] = /^clock\+(\d+)h(\d*)m?$/.exec(call.setup ?? '') ?? [];
      if (amount && Number(amount) > toppedUp) {
        await gateway.parts.operations.accounts.topUp.run(
          { kind: 'system', name: 'test' },
          { accountId: owner.accountId, amount: Number(amount) },
        );
        toppedUp = Number(amount);
      }
      if (hours) {
        // A test cannot change PostgreSQL's clock. So it makes the stored rows older.
        await withKnex(gateway.database.connection, (knex) =>
          knex.raw(
            'UPDATE idempotency_records SET expires_at = expires_at - make_interval(hours => ?, mins => ?)',
            [Number(hours), Number(minutes || 0)],
          ),
        );
      }
      answers.push(await send(call, call.as === 'sandboxKey' ? owner.sandboxKey : owner.key));
    }
    expect(answers.map(({ status }) => status)).toEqual(expected.statuses);
    if (expected.sameBody !== undefined)
      expect(answers[0]?.text === answers[1]?.text).toBe(expected.sameBody);
    const history = await gateway.call('GET', '/developers/sms/history', { key: owner.key });
    if (expected.messagesCreated !== undefined) {
      expect(history.body.pagination.total).toBe(expected.messagesCreated);
    }
    if (expected.debits !== undefined) {
      const left = (await gateway.call('GET', '/account', { key: owner.key })).body.balance;
      expect(toppedUp - left).toBe(30 * expected.debits);
    }
  }

  for (const entry of entries) {
    const title = `${entry.id} ${entry.field}: ${entry.note}`;
    const { raw, sequence } = entry.request;
    it(title, () =>
      raw !== undefined ? runRaw(entry) : sequence ? runSequence(entry, sequence) : runOne(entry),
    );
  }
});
