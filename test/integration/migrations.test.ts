import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { Knex } from 'knex';
import pg from 'pg';
import { type Migration, migrations } from '../../migrations/index.ts';
import { migrate, migrateDatabase, rollbackAll } from '../../src/storage/postgres/migrate.ts';
import { createTestDatabase, silentLogger, type TestDatabase, withKnex } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { schemaSql } from '../support/schema-sql.ts';

let database: TestDatabase | undefined;
afterEach(async () => {
  await database?.drop();
  database = undefined;
});

const newest = migrations.at(-1)?.name.slice(0, 4);

/** Selects every named object in the schema `public`, except Knex's two tables. */
const LEFT_OVER = `
  SELECT relname AS name FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relname NOT LIKE 'schema_migrations%'
  UNION ALL SELECT proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace
  UNION ALL SELECT typname FROM pg_type WHERE typnamespace = 'public'::regnamespace AND typname NOT LIKE '%schema_migrations%'`;
describe('migrations', () => {
  it('run up on an empty database, down to nothing, and up to the same schema', async () => {
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

  it('each run down and up again alone', async () => {
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

  it('run once when several processes start at once, and a lock of a killed process is freed', async () => {
    database = await createTestDatabase('template1');
    const { connection } = database;
    const ends = await Promise.all([1, 2, 3].map(() => withKnex(connection, migrate)));
    expect(ends.filter(({ from }) => from === 'none')).toHaveLength(1);
    await withKnex(connection, async (knex) => {
      // Leave the lock as a process does that was killed during its only migration.
      await rollbackAll(knex);
      await knex('schema_migrations_lock').update({ is_locked: 1 });
      expect(await migrate(knex)).toEqual({ from: 'none', to: newest });
      expect(await knex('schema_migrations').select('name').orderBy('id')).toEqual(
        migrations.map(({ name }) => ({ name })),
      );
    });
  });

  it('of a newer release are ignored by an older one, which starts', async () => {
    database = await createTestDatabase();
    const { connection } = database;
    await withKnex(connection, async (knex) => {
      const future = { batch: 99, migration_time: new Date() };
      await knex('schema_migrations').insert({ ...future, name: '9999_future' });
      const told: unknown[] = [];
      const logger = { ...silentLogger, warn: (fields: object) => void told.push(fields) };
      const migrated = { from: '9999', to: '9999', newerThan: newest };
      expect(await migrateDatabase(knex, connection, logger)).toEqual(migrated);
      expect(told).toEqual([migrated]);
    });
  });

  it('a process that needs none does not wait for another that runs a newer one', async () => {
    database = await createTestDatabase();
    await withKnex(database.connection, async (knex) => {
      const other = await knex.client.acquireConnection();
      try {
        // The advisory lock that migrations take (src/storage/postgres/migrate.ts).
        await knex.raw('SELECT pg_advisory_lock(4872390)').connection(other);
        expect(await migrate(knex)).toEqual({ from: newest, to: newest });
      } finally {
        await knex.raw('SELECT pg_advisory_unlock_all()').connection(other);
        await knex.client.releaseConnection(other);
      }
    });
  });

  it('are in the order of their names', () => {
    const names = migrations.map(({ name }) => name);
    expect(names).toEqual([...names].sort());
    expect(new Set(names).size).toBe(names.length);
  });
});

describe('a migration whose table is in use', () => {
  const closings: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    for (const close of closings.splice(0).reverse()) await close();
  });
  let gateway: TestGateway;

  /** Starts a gateway on a database that lacks `migration`. */
  async function lacking(migration: Omit<Migration, 'name' | 'down'>): Promise<void> {
    database = await createTestDatabase();
    gateway = await startTestGateway({}, database);
    closings.push(() => gateway.stop());
    const list = migrations as Migration[];
    list.push({ name: '9998_test', down: async () => undefined, ...migration });
    closings.push(async () => list.pop());
  }
  /** Opens a transaction that has locked `messages`, as pg_dump does. Returns what ends it. */
  async function dump(): Promise<() => Promise<unknown>> {
    const client = new pg.Client({ ...database!.connection, application_name: 'pg_dump' });
    await client.connect();
    closings.push(() => client.end());
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
    await client.query('LOCK TABLE messages IN ACCESS SHARE MODE');
    await client.query('SELECT FROM messages');
    return () => client.query('COMMIT');
  }
  const addsColumn = { up: (knex: Knex) => knex.raw('ALTER TABLE messages ADD test_column int') };
  const DUMP = /^process \d+ \(pg_dump, user \w+, its transaction is \d+ s old\)$/;

  it('lets messages be accepted while it waits, names who holds the lock, and ends after that (R519)', async () => {
    await lacking(addsColumn);
    const { key } = await gateway.createAccount();
    const body = { to: '+256700123456', message: 'Hello' };
    const end = await dump();
    await withKnex(database!.connection, async (knex) => {
      const waits: string[][] = [];
      const migrated = migrate(knex, { onWait: (...told) => void waits.push(told) });
      await eventually(() => waits.length > 0);
      expect(waits).toEqual([['9998_test', expect.stringMatching(DUMP)]]);
      for (let number = 0; number < 5; number += 1) {
        const sent = await gateway.call('POST', '/developers/sms', { key, body });
        expect(sent.status).toBe(200);
      }
      await end();
      expect(await migrated).toMatchObject({ to: '9998' });
      expect(waits).toHaveLength(1);
    });
  });

  it('does not run after the lock of the migrations was lost, as by a promotion (R350)', async () => {
    await lacking(addsColumn);
    const end = await dump();
    await withKnex(database!.connection, async (knex) => {
      const waits: string[] = [];
      const migrated = migrate(knex, { onWait: (name) => void waits.push(name) });
      const refused = expect(migrated).rejects.toThrow(
        /^The connection that held the lock of the migrations was lost. Run migrate again/,
      );
      await eventually(() => waits.length > 0);
      // The advisory lock that migrations take (src/storage/postgres/migrate.ts).
      const lost = await knex.raw(
        `SELECT pg_terminate_backend(pid) AS done FROM pg_locks WHERE locktype = 'advisory' AND objid = 4872390
           AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
      );
      expect(lost.rows).toEqual([{ done: true }]);
      await end();
      await refused;
      expect(await migrate(knex)).toMatchObject({ from: newest, to: '9998' });
    });
  });

  it('fails after its time limit, says what to do, and runs with the next start (R519)', async () => {
    await lacking(addsColumn);
    const end = await dump();
    await withKnex(database!.connection, async (knex) => {
      await expect(migrate(knex, { patienceMs: 0 })).rejects.toThrow(
        /^The migration 9998_test got no lock .* because of process (\d+) \(pg_dump, .*pg_terminate_backend\(\1\)\. Then run migrate again/,
      );
      await end();
      expect(await migrate(knex, { patienceMs: 0 })).toMatchObject({ from: newest, to: '9998' });
    });
  });

  it('builds an index without that limit, because it holds up nobody (R519)', async () => {
    const limits: string[] = [];
    await lacking({
      config: { transaction: false },
      async up(knex) {
        limits.push((await knex.raw('SHOW lock_timeout')).rows[0].lock_timeout);
        await knex.raw('CREATE INDEX CONCURRENTLY test_index ON messages (created_at)');
      },
    });
    const end = await dump();
    const migrated = withKnex(database!.connection, (knex) =>
      migrateDatabase(knex, database!.connection, silentLogger),
    );
    await withKnex(database!.connection, async (knex) => {
      const waiting = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
        AND query LIKE 'CREATE INDEX CONCURRENTLY%'`;
      await eventually(async () => (await knex.raw(waiting)).rows.length > 0);
    });
    await end();
    await migrated;
    expect(limits).toEqual(['0']);
  });
});

describe('suppressions of erased people', () => {
  it('are not forgotten by a migration down: it refuses with their number, and says how to accept that (R492)', async () => {
    database = await createTestDatabase();
    await withKnex(database.connection, async (knex) => {
      const account = { id: randomUUID(), name: 'a', email: 'a@example.com', currency: 'UGX' };
      await knex('accounts').insert({ ...account, created_at: new Date() });
      await knex('account_hash_keys').insert({ account_id: account.id, sealed: 'v1.k.x' });
      const suppression = { account_id: account.id, created_at: new Date(), environment: 'production' };
      const kind = { channel: 'sms', scope: 'all', source: 'stop' };
      for (const address of ['erased:one', 'erased:two', '+256700123456'])
        await knex('suppressions').insert({ ...suppression, ...kind, id: randomUUID(), address });
      for (const name of ['0221_account_hash_keys', '0220_erasures']) {
        const { down } = migrations.find((each) => each.name === name) ?? {};
        await expect(down?.(knex)).rejects.toThrow(/^2 suppressions of erased people would be forgotten/);
      }
      const fault = await rollbackAll(knex).then(
        () => '',
        (error: Error) => error.message,
      );
      const [, accepted = ''] = /run this first: (DELETE FROM .*)$/.exec(fault) ?? [];
      await knex.raw(accepted);
      expect(await knex('suppressions').pluck('address')).toEqual(['+256700123456']);
      await rollbackAll(knex);
      expect((await knex.raw(LEFT_OVER)).rows).toEqual([]);
    });
  });
});

/** Changes the schema of the baseline back to that of the last migration before the baseline. */
async function goBackBeforeBaseline(knex: Knex): Promise<void> {
  for (const { down } of migrations.slice(1).reverse()) await down(knex);
  await knex.raw(await readFile(new URL('../fixtures/last-before-baseline.sql', import.meta.url), 'utf8'));
}

describe('a database from before the baseline', () => {
  it('is accepted at the last migration: it gets the schema of a new one and keeps its rows', async () => {
    database = await createTestDatabase();
    await withKnex(database.connection, async (knex) => {
      const expected = await schemaSql(knex);
      await goBackBeforeBaseline(knex);
      expect(await schemaSql(knex)).not.toBe(expected);
      const account = { id: randomUUID(), name: 'a', email: 'a@example.com', currency: 'UGX' };
      await knex('accounts').insert({ ...account, created_at: new Date() });
      const device = { account_id: account.id, platform: 'ios', user_id: 'u' };
      const at = { created_at: new Date(), updated_at: new Date() };
      for (const [environment, token] of [
        ['sandbox', ' t'],
        ['production', 't'],
      ])
        await knex('devices').insert({ ...device, ...at, id: randomUUID(), environment, token });
      const event = { account_id: account.id, message_id: randomUUID(), position: 0, type: 'sms.sent' };
      const recorded = { recorded_at: '2026-11-21T08:15:30.070Z', body: '"data":{"sid":"7"}}' };
      await knex('events').insert({ ...event, ...recorded, seq: 1 });
      const recipient = {
        message_id: event.message_id,
        account_id: account.id,
        cost_minor: 30,
        address: '+256700123456',
      };
      await knex('recipients').insert([
        { ...recipient, position: 0, status: 'sent', sent_at: new Date() },
        { ...recipient, position: 1, status: 'failed', error_code: 'x', settled: true },
      ]);
      const { log_id } = await knex('audit_signed_head').first();
      expect(await migrate(knex)).toEqual({ from: '20261124002000', to: newest });
      expect(await schemaSql(knex)).toBe(expected);
      expect(await knex('schema_migrations').orderBy('id').pluck('name')).toEqual(
        migrations.map(({ name }) => name),
      );
      expect(await knex('devices').orderBy('environment').select('environment', 'token')).toEqual([
        { environment: 'production', token: 't' },
        { environment: 'sandbox', token: 't' },
      ]);
      expect(await knex('recipients').orderBy('position').pluck('status')).toEqual(['sent', 'failed']);
      expect(await knex('audit_head').first('seq', 'log_id', 'sealed')).toEqual({
        seq: 0,
        log_id,
        sealed: null,
      });
      const envelope = `{"event":"sms.sent","channel":"sms","messageId":"${event.message_id}"`;
      expect(await knex('events').pluck('body')).toEqual([
        `${envelope},"timestamp":"2026-11-21T08:15:30.070Z","data":{"sid":"7"}}`,
      ]);
      expect(await migrate(knex)).toEqual({ from: newest, to: newest });
    });
  });

  it('is refused at an older migration, or with messages not counted yet, and stays unchanged', async () => {
    database = await createTestDatabase();
    await withKnex(database.connection, async (knex) => {
      await goBackBeforeBaseline(knex);
      const before = await schemaSql(knex);
      const mark = { account_id: randomUUID(), block: 0, channel: 'sms' };
      await knex('uncounted_blocks').insert(mark);
      await expect(migrate(knex)).rejects.toThrow('has messages that its gateway has not counted yet');
      await knex('uncounted_blocks').delete();
      await knex('schema_migrations').where('name', 'like', '20261124002000%').delete();
      await expect(migrate(knex)).rejects.toThrow(
        /is at migration 20261124001000_deferred_refunds\. Only one at 20261124002000_.* can be taken over\. Start /,
      );
      expect(await schemaSql(knex)).toBe(before);
      expect(await knex('schema_migrations').pluck('name')).toHaveLength(40);
    });
  });
});

describe('the schema', () => {
  it('equals schema/schema.sql (npm run schema writes it)', async () => {
    database = await createTestDatabase();
    const written = await readFile(new URL('../../schema/schema.sql', import.meta.url), 'utf8');
    expect(await withKnex(database.connection, schemaSql)).toBe(written);
  });

  it('allows no second event of a type for a recipient, and no second event of a whole message (R16)', async () => {
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
      // A test event belongs to an endpoint and to no message.
      await add('webhook.test', null, null);
      await add('webhook.test', null, null);
      await expect(add('sms.sent', 1)).rejects.toThrow('events_fire_once');
      await expect(add('sms.failed', 0)).rejects.toThrow('events_fire_once');
    });
  });
});
