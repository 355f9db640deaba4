import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createKnex, Sql } from '../../src/storage/postgres/sql.ts';
import { PgEventStore } from '../../src/storage/stores/event.store.ts';
import { PgWebhookStore } from '../../src/storage/stores/webhook.store.ts';
import { silentLogger } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { openSql, type TestSql } from '../support/sql.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';

/** No foreign key enforces these references, because the check would slow every message down. */
describe('references between the rows of every message', () => {
  let gateway: TestGateway;
  let sql: TestSql;
  let account: TestAccount;
  const opened: { stop(): Promise<unknown> }[] = [];
  beforeAll(async () => {
    gateway = await startTestGateway();
    opened.push(gateway);
    sql = await openSql(gateway.database);
    opened.push({ stop: () => sql.close() });
    account = await gateway.createAccount();
  });
  afterAll(async () => {
    for (const each of opened.reverse()) await each.stop();
  });
  const send = async () => {
    const body = { to: '0700123456,0700123457', message: 'Hello' };
    const { body: message } = await gateway.call('POST', '/developers/sms', { key: account.key, body });
    await eventually(
      async () =>
        (await sql.query('SELECT FROM provider_sids WHERE message_id = $1', [message.id])).length === 2,
    );
    return message.id as string;
  };

  it.each([
    ['accounts', 'id'],
    ['users', 'id'],
    ['api_keys', 'key_id'],
    ['webhooks', 'id'],
  ])('%s cannot be deleted, nor its key changed', async (table, key) => {
    if (table === 'webhooks') {
      const body = { url: 'https://1.1.1.1/hook', events: ['sms.sent'] };
      await gateway.call('POST', '/developers/webhooks', { key: account.key, body });
    }
    const [row] = await sql.query(`SELECT ${key}::text AS key FROM ${table} LIMIT 1`);
    const named = `WHERE ${key}::text = $1`;
    await expect(sql.query(`DELETE FROM ${table} ${named}`, [row.key])).rejects.toThrow('are never deleted');
    const renamed = sql.query(`UPDATE ${table} SET ${key} = ${key} ${named}`, [row.key]);
    await expect(renamed).rejects.toThrow('keep their key');
    expect(await sql.query(`SELECT FROM ${table} ${named}`, [row.key])).toHaveLength(1);
  });

  it('are not checked row by row', async () => {
    const rows = await sql.query(
      `SELECT conrelid::regclass::text AS of, confrelid::regclass::text AS to FROM pg_constraint WHERE contype = 'f'
       AND conrelid::regclass::text IN ('messages', 'recipients', 'ledger_entries',
          'idempotency_records', 'events', 'provider_sids', 'webhook_deliveries', 'webhook_attempts')`,
    );
    expect(rows).toEqual([]);
  });

  it('deleting an event deletes its deliveries and attempts, and no others', async () => {
    const receiver = await startWebhookReceiver();
    opened.push(receiver);
    const body = { url: receiver.url, events: ['sms.sent'] };
    const { body: registered } = await gateway.call('POST', '/developers/webhooks', {
      key: account.key,
      body,
    });
    const messages = [await send(), await send()];
    const deliveries = () =>
      sql.query(
        `SELECT e.message_id, d.id, count(a.*)::int AS attempts FROM webhook_deliveries d
         LEFT JOIN events e ON e.account_id = d.account_id AND e.seq = d.event_seq
         LEFT JOIN webhook_attempts a ON a.delivery_id = d.id
         WHERE d.webhook_id = $1 GROUP BY e.message_id, d.id ORDER BY d.id`,
        [registered.webhook.id],
      );
    await eventually(async () => {
      const found = await deliveries();
      return found.length === 4 && found.every(({ attempts }) => attempts === 1);
    });
    await sql.query('DELETE FROM events WHERE message_id = $1', [messages[0]]);
    expect(await deliveries()).toMatchObject([1, 2].map(() => ({ message_id: messages[1], attempts: 1 })));
    const orphans = await sql.query(
      'SELECT FROM webhook_attempts WHERE delivery_id NOT IN (SELECT id FROM webhook_deliveries)',
    );
    expect(orphans).toEqual([]);
  });

  it('an event is not deleted while recovery reads it', async () => {
    const [event] = await sql.query('SELECT account_id, seq FROM events LIMIT 1');
    const [row] = await sql.query('SELECT id FROM webhooks WHERE account_id = $1 LIMIT 1', [
      event.account_id,
    ]);
    await sql.query('DELETE FROM webhook_deliveries');
    const left = () =>
      sql.query('SELECT seq FROM events WHERE account_id = $1 AND seq = $2', [event.account_id, event.seq]);
    const knex = createKnex(gateway.database.connection, silentLogger);
    try {
      const pool = new Sql(knex);
      const forget = () => new PgEventStore(pool).forgetBefore(new Date(Date.now() + 1_000), 1_000);
      const reach = { accountId: event.account_id, environment: undefined };
      const webhook = await new PgWebhookStore(pool).find(reach, row.id);
      if (!webhook) throw new Error('no endpoint');
      await pool.transaction(async (inside) => {
        const span = { since: new Date(0), until: new Date() };
        const missing = await new PgEventStore(inside).missing(webhook, span, event.seq - 1, 1);
        expect(missing.map(({ seq }) => seq)).toEqual([event.seq]);
        await forget();
        expect(await left()).toHaveLength(1);
      });
      await forget();
      expect(await left()).toEqual([]);
    } finally {
      await knex.destroy();
    }
  });

  it('deleting a message deletes its recipients and sids, and no others', async () => {
    const [gone, kept] = [await send(), await send()];
    await sql.query('DELETE FROM messages WHERE id = $1', [gone]);
    for (const table of ['recipients', 'provider_sids']) {
      const rows = await sql.query(`SELECT message_id FROM ${table} WHERE message_id = ANY($1)`, [
        [gone, kept],
      ]);
      expect(rows.map((row) => row.message_id)).toEqual([kept, kept]);
    }
  });
});
