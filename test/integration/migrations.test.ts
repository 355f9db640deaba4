import { randomUUID } from 'node:crypto';
import { afterEach, describe, expect, it } from '@jest/globals';
import * as fullPages from '../../migrations/20261121002300_full_pages.ts';
import { migrations } from '../../migrations/index.ts';
import { migrate, migrateDatabase, rollbackAll } from '../../src/storage/migrate.ts';
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
        // The lock of those that migrate (src/storage/migrate.ts).
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
  it('has no second event of a type for a recipient, and any number of them for whole messages (decision 16)', async () => {
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
      for (const about of [messageId, null]) {
        await add('push.sent', null, about);
        await add('push.sent', null, about);
      }
      await expect(add('sms.sent', 1)).rejects.toThrow('events_fire_once');
      await expect(add('sms.failed', 0)).rejects.toThrow('events_fire_once');
    });
  });
});
