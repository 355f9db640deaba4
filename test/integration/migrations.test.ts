import { randomUUID } from 'node:crypto';
import { afterEach, describe, expect, it } from '@jest/globals';
import * as fullPages from '../../migrations/20261121002300_full_pages.ts';
import * as keyMakers from '../../migrations/20261124000300_key_makers.ts';
import * as whatsAppWriters from '../../migrations/20261124000400_whatsapp_writers.ts';
import { migrations } from '../../migrations/index.ts';
import { migrate, migrateDatabase, rollbackAll } from '../../src/storage/postgres/migrate.ts';
import { createTestDatabase, silentLogger, type TestDatabase, withKnex } from '../support/database.ts';

let database: TestDatabase | undefined;
afterEach(async () => {
  await database?.drop();
  database = undefined;
});

const newest = migrations.at(-1)?.name.slice(0, 14);

/** Everything with a name in the schema `public` but the migrations' own two tables. */
const LEFT_OVER = `
  SELECT relname AS name FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relname NOT LIKE 'schema_migrations%'
  UNION ALL SELECT proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace
  UNION ALL SELECT typname FROM pg_type WHERE typnamespace = 'public'::regnamespace AND typname NOT LIKE '%schema_migrations%'`;
/** The schema, as far as two of the same must agree. */
const SHAPE = `
  SELECT table_name || '.' || column_name || ' ' || data_type || ' ' || is_nullable || ' ' || coalesce(column_default, '') AS line
  FROM information_schema.columns WHERE table_schema = 'public'
  UNION ALL SELECT conrelid::regclass || ' ' || conname || ' ' || pg_get_constraintdef(oid) FROM pg_constraint
  WHERE connamespace = 'public'::regnamespace
  UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY line`;

describe('migrations', () => {
  it('go up on an empty database, down again leaving nothing, and up to the same schema', async () => {
    database = await createTestDatabase('template1');
    await withKnex(database.connection, async (knex) => {
      const rows = async (sql: string) => (await knex.raw(sql)).rows;
      expect(await migrate(knex)).toEqual({ from: 'none', to: newest });
      const shape = await rows(SHAPE);
      await rollbackAll(knex);
      expect(await rows(LEFT_OVER)).toEqual([]);
      expect(await migrate(knex)).toEqual({ from: 'none', to: newest });
      expect(await rows(SHAPE)).toEqual(shape);
      expect(await migrate(knex)).toEqual({ from: newest, to: newest });
    });
  });

  it('take each step alone down and up again', async () => {
    database = await createTestDatabase('template1');
    await withKnex(database.connection, async (knex) => {
      for (const { up, down } of migrations) {
        await up(knex);
        await down(knex);
        await up(knex);
      }
      for (const { down } of [...migrations].reverse()) await down(knex);
      expect((await knex.raw(LEFT_OVER)).rows).toEqual([]);
    });
  });

  it('are done once when several processes start at once, and a lock left behind by a killed one is freed', async () => {
    database = await createTestDatabase('template1');
    const { connection } = database;
    const ends = await Promise.all([1, 2, 3].map(() => withKnex(connection, migrate)));
    expect(ends.filter(({ from }) => from === 'none')).toHaveLength(1);
    await withKnex(connection, async (knex) => {
      // A step that was under way when its process was killed.
      await knex('schema_migrations')
        .where({ name: migrations.at(-1)?.name })
        .delete();
      await knex('schema_migrations_lock').update({ is_locked: 1 });
      const before = migrations.at(-2)?.name.slice(0, 14);
      expect(await migrate(knex)).toEqual({ from: before, to: newest });
      expect(await knex('schema_migrations').select('name').orderBy('id')).toEqual(
        migrations.map(({ name }) => ({ name })),
      );
    });
  });

  it('keep what lets an event fire once where its step was interrupted at its end and is taken up again', async () => {
    database = await createTestDatabase();
    await withKnex(database.connection, async (knex) => {
      const index = async () =>
        (await knex.raw(`SELECT to_regclass('events_fire_once')::oid AS oid`)).rows[0].oid;
      const before = await index();
      expect(before).not.toBeNull();
      await fullPages.up(knex);
      expect(await index()).toBe(before);
      await knex.raw(
        `UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'events_fire_once'::regclass`,
      );
      await fullPages.up(knex);
      const { rows } = await knex.raw(
        `SELECT indisvalid FROM pg_index WHERE indexrelid = 'events_fire_once'::regclass`,
      );
      expect(rows).toEqual([{ indisvalid: true }]);
    });
  });

  it('give what people had answered on WhatsApp to the account that had written to them last', async () => {
    database = await createTestDatabase();
    await withKnex(database.connection, async (knex) => {
      await whatsAppWriters.down(knex);
      const at = (hour: number) => new Date(Date.UTC(2026, 10, 20, hour));
      const accounts = ['one', 'two'].map((name) => ({ id: randomUUID(), name, created_at: at(0) }));
      const [one, two] = accounts.map(({ id }) => id) as [string, string];
      for (const account of accounts)
        await knex('accounts').insert({ ...account, email: `${account.name}@example.com`, currency: 'UGX' });
      let seq = 0;
      const write = async (account_id: string, address: string, hour: number, environment = 'production') => {
        seq += 1;
        const [id, money] = [randomUUID(), { cost_minor: 0 }];
        const message = {
          id,
          account_id,
          seq,
          channel: 'whatsapp',
          environment,
          currency: 'UGX',
          sender: 'S',
        };
        const rest = { unit_price_minor: 0, content: 'x', created_at: at(0), expires_at: at(23) };
        await knex('messages').insert({ ...message, ...money, ...rest });
        const recipient = {
          message_id: id,
          account_id,
          position: 0,
          address,
          status: 'sent',
          settled: false,
        };
        await knex('recipients').insert({ ...recipient, ...money, sent_at: at(hour) });
      };
      const come = (sid: string, sender: string, hour: number) =>
        knex('inbound_messages').insert({
          id: randomUUID(),
          sent_at: at(hour),
          received_at: at(hour),
          channel: 'whatsapp',
          provider: 'p',
          sid,
          sender,
          type: 'text',
        });
      await write(one, '+1', 2);
      await write(two, '+1', 4);
      await write(two, '+2', 2, 'sandbox');
      for (const hour of [1, 3, 5]) await come(`+1 at ${hour}`, '+1', hour);
      await come('+2', '+2', 5);
      await whatsAppWriters.up(knex);
      const owners = await knex('inbound_messages').select('sid', 'account_id').orderBy('sid');
      expect(owners).toEqual([
        { sid: '+1 at 1', account_id: null },
        { sid: '+1 at 3', account_id: one },
        { sid: '+1 at 5', account_id: two },
        { sid: '+2', account_id: null },
      ]);
      expect(await knex('whatsapp_writers').select('number', 'account_id')).toEqual([
        { number: '+1', account_id: two },
      ]);
    });
  });

  it('read from the audit log who rotated the keys that exist, and which were rotated out', async () => {
    database = await createTestDatabase();
    await withKnex(database.connection, async (knex) => {
      const account = { id: randomUUID(), name: 'a', email: 'a@test.example', currency: 'UGX' };
      const now = new Date('2026-11-01T00:00:00.000Z');
      await knex('accounts').insert({ ...account, created_at: now });
      const keys = ['0000000000000001', '0000000000000002', '0000000000000003'];
      for (const key_id of keys) {
        await knex('api_keys').insert({
          key_id,
          account_id: account.id,
          name: 'k',
          secret_hash: Buffer.alloc(32),
          scopes: ['SEND_SMS'],
          environment: 'sandbox',
          created_by: 'user:maker',
          created_at: now,
        });
      }
      const log = (actor: string, action: string, target?: string) =>
        knex('audit_entries').insert({
          id: randomUUID(),
          account_id: account.id,
          at: now,
          actor,
          action,
          target,
        });
      await log('user:maker', 'apiKey.create', keys[0]);
      await log('user:other', 'apiKey.rotate', keys[0]);
      await log('user:other', 'apiKey.create', keys[1]);
      await log('user:maker', 'apiKey.create', keys[2]);
      await keyMakers.down(knex);
      await keyMakers.up(knex);
      const found = await knex('api_keys').orderBy('key_id').select('issued_by', 'rotated_at');
      expect(found).toEqual([
        { issued_by: null, rotated_at: now },
        { issued_by: 'user:other', rotated_at: null },
        { issued_by: null, rotated_at: null },
      ]);
    });
  });

  it('of a newer release are left alone by one that does not know them, which starts all the same', async () => {
    database = await createTestDatabase();
    const { connection } = database;
    await withKnex(connection, async (knex) => {
      const future = { batch: 99, migration_time: new Date() };
      await knex('schema_migrations').insert({ ...future, name: '20991231000000_future' });
      const told: unknown[] = [];
      const logger = { ...silentLogger, warn: (fields: object) => void told.push(fields) };
      const migrated = { from: '20991231000000', to: '20991231000000', newerThan: newest };
      expect(await migrateDatabase(connection, logger)).toEqual(migrated);
      expect(told).toEqual([migrated]);
    });
  });

  it('are not waited for by a process that misses none, while another takes a newer one', async () => {
    database = await createTestDatabase();
    await withKnex(database.connection, async (knex) => {
      const other = await knex.client.acquireConnection();
      try {
        // The lock of those that migrate (src/storage/postgres/migrate.ts).
        await knex.raw('SELECT pg_advisory_lock(4872390)').connection(other);
        expect(await migrate(knex)).toEqual({ from: newest, to: newest });
      } finally {
        await knex.raw('SELECT pg_advisory_unlock_all()').connection(other);
        await knex.client.releaseConnection(other);
      }
    });
  });

  it('stand in the order of their names', () => {
    const names = migrations.map(({ name }) => name);
    expect(names).toEqual([...names].sort());
    expect(new Set(names).size).toBe(names.length);
  });
});

describe('the schema', () => {
  it('has no second event of a type for a recipient, nor a second event of a whole message (decision 16)', async () => {
    database = await createTestDatabase();
    await withKnex(database.connection, async (knex) => {
      const [accountId, messageId] = [randomUUID(), randomUUID()];
      await knex('accounts').insert({
        id: accountId,
        name: 'a',
        email: 'a@example.com',
        currency: 'UGX',
        created_at: new Date(),
      });
      let seq = 0;
      const add = (type: string, position: number | null, about: string | null = messageId) => {
        seq += 1;
        const row = {
          account_id: accountId,
          seq,
          message_id: about,
          recorded_at: new Date(),
          position,
          type,
        };
        return knex('events').insert({ ...row, body: '{}' });
      };
      await add('sms.sent', 0);
      await add('sms.sent', 1);
      await add('sms.failed', 0);
      await add('sms.sent', 0, randomUUID());
      await add('push.sent', null);
      await expect(add('push.sent', null)).rejects.toThrow('events_once_a_message');
      // Tests of endpoints are of no message.
      await add('webhook.test', null, null);
      await add('webhook.test', null, null);
      await expect(add('sms.sent', 1)).rejects.toThrow('events_fire_once');
      await expect(add('sms.failed', 0)).rejects.toThrow('events_fire_once');
    });
  });
});
