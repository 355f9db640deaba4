import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { Knex } from 'knex';
import pg from 'pg';
import { up as addEarlierFailures } from '../../migrations/0126_earlier_failures.ts';
import type { MessageStatus } from '../../src/domain/messages/message.ts';
import { createKnex, Sql } from '../../src/storage/postgres/sql.ts';
import { PgMessageStore } from '../../src/storage/stores/message.store.ts';
import { createTestDatabase, silentLogger, type TestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { explainDatabase, recordPlans } from '../support/plans.ts';

describe('stored recipients', () => {
  let database: TestDatabase;
  let client: pg.Client;
  let knex: Knex;
  let store: PgMessageStore;
  let seq = 0;
  const accountId = randomUUID();
  const plans = recordPlans();
  beforeAll(async () => {
    database = await createTestDatabase();
    client = new pg.Client({ ...database.connection });
    await client.connect();
    await client.query(
      `INSERT INTO accounts (id, name, email, currency, created_at) VALUES ($1, 'a', 'a@example.com', 'UGX', now())`,
      [accountId],
    );
    await explainDatabase(client, database.connection.database);
    knex = createKnex(database.connection, silentLogger, { poolSize: 2 });
    store = new PgMessageStore(new Sql(knex));
  });
  afterEach(() => void plans.take());
  afterAll(async () => {
    plans[Symbol.dispose]();
    await knex?.destroy();
    await client?.end();
    await database?.drop();
  });

  const rows = async (text: string, values: unknown[] = []) => (await client.query(text, values)).rows;

  /** Returns 1 if the message is on the list of messages with failures, else 0. */
  async function listed(id: string): Promise<number> {
    const found =
      'SELECT FROM messages_with_failures f JOIN messages m USING (account_id, channel, seq) WHERE m.id = $1';
    return (await rows(found, [id])).length;
  }

  /** Stores a message with this many pending recipients. */
  async function message(recipients: number): Promise<string> {
    const id = randomUUID();
    seq += 1;
    await client.query(
      `INSERT INTO messages (id, account_id, seq, cost_minor, unit_price_minor, created_at, expires_at, channel,
         environment, currency, sender, content)
       VALUES ($1, $2, $3, 30, 30, now(), now(), 'sms', 'production', 'UGX', 'SERVICE', 'Hello')`,
      [id, accountId, seq],
    );
    await client.query(
      `INSERT INTO recipients (message_id, account_id, cost_minor, position, address, status, claimed)
       SELECT $1, $2, 30, n, '+25670000000' || n, 'pending', false FROM generate_series(0, $3::int - 1) n`,
      [id, accountId, recipients],
    );
    return id;
  }

  const move = async (messageId: string, position: number, from: MessageStatus, to: MessageStatus) => {
    const error = to === 'failed' ? { code: 'rejected', message: 'no' } : null;
    const step = { messageId, position, from, to, at: new Date(), provider: null, sids: [], error };
    return (await store.lockAndMove([messageId], [step])).moved;
  };

  const hasFailed = async (messageId: string) =>
    (
      await rows(
        'SELECT FROM failed_messages f JOIN messages m USING (account_id, channel, seq) WHERE m.id = $1',
        [messageId],
      )
    ).length === 1;

  it('move forward only, and can be read in every status', async () => {
    const id = await message(3);
    await move(id, 0, 'pending', 'sent');
    await move(id, 1, 'pending', 'failed');
    expect(await move(id, 0, 'sent', 'delivered')).toEqual([expect.objectContaining({ position: 0 })]);
    expect(await store.recipients([id])).toMatchObject([
      { status: 'delivered', sentAt: expect.any(Date), deliveredAt: expect.any(Date), failedAt: null },
      { status: 'failed', failedAt: expect.any(Date), error: { code: 'rejected', message: 'no' } },
      { status: 'pending', address: '+256700000002' },
    ]);
    const counts = { delivered: 1, failed: 1, pending: 1, sent: 0 };
    expect((await store.lock([id])).get(id)).toMatchObject({ status: 'pending', counts });
    for (const from of ['pending', 'sent'] as const) {
      expect(await move(id, 0, from, 'failed')).toEqual([]);
    }
    expect(await store.claim([{ messageId: id, position: 0 }])).toEqual([]);
    expect(await store.markRead([{ messageId: id, position: 0 }], new Date())).toHaveLength(1);
    expect(await store.markRead([{ messageId: id, position: 0 }], new Date())).toEqual([]);
  });

  it('that failed put their message on a list, earlier ones by a migration (R410)', async () => {
    const id = await message(3);
    await move(id, 0, 'pending', 'sent');
    expect(await listed(id)).toBe(0);
    await move(id, 1, 'pending', 'failed');
    await move(id, 2, 'pending', 'failed');
    expect(await hasFailed(id)).toBe(false);
    expect(await listed(id)).toBe(1);
    await rows('DELETE FROM messages_with_failures');
    await addEarlierFailures(knex);
    await addEarlierFailures(knex);
    expect(await listed(id)).toBe(1);
    await rows('DELETE FROM messages WHERE id = $1', [id]);
    expect(
      await rows(
        'SELECT FROM messages_with_failures f LEFT JOIN messages m USING (account_id, channel, seq) WHERE m.id IS NULL',
      ),
    ).toEqual([]);
  });

  it('that failed earlier are listed after the transactions that write recipients here, whatever other databases do (R410)', async () => {
    const id = await message(2);
    const elsewhere = new pg.Client({ ...database.connection, database: 'postgres' });
    await elsewhere.connect();
    await elsewhere.query('BEGIN');
    await elsewhere.query('SELECT pg_current_xact_id()');
    await rows('BEGIN');
    // The failure of a process with the trigger of before 0125.
    await rows('SET LOCAL session_replication_role = replica');
    await rows(
      `UPDATE recipients SET status = 'failed', failed_at = now(), error_code = 'rejected' WHERE message_id = $1 AND position = 0`,
      [id],
    );
    const added = addEarlierFailures(knex);
    const asks = `SELECT FROM pg_stat_activity WHERE datname = $1 AND query LIKE '%AND virtualtransaction = ANY%'
      AND pid <> pg_backend_pid()`;
    await eventually(async () => {
      // A transaction sees the sessions as they were when it first looked.
      await elsewhere.query('SELECT pg_stat_clear_snapshot()');
      return (await elsewhere.query(asks, [database.connection.database])).rows.length > 0;
    });
    await rows('COMMIT');
    await added;
    await elsewhere.end();
    expect(await listed(id)).toBe(1);
  });

  it('that wait for a retry have one for each hand-over, and only the job of the next hand-over finds them', async () => {
    const id = await message(3);
    const key = (position: number) => ({ messageId: id, position });
    const putOff = (position: number, attempts: number) =>
      store.postpone([{ ...key(position), attempts, isFree: position === 0, heldUntil: null }]);
    const found = async (attempts: number) =>
      (await store.pending([id], attempts)).flatMap(({ recipients }) =>
        recipients.map(({ position, isClaimed }) => ({ position, isClaimed })),
      );
    expect(await store.claim([key(0), key(1)])).toHaveLength(2);
    expect(await putOff(0, 1)).toEqual([key(0)]);
    expect(await putOff(1, 1)).toEqual([key(1)]);
    expect(await found(0)).toEqual([{ position: 2, isClaimed: false }]);
    expect(await found(1)).toEqual([
      { position: 0, isClaimed: false },
      { position: 1, isClaimed: true },
      { position: 2, isClaimed: false },
    ]);
    // Postpone again, as after a commit whose answer was lost. Nothing changes.
    expect(await putOff(0, 1)).toEqual([]);
    expect(await putOff(0, 2)).toEqual([key(0)]);
    await move(id, 1, 'pending', 'sent');
    expect(await putOff(1, 2)).toEqual([]);
    expect(await found(1)).toEqual([{ position: 2, isClaimed: false }]);
  });

  it('are found by key also with a plan made while the table was empty', async () => {
    await client.query('DELETE FROM recipients');
    await client.query('VACUUM ANALYZE recipients');
    const fresh = createKnex(database.connection, silentLogger, { poolSize: 1 });
    try {
      const later = new PgMessageStore(new Sql(fresh));
      const change = async (messageId: string) => {
        const at = { messageId, position: 0 };
        const step = { ...at, at: new Date(), provider: null, sids: [], error: null };
        await later.claim([at]);
        await later.postpone([{ ...at, attempts: 1, isFree: true, heldUntil: null }]);
        await later.lockAndMove([messageId], [{ ...step, from: 'pending', to: 'sent' }]);
        await later.lockAndMove([messageId], [{ ...step, from: 'sent', to: 'delivered' }]);
        await later.markRead([at], new Date());
      };
      await change(randomUUID());
      const ids: string[] = [];
      while (ids.length < 300) ids.push(await message(1));
      plans.take();
      await change(ids[7] ?? '');
      const touched = plans.take().map((plan) => plan.touched.get('recipients') ?? 0);
      // Rows of `recipients` that each statement touched: claim, postpone, lock and move (twice), mark as read. An
      // update reads one row and writes one.
      expect(touched.filter((rows) => rows > 0)).toEqual([2, 2, 1, 2, 1, 2, 2]);
    } finally {
      await fresh.destroy();
    }
  });

  it('make their message failed when the last of them fails, and are deleted with it', async () => {
    const [failed, delivered] = [await message(2), await message(2)];
    await move(failed, 0, 'pending', 'failed');
    await move(delivered, 0, 'pending', 'sent');
    await move(delivered, 0, 'sent', 'delivered');
    expect(await hasFailed(failed)).toBe(false);
    for (const id of [failed, delivered]) await move(id, 1, 'pending', 'failed');
    expect([await hasFailed(failed), await hasFailed(delivered)]).toEqual([true, false]);
    await client.query('DELETE FROM messages WHERE id = $1', [failed]);
    expect(await store.recipients([failed])).toEqual([]);
  });
});
