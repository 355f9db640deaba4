import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../support/eventually.ts';
import { type Answer, startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { codesOf, graphql, signIn } from '../support/graphql.ts';
import { countStatements } from '../support/statements.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';

const MESSAGES = 100;

describe('lists for dashboards over GraphQL', () => {
  let gateway: TestGateway;
  let receiver: Awaited<ReturnType<typeof startWebhookReceiver>> | undefined;
  let account: TestAccount;
  let token: string;
  let webhookId: string;
  beforeAll(async () => {
    gateway = await startTestGateway();
    receiver = await startWebhookReceiver();
    account = await gateway.createAccount();
    token = await signIn(gateway, account);
    const hook = { url: receiver.url, events: ['sms.sent', 'sms.failed'] };
    webhookId = (await gateway.call('POST', '/developers/webhooks', { key: account.key, body: hook })).body
      .webhook.id;
    const send = (number: number) =>
      gateway.call('POST', '/developers/sms', {
        key: account.key,
        // The simulator refuses every tenth message, because the number ends in 0001 (R226).
        body: {
          to: `+25670${String(number).padStart(3, '0')}${number % 10 === 0 ? '0001' : '0009'}`,
          message: `Number ${number}`,
        },
      });
    await Promise.all(Array.from({ length: MESSAGES }, (_, index) => send(index)));
    await eventually(async () => {
      const { nodes } = (await ask('{ messages(first: 100) { nodes { status deliveries { status } } } }'))
        .body.data.messages;
      return nodes.every(
        (node: { status: string; deliveries: { status: string }[] }) =>
          ['DELIVERED', 'FAILED'].includes(node.status) &&
          node.deliveries.every((delivery) => delivery.status === 'SUCCESS'),
      );
    });
  });
  afterAll(async () => {
    await gateway?.stop();
    await receiver?.stop();
  });

  const ask = (query: string, variables: object = {}): Promise<Answer> =>
    graphql(gateway, query, { token, variables });
  const data = async (query: string, variables: object = {}) => {
    const answer = await ask(query, variables);
    if (answer.body.errors) throw new Error(answer.text);
    return answer.body.data;
  };

  it('run as many SQL statements for one message as for twenty, with every edge', async () => {
    const query = `query ($n: Int!) { messages(first: $n) { totalCount nodes {
      id status recipients { to status sid error { code } } events { type payload }
      deliveries { id status payload attemptLog { at } webhook { url } message { id } } timeline { status } apiKey { name }
    } } }`;
    const count = async (n: number) => {
      using counter = countStatements();
      const { nodes } = (await data(query, { n })).messages;
      expect(nodes).toHaveLength(n);
      expect(nodes[0].deliveries[0]).toMatchObject({
        webhook: { url: receiver?.url },
        message: { id: nodes[0].id },
      });
      return counter.ofRequests();
    };
    const one = await count(1);
    const many = await count(20);
    expect(many.toSorted()).toEqual(one.toSorted());
    expect(one.filter((text) => text.includes('FROM messages'))).not.toEqual([]);
    expect(one.length).toBeLessThanOrEqual(16);
  });

  it('read 100 messages with recipients, events, deliveries, webhook and key in a few statements', async () => {
    using counter = countStatements();
    const query = `{ messages(first: 100) { nodes { id recipients { to } events { type } deliveries { webhook { id } } apiKey { keyId } } } }`;
    const { nodes } = (await data(query)).messages;
    expect(nodes).toHaveLength(MESSAGES);
    expect(nodes.every((node: { events: unknown[] }) => node.events.length === 1)).toBe(true);
    expect(counter.ofRequests()).not.toHaveLength(0);
    expect(counter.ofRequests().length).toBeLessThanOrEqual(10);
  });

  it('count deliveries by local time and event, in one statement for all webhooks (R335)', async () => {
    const span = `from: "${new Date(Date.now() - 86_400_000).toISOString()}", to: "${new Date(Date.now() + 1).toISOString()}"`;
    const figures = 'at event succeeded failed pending';
    using counter = countStatements();
    const query = `{ webhooks { id stats { succeeded failed pending }
      all: analytics(${span}) { ${figures} }
      events: analytics(${span}, groupBy: [EVENT]) { ${figures} }
      hours: analytics(${span}, interval: HOUR, timeZone: "Asia/Kolkata") { ${figures} }
      none: analytics(from: "2020-01-01T00:00:00Z", to: "2020-02-01T00:00:00Z", interval: DAY) { ${figures} } } }`;
    const [webhook] = (await data(query)).webhooks.filter(({ id }: { id: string }) => id === webhookId);
    expect(counter.ofRequests().filter((text) => text.includes('width_bucket'))).toHaveLength(4);
    expect(webhook.stats).toEqual({ succeeded: MESSAGES, failed: 0, pending: 0 });
    expect(webhook.all).toMatchObject([{ event: null, ...webhook.stats }]);
    expect(webhook.events).toMatchObject([
      { event: 'sms.failed', succeeded: MESSAGES / 10 },
      { event: 'sms.sent', succeeded: (MESSAGES * 9) / 10 },
    ]);
    const hours: { at: string; succeeded: number }[] = webhook.hours;
    expect(hours.reduce((sum, { succeeded }) => sum + succeeded, 0)).toBe(MESSAGES);
    expect(hours.every(({ at }) => at.endsWith(':30:00.000Z'))).toBe(true);
    expect(webhook.none).toEqual([]);
    const wrong = `{ webhooks { analytics(${span}, timeZone: "Nowhere") { at } } }`;
    expect(codesOf(await ask(wrong))).toEqual(['BAD_USER_INPUT']);
  });

  it.each([
    ['deliveries', '{ webhookDeliveries(first: 100) { nodes { id webhook { DELIVERIES } } } }'],
    ['messages', '{ messages(first: 100) { nodes { deliveries { webhook { DELIVERIES } } } } }'],
    ['endpoints', '{ webhooks { DELIVERIES } }'],
  ])('read the deliveries of the webhooks of many %s in a few statements', async (_, query) => {
    using counter = countStatements();
    const asked =
      'deliveries(first: 2) { totalCount nodes { id messageId createdAt } pageInfo { hasNextPage endCursor } }';
    const answer = JSON.stringify(await data(query.replace('DELIVERIES', asked)));
    expect(answer).toContain(`"totalCount":${MESSAGES}`);
    expect(counter.ofRequests()).not.toHaveLength(0);
    expect(counter.ofRequests().length).toBeLessThanOrEqual(12);
  });

  it('return each message once by cursor, also while new ones arrive', async () => {
    const query =
      'query ($after: String) { messages(first: 33, after: $after) { nodes { id } pageInfo { hasNextPage hasPreviousPage endCursor } } }';
    const seen: string[] = [];
    let after: string | undefined;
    let pages = 0;
    do {
      const { nodes, pageInfo } = (await data(query, { after })).messages;
      expect(pageInfo.hasPreviousPage).toBe(pages > 0);
      seen.push(...nodes.map((node: { id: string }) => node.id));
      after = pageInfo.hasNextPage ? pageInfo.endCursor : undefined;
      pages += 1;
      const key = account.sandboxKey;
      await gateway.call('POST', '/developers/sms', { key, body: { to: '+256700000000', message: 'New' } });
    } while (after !== undefined);
    expect([pages, seen.length, new Set(seen).size]).toEqual([4, MESSAGES, MESSAGES]);
  });

  it('are ordered newest first, with a total only when requested', async () => {
    using counter = countStatements();
    const { edges, pageInfo, nodes } = (
      await data(
        '{ messages(first: 2, filter: { environment: PRODUCTION, search: "Number 4" }) { edges { cursor node { id } } nodes { id } pageInfo { startCursor endCursor } } }',
      )
    ).messages;
    expect(counter.ofRequests().filter((text) => /^select count\(/i.test(text))).toEqual([]);
    expect([pageInfo.startCursor, pageInfo.endCursor]).toEqual(
      edges.map((edge: { cursor: string }) => edge.cursor),
    );
    expect(nodes).toEqual(edges.map((edge: { node: unknown }) => edge.node));
    const wrong = await ask('{ messages(after: "no cursor of ours") { totalCount } }');
    expect(wrong.body.errors[0].extensions).toMatchObject({
      code: 'BAD_USER_INPUT',
      details: { fields: [{ path: 'after', message: 'must be a cursor that this list gave' }] },
    });
  });

  it.each([
    ['status: FAILED', 10],
    ['status: DELIVERED', 90],
    ['channel: EMAIL', 0],
    ['search: "Number 4", channel: SMS', 11],
    ['search: "Number_4"', 0],
    ['from: "2020-01-01T00:00:00Z", to: "2021-01-01T00:00:00Z"', 0],
    ['from: "2020-01-01T00:00:00+03:00", environment: PRODUCTION', 100],
  ])('filter messages by %s', async (filter, count) => {
    const { messages } = await data(
      `{ messages(first: 100, filter: { ${filter} }) { totalCount nodes { id } } }`,
    );
    expect([messages.totalCount, messages.nodes.length]).toEqual([count, count]);
  });

  it('show a message as REST does, with its events and deliveries (R236)', async () => {
    const [{ id }] = (await data('{ messages(filter: { status: FAILED }, first: 1) { nodes { id } } }'))
      .messages.nodes;
    const fields = `id sid channel to from content status cost currency sandbox createdAt
      metadata { recipientsProcessed invalidNumbersSkipped duplicatesRemoved smsCount messageLength costPerSms encoding segments }
      recipients { to status sid error { code message } sentAt deliveredAt } timeline { at status recipient detail }
      events { type } apiKey { name environment scopes }`;
    const { message } = await data(`query ($id: ID!) { message(id: $id) { ${fields} } }`, { id });
    const rest = (await gateway.call('GET', `/developers/messages/${id}`, { key: account.key })).body;
    const { recipients, timeline, ...shown } = rest;
    expect(message).toMatchObject({ ...shown, channel: 'SMS', status: 'FAILED' });
    expect(message.recipients[0]).toMatchObject({
      to: recipients[0].to,
      status: 'FAILED',
      error: recipients[0].error,
    });
    expect(message.timeline.map((entry: { status: string }) => entry.status)).toEqual(
      timeline.map((entry: { status: string }) => entry.status),
    );
    expect(message.events).toEqual([{ type: 'sms.failed' }]);
    expect(message.apiKey).toEqual({ name: 'test', environment: 'PRODUCTION', scopes: ['FULL_ACCESS'] });
  });

  it('show the deliveries of all webhooks, by filter, and of one webhook', async () => {
    const total = async (filter: string) =>
      (await data(`{ webhookDeliveries(first: 1, filter: { ${filter} }) { totalCount } }`)).webhookDeliveries
        .totalCount;
    expect(await total('event: "sms.failed"')).toBe(10);
    expect(await total(`webhookId: "${webhookId}", status: SUCCESS`)).toBe(MESSAGES);
    expect(await total('status: FAILED')).toBe(0);
    const { webhook } = await data(
      'query ($id: ID!) { webhook(id: $id) { stats { succeeded failed pending } deliveries(first: 3) { totalCount nodes { event attempts httpStatus messageId message { content } payload attemptLog { httpStatus durationMs } } } } }',
      { id: webhookId },
    );
    expect(webhook.stats).toEqual({ succeeded: MESSAGES, failed: 0, pending: 0 });
    const [delivery] = webhook.deliveries.nodes;
    expect(delivery).toMatchObject({
      attempts: 1,
      payload: {
        event: delivery.event,
        messageId: delivery.messageId,
        data: { message: delivery.message.content },
      },
      attemptLog: [{ httpStatus: delivery.httpStatus }],
    });
    const of = `messageId: "${delivery.messageId}"`;
    expect(await total(of)).toBe(1);
  });

  it('show deliveries from the end of their list, of all webhooks, a message and each webhook (R443)', async () => {
    const part =
      'edges { cursor node { id } } pageInfo { hasNextPage hasPreviousPage startCursor endCursor }';
    type Page = {
      edges: { cursor: string; node: { id: string } }[];
      pageInfo: { hasNextPage: boolean; hasPreviousPage: boolean };
    };
    const { webhookDeliveries } = await data('{ webhookDeliveries(first: 1) { nodes { messageId } } }');
    const all = (filter: string) => async (args: string) =>
      (await data(`{ webhookDeliveries(${args}, filter: { ${filter} }) { ${part} } }`)).webhookDeliveries;
    const ofWebhook = async (args: string) =>
      (await data(`{ webhook(id: "${webhookId}") { deliveries(${args}) { ${part} } } }`)).webhook.deliveries;
    const lists: [number, (args: string) => Promise<Page>][] = [
      [MESSAGES, all('')],
      [MESSAGES, ofWebhook],
      [MESSAGES, all('status: SUCCESS')],
      [10, all('event: "sms.failed"')],
      [1, all(`messageId: "${webhookDeliveries.nodes[0].messageId}"`)],
    ];
    for (const [size, read] of lists) {
      const forward = (await read('first: 100')).edges;
      expect(forward).toHaveLength(size);
      const n = Math.min(3, size);
      const end = await read(`last: ${n}`);
      expect(end.edges).toEqual(forward.slice(-n));
      expect(end.pageInfo).toMatchObject({ hasNextPage: false, hasPreviousPage: size > n });
      const before = await read(`last: 4, before: "${end.edges[0]?.cursor}"`);
      expect(before.edges).toEqual(forward.slice(0, -n).slice(-4));
      expect(before.pageInfo).toMatchObject({ hasNextPage: true, hasPreviousPage: size > n + 4 });
    }
    expect(codesOf(await ask('{ webhookDeliveries(first: 1, last: 1) { nodes { id } } }'))).toEqual([
      'BAD_USER_INPUT',
    ]);
  });

  it('page through the deliveries of several webhooks, each by its own cursor', async () => {
    const other = await gateway.createAccount();
    const as = { token: await signIn(gateway, other) };
    const ids: string[] = [];
    for (const events of [['sms.sent'], ['sms.sent', 'sms.failed']]) {
      const body = { url: receiver?.url, events };
      const { webhook } = (await gateway.call('POST', '/developers/webhooks', { key: other.key, body })).body;
      ids.push(webhook.id);
    }
    for (const to of ['+256700100009', '+256700100001', '+256700200009', '+256700300009']) {
      await gateway.call('POST', '/developers/sms', { key: other.key, body: { to, message: 'x' } });
    }
    const all = (id: string) => `webhookDeliveries(filter: { webhookId: "${id}" }) { nodes { id } }`;
    type List = { nodes: { id: string }[] };
    let lists: List[] = [];
    await eventually(async () => {
      const { body } = await graphql(gateway, `{ ${ids.map((id, i) => `w${i}: ${all(id)}`).join(' ')} }`, as);
      lists = Object.values(body.data as Record<string, List>);
      return lists[0]?.nodes.length === 3 && lists[1]?.nodes.length === 4;
    });
    const seen: string[][] = [[], []];
    const after: (string | null)[] = [null, null];
    for (const isFirst of [true, false]) {
      const part = 'totalCount nodes { id } pageInfo { hasNextPage hasPreviousPage endCursor }';
      const asked = ids.map(
        (id, i) => `w${i}: webhook(id: "${id}") { deliveries(first: 2, after: $a${i}) { ${part} } }`,
      );
      const { body } = await graphql(gateway, `query ($a0: String, $a1: String) { ${asked.join(' ')} }`, {
        ...as,
        variables: { a0: after[0], a1: after[1] },
      });
      for (const i of [0, 1]) {
        const { totalCount, nodes, pageInfo } = body.data[`w${i}`].deliveries;
        expect([totalCount, pageInfo.hasPreviousPage]).toEqual([i + 3, !isFirst]);
        expect(pageInfo.hasNextPage).toBe(isFirst);
        seen[i]?.push(...nodes.map((node: { id: string }) => node.id));
        after[i] = pageInfo.endCursor;
      }
    }
    expect(seen).toEqual(lists.map(({ nodes }) => nodes.map(({ id }) => id)));
  });

  it('count usage of everything committed, before and after counts are folded (R237)', async () => {
    const from = new Date(Date.now() - 3_600_000).toISOString();
    const to = new Date(Date.now() + 3_600_000).toISOString();
    const usage = async (rest: string) =>
      (
        await data(
          `query ($from: DateTime!, $to: DateTime!) { usage(from: $from, to: $to, ${rest}) { at channel status apiKeyId apiKey { name } messages cost currency } }`,
          { from, to },
        )
      ).usage;
    const production = async () =>
      usage('interval: MONTH, groupBy: [CHANNEL, STATUS], environment: PRODUCTION');
    const expected = (status: string, messages: number) =>
      expect.objectContaining({
        channel: 'SMS',
        status,
        messages,
        cost: messages * 30,
        currency: 'UGX',
        apiKeyId: null,
      });
    const rows = [expected('DELIVERED', 90), expected('FAILED', 10)];
    expect(await production()).toEqual(expect.arrayContaining(rows));
    expect(await production()).toHaveLength(2);
    await gateway.parts.stores.usage.fold();
    expect(await production()).toEqual(expect.arrayContaining(rows));
    // The count includes a new message at once, before the next fold of the counters.
    const sandbox = { key: account.sandboxKey, body: { to: '+256700000000', message: 'Hi' } };
    const count = async () =>
      (await usage('interval: DAY, groupBy: [API_KEY], environment: SANDBOX')).reduce(
        (sum: number, row: { messages: number }) => sum + row.messages,
        0,
      );
    const before = await count();
    await gateway.call('POST', '/developers/sms', sandbox);
    expect(await count()).toBe(before + 1);
    expect((await usage('interval: HOUR, groupBy: [API_KEY]'))[0].apiKey).toEqual({ name: 'test' });
    const tooLong = await ask(
      '{ usage(from: "2020-01-01T00:00:00Z", to: "2026-01-01T00:00:00Z", interval: HOUR) { at } }',
    );
    expect(codesOf(tooLong)).toEqual(['BAD_USER_INPUT']);
  });

  it('keep hourly counts equal to the messages, in any order of folding', async () => {
    await Promise.all([1, 2, 3].map(() => gateway.parts.stores.usage.fold()));
    const { usage } = await data(
      `{ usage(from: "2026-01-01T00:00:00Z", to: "${new Date(Date.now() + 60_000).toISOString()}", interval: MONTH) { messages } }`,
    );
    const { messages } = await data('{ messages { totalCount } }');
    const sum = usage.reduce((total: number, row: { messages: number }) => total + row.messages, 0);
    expect(sum).toBe(messages.totalCount);
  });

  it('show the ledger, which sums up to the balance', async () => {
    const { ledger, account: own } = await data(
      '{ ledger(first: 1) { totalCount nodes { seq kind amount balanceAfter messageId } } account { balance } }',
    );
    expect(ledger.totalCount).toBe(1 + MESSAGES + 10);
    expect(ledger.nodes[0].balanceAfter).toBe(own.balance);
    expect(own.balance).toBe(100_000 - 90 * 30);
  });

  it('show who changed what in the audit log, by filter', async () => {
    const rename = 'mutation ($id: ID!) { updateApiKey(keyId: $id, input: { name: "renamed" }) { name } }';
    const { keyId } = await gateway.createKey(account.accountId, {});
    expect((await data(rename, { id: keyId })).updateApiKey.name).toBe('renamed');
    const { viewer } = await data('{ viewer { id } }');
    const { auditLog } = await data(
      'query ($t: String!) { auditLog(filter: { target: $t, action: "apiKey.update" }) { totalCount nodes { actor { ... on User { id } } before after } } }',
      { t: keyId },
    );
    expect(auditLog).toMatchObject({
      totalCount: 1,
      nodes: [{ actor: { id: viewer.id }, before: { name: 'test' }, after: { name: 'renamed' } }],
    });
  });

  it('find, change and delete contacts', async () => {
    const create = `mutation ($p: String) { createContact(input: { name: "Ann", phone: $p, tags: ["vip"], attributes: { n: 1 } }) { id phone tags attributes } }`;
    const { createContact: contact } = await data(create, { p: '0700123456' });
    expect(contact).toMatchObject({ phone: '+256700123456', tags: ['vip'], attributes: { n: 1 } });
    const twin = await ask(create, { p: '+256700123456' });
    expect(twin.body.errors[0].extensions).toMatchObject({
      code: 'CONTACT_EXISTS',
      details: { id: contact.id },
    });
    const found = await data('{ contacts(search: "ann") { totalCount nodes { id } } }');
    expect(found.contacts).toEqual({ totalCount: 1, nodes: [{ id: contact.id }] });
    const all = await data('{ all: contacts { totalCount } empty: contacts(search: "") { totalCount } }');
    expect(all.empty).toEqual(all.all);
    const changed = await data(
      'mutation ($id: ID!) { updateContact(id: $id, input: { email: "a@b.example", name: null }) { name email phone } }',
      contact,
    );
    expect(changed.updateContact).toEqual({ name: null, email: 'a@b.example', phone: '+256700123456' });
    expect(await data('mutation ($id: ID!) { deleteContact(id: $id) }', contact)).toEqual({
      deleteContact: true,
    });
    expect(codesOf(await ask('query ($id: ID!) { contact(id: $id) { id } }', contact))).toEqual([
      'NOT_FOUND',
    ]);
  });
});
