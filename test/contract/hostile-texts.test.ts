import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createSchema } from '../../src/graphql/schema.ts';
import { openApiDocument } from '../../src/rest/openapi/document.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { signIn, signInOperator } from '../support/graphql.ts';
import { HOSTILE_TEXTS, type HostileText, plainText } from '../support/hostile-texts.ts';
import {
  graphqlFields,
  headerText,
  restFields,
  type Samples,
  Sender,
  type TextField,
} from '../support/text-fields.ts';

/** The CPU time of a text may be at most this many times that of a plain text. */
const TIMES_MAX = 10;
/** Smallest CPU time in ms that a plain text counts as. Shorter times are too inexact to compare. */
const FLOOR_MS = 1;
/** How often a slow text is measured again. Each time a plain text is measured just before it. */
const TRIES = 10;

/** Time limit of a test in ms. A test takes half a minute on an idle machine. */
const TEST_MS = 300_000;
/** Number of tests that share the variables of GraphQL. */
const PARTS = 5;

const soon = () => new Date(Date.now() + 3_600_000).toISOString();
const MAIL = 'ann@example.com';
const NUMBER = '+256700123456';
/** Valid values by field name. */
const SAMPLES: Readonly<Record<string, unknown>> = {
  scheduledFor: soon(),
  expiresAt: soon(),
  since: new Date(0).toISOString(),
  until: soon(),
  phone: NUMBER,
  email: MAIL,
  replyTo: MAIL,
  cc: MAIL,
  bcc: MAIL,
  headers: { 'X-Tag': 'text' },
  attachments: [{ filename: 'a.txt', content: 'YQ==', contentType: 'text/plain' }],
  events: ['sms.sent'],
  scopes: ['SEND_SMS'],
  ipAllowlist: ['203.0.113.0/24'],
  platform: 'ios',
  imageUrl: 'https://example.com/a.png',
  clickUrl: 'https://example.com/a',
  ttlSeconds: 60,
  currency: 'UGX',
  prefix: '256',
  role: 'VIEWER',
  csv: 'phone\n0700000001',
  language: 'en',
  priority: 'high',
  maxRetries: 3,
  overlapSeconds: 1,
  keys: { p256dh: 'text', auth: 'text' },
};

describe('hostile texts, made to be slow to process (R216)', () => {
  let gateway: TestGateway;
  let sender: Sender;
  let account: TestAccount;
  let token: string;
  let operator: string;
  let ids: Readonly<Record<string, string>>;
  beforeAll(async () => {
    const many = '1000000';
    gateway = await startTestGateway({
      ROLES: 'api',
      RATE_LIMIT_PER_MINUTE: many,
      RATE_LIMIT_SESSION_PER_MINUTE: many,
      RATE_LIMIT_WEBHOOKS_PER_MINUTE: many,
    });
    sender = new Sender(gateway.url);
    account = await gateway.createAccount();
    token = await signIn(gateway, account);
    operator = await signInOperator(gateway);
    const { key } = account;
    const make = async (path: string, body: object) => (await gateway.call('POST', path, { key, body })).body;
    ids = {
      contact: (await make('/developers/contacts', { phone: '0700000009' })).id,
      webhook: (await make('/developers/webhooks', { url: 'http://127.0.0.1:8099/', events: ['sms.sent'] }))
        .webhook.id,
      device: (
        await make('/developers/push/devices', { token: 'd'.repeat(64), platform: 'ios', userId: 'text' })
      ).id,
      message: (await make('/developers/sms', { to: NUMBER, message: 'text' })).id,
      key: account.sandboxKey.split('_')[1] ?? '',
      account: account.accountId,
    };
  });
  afterAll(async () => {
    sender?.[Symbol.dispose]();
    await gateway?.stop();
  });

  const samples: Samples = ([root = '', ...rest]) => {
    const name = rest.at(-1) ?? root;
    if (name === 'idempotencyKey') return randomUUID();
    const isMail = /email/i.test(root);
    if (name === 'to') return isMail ? MAIL : /push/i.test(root) ? 'text' : NUMBER;
    if (name === 'from' && !rest.includes('filter')) return isMail ? MAIL : 'SERVICE';
    if (name === 'url') return /webhook/i.test(root) ? 'http://127.0.0.1:8099/' : 'https://example.com/a.png';
    if (name === 'type' && /whatsapp/i.test(root)) return root.startsWith('/') ? 'template' : 'TEMPLATE';
    if (name === 'token') return 'd'.repeat(64);
    if (name === 'accountId') return root === 'createApiKey' ? null : ids.account;
    if (/^(key|webhook)?id$/i.test(name))
      return ids[NOUNS.find((noun) => root.toLowerCase().includes(noun)) ?? ''];
    return SAMPLES[name];
  };
  const NOUNS = ['contact', 'webhook', 'device', 'key', 'message', 'account', 'redeliver'];

  /** Returns the CPU time of one request in ms. The gateway runs in the test's thread, so its CPU time is included. */
  async function cpuOf({ send }: TextField, text: string): Promise<number> {
    const before = process.threadCpuUsage();
    const status = await send(text);
    const { user, system } = process.threadCpuUsage(before);
    expect(status).not.toBe(500);
    return (user + system) / 1_000;
  }

  /** Measures plain text, and returns the largest CPU time in ms that a text of the field may take. */
  async function mostIn(field: TextField, tries: number): Promise<number> {
    const took: number[] = [];
    for (let index = 0; index < tries; index += 1) took.push(await cpuOf(field, plainText(field.maxLength)));
    return TIMES_MAX * Math.max(FLOOR_MS, took.sort((a, b) => a - b)[Math.floor(tries / 2)] ?? 0);
  }

  /** Returns a fault if the text takes more than the allowed CPU time in each of the tries. */
  async function faultOf(field: TextField, text: HostileText): Promise<string[]> {
    let fault = '';
    for (let tries = 0; tries < TRIES; tries += 1) {
      const most = await mostIn(field, 1);
      const took = await cpuOf(field, text.of(field.maxLength));
      if (took <= most) return [];
      fault = `${field.name} with ${text.name}: ${took.toFixed(1)} ms, at most ${most.toFixed(1)} ms`;
    }
    return [fault];
  }

  async function expectFast(fields: readonly TextField[], least: number): Promise<void> {
    expect(fields.length).toBeGreaterThanOrEqual(least);
    const suspects: [TextField, HostileText][] = [];
    for (const field of fields) {
      const most = await mostIn(field, 3);
      for (const text of HOSTILE_TEXTS) {
        if ((await cpuOf(field, text.of(field.maxLength))) > most) suspects.push([field, text]);
      }
    }
    // Measure slow texts again at the end, when other load on the machine may be over.
    const faults: string[] = [];
    for (const [field, text] of suspects) faults.push(...(await faultOf(field, text)));
    expect(faults).toEqual([]);
  }

  it(
    'cost at most 10 times as much as plain text in any REST field',
    async () => {
      await expectFast(
        restFields(openApiDocument(gateway.parts.operations), sender, account.sandboxKey, samples),
        80,
      );
    },
    TEST_MS,
  );

  // In parts, because each must end within the time limit of a test. Each part has every PARTSth variable.
  it.each(Array.from({ length: PARTS }, (_, part) => part))(
    'cost at most 10 times as much as plain text in any GraphQL variable, part %i',
    async (part) => {
      const isForOperators = (field: string) =>
        /^(createAccount|topUpAccount|setPrice|changePrices|previewPrices|lookUpMessages|setPlan|setRateLimit|setAccountPlan|assignWhatsAppNumber|accounts|resetUserPassword)$/.test(
          field,
        );
      const tokenOf = (field: string) => (isForOperators(field) ? operator : token);
      const fields = graphqlFields(createSchema(), sender, tokenOf, samples);
      expect(fields.length).toBeGreaterThanOrEqual(90);
      await expectFast(
        fields.filter((_, index) => index % PARTS === part),
        90 / PARTS,
      );
    },
    TEST_MS,
  );

  it(
    'cost at most 10 times as much as plain text anywhere in a GraphQL request',
    async () => {
      const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` };
      const place = (name: string, body: (text: string) => unknown, path = '/graphql'): TextField => ({
        name,
        maxLength: 12_000,
        send: (text) => sender.send('POST', path, headers, JSON.stringify(body(text))),
      });
      const query = 'query A($a: MessageFilter) { messages(filter: $a) { totalCount } }';
      const documents = {
        document: (text: string) => text,
        name: (text: string) => `{ ${text} }`,
        argument: (text: string) => `{ account(${text}) }`,
        'text of an argument': (text: string) => `{ account(id: ${JSON.stringify(text)}) { id } }`,
        'block of text': (text: string) => `{ account(id: """${text}""") { id } }`,
        comment: (text: string) => `# ${text}\n{ viewer { id } }`,
        'lines before many names': (text: string) =>
          `${text}\nquery (${'$a: Int '.repeat(200)}) { account(id: $a) { id } }`,
      };
      await expectFast(
        [
          ...Object.entries(documents).flatMap(([name, of]) => [
            place(name, (text) => ({ query: of(text) })),
            place(`${name} of a stream`, (text) => ({ query: of(text) }), '/graphql/stream'),
          ]),
          place('operationName', (text) => ({ query, operationName: text })),
          place('name of a variable', (text) => ({ query, variables: { [text]: text } })),
          place('name of a member', (text) => ({ query, variables: { a: { [text]: text } } })),
          place('many members', (text) => ({
            query,
            variables: {
              a: Object.fromEntries([...text.slice(0, 2_000)].map((char, at) => [`${char}${at}`, at])),
            },
          })),
          place('many wrong values', (text) => ({
            query: 'query ($a: [ID!]!) { apiKey(id: $a) { keyId } }',
            variables: { a: [...text].map((char) => [[char]]) },
          })),
          place('extensions', (text) => ({ query, extensions: { a: text, persistedQuery: text } })),
          { name: 'body', maxLength: 12_000, send: (text) => sender.send('POST', '/graphql', headers, text) },
        ],
        20,
      );
    },
    TEST_MS,
  );

  it(
    'cost at most 10 times as much as plain text in any header or path',
    async () => {
      const names = [
        ...[
          'accept',
          'accept-encoding',
          'authorization',
          'content-encoding',
          'content-type',
          'cookie',
          'expect',
        ],
        ...[
          'if-none-match',
          'origin',
          'range',
          'referer',
          'user-agent',
          'x-api-key',
          'x-forwarded-for',
          'forwarded',
        ],
        ...['x-hub-signature-256', 'x-request-id', 'x-signature', 'x-timestamp', 'x-twilio-signature'],
        ...['apollo-require-preflight', 'x-apollo-operation-name', 'idempotency-key', 'host'],
      ];
      const paths = ['/graphql', '/api/v1/developers/sms', '/callbacks/whatsapp', '/callbacks/sms/twilio'];
      const body = JSON.stringify({ query: '{ __typename }', to: '1', message: 'text' });
      const inHeaders = paths.flatMap((path) =>
        names.map(
          (name): TextField => ({
            name: `${path} ${name}`,
            maxLength: 12_000,
            send: (text) =>
              sender.send(
                'POST',
                path,
                { 'content-type': 'application/json', [name]: headerText(text) },
                body,
              ),
          }),
        ),
      );
      const addresses = [
        '/',
        '/graphql?query=',
        '/api/v1/',
        '/docs/',
        '/console/',
        '/callbacks/sms/',
        '/metrics?',
      ];
      const inAddresses = addresses.map(
        (start): TextField => ({
          name: start,
          maxLength: 6_000,
          send: (text) => sender.send('GET', (start + encodeURI(text.toWellFormed())).slice(0, 12_000), {}),
        }),
      );
      await expectFast([...inHeaders, ...inAddresses], 80);
    },
    TEST_MS,
  );
});
