import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import type { TwoWaySliceInput } from '../../src/domain/paging.ts';
import type { MessageListFilter } from '../../src/domain/ports/list-stores.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { type Dataset, fillDatabase } from '../support/dataset.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { listQueries } from '../support/list-queries.ts';
import { explainDatabase, recordPlans } from '../support/plans.ts';
import { plansOf, type QueryPlan } from '../support/query-plans.ts';

const MESSAGES = 6_000;

/** Queries that find no row here, because so few messages do not contain the rare values of their filters. */
const FEW = ['messages search, in few', 'auditLog from, to'];

interface Row {
  id: string;
  status: string;
  environment: string;
  api_key_id: string | null;
  content: string;
  created_at: Date;
}

describe('rows that PostgreSQL reads for a list', () => {
  let database: TestDatabase | undefined;
  let gateway: TestGateway | undefined;
  let dataset: Dataset;
  const plans = recordPlans();
  beforeAll(async () => {
    database = await createTestDatabase();
    const client = new pg.Client({ ...database.connection });
    await client.connect();
    try {
      await using filling = await startTestGateway({ ROLES: 'api' }, database);
      dataset = await fillDatabase(filling.parts, database.connection, MESSAGES, () => undefined);
      await explainDatabase(client, database.connection.database);
    } finally {
      await client.end();
    }
    gateway = await startTestGateway({ ROLES: 'api' }, database);
  });
  afterAll(async () => {
    plans[Symbol.dispose]();
    await gateway?.stop();
    await database?.drop();
  });

  async function query<Found extends pg.QueryResultRow>(text: string, values: unknown[]): Promise<Found[]> {
    const client = new pg.Client({ ...database!.connection });
    await client.connect();
    try {
      return (await client.query<Found>(text, values)).rows;
    } finally {
      await client.end();
    }
  }
  const all = () =>
    query<Row>(
      `SELECT m.id, r.status, m.environment, m.api_key_id, m.content, m.created_at
       FROM messages m JOIN recipients r ON r.message_id = m.id WHERE m.account_id = $1 ORDER BY m.seq DESC`,
      [dataset.accountId],
    );

  it('are the rows of the page, or the matching rows when it counts them', async () => {
    const found: QueryPlan[] = [];
    for (const query of listQueries(gateway!.parts.operations, dataset)) {
      found.push(...(await plansOf(query, plans)));
    }
    expect(found.length).toBeGreaterThan(80);
    const touching = found.filter(({ bound }) => bound === 'none').map(({ name }) => name);
    expect(touching).toEqual([]);
    const counted = found.filter(({ name }) => /^(history|messages) (status|environment)=/.test(name));
    expect(counted.length).toBeGreaterThan(18);
    expect(counted.filter(({ bound }) => bound !== 'page')).toEqual([]);
    const empty = found.filter(({ returned }) => returned === 0).map(({ name }) => name);
    expect(empty).toEqual(['history of email', 'history of push', 'history of whatsapp', ...FEW]);
    const unseen = found.filter(({ returned, touched, counts }) => returned > 1 && touched + counts === 0);
    expect(unseen).toEqual([]);
  });

  it.each([
    ['that has all', 0],
    ['that misses nearly all', 1],
  ])('of a recovery are the deliveries it recovers: of an endpoint %s', async (_, place) => {
    const { accountId, webhookIds } = dataset;
    const id = String(webhookIds[place]);
    const member = { kind: 'member', accountId, userId: accountId, role: 'OWNER' } as const;
    // Recover six minutes of the last five hours. Half of all messages are from these hours.
    const [since, until] = [2.5, 2.4].map((hours) => new Date(Date.now() - hours * 3_600_000).toISOString());
    const run = async () => {
      const { queued } = await gateway!.parts.operations.webhooks.recover.run(member, {
        id,
        since: String(since),
        until,
      });
      return { returned: queued };
    };
    const [plan] = await plansOf({ name: 'recover', run }, plans);
    // The recovery also reads events that were recorded up to ten minutes later. So it reads more than it recovers, but
    // few of the 3,000.
    expect(plan?.touched).toBeLessThan(400);
    expect(plan?.returned).toBeGreaterThan(place === 0 ? -1 : 50);
    const left = await query(
      `SELECT FROM events e WHERE account_id = $1 AND type = 'sms.sent' AND recorded_at BETWEEN $2 AND $3
         AND NOT EXISTS (SELECT FROM webhook_deliveries d WHERE (d.account_id, d.event_seq, d.webhook_id) = ($1, e.seq, $4))`,
      [accountId, since, until, id],
    );
    expect(left).toEqual([]);
  });

  it.each([
    ['all', {}],
    ['a common event', { event: 'sms.sent' }],
    ['a status', { status: 'success' }],
    ['an index of their own', { status: 'failed' }],
  ] as const)('are the same deliveries from both ends of their list, by %s (R443)', async (_, filter) => {
    const { accountId } = dataset;
    const member = { kind: 'member', accountId, userId: accountId, role: 'OWNER' } as const;
    const { list } = gateway!.parts.operations.deliveries;
    const read = async (input: TwoWaySliceInput) => {
      const { edges, ...slice } = await list.run(member, { ...input, filter });
      return { ...slice, edges, ids: edges.map(({ node }) => node.id) };
    };
    const forward: string[] = [];
    for (let after: string | undefined, isMore = true; isMore; ) {
      const { ids, edges, hasNextPage } = await read({ first: 100, after });
      forward.push(...ids);
      after = edges.at(-1)?.cursor;
      isMore = hasNextPage;
    }
    expect(forward.length).toBe(await (await read({ first: 1 })).total());
    const backward: string[] = [];
    for (let before: string | undefined, isMore = true; isMore; ) {
      const { ids, edges, hasPreviousPage, hasNextPage } = await read({ last: 100, before });
      expect(hasNextPage).toBe(before !== undefined);
      backward.unshift(...ids);
      before = edges[0]?.cursor;
      isMore = hasPreviousPage;
    }
    expect(backward).toEqual(forward);
  });

  it('do not change the result: it is the same without any index or count', async () => {
    const { accountId, rareKeyId, from, to } = dataset;
    const member = { kind: 'member', accountId, userId: accountId, role: 'OWNER' } as const;
    const { messageLists, messages } = gateway!.parts.operations;
    const day = 24 * 3_600_000;
    const filters: [MessageListFilter, (row: Row) => boolean][] = [
      [{}, () => true],
      [{ status: ['delivered'] }, (row) => row.status === 'delivered'],
      [{ status: ['sent'] }, (row) => row.status === 'sent'],
      [{ status: ['failed'] }, (row) => row.status === 'failed'],
      [{ status: ['pending'] }, (row) => row.status === 'pending'],
      [{ status: ['failed', 'pending'] }, (row) => row.status === 'failed' || row.status === 'pending'],
      [{ sender: 'SERVICE', channel: ['sms', 'email'] }, () => true],
      [{ sender: 'OTHER' }, () => false],
      [{ errorCode: 'rejected' }, (row) => row.status === 'failed'],
      [{ environment: 'sandbox' }, (row) => row.environment === 'sandbox'],
      [{ apiKeyId: rareKeyId }, (row) => row.api_key_id === rareKeyId],
      [{ from, to }, (row) => row.created_at >= from && row.created_at <= to],
      [
        { status: ['sent'], from, to: new Date(from.getTime() + 20 * day) },
        (row) =>
          row.status === 'sent' &&
          row.created_at >= from &&
          row.created_at.getTime() <= from.getTime() + 20 * day,
      ],
      [
        { status: ['failed'], environment: 'production', from },
        (row) => row.status === 'failed' && row.environment === 'production' && row.created_at >= from,
      ],
      [{ search: 'Number 17' }, (row) => row.content.includes('number 17')],
    ];
    const rows = await all();
    for (const [filter, matches] of filters) {
      const expected = rows.filter(matches).map(({ id }) => id);
      const read: string[] = [];
      for (let after: string | undefined, more = true; more; ) {
        const slice = await messageLists.list.run(member, { first: 100, after, filter });
        read.push(...slice.edges.map(({ node }) => node.id));
        after = slice.edges.at(-1)?.cursor;
        more = slice.hasNextPage;
        if (!more) expect({ filter, total: await slice.total() }).toEqual({ filter, total: expected.length });
      }
      expect({ filter, read }).toEqual({ filter, read: expected });
      const { search, sender, errorCode } = filter;
      if (search === undefined && sender === undefined && errorCode === undefined) {
        const backward: string[] = [];
        for (let before: string | undefined, more = true; more; ) {
          const slice = await messageLists.list.run(member, { last: 100, before, filter });
          backward.unshift(...slice.edges.map(({ node }) => node.id));
          before = slice.edges[0]?.cursor;
          more = slice.hasPreviousPage;
        }
        expect({ filter, backward }).toEqual({ filter, backward: expected });
      }
      // The history takes one channel, and one status or none. Skip filters that it cannot express.
      const { status: [status, another] = [], environment, from: since, to: until, ...others } = filter;
      if (another !== undefined || Object.keys(others).length > 0) continue;
      const asked = { status, environment, from: since, until };
      const pages: string[] = [];
      for (let page = 1; page <= Math.ceil(expected.length / 100) + 1; page += 1) {
        const input = { channel: 'sms', filter: asked, page: { page, limit: 100 } } as const;
        const found = await messages.history.run(member, input as Parameters<typeof messages.history.run>[1]);
        expect({ filter, total: found.total }).toEqual({ filter, total: expected.length });
        pages.push(...found.rows.map(({ id }) => id));
      }
      expect({ filter, pages }).toEqual({ filter, pages: expected });
    }
  });

  it('usage by day equals usage by hour', async () => {
    const { accountId, from } = dataset;
    const member = { kind: 'member', accountId, userId: accountId, role: 'OWNER' } as const;
    const { usage } = gateway!.parts.operations;
    const hour = 3_600_000;
    for (const [shift, hours] of [
      [0, 24],
      [5, 3],
      [5.5, 30],
      [13, 24 * 20],
      [23.25, 24 * 9 + 7.5],
    ] as const) {
      const span = {
        from: new Date(from.getTime() + shift * hour),
        to: new Date(from.getTime() + (shift + hours) * hour),
      };
      const read = async (interval: 'hour' | 'day') => {
        const rows = await usage.query.run(member, {
          ...span,
          interval,
          groupBy: ['status'],
          environment: undefined,
        });
        const byDay = Map.groupBy(rows, ({ at, status }) => `${at.toISOString().slice(0, 10)} ${status}`);
        return new Map(
          [...byDay].map(([key, own]) => [key, own.reduce((sum, { messages }) => sum + messages, 0)]),
        );
      };
      const [byHour, byDay] = [await read('hour'), await read('day')];
      expect(byHour.size).toBeGreaterThan(0);
      expect(byDay).toEqual(byHour);
    }
  });
});
