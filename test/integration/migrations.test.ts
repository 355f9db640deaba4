import { randomUUID } from 'node:crypto';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { Knex } from 'knex';
import { migrations } from '../../migrations/index.ts';
import { migrate, migrateDatabase, rollbackAll } from '../../src/storage/postgres/migrate.ts';
import { schemaSql } from '../../src/storage/postgres/schema-sql.ts';
import { createTestDatabase, silentLogger, type TestDatabase, withKnex } from '../support/database.ts';

let database: TestDatabase | undefined;
afterEach(async () => {
  await database?.drop();
  database = undefined;
});

const newest = migrations.at(-1)?.name.split('_')[0];

/** Everything with a name in the schema `public` but the migrations' own two tables. */
const LEFT_OVER = `
  SELECT relname AS name FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relname NOT LIKE 'schema_migrations%'
  UNION ALL SELECT proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace
  UNION ALL SELECT typname FROM pg_type WHERE typnamespace = 'public'::regnamespace AND typname NOT LIKE '%schema_migrations%'`;
/** The step whose schema the baseline takes over, and one before it. */
const [OLDER, LAST_BEFORE] = ['20261124001000_deferred_refunds', '20261124002000_refused_by_the_database'];

/** Records these steps as the only ones that were done. */
async function stamp(knex: Knex, names: readonly string[]): Promise<void> {
  await knex('schema_migrations').delete();
  await knex('schema_migrations').insert(
    names.map((name) => ({ name, batch: 1, migration_time: new Date() })),
  );
}

describe('migrations', () => {
  it('go up on an empty database, down again leaving nothing, and up to the same schema', async () => {
    database = await createTestDatabase('template1');
    await withKnex(database.connection, async (knex) => {
      const rows = async (sql: string) => (await knex.raw(sql)).rows;
      expect(await migrate(knex)).toEqual({ from: 'none', to: newest });
      const shape = await schemaSql(knex);
      await rollbackAll(knex);
      expect(await rows(LEFT_OVER)).toEqual([]);
      expect(await migrate(knex)).toEqual({ from: 'none', to: newest });
      expect(await schemaSql(knex)).toBe(shape);
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
      await rollbackAll(knex);
      await knex('schema_migrations_lock').update({ is_locked: 1 });
      expect(await migrate(knex)).toEqual({ from: 'none', to: newest });
      expect(await knex('schema_migrations').select('name').orderBy('id')).toEqual(
        migrations.map(({ name }) => ({ name })),
      );
    });
  });

  it('take over a database at the last step before the baseline, and keep its rows', async () => {
    database = await createTestDatabase();
    await withKnex(database.connection, async (knex) => {
      const schema = await schemaSql(knex);
      await stamp(knex, [OLDER, LAST_BEFORE]);
      for (const table of ['contacts', 'devices', 'webhooks', 'contact_imports']) {
        const name = `${table}_environment`;
        await knex.raw(`ALTER TABLE ${table} DROP CONSTRAINT ${name},
          ADD CONSTRAINT ${name} CHECK (environment IN ('production', 'sandbox')) NOT VALID`);
      }
      expect(await schemaSql(knex)).not.toBe(schema);
      expect(await migrate(knex)).toEqual({ from: '20261124002000', to: newest });
      expect(await schemaSql(knex)).toBe(schema);
      expect(await knex('schema_migrations').pluck('name')).toEqual(migrations.map(({ name }) => name));
      expect(await knex('prices').pluck('channel')).toHaveLength(4);
      expect(await migrate(knex)).toEqual({ from: newest, to: newest });
    });
  });

  it('refuse an older database with what to do, and change nothing', async () => {
    database = await createTestDatabase();
    await withKnex(database.connection, async (knex) => {
      await stamp(knex, [OLDER]);
      await expect(migrate(knex)).rejects.toThrow(
        `The database is at schema ${OLDER}, which is too old. Start the last release before 0001_baseline once, so ` +
          `that it brings the database to ${LAST_BEFORE}. Then start this release.`,
      );
      expect(await knex('schema_migrations').pluck('name')).toEqual([OLDER]);
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
