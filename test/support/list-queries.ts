import type { ApiKeyCaller, MemberCaller, OperatorCaller } from '../../src/domain/caller.ts';
import type { Operations } from '../../src/domain/operations.ts';
import type { Slice } from '../../src/domain/paging.ts';
import { SEARCH_REACH } from '../../src/domain/ports/list-stores.ts';
import type { Dataset } from './dataset.ts';
import { NEEDLE, REGULAR } from './dataset-rows.ts';

/** A list of the product, read in the way that an API reads it. */
export interface ListQuery {
  readonly name: string;
  /** The number of rows that the query may read although it returns fewer and fewer match. */
  readonly reach?: number;
  /** True if the query finds all matches and then sorts them, because no index has the order of the list. */
  readonly isSorted?: boolean;
  /** Returns the number of returned rows and the total. The total is a function if the API reads it only on request. */
  run(): Promise<{ returned: number; total?: number | (() => Promise<number>) }>;
}

const DAY_MS = 24 * 3_600_000;
const DEFAULT_PAGE = 20;
/** Number of messages in a block that is counted by API key. A page reads at most as many blocks as it has messages. */
const BLOCK_BY_KEY = 2_048;

/** Returns every list query of the product, with each filter that is documented. */
export function listQueries(operations: Operations, dataset: Dataset): ListQuery[] {
  const { accountId, messages, rareKeyId, webhookIds, messageId, from, to } = dataset;
  const key: ApiKeyCaller = {
    kind: 'api-key',
    accountId,
    keyId: rareKeyId,
    scopes: ['FULL_ACCESS'],
    environment: 'production',
  };
  const sandboxKey: ApiKeyCaller = { ...key, environment: 'sandbox' };
  const member: MemberCaller = { kind: 'member', accountId, userId: accountId, role: 'OWNER' };
  const operator: OperatorCaller = { kind: 'operator', userId: accountId };
  const [webhookId = '', rareWebhookId = ''] = webhookIds;

  type Page = { readonly rows: readonly unknown[]; readonly total: number };
  const paged = (name: string, read: (page: number) => Promise<Page>, page = 1): ListQuery => ({
    name: page === 1 ? name : `${name}, page ${page}`,
    async run() {
      const { rows, total } = await read(page);
      return { returned: rows.length, total };
    },
  });
  const sliced = (name: string, read: () => Promise<Slice<unknown>>): ListQuery => ({
    name,
    async run() {
      const { edges, total } = await read();
      return { returned: edges.length, total };
    },
  });
  const plain = (name: string, read: () => Promise<number>): ListQuery => ({
    name,
    run: async () => ({ returned: await read() }),
  });

  const history = (
    name: string,
    filter: Parameters<Operations['messages']['history']['run']>[1]['filter'],
    page = 1,
  ) =>
    paged(
      `history ${name}`.trim(),
      (number) =>
        operations.messages.history.run(key, { channel: 'sms', filter, page: { page: number, limit: 20 } }),
      page,
    );
  const looked = (
    name: string,
    filter: Parameters<Operations['messageLists']['list']['run']>[1]['filter'],
    reach?: number,
  ): ListQuery => ({
    ...sliced(`messages ${name}`.trim(), () => operations.messageLists.list.run(member, { filter })),
    ...(reach === undefined ? {} : { reach }),
  });
  const recipients = (
    name: string,
    filter: Parameters<Operations['recipientLists']['list']['run']>[1]['filter'],
    reach?: number,
  ): ListQuery => ({
    ...sliced(`recipients ${name}`.trim(), () => operations.recipientLists.list.run(member, { filter })),
    ...(reach === undefined ? {} : { reach }),
  });
  /** The last page of a list, read from its end. */
  const last = (
    name: string,
    filter: Parameters<Operations['messageLists']['list']['run']>[1]['filter'],
    reach?: number,
  ): ListQuery => ({
    ...sliced(`messages from the end ${name}`.trim(), () =>
      operations.messageLists.list.run(member, { filter, last: DEFAULT_PAGE }),
    ),
    ...(reach === undefined ? {} : { reach }),
  });
  const lastRecipients = (
    name: string,
    filter: Parameters<Operations['recipientLists']['list']['run']>[1]['filter'],
  ) =>
    sliced(`recipients from the end ${name}`.trim(), () =>
      operations.recipientLists.list.run(member, { filter, last: DEFAULT_PAGE }),
    );
  const owed = (
    name: string,
    id: string,
    filter: Parameters<Operations['webhooks']['deliveries']['run']>[1]['filter'],
    page = 1,
  ) =>
    paged(
      `webhook's deliveries ${name}`.trim(),
      (number) => operations.webhooks.deliveries.run(key, { id, filter, page: { page: number, limit: 20 } }),
      page,
    );
  const deliveries = (
    name: string,
    filter: Parameters<Operations['deliveries']['list']['run']>[1]['filter'],
  ) => sliced(`webhookDeliveries ${name}`.trim(), () => operations.deliveries.list.run(member, { filter }));
  const lastDeliveries = (
    name: string,
    filter: Parameters<Operations['deliveries']['list']['run']>[1]['filter'],
  ) =>
    sliced(`webhookDeliveries from the end ${name}`.trim(), () =>
      operations.deliveries.list.run(member, { filter, last: DEFAULT_PAGE }),
    );
  const contacts = (name: string, filter: { search?: string; tag?: string }, page = 1) =>
    paged(
      `contacts ${name}`.trim(),
      (number) => operations.contacts.list.run(key, { filter, page: { page: number, limit: 20 } }),
      page,
    );
  const sandboxContacts = (name: string, filter: { search?: string; tag?: string }) =>
    paged(`contacts of the sandbox ${name}`.trim(), (number) =>
      operations.contacts.list.run(sandboxKey, { filter, page: { page: number, limit: 20 } }),
    );
  const people = (name: string, filter: { search?: string; tag?: string }): ListQuery => ({
    ...sliced(`contacts (GraphQL) ${name}`.trim(), () => operations.contacts.slice.run(member, { filter })),
    isSorted: true,
  });
  const accounts = (name: string, search: string): ListQuery => ({
    ...sliced(`accounts ${name}`, () => operations.accounts.list.run(operator, { search })),
    isSorted: true,
  });
  const audit = (name: string, filter: Parameters<Operations['audit']['list']['run']>[1]['filter']) =>
    sliced(`auditLog ${name}`.trim(), () => operations.audit.list.run(member, { filter }));
  const usage = (
    interval: 'hour' | 'day' | 'month',
    days: number,
    groupBy: ('channel' | 'status' | 'api_key')[],
  ) =>
    plain(`usage ${days} days by ${[interval, ...groupBy].join(', ')}`, async () => {
      const until = new Date(Math.floor(Date.now() / DAY_MS + 1) * DAY_MS);
      const since = new Date(until.getTime() - days * DAY_MS);
      const query = { from: since, to: until, interval, groupBy, environment: undefined };
      return (await operations.usage.query.run(member, query)).length;
    });

  const pages = Math.floor(messages / 20);
  return [
    history('', {}),
    history('', {}, pages),
    ...(['email', 'push', 'whatsapp'] as const).map((channel) =>
      paged(`history of ${channel}`, (page) =>
        operations.messages.history.run(key, { channel, filter: {}, page: { page, limit: 20 } }),
      ),
    ),
    history('status=delivered', { status: 'delivered' }),
    history('status=delivered', { status: 'delivered' }, Math.floor(pages * 0.4)),
    history('status=sent', { status: 'sent' }),
    history('status=sent', { status: 'sent' }, Math.floor(pages / 40)),
    history('status=failed', { status: 'failed' }),
    history('status=failed', { status: 'failed' }, Math.floor(messages / 997 / 20 / 2) + 1),
    history('status=pending', { status: 'pending' }),
    history('environment=sandbox', { environment: 'sandbox' }),
    history('environment=production', { environment: 'production' }),
    history('environment=production', { environment: 'production' }, Math.floor(pages / 2)),
    history('to=', { to: REGULAR }),
    history('from= until=', { from, until: to }),
    history('status=failed from= until=', { status: 'failed', from, until: to }),
    looked('', {}),
    looked('channel', { channel: ['sms'] }),
    looked('status=DELIVERED', { status: ['delivered'] }),
    looked('status=SENT', { status: ['sent'] }),
    looked('status=FAILED', { status: ['failed'] }),
    looked('status=PENDING', { status: ['pending'] }),
    looked('status=FAILED, PENDING', { status: ['failed', 'pending'] }),
    looked('sender', { sender: 'SERVICE' }),
    looked('errorCode', { errorCode: 'rejected' }, SEARCH_REACH),
    looked('environment=SANDBOX', { environment: 'sandbox' }),
    looked('from, to', { from, to }),
    looked('apiKeyId', { apiKeyId: rareKeyId }, (DEFAULT_PAGE + 1) * BLOCK_BY_KEY),
    looked('search, in many', { search: 'number' }, SEARCH_REACH),
    looked('search, in few', { search: NEEDLE }, SEARCH_REACH),
    last('', {}),
    last('channel', { channel: ['sms'] }),
    last('status=DELIVERED', { status: ['delivered'] }),
    last('status=FAILED', { status: ['failed'] }),
    last('status=FAILED, PENDING', { status: ['failed', 'pending'] }),
    last('environment=SANDBOX', { environment: 'sandbox' }),
    last('from, to', { from, to }),
    last('apiKeyId', { apiKeyId: rareKeyId }, (DEFAULT_PAGE + 1) * BLOCK_BY_KEY),
    lastRecipients('', {}),
    lastRecipients('from, to', { from, to }),
    { ...lastRecipients('address', { address: REGULAR }), isSorted: true },
    recipients('', {}),
    recipients('status=DELIVERED', { status: ['delivered'] }, SEARCH_REACH),
    recipients('status=FAILED', { status: ['failed'] }, SEARCH_REACH),
    recipients('from, to', { from, to }),
    { ...recipients('address', { address: REGULAR }), isSorted: true },
    owed('', webhookId, {}),
    owed('', webhookId, {}, Math.max(2, Math.floor(pages / 4))),
    owed('status=failed', webhookId, { status: 'failed' }),
    owed('status=success', webhookId, { status: 'success' }),
    owed('event=sms.failed', webhookId, { event: 'sms.failed' }),
    deliveries('', {}),
    deliveries('webhookId', { webhookId: rareWebhookId }),
    deliveries('status=FAILED', { status: 'failed' }),
    deliveries('status=RETRYING', { status: 'retrying' }),
    deliveries('event=sms.failed', { event: 'sms.failed' }),
    deliveries('messageId', { messageId }),
    lastDeliveries('', {}),
    lastDeliveries('webhookId', { webhookId: rareWebhookId }),
    lastDeliveries('status=SUCCESS', { status: 'success' }),
    lastDeliveries('status=FAILED', { status: 'failed' }),
    lastDeliveries('status=RETRYING', { status: 'retrying' }),
    lastDeliveries('event=sms.sent', { event: 'sms.sent' }),
    lastDeliveries('event=sms.failed', { event: 'sms.failed' }),
    lastDeliveries('messageId', { messageId }),
    plain("webhooks' deliveries", async () => {
      const slices = await operations.deliveries.toEach.run(member, { webhookIds });
      return [...slices.values()].reduce((sum, { edges }) => sum + edges.length, 0);
    }),
    plain("webhooks' deliveries from the end", async () => {
      const slices = await operations.deliveries.toEach.run(member, { webhookIds, last: DEFAULT_PAGE });
      return [...slices.values()].reduce((sum, { edges }) => sum + edges.length, 0);
    }),
    plain(
      "webhooks' stats",
      async () => (await operations.deliveries.counts.run(member, { webhookIds })).size,
    ),
    contacts('', {}),
    contacts('', {}, Math.max(2, Math.floor(pages / 40))),
    contacts('search', { search: 'contact 77' }),
    contacts('search, in many', { search: 'contact' }),
    contacts('search', { search: 'contact 2' }, 2),
    contacts('search, one letter', { search: '7' }),
    contacts('search, a phone in another form', { search: '0700000077' }),
    contacts('tag', { tag: 'vip' }),
    contacts('tag search', { tag: 'vip', search: 'contact 2' }),
    people('', {}),
    people('search', { search: 'contact 77' }),
    people('search, in many', { search: 'contact' }),
    people('search, two letters', { search: '11' }),
    people('tag', { tag: 'vip' }),
    sandboxContacts('', {}),
    sandboxContacts('search', { search: 'contact 57' }),
    sliced('contacts of the sandbox (GraphQL)', () =>
      operations.contacts.slice.run(member, { filter: {}, environment: 'sandbox' }),
    ),
    paged('devices of the sandbox', (page) =>
      operations.devices.list.run(sandboxKey, { page: { page, limit: 20 } }),
    ),
    paged('devices', (page) => operations.devices.list.run(key, { page: { page, limit: 20 } })),
    sliced('devices (GraphQL)', () => operations.devices.slice.run(member, {})),
    sliced('ledger', () => operations.accounts.ledger.run(member, {})),
    plain('statement', async () => {
      const month = new Date().toISOString().slice(0, 7);
      return (await operations.accounts.statement.run(member, { month })).charges.length;
    }),
    audit('', {}),
    audit('action', { action: 'action.7' }),
    audit('actor', { actor: 'user:7' }),
    audit('target', { target: 'target-7' }),
    audit('from, to', { from, to: new Date(from.getTime() + DAY_MS) }),
    sliced("auditLog, an operator's, action", () =>
      operations.audit.list.run(operator, { filter: { action: 'action.7' } }),
    ),
    plain('event feed', async () => {
      const input = { after: String(messages - 50), limit: 20 };
      return (await operations.events.feed.run(key, input)).events.length;
    }),
    plain('event feed of the sandbox', async () => {
      const input = { after: '5', limit: 20 };
      return (await operations.events.feed.run(sandboxKey, input)).events.length;
    }),
    paged('history of a sandbox key', (page) =>
      operations.messages.history.run(sandboxKey, {
        channel: 'sms',
        filter: {},
        page: { page, limit: 20 },
      }),
    ),
    sliced('accounts', () => operations.accounts.list.run(operator, {})),
    accounts('search', 'count-7'),
    accounts('search, in many', 'ACCOUNT'),
    accounts('search, one letter', '7'),
    paged('api keys', (page) => operations.apiKeys.list.run(key, { page: { page, limit: 20 } })),
    paged('webhooks', (page) => operations.webhooks.list.run(key, { page, limit: 20 })),
    usage('hour', 31, []),
    usage('day', 365, []),
    usage('month', 365, []),
    usage('month', 365, ['channel', 'status', 'api_key']),
  ];
}
