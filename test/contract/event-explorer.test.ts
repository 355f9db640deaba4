import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { withKnex } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { graphql, signIn } from '../support/graphql.ts';
import { startWebhookBench } from '../support/webhooks.ts';

const HEADERS = `query ($id: ID!) {
  webhookDelivery(id: $id) { requestHeaders { name value isAlwaysSent note } }
}`;
/** Headers that HTTP itself sets on a request with a body. */
const OF_HTTP = ['connection', 'content-length', 'host'];
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** The start of an hour of yesterday. */
const START = (Math.floor(Date.now() / HOUR_MS) - 24) * HOUR_MS;

interface Header {
  readonly name: string;
  readonly value: string | null;
  readonly isAlwaysSent: boolean;
  readonly note: string | null;
}
interface Made {
  readonly id: string;
  readonly minute: number;
  readonly status: string;
}

describe('deliveries to all webhooks', () => {
  let bench: Awaited<ReturnType<typeof startWebhookBench>>;
  beforeAll(async () => {
    bench = await startWebhookBench({ SERVICE_NAME: 'Acme' });
  });
  afterAll(() => bench?.stop());

  it('show the headers that their attempts have, with the values that are certain (R471)', async () => {
    const account = await bench.gateway.createAccount();
    const token = await signIn(bench.gateway, account);
    const receiver = await bench.receiving();
    const { id } = await bench.register(account, { url: receiver.url });
    const headersOf = async (count: number) => {
      await bench.sendSms(account);
      const sent = (await eventually(() => receiver.received[count - 1])).headers;
      const deliveryId = sent['x-acme-delivery'];
      const { body } = await graphql(bench.gateway, HEADERS, { token, variables: { id: deliveryId } });
      const shown: Header[] = body.data.webhookDelivery.requestHeaders;
      return { sent, shown };
    };
    /** Checks that nothing is shown that was not sent, and the other way round. */
    const expectTrue = ({ sent, shown }: Awaited<ReturnType<typeof headersOf>>) => {
      const names = shown.map(({ name }) => name.toLowerCase());
      expect(new Set(names).size).toBe(names.length);
      expect(Object.keys(sent).filter((name) => !names.includes(name) && !OF_HTTP.includes(name))).toEqual(
        [],
      );
      for (const { name, value, isAlwaysSent, note } of shown) {
        const received = sent[name.toLowerCase()];
        if (value !== null) expect({ name, received, note }).toEqual({ name, received: value, note: null });
        else expect(note).toMatch(/^Changes with each attempt/);
        if (isAlwaysSent) expect({ name, isSent: received !== undefined }).toEqual({ name, isSent: true });
      }
    };

    const first = await headersOf(1);
    expectTrue(first);
    const known = Object.fromEntries(first.shown.map(({ name, value }) => [name, value]));
    expect(known).toEqual({
      'User-Agent': 'Acme-Webhooks/1.0',
      'Content-Type': 'application/json',
      'X-Acme-Event': 'sms.sent',
      'X-Acme-Delivery': first.sent['x-acme-delivery'],
      'X-Acme-Signature': null,
      'X-Acme-Previous-Signature': null,
      traceparent: null,
    });
    expect(first.sent['x-acme-previous-signature']).toBeUndefined();

    // While both secrets sign, an attempt has one header more. It is among those that are shown.
    await bench.call(account, 'POST', `/${id}/rotate-secret`, { overlapSeconds: 600 });
    const second = await headersOf(2);
    expectTrue(second);
    expect(second.sent['x-acme-previous-signature']).toMatch(/^t=\d+,v1=/);
  });

  it('are filtered by time in both directions, with their total (R470)', async () => {
    const account = await bench.gateway.createAccount();
    const token = await signIn(bench.gateway, account);
    const receiver = await bench.receiving();
    const { id: webhookId } = await bench.register(account, { url: receiver.url });
    const messageId = await bench.sendSms(account);
    await eventually(
      async () => (await bench.deliveries(account, webhookId, '?status=success')).data.length === 1,
    );
    const made = await insertOverHours(webhookId);

    const list = async (filter: string, page: string) => {
      const nodes = `nodes { id } totalCount pageInfo { hasNextPage hasPreviousPage }`;
      const { body } = await graphql(
        bench.gateway,
        `{ webhookDeliveries(filter: { ${filter} }, ${page}) { ${nodes} } }`,
        { token },
      );
      if (body.errors) throw new Error(JSON.stringify(body.errors));
      const { webhookDeliveries: found } = body.data;
      return { ...found, ids: found.nodes.map((node: { id: string }) => node.id) };
    };
    const iso = (minute: number) => new Date(START + minute * MINUTE_MS).toISOString();
    const spans: [from: number | undefined, to: number | undefined][] = [
      [undefined, undefined],
      [undefined, 90],
      [30, 300],
      [60, 120],
      [61, 119],
      [130, 140],
      [100, 100],
      [200, 100],
      [0, 1_000],
    ];
    for (const [from, to] of spans) {
      for (const status of [undefined, 'SUCCESS', 'FAILED']) {
        for (const ofMessage of ['', `messageId: "${messageId}"`]) {
          const isWithin = ({ minute }: Made) =>
            (from === undefined || minute >= from) && (to === undefined || minute < to);
          const fitting = made
            .filter((each) => isWithin(each) && (status === undefined || each.status === status))
            .map(({ id }) => id);
          // Without a bound at the end, the delivery of today is among them.
          const until = to ?? 1_000;
          const filter = [
            ofMessage,
            from === undefined ? '' : `since: "${iso(from)}"`,
            `until: "${iso(until)}"`,
            status === undefined ? '' : `status: ${status}`,
          ]
            .filter(Boolean)
            .join(', ');
          const what = { filter, total: fitting.length };
          const whole = await list(filter, 'first: 100');
          expect({ ...what, ids: whole.ids }).toEqual({ ...what, ids: fitting });
          expect({ filter, total: whole.totalCount }).toEqual(what);
          const start = await list(filter, 'first: 3');
          expect({ ...what, ids: start.ids }).toEqual({ ...what, ids: fitting.slice(0, 3) });
          expect(start.pageInfo.hasNextPage).toBe(fitting.length > 3);
          const end = await list(filter, 'last: 3');
          expect({ ...what, ids: end.ids }).toEqual({ ...what, ids: fitting.slice(-3) });
          expect(end.pageInfo.hasPreviousPage).toBe(fitting.length > 3);
        }
      }
    }
    const open = await list(`since: "${iso(0)}"`, 'first: 100');
    expect([open.totalCount, open.ids.length]).toEqual([made.length + 1, made.length + 1]);
  });

  /** Inserts copies of the webhook's delivery that were made every 20 minutes of eight hours. Newest first. */
  async function insertOverHours(webhookId: string): Promise<Made[]> {
    const made = Array.from({ length: 24 }, (_, index): Made => {
      const minute = index * 20;
      const hex = (START + minute * MINUTE_MS).toString(16).padStart(12, '0');
      const id = `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-${String(index).padStart(12, '0')}`;
      return { id, minute, status: index % 3 === 0 ? 'FAILED' : 'SUCCESS' };
    }).toReversed();
    await withKnex(bench.gateway.database.connection, async (knex) => {
      // An endpoint has at most one delivery for each event. Drop that index, so that the copies share an event.
      await knex.raw('DROP INDEX webhook_deliveries_once');
      await knex.raw(
        `INSERT INTO webhook_deliveries (id, account_id, webhook_id, event_seq, created_at, event, status)
         SELECT n.id, d.account_id, d.webhook_id, d.event_seq, d.created_at, d.event, n.status
         FROM webhook_deliveries d, unnest(?::uuid[], ?::text[]) n (id, status) WHERE d.webhook_id = ?`,
        [made.map(({ id }) => id), made.map(({ status }) => status.toLowerCase()), webhookId],
      );
    });
    return made;
  }
});
