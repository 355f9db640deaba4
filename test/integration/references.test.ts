import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { openSql, type TestSql } from '../support/sql.ts';

/** What foreign keys would hold, where rows come with every message and none is checked. */
describe('references of what comes with every message', () => {
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
  ])('%s can neither be deleted nor change their key', async (table, key) => {
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

  it('are not checked row by row, but for a delivery to its event', async () => {
    const rows = await sql.query(
      `SELECT conrelid::regclass::text AS of, confrelid::regclass::text AS to FROM pg_constraint WHERE contype = 'f'
       AND conrelid::regclass::text IN ('messages', 'recipients', 'recipients_open', 'recipients_settled',
         'ledger_entries', 'idempotency_records', 'events', 'provider_sids', 'webhook_deliveries')`,
    );
    expect(rows).toEqual([{ of: 'webhook_deliveries', to: 'events' }]);
  });

  it('the recipients and sids of a message go with it, and no others', async () => {
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
