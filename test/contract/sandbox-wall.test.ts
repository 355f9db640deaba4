import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { eventually } from '../support/eventually.ts';
import { type Answer, startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { graphql, signIn } from '../support/graphql.ts';
import { endOfImport } from '../support/imports.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';

interface Documented {
  readonly paths: Readonly<Record<string, Readonly<Record<string, DocumentedRoute>>>>;
}
interface DocumentedRoute {
  readonly parameters?: readonly {
    readonly $ref?: string;
    readonly in?: string;
    readonly name?: string;
    readonly required?: boolean;
  }[];
  readonly requestBody?: {
    readonly content: Readonly<
      Record<string, { readonly examples: Readonly<Record<string, { readonly value: object }>> }>
    >;
  };
}
interface Request {
  readonly method: string;
  /** The documented path, with parameters in braces. */
  readonly route: string;
  readonly path: string;
  readonly body: object | undefined;
  readonly headers: Record<string, string>;
}

const NUMBER = '+256772904411';
const USER = 'kavuma-user';
/** All texts of production objects contain this word. */
const MARK = 'Kavuma';
const IDEMPOTENCY_KEY = 'the-same-in-both';
const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;
const EVENTS = ['sms.sent', 'sms.failed', 'email.sent', 'push.sent', 'webhook.test'];
/** For each table with an environment: the rows of production. Also production's money. */
const PRODUCTION: Readonly<Record<string, string>> = {
  messages: `SELECT * FROM messages WHERE environment = 'production' ORDER BY id`,
  recipients: `SELECT r.* FROM recipients r JOIN messages m ON m.id = r.message_id AND m.environment = 'production'
    ORDER BY r.message_id, r.position`,
  suppressions: `SELECT * FROM suppressions WHERE environment = 'production' ORDER BY id`,
  senders: `SELECT * FROM senders WHERE environment = 'production' ORDER BY id`,
  contacts: `SELECT * FROM contacts WHERE environment = 'production' ORDER BY id`,
  devices: `SELECT * FROM devices WHERE environment = 'production' ORDER BY id`,
  contact_imports: `SELECT * FROM contact_imports WHERE environment = 'production' ORDER BY id`,
  webhooks: `SELECT * FROM webhooks WHERE environment = 'production' ORDER BY id`,
  events: `SELECT * FROM events WHERE NOT is_sandbox ORDER BY account_id, seq`,
  deliveries: `SELECT d.* FROM webhook_deliveries d JOIN webhooks w ON w.id = d.webhook_id
    AND w.environment = 'production' ORDER BY d.id`,
  attempts: `SELECT a.* FROM webhook_attempts a JOIN webhook_deliveries d ON d.id = a.delivery_id
    JOIN webhooks w ON w.id = d.webhook_id AND w.environment = 'production' ORDER BY a.delivery_id, a.number`,
  inbound: 'SELECT * FROM inbound_messages ORDER BY id',
  ledger: 'SELECT * FROM ledger_entries ORDER BY account_id, seq',
  balances: 'SELECT id, balance_minor FROM accounts ORDER BY id',
};

let gateway: TestGateway;
let client: pg.Client;
let account: TestAccount;
let receiver: Awaited<ReturnType<typeof startWebhookReceiver>>;
beforeAll(async () => {
  gateway = await startTestGateway();
  client = new pg.Client({ ...gateway.database.connection });
  await client.connect();
  account = await gateway.createAccount();
  receiver = await startWebhookReceiver((hook) =>
    hook.headers['x-service-event'] === 'sms.sent' ? 500 : 200,
  );
});
afterAll(async () => {
  await client?.end();
  await gateway?.stop();
  await receiver?.stop();
});

/** Sends a request that must succeed, and returns its answer. */
async function done(
  key: string,
  method: string,
  path: string,
  body?: object,
  headers: Record<string, string> = {},
) {
  const answer = await gateway.call(method, path, { key, headers, ...(body ? { body } : {}) });
  if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.text}`);
  return answer.body;
}
const codeOf = ({ status, body }: Answer) => [status, body.error?.code];

describe('a sandbox key (R200)', () => {
  /** The id of a production object, by the path segment that precedes such an id. */
  const ids: Record<string, string> = {};
  let secrets: readonly string[];
  let requests: readonly Request[];

  /** Fills an account with production objects, and waits until none of them changes any more. */
  beforeAll(async () => {
    const { key, accountId } = account;
    const once = { 'Idempotency-Key': IDEMPOTENCY_KEY };
    const hook = { url: `${receiver.url}/${MARK}`, events: EVENTS, description: MARK, maxRetries: 0 };
    ids.webhooks = (await done(key, 'POST', '/developers/webhooks', hook)).webhook.id;
    const contact = { name: MARK, phone: NUMBER, externalId: `${MARK}-1`, tags: [MARK] };
    ids.contacts = (await done(key, 'POST', '/developers/contacts', contact)).id;
    const gone = { channel: 'email', address: 'gone@example.com', scope: 'all', reason: MARK };
    ids.suppressions = (await done(key, 'POST', '/developers/suppressions', gone)).suppression.id;
    const name = { channel: 'email', domain: `${MARK}.example` };
    ids.recipients = NUMBER;
    const other = '/developers/recipients/+256772904499?reason=test';
    ids.erasures = (await done(key, 'DELETE', other)).erasure.id;
    ids.senders = (await done(key, 'POST', '/developers/senders', name)).sender.id;
    const device = { token: `${MARK}-token`, platform: 'android', userId: USER };
    ids.devices = (await done(key, 'POST', '/developers/push/devices', device)).id;
    const text = `${MARK} is told`;
    const sms = await done(key, 'POST', '/developers/sms', { to: NUMBER, message: text }, once);
    await done(key, 'POST', '/developers/email', { to: 'kavuma@example.com', subject: text, text }, once);
    await done(key, 'POST', '/developers/push', { to: USER, title: text, body: text }, once);
    const template = { name: 'kavuma_template', language: 'en' };
    const whatsAppBody = { to: NUMBER, type: 'template', template };
    const whatsApp = await done(key, 'POST', '/developers/whatsapp', whatsAppBody, once);
    const later = new Date(Date.now() + 3_600_000).toISOString();
    const waiting = await done(key, 'POST', '/developers/sms', {
      to: NUMBER,
      message: text,
      scheduledFor: later,
    });
    ids.sms = sms.id;
    ids.messages = waiting.id;
    await gateway.parts.stores.inbound.add([
      {
        id: '0193a1c2-7d3e-7f10-8a2b-5c6d7e8f9a0b',
        accountId,
        channel: 'whatsapp',
        provider: 'whatsapp',
        sid: 'wamid.kavuma',
        sender: NUMBER,
        type: 'text',
        content: MARK,
        sentAt: new Date(),
        receivedAt: new Date(),
      },
    ]);
    await done(key, 'POST', `/developers/webhooks/${ids.webhooks}/test`);
    const csv = `name,phone\n${MARK},+256772904412\n`;
    const token = await signIn(gateway, account);
    const started = await graphql(gateway, 'mutation ($c: String!) { importContacts(csv: $c) { id } }', {
      token,
      variables: { c: csv },
    });
    await endOfImport(gateway, token, started.body.data.importContacts.id);
    await eventually(async () => {
      const { data } = await done(key, 'GET', `/developers/webhooks/${ids.webhooks}/deliveries`);
      ids.deliveries = data.find(({ status }: { status: string }) => status === 'failed')?.id;
      const isOpen = ({ status }: { status: string }) => status === 'pending' || status === 'retrying';
      return data.length >= 4 && !data.some(isOpen);
    });
    // Wait until the simulator has sent all its reports.
    const found = (id: string) => done(key, 'GET', `/developers/messages/${id}`);
    await eventually(async () => (await found(sms.id)).status === 'delivered');
    await eventually(async () => (await found(whatsApp.id)).readAt !== null);

    const rows = JSON.stringify(await snapshot());
    const own = new Set([accountId, '0193a1c2-7d3e-7f10-8a2b-5c6d7e8f9a0b']);
    const theirs = new Set((rows.match(UUID) ?? []).filter((id) => !own.has(id)));
    expect(theirs.size).toBeGreaterThan(12);
    const inboundAt =
      (await gateway.parts.stores.inbound.lastFrom(accountId, 'whatsapp', NUMBER))?.toISOString() ?? '';
    const keyId = String(key.split('_')[1]);
    secrets = [...theirs, MARK, MARK.toLowerCase(), NUMBER, receiver.url, inboundAt, keyId];
    // Sort reads first, because later requests create objects in the sandbox.
    requests = requestsOf((await gateway.call('GET', '/openapi.json')).body).toSorted(
      (one, other) => Number(one.method !== 'GET') - Number(other.method !== 'GET'),
    );
  });

  async function snapshot(): Promise<Readonly<Record<string, unknown>>> {
    const tables: Record<string, unknown> = {};
    for (const [name, query] of Object.entries(PRODUCTION)) tables[name] = (await client.query(query)).rows;
    return JSON.parse(JSON.stringify(tables));
  }

  /** Bodies that name production objects, by route. All other routes get the documented example. */
  const aimed: Readonly<Record<string, () => object>> = {
    'post /developers/contacts': () => ({ phone: NUMBER, externalId: `${MARK}-1` }),
    'post /developers/push/devices': () => ({ token: `${MARK}-token`, platform: 'android', userId: USER }),
    'post /developers/push': () => ({ to: USER, deviceIds: [ids.devices], title: 'Hi', body: 'Hi' }),
    'post /developers/whatsapp': () => ({ to: NUMBER, type: 'text', text: { body: 'Hi' } }),
    'post /developers/webhooks': () => ({ url: `${receiver.url}/sandbox`, events: EVENTS }),
  };
  /** Values by the name of the query parameter. Requests leave out other parameters. */
  const queries: Readonly<Record<string, readonly string[]>> = {
    limit: ['100'],
    environment: ['production', 'sandbox'],
    to: [NUMBER],
    search: [MARK],
    tag: [MARK],
    status: ['failed'],
    after: ['0'],
    reason: ['test'],
    since: ['2026-01-01T00:00:00Z'],
  };

  /** Makes a request for each documented route. It names production objects. */
  function requestsOf(document: Documented): readonly Request[] {
    return Object.entries(document.paths).flatMap(([route, methods]) =>
      Object.entries(methods)
        .filter(([method]) => method !== 'parameters')
        // api-keys.test.ts tests which keys may read and change other keys.
        .filter(() => !route.startsWith('/developer/keys'))
        .flatMap(([method, documented]) => {
          const path = route.replaceAll(/\/([a-z]+)\/\{(\w+)\}/g, (_, noun: string, name: string) => {
            const id = ids[noun];
            if (id === undefined) throw new Error(`${route}: no ${name} of production is known for ${noun}`);
            return `/${noun}/${id}`;
          });
          if (path.includes('{')) throw new Error(`${route} has a parameter that nothing fills`);
          const parameters = documented.parameters ?? [];
          const named = parameters.flatMap(({ in: place, name = '' }) => (place === 'query' ? [name] : []));
          const isIdempotent = parameters.some(({ $ref }) => $ref?.endsWith('IdempotencyKey'));
          const examples = Object.values(documented.requestBody?.content['application/json']?.examples ?? {});
          const body = aimed[`${method} ${route}`]?.() ?? examples[0]?.value;
          const request = { method: method.toUpperCase(), route, body };
          const headers: Record<string, string> = isIdempotent ? { 'Idempotency-Key': IDEMPOTENCY_KEY } : {};
          const required = parameters.filter((one) => one.in === 'query' && one.required);
          for (const { name = '' } of required) {
            if (!queries[name]) throw new Error(`${route} needs ${name}, which has no value here`);
          }
          const always = required.map(({ name = '' }) => [name, queries[name]?.[0] ?? ''] as const);
          const asked = named.flatMap((name) =>
            (queries[name] ?? []).map((value) => [...always, [name, value] as const]),
          );
          return [always, ...asked].map((query) => {
            const text = new URLSearchParams(Object.fromEntries(query)).toString();
            return { ...request, headers, path: text === '' ? path : `${path}?${text}` };
          });
        }),
    );
  }

  it('sees and changes nothing of production over any documented route', async () => {
    const before = await snapshot();
    const posted = receiver.received.length;
    const leaks: string[] = [];
    const reached: string[] = [];
    for (const { method, route, path, body, headers } of requests) {
      const answer = await gateway.call(method, path, {
        key: account.sandboxKey,
        headers,
        ...(body ? { body } : {}),
      });
      // An answer may repeat values of the request. These did not leak.
      const said = decodeURIComponent(path) + JSON.stringify(body ?? {});
      const shown = secrets.filter((secret) => answer.text.includes(secret) && !said.includes(secret));
      if (shown.length > 0) leaks.push(`${method} ${path} shows ${shown.join(', ')}`);
      if (answer.headers.has('idempotency-replayed')) leaks.push(`${method} ${path} replays production`);
      const isFound = answer.status !== 404 || answer.body.error.code !== 'not_found';
      // Every key may ask about any address. What it gets is checked by what it shows and changes.
      const namesObject = route.includes('{') && !route.includes('{address}');
      if (namesObject && isFound) reached.push(`${method} ${path}: ${answer.status} ${answer.text}`);
      if (answer.status >= 500) reached.push(`${method} ${path}: ${answer.status}`);
    }
    expect({ leaks, reached }).toEqual({ leaks: [], reached: [] });
    expect(requests.length).toBeGreaterThan(60);
    expect(await snapshot()).toEqual(before);
    const hooks = receiver.received.slice(posted).map(({ headers }) => headers['x-service-delivery']);
    expect(hooks).toEqual([]);
  });

  it('is refused devices, contacts and numbers of production by their names too', async () => {
    const own = await gateway.createAccount();
    const contact = { name: 'Twin', phone: '+256772904413', externalId: 'twin' };
    const made = [
      await done(own.key, 'POST', '/developers/contacts', contact),
      await done(own.sandboxKey, 'POST', '/developers/contacts', contact),
    ];
    expect(made.map(({ environment }) => environment)).toEqual(['production', 'sandbox']);
    for (const [index, key] of [own.key, own.sandboxKey].entries()) {
      const again = await gateway.call('POST', '/developers/contacts', { key, body: contact });
      expect([again.status, again.body.error.details.id]).toEqual([409, made[index].id]);
      const { data, pagination } = await done(key, 'GET', '/developers/contacts?search=twin');
      expect([data.map(({ id }: { id: string }) => id), pagination.total]).toEqual([[made[index].id], 1]);
      const all = await done(key, 'GET', '/developers/contacts');
      expect([all.data.length, all.pagination.total]).toEqual([1, 1]);
    }
    const asked = await done(own.key, 'GET', '/developers/contacts?environment=sandbox');
    expect(asked.data.map(({ id }: { id: string }) => id)).toEqual([made[1].id]);
    expect(await done(own.sandboxKey, 'GET', '/developers/contacts?environment=production')).toEqual({
      data: [],
      pagination: { page: 1, limit: 20, total: 0, pages: 0 },
    });
    // A production key finds both contacts by id.
    expect((await done(own.key, 'GET', `/developers/contacts/${made[1].id}`)).id).toBe(made[1].id);
  });

  it('pushes to sandbox devices, and a production key to production devices (R199)', async () => {
    const own = await gateway.createAccount();
    const device = { token: 'same-token', platform: 'android', userId: 'u' };
    const devices: { id: string; environment: string }[] = [];
    for (const key of [own.key, own.sandboxKey]) {
      devices.push(await done(key, 'POST', '/developers/push/devices', device));
      const { data, pagination } = await done(key, 'GET', '/developers/push/devices');
      expect([data, pagination.total]).toEqual([[devices.at(-1)], 1]);
    }
    expect(devices.map(({ environment }) => environment)).toEqual(['production', 'sandbox']);
    for (const [index, key] of [own.key, own.sandboxKey].entries()) {
      const sent = await done(key, 'POST', '/developers/push', { to: 'u', title: 'T', body: 'B' });
      expect(sent.metadata.devicesTargeted).toBe(1);
      const found = await done(own.key, 'GET', `/developers/messages/${sent.id}`);
      expect(found.recipients.map(({ to }: { to: string }) => to)).toEqual([`android:${devices[index]?.id}`]);
      const other = { deviceIds: [devices[1 - index]?.id], title: 'T', body: 'B' };
      const refused = await gateway.call('POST', '/developers/push', { key, body: other });
      expect(codeOf(refused)).toEqual([400, 'no_target_devices']);
    }
    const gone = await gateway.call('DELETE', `/developers/push/devices/${devices[0]?.id}`, {
      key: own.sandboxKey,
    });
    expect(codeOf(gone)).toEqual([404, 'not_found']);
  });

  it('its webhooks get test events only, and it may have ten besides those of production (R199)', async () => {
    const own = await gateway.createAccount();
    const hooks = await startWebhookReceiver();
    try {
      const register = (key: string) =>
        gateway.call('POST', '/developers/webhooks', { key, body: { url: hooks.url, events: EVENTS } });
      const inSandbox = await register(own.sandboxKey);
      expect(inSandbox.body.webhook.environment).toBe('sandbox');
      for (let count = 0; count < 10; count += 1) expect((await register(own.key)).status).toBe(201);
      expect(codeOf(await register(own.key))).toEqual([409, 'webhook_limit']);
      expect((await register(own.sandboxKey)).status).toBe(201);
      expect((await done(own.sandboxKey, 'GET', '/developers/webhooks')).pagination.total).toBe(2);
      expect((await done(own.key, 'GET', '/developers/webhooks')).pagination.total).toBe(10);
      const asked = await done(own.key, 'GET', '/developers/webhooks?environment=sandbox');
      expect(asked.pagination.total).toBe(2);

      const { id } = inSandbox.body.webhook;
      await done(own.sandboxKey, 'POST', '/developers/sms', { to: NUMBER, message: 'Sandbox' });
      const sms = await done(own.key, 'POST', '/developers/sms', { to: NUMBER, message: 'Production' });
      await eventually(() => hooks.received.filter(({ body }) => body.messageId === sms.id).length === 10);
      const recovered = await done(own.sandboxKey, 'POST', `/developers/webhooks/${id}/recover`, {
        since: new Date(Date.now() - 3_600_000).toISOString(),
      });
      expect(recovered).toEqual({ queued: 0 });
      const tested = await done(own.sandboxKey, 'POST', `/developers/webhooks/${id}/test`);
      expect(tested).toMatchObject({ success: true, delivery: { event: 'webhook.test', status: 'success' } });
      const { data } = await done(own.sandboxKey, 'GET', `/developers/webhooks/${id}/deliveries`);
      expect(data.map((delivery: { id: string }) => delivery.id)).toEqual([tested.delivery.id]);
      const kept = await client.query('SELECT event FROM webhook_deliveries WHERE webhook_id = $1', [id]);
      expect(kept.rows).toEqual([{ event: 'webhook.test' }]);

      const feed = await done(own.sandboxKey, 'GET', '/developers/events');
      expect(feed.data.map(({ event }: { event: string }) => event)).toEqual(['webhook.test']);
      expect(feed.data[0].data.webhookId).toBe(id);
      const further = await done(own.sandboxKey, 'GET', `/developers/events?after=${feed.cursor}`);
      expect(further).toEqual({ data: [], cursor: feed.cursor, hasMore: false });
      const all = await done(own.key, 'GET', '/developers/events');
      expect(all.data.map(({ event }: { event: string }) => event)).toEqual(['sms.sent', 'webhook.test']);
    } finally {
      await hooks.stop();
    }
  });

  it('sees its own messages, and a production key those of both (R201)', async () => {
    const own = await gateway.createAccount();
    const sent: string[] = [];
    for (const key of [own.key, own.sandboxKey])
      sent.push((await done(key, 'POST', '/developers/sms', { to: NUMBER, message: 'Hello' })).id);
    const history = async (key: string, query = '') => {
      const { data, pagination } = await done(key, 'GET', `/developers/sms/history${query}`);
      expect(pagination.total).toBe(data.length);
      return data.map(({ id }: { id: string }) => id);
    };
    expect(await history(own.key)).toEqual([sent[1], sent[0]]);
    expect(await history(own.key, '?environment=production')).toEqual([sent[0]]);
    expect(await history(own.key, '?environment=sandbox')).toEqual([sent[1]]);
    for (const query of ['', '?environment=sandbox', `?to=${encodeURIComponent(NUMBER)}`, '?status=sent'])
      expect(await history(own.sandboxKey, query)).toEqual([sent[1]]);
    expect(await history(own.sandboxKey, '?environment=production')).toEqual([]);
    const canceled = await gateway.call('DELETE', `/developers/messages/${sent[1]}`, { key: own.key });
    expect(codeOf(canceled)).toEqual([409, 'message_not_cancelable']);
  });
});

/** The fields that the tests read from the answer of each mutation. */
interface Thing {
  readonly id: string;
  readonly environment: string;
}

describe('people', () => {
  it('switch between both environments (R201)', async () => {
    const own = await gateway.createAccount();
    const hooks = await startWebhookReceiver();
    try {
      const token = await signIn(gateway, own);
      const ask = async (query: string, variables: object = {}) => {
        const answer = await graphql(gateway, query, { token, variables });
        if (answer.body.errors) throw new Error(answer.text);
        return answer.body.data;
      };
      const inputs: Readonly<Record<string, string>> = {
        createContact: `createContact(input: { phone: "${NUMBER}", environment: $e }) { id environment }`,
        registerDevice:
          'registerDevice(input: { token: "t", platform: ANDROID, userId: "u", environment: $e }) { id environment }',
        registerWebhook: `registerWebhook(input: { url: "${hooks.url}", events: ["webhook.test"], environment: $e })
          { webhook { id environment } }`,
        importContacts:
          'importContacts(csv: "name,phone\\nAmina,0772000001", environment: $e) { id environment }',
      };
      const made: Readonly<Record<string, Thing>>[] = [];
      for (const environment of [undefined, 'SANDBOX']) {
        const things: Record<string, Thing> = {};
        for (const [name, mutation] of Object.entries(inputs)) {
          const data = await ask(`mutation ($e: Environment) { ${mutation} }`, { e: environment });
          things[name] = data[name].webhook ?? data[name];
        }
        const found = Object.values(things).map((thing) => thing.environment);
        expect(found).toEqual(found.map(() => environment ?? 'PRODUCTION'));
        await endOfImport(gateway, token, things.importContacts?.id ?? '');
        await ask('mutation ($id: ID!) { sendTestEvent(webhookId: $id) { environment } }', {
          id: things.registerWebhook?.id,
        });
        made.push(things);
      }
      const lists = `query ($e: Environment) {
        contacts(environment: $e) { totalCount nodes { environment } }
        found: contacts(environment: $e, search: "amina") { totalCount nodes { environment } }
        devices(environment: $e) { totalCount nodes { environment } }
        contactImports(environment: $e) { totalCount nodes { environment } }
        webhooks(environment: $e) { environment }
        webhookDeliveries(filter: { environment: $e }) { totalCount nodes { environment webhook { environment } } }
      }`;
      for (const environment of ['PRODUCTION', 'SANDBOX']) {
        const { webhooks, ...found } = await ask(lists, { e: environment });
        const one = { totalCount: 1, nodes: [{ environment }] };
        expect({ webhooks, ...found }).toEqual({
          contacts: { totalCount: 2, nodes: [{ environment }, { environment }] },
          found: one,
          devices: one,
          contactImports: one,
          webhooks: [{ environment }],
          webhookDeliveries: { totalCount: 1, nodes: [{ environment, webhook: { environment } }] },
        });
      }
      const unasked = await ask(lists);
      expect(unasked.contacts.nodes).toEqual([{ environment: 'PRODUCTION' }, { environment: 'PRODUCTION' }]);
      expect(unasked.devices.nodes).toEqual([{ environment: 'PRODUCTION' }]);
      expect(unasked.contactImports.nodes).toEqual([{ environment: 'PRODUCTION' }]);
      expect(unasked.webhooks).toEqual([{ environment: 'SANDBOX' }, { environment: 'PRODUCTION' }]);
      expect(unasked.webhookDeliveries.totalCount).toBe(2);
      // A person finds the objects of both environments by id.
      for (const { createContact, registerWebhook, importContacts } of made) {
        const { contact, webhook, contactImport } = await ask(
          'query ($c: ID!, $w: ID!, $i: ID!) { contact(id: $c) { id } webhook(id: $w) { id } contactImport(id: $i) { id } }',
          { c: createContact?.id, w: registerWebhook?.id, i: importContacts?.id },
        );
        expect([contact.id, webhook.id, contactImport.id]).toEqual(
          [createContact, registerWebhook, importContacts].map((thing) => thing?.id),
        );
      }
    } finally {
      await hooks.stop();
    }
  });
});
