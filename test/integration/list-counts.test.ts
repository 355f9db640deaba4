import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { FOLD } from '../../src/storage/analytics/fold.ts';
import { BLOCK } from '../../src/storage/message-index/status-index.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';

const COUNTED = `SELECT event, status, sum(deliveries)::int AS count FROM (
    SELECT * FROM delivery_hours UNION ALL SELECT * FROM delivery_deltas) c
  GROUP BY event, status HAVING sum(deliveries) <> 0 ORDER BY event, status`;
const THERE = `SELECT event, status, count(*)::int AS count FROM webhook_deliveries GROUP BY event, status
  ORDER BY event, status`;

/** The numbers of messages in the blocks of the message index. */
const SIZES = [BLOCK, BLOCK * 32, BLOCK * 32 ** 2];
/**
 * Returns each difference between a count of the messages and the stored counts (blocks and deltas that are not folded
 * yet).
 */
const DIFFERENT_BLOCKS = `WITH message AS (
    SELECT account_id, channel, environment, coalesce(api_key_id, '') AS api_key_id, (seq - 1) / ${BLOCK} AS block,
      (SELECT CASE WHEN bool_or(r.status = 'pending') THEN 'pending' WHEN bool_or(r.status = 'sent') THEN 'sent'
         WHEN bool_or(r.status = 'delivered') THEN 'delivered' ELSE 'failed' END
       FROM recipients r WHERE r.message_id = m.id) AS status, 1 AS messages
    FROM messages m
    UNION ALL SELECT account_id, channel, environment, api_key_id, block, status, -messages FROM usage_deltas
  ), expected AS (
    SELECT account_id, channel, environment, '' AS api_key_id, size, block / (size / ${BLOCK}) AS block, status, messages
    FROM message, unnest('{${SIZES}}'::int[]) AS size
    UNION ALL
    SELECT account_id, channel, environment, api_key_id, size, block / (size / ${BLOCK}), status, messages
    FROM message, unnest('{${SIZES.slice(1)}}'::int[]) AS size WHERE api_key_id <> ''
    UNION ALL
    SELECT account_id, channel, environment, api_key_id, size, block, c.status, -c.messages FROM message_blocks
    CROSS JOIN LATERAL (VALUES ('pending', pending), ('sent', sent), ('delivered', delivered), ('failed', failed))
      AS c (status, messages)
  )
  SELECT channel, environment, api_key_id, size, block, status, sum(messages)::int AS missing FROM expected
  GROUP BY account_id, 1, 2, 3, 4, 5, 6 HAVING sum(messages) <> 0`;

/**
 * Returns each difference between the messages and the stored bitmaps (smallest blocks and deltas that are not folded
 * yet).
 */
const DIFFERENT_PLACES = `SELECT account_id, channel, environment, block, status FROM (
    SELECT account_id, channel, environment, (seq - 1) / ${BLOCK} AS block,
      (SELECT CASE WHEN bool_or(r.status = 'pending') THEN 'pending' WHEN bool_or(r.status = 'sent') THEN 'sent'
         WHEN bool_or(r.status = 'delivered') THEN 'delivered' ELSE 'failed' END
       FROM recipients r WHERE r.message_id = m.id) AS status, 1::bigint << ((seq - 1) % ${BLOCK})::int AS bitmap
    FROM messages m
    UNION ALL SELECT account_id, channel, environment, block, status, bitmap FROM usage_deltas
    UNION ALL SELECT account_id, channel, environment, block, c.status, c.bitmap FROM message_blocks
    CROSS JOIN LATERAL (VALUES ('pending', pending_bitmap), ('sent', sent_bitmap), ('delivered', delivered_bitmap),
      ('failed', failed_bitmap)) AS c (status, bitmap) WHERE size = ${BLOCK} AND api_key_id = ''
  ) told GROUP BY 1, 2, 3, 4, 5 HAVING bit_xor(bitmap) <> 0`;

describe('the stored counts behind lists', () => {
  let gateway: TestGateway;
  let receiver: Awaited<ReturnType<typeof startWebhookReceiver>> | undefined;
  let account: TestAccount;
  let client: pg.Client;
  let webhookId: string;
  const rows = async (text: string, values: unknown[] = []) => (await client.query(text, values)).rows;
  /** Folds until nothing is left. A call does nothing while the gateway itself folds. */
  const fold = () =>
    eventually(async () => {
      await gateway.parts.stores.usage.fold();
      const left = 'SELECT FROM usage_deltas UNION ALL SELECT FROM delivery_deltas LIMIT 1';
      return (await rows(left)).length === 0;
    });
  const send = (to: string) =>
    gateway.call('POST', '/developers/sms', { key: account.key, body: { to, message: 'Hello' } });
  beforeAll(async () => {
    gateway = await startTestGateway();
    receiver = await startWebhookReceiver();
    client = new pg.Client({ ...gateway.database.connection });
    await client.connect();
    account = await gateway.createAccount();
    const hook = { url: receiver.url, events: ['sms.sent', 'sms.failed'], maxRetries: 0 };
    const made = await gateway.call('POST', '/developers/webhooks', { key: account.key, body: hook });
    webhookId = made.body.webhook.id;
  });
  afterAll(async () => {
    await client?.end();
    await gateway?.stop();
    await receiver?.stop();
  });

  it('follow deliveries from pending to success and to their deletion, before and after folding', async () => {
    await send('+256700000009');
    await send('+256700000001,+256700000019');
    await eventually(async () => {
      const there = await rows(THERE);
      return there.length === 2 && there.every(({ status }) => status === 'success');
    });
    expect(await rows(THERE)).toEqual([
      { event: 'sms.failed', status: 'success', count: 1 },
      { event: 'sms.sent', status: 'success', count: 2 },
    ]);
    expect(await rows(COUNTED)).toEqual(await rows(THERE));
    await fold();
    expect(await rows(COUNTED)).toEqual(await rows(THERE));
    const path = `/developers/webhooks/${webhookId}/deliveries?event=sms.failed`;
    const listed = await gateway.call('GET', path, { key: account.key });
    expect([listed.body.data.length, listed.body.pagination.total]).toEqual([1, 1]);

    await client.query(`DELETE FROM events WHERE type = 'sms.failed'`);
    expect(await rows(COUNTED)).toEqual(await rows(THERE));
    await fold();
    expect(await rows('SELECT FROM delivery_hours WHERE deliveries = 0')).toEqual([]);
    expect((await gateway.call('GET', path, { key: account.key })).body.pagination.total).toBe(0);
  });

  it('and the analytics catch up after a long stop, in statements of bounded size', async () => {
    await client.query(`CREATE TABLE folded (deltas bigint);
      CREATE FUNCTION note_fold() RETURNS trigger LANGUAGE plpgsql AS
        'BEGIN INSERT INTO folded SELECT count(*) FROM taken; RETURN NULL; END'`);
    const tables = ['usage_deltas', 'delivery_deltas', 'analytics_deltas'];
    for (const table of tables)
      await client.query(`CREATE TRIGGER note_fold AFTER DELETE ON ${table} REFERENCING OLD TABLE AS taken
        FOR EACH STATEMENT EXECUTE FUNCTION note_fold()`);
    // The deltas cancel each other, so that no count changes.
    const from = 'FROM generate_series(1, 25000) n';
    await client.query(
      `INSERT INTO usage_deltas (account_id, hour, channel, environment, status, api_key_id, messages, cost_minor, block, bitmap)
       SELECT $1, date_trunc('hour', now()), 'sms', 'production', 'sent', '', CASE WHEN n % 2 = 0 THEN 1 ELSE -1 END, 0, 0, 0 ${from}`,
      [account.accountId],
    );
    await client.query(
      `INSERT INTO delivery_deltas (webhook_id, hour, event, status, deliveries)
       SELECT $1, date_trunc('hour', now()), 'sms.sent', 'success', CASE WHEN n % 2 = 0 THEN 1 ELSE -1 END ${from}`,
      [webhookId],
    );
    await client.query(
      `INSERT INTO analytics_deltas (slot, account_id, channel, environment, api_key_id, sender, prefix, provider, status,
         error_code, messages, recipients, cost_minor, refund_minor)
       SELECT date_trunc('hour', now()), $1, 'sms', 'production', '', '', '', '', 'sent', '', CASE WHEN n % 2 = 0 THEN 1 ELSE -1 END,
         0, 0, 0 ${from}`,
      [account.accountId],
    );
    await fold();
    await eventually(async () => {
      await gateway.parts.stores.analytics.fold();
      return (await rows('SELECT FROM analytics_deltas LIMIT 1')).length === 0;
    });
    const [{ most, sum }] = await rows(
      'SELECT max(deltas)::int AS most, sum(deltas)::int AS sum FROM folded',
    );
    expect(sum).toBeGreaterThanOrEqual(tables.length * 25_000);
    expect(most).toBe(10_000);
    for (const table of tables) await client.query(`DROP TRIGGER note_fold ON ${table}`);
    expect(await rows(COUNTED)).toEqual(await rows(THERE));
    expect(await rows(DIFFERENT_BLOCKS)).toEqual([]);
    expect(await rows(DIFFERENT_PLACES)).toEqual([]);
  });

  it('and the analytics count 10,000 messages at once, in order of accounts', async () => {
    const [first, second] = [await gateway.createAccount(), await gateway.createAccount()];
    const ids = [first.accountId, second.accountId];
    await client.query('BEGIN');
    await client.query('SELECT pg_advisory_xact_lock(4872392)');
    await client.query(
      `INSERT INTO messages (id, account_id, seq, cost_minor, unit_price_minor, created_at, expires_at, channel,
         environment, currency, sender, content)
       SELECT gen_random_uuid(), a, n, 30, 30, now(), now(), 'sms', 'production', 'UGX', 'SERVICE', 'Hello'
       FROM unnest($1::uuid[]) a, generate_series(1, 10100) n`,
      [ids],
    );
    await client.query('UPDATE accounts SET sms_seq = 10100 WHERE id = ANY($1)', [ids]);
    const marks = async () => {
      const [{ is_behind }] = (await client.query(FOLD.text)).rows;
      const marked = 'SELECT account_id, sms_seq::int FROM analytics_marks WHERE account_id = ANY($1)';
      const of = new Map((await rows(marked, [ids])).map((row) => [row.account_id, row.sms_seq]));
      return [is_behind, ...ids.map((id) => of.get(id) ?? 0)];
    };
    expect(await marks()).toEqual([true, 10_000, 0]);
    expect(await marks()).toEqual([true, 10_100, 10_000]);
    expect(await marks()).toEqual([false, 10_100, 10_100]);
    await client.query('ROLLBACK');
  });

  it('of a day equal those of its hours', async () => {
    await send('+256700000009');
    await fold();
    // One statement reads both, because messages still change and the gateway still folds.
    const both = await rows(
      `SELECT 'day' AS span, status, sum(messages)::int AS count FROM usage_days GROUP BY 2
       UNION ALL SELECT 'hour', status, sum(messages)::int FROM usage_hours GROUP BY 2 ORDER BY 1, 2`,
    );
    const of = (span: string) =>
      both.filter((row) => row.span === span).map(({ status, count }) => ({ status, count }));
    const [days, hours] = [of('day'), of('hour')];
    expect(days.reduce((sum, { count }) => sum + count, 0)).toBeGreaterThan(1);
    expect(days).toEqual(hours);
  });

  it('count a delivery as failed while it is failed', async () => {
    const failed = 'SELECT webhook_id, id FROM webhook_deliveries WHERE has_failed';
    const [delivery] = await rows(
      `SELECT id FROM webhook_deliveries WHERE status = 'success' ORDER BY id LIMIT 1`,
    );
    await client.query(`UPDATE webhook_deliveries SET status = 'failed' WHERE id = $1`, [delivery.id]);
    expect(await rows(failed)).toEqual([{ webhook_id: webhookId, id: delivery.id }]);
    const path = `/developers/webhooks/${webhookId}/deliveries?status=failed`;
    const listed = await gateway.call('GET', path, { key: account.key });
    expect(listed.body.data.map(({ id }: { id: string }) => id)).toEqual([delivery.id]);
    await client.query(`UPDATE webhook_deliveries SET response_body = NULL WHERE id = $1`, [delivery.id]);
    expect(await rows(failed)).toHaveLength(1);
    await client.query(`UPDATE webhook_deliveries SET status = 'success' WHERE id = $1`, [delivery.id]);
    expect(await rows(failed)).toEqual([]);
  });

  it('count a message as failed when all its recipients are', async () => {
    const before = (await rows('SELECT FROM failed_messages')).length;
    await send('+256700000021,+256700000001');
    const { body } = await send('+256700000001,+256701000001');
    await eventually(async () => (await rows('SELECT FROM failed_messages')).length === before + 1);
    const listed = await gateway.call('GET', '/developers/sms/history?status=failed', { key: account.key });
    expect(listed.body.data.map(({ id }: { id: string }) => id)).toEqual([body.id]);
  });

  it('count messages by status, environment and key at every moment', async () => {
    const different = async () => [...(await rows(DIFFERENT_BLOCKS)), ...(await rows(DIFFERENT_PLACES))];
    const key = account.sandboxKey;
    await Promise.all(
      Array.from({ length: 140 }, (_, index) => {
        const to = index % 20 === 0 ? '+256700000001' : '+256700000009';
        const body = { to: `${to},+2567001234${10 + (index % 90)}`, message: 'Hello' };
        return gateway.call('POST', '/developers/sms', { key: index % 3 ? account.key : key, body });
      }),
    );
    expect(await different()).toEqual([]);
    await fold();
    expect(await different()).toEqual([]);
    await eventually(async () => {
      expect(await different()).toEqual([]);
      return (await rows(`SELECT FROM recipients WHERE status = 'pending'`)).length === 0;
    });
    await fold();
    expect(await different()).toEqual([]);
    const counted = await rows(
      `SELECT size, count(DISTINCT block)::int AS blocks, count(DISTINCT api_key_id)::int - 1 AS keys FROM message_blocks
       GROUP BY size ORDER BY size`,
    );
    expect(counted).toEqual([
      { size: SIZES[0], blocks: 3, keys: 0 },
      { size: SIZES[1], blocks: 1, keys: 2 },
      { size: SIZES[2], blocks: 1, keys: 2 },
    ]);
  });

  it('follow contacts, devices, keys and audit entries as they are created and deleted', async () => {
    const count = async (list: string) => {
      const [row] = await rows('SELECT rows FROM list_counts WHERE account_id = $1 AND list = $2', [
        account.accountId,
        list,
      ]);
      return row?.rows;
    };
    const body = { name: 'One', phone: '+256700123456' };
    const { id } = (await gateway.call('POST', '/developers/contacts', { key: account.key, body })).body;
    expect(await count('contacts')).toBe(1);
    await gateway.call('DELETE', `/developers/contacts/${id}`, { key: account.key });
    expect(await count('contacts')).toBe(0);
    const inSandbox = { key: account.sandboxKey };
    const made = await gateway.call('POST', '/developers/contacts', { ...inSandbox, body });
    const device = { token: 'a', platform: 'android', userId: 'u' };
    await gateway.call('POST', '/developers/push/devices', { ...inSandbox, body: device });
    expect([await count('contacts'), await count('contacts_sandbox')]).toEqual([0, 1]);
    expect([await count('devices'), await count('devices_sandbox')]).toEqual([undefined, 1]);
    await gateway.call('DELETE', `/developers/contacts/${made.body.id}`, inSandbox);
    expect(await count('contacts_sandbox')).toBe(0);
    expect(await count('api_keys')).toBe(2);
    const entries = await rows('SELECT FROM audit_entries WHERE account_id = $1', [account.accountId]);
    expect(await count('audit_entries')).toBe(entries.length);
  });
});
