import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Knex } from 'knex';
import type { Visibility } from '../../src/domain/caller.ts';
import type { AuditHeads } from '../../src/domain/ports/audit-stores.ts';
import type { Stores } from '../../src/domain/ports/stores.ts';
import { createKnex, Sql } from '../../src/storage/postgres/sql.ts';
import { createStores } from '../../src/storage/postgres/unit-of-work.ts';
import { createTestDatabase, silentLogger, type TestDatabase } from '../support/database.ts';
import { openSql, type TestSql } from '../support/sql.ts';

const LOOK = { name: 'test-look', text: 'SELECT number FROM numbers LIMIT 1' };
const READ_ONLY = {
  name: 'test-read-only',
  text: 'SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY',
};

const DAY_MS = 24 * 3_600_000;
const ANY = randomUUID();
const all = (accountId: string): Visibility => ({ accountId, environment: undefined });

/** Every read whose result is shown to clients. */
const READS: Record<string, (stores: Stores, accountId: string) => Promise<unknown>> = {
  'events of the feed': ({ events }, accountId) => events.after(all(accountId), 0, 10),
  'events of the feed in the sandbox': ({ events }, accountId) =>
    events.after({ accountId, environment: 'sandbox' }, 0, 10),
  'a message': ({ messages }, accountId) => messages.find(all(accountId), ANY),
  'the recipients of messages': ({ messages }) => messages.recipients([ANY]),
  'the timeline of a message': ({ messages }) => messages.timelineNotes(ANY),
  'a history by status': ({ messages }, accountId) =>
    messages.history(all(accountId), 'sms', { status: 'sent' }, { page: 1, limit: 10 }),
  'messages by id': ({ messageLists }, accountId) => messageLists.findMany(accountId, [ANY]),
  'recipients in a list': ({ messageLists }, accountId) => messageLists.recipients(accountId, [ANY]),
  'timelines in a list': ({ messageLists }, accountId) => messageLists.timelineNotes(accountId, [ANY]),
  'events of messages': ({ events }, accountId) => events.ofMessages(accountId, [ANY]),
  'events of recipients': ({ events }, accountId) =>
    events.ofRecipients(accountId, [ANY], [{ messageId: ANY, position: 0 }]),
  'events by number': ({ events }, accountId) => events.findMany(accountId, [1]),
  'deliveries of messages': ({ deliveryLists }, accountId) => deliveryLists.ofMessages(accountId, [ANY], 10),
  'deliveries of events': ({ deliveryLists }, accountId) => deliveryLists.ofEvents(accountId, [1]),
  'deliveries of one message': ({ deliveryLists }, accountId) =>
    deliveryLists.list(accountId, { messageId: ANY }, { limit: 10, after: undefined }),
  'deliveries by id': ({ deliveryLists }, accountId) => deliveryLists.findMany(accountId, [ANY], undefined),
  'a delivery': ({ deliveries }, accountId) => deliveries.find(all(accountId), ANY),
  'entries of the ledger': ({ ledger }, accountId) =>
    ledger.entries(accountId, {}, { limit: 10, after: undefined }),
  'counts of messages': ({ usage }, accountId) =>
    usage.query(accountId, {
      from: new Date(Date.now() - DAY_MS),
      to: new Date(),
      interval: 'day',
      groupBy: ['status'],
      environment: undefined,
    }),
  'an account': ({ accounts }, accountId) => accounts.findOnDisk(accountId),
  'a list of accounts': ({ accounts }) => accounts.list(undefined, { limit: 10, after: undefined }),
  'the number of accounts': ({ accounts }) => accounts.count(undefined),
  'the number of accounts found': ({ accounts }) => accounts.count('somebody'),
  'the number of messages': ({ messageLists }, accountId) => messageLists.count(accountId, {}),
  'the number of ledger entries': ({ ledger }, accountId) => ledger.count(accountId, {}),
  'the number of deliveries': ({ deliveryLists }, accountId) =>
    deliveryLists.count(accountId, { webhookId: ANY }),
  'entries in a list of the audit log': ({ audit }, accountId) =>
    audit.list(accountId, {}, { limit: 10, after: undefined }),
  'the number of audit entries': ({ audit }, accountId) => audit.count(accountId, {}),
  'the number of audit entries of an action': ({ audit }, accountId) =>
    audit.count(accountId, { action: 'key.create' }),
  'the audit log': ({ audit }) => audit.chainedAfter(0, 10),
  'the end of the audit log': ({ audit }) => audit.heads(),
  'how far a file of reports is applied, which is then deleted': ({ reports }) => reports.spoolAppliedTo(ANY),
};

/** A store of audit heads that does nothing, because this test writes no audit entries. */
const NO_HEADS: AuditHeads = {
  sign: () => '',
  read: () => undefined,
  isOutdated: () => false,
  isLost: () => false,
  keep: async () => undefined,
  idle: async () => undefined,
  kept: async () => undefined,
};

describe('reads whose result leaves the process (ADR-0017)', () => {
  let database: TestDatabase;
  let other: TestSql;
  let knex: Knex;
  let sql: Sql;
  let stores: Stores;
  beforeAll(async () => {
    database = await createTestDatabase();
    // This connection's commits do not wait for the disk, like those of transactions that notify.
    other = await openSql(database);
    await other.query('CREATE TABLE numbers (number int)');
    await other.query(`ALTER DATABASE ${database.connection.database} SET synchronous_commit = on`);
    knex = createKnex(database.connection, silentLogger);
    sql = new Sql(knex);
    stores = createStores(sql, NO_HEADS);
  });
  afterAll(async () => {
    await other?.close();
    await knex?.destroy();
    await database?.drop();
  });

  /**
   * Runs `read` five times, each after an early commit by another process. Returns how often that commit was on the
   * disk when `read` resolved.
   */
  async function onDiskAfter(read: () => Promise<unknown>): Promise<number> {
    let count = 0;
    for (let time = 0; time < 5; time++) {
      await other.query('INSERT INTO numbers VALUES (1)');
      const [end] = await other.query('SELECT pg_current_wal_insert_lsn() AS lsn');
      await read();
      const [found] = await other.query('SELECT pg_current_wal_flush_lsn() >= $1::pg_lsn AS there', [
        end.lsn,
      ]);
      if (found.there) count += 1;
    }
    return count;
  }

  it.each(Object.keys(READS))('%s waits until all that it may show is on the disk', async (name) => {
    const accountId = randomUUID();
    await expect(onDiskAfter(async () => READS[name]?.(stores, accountId))).resolves.toBe(5);
  });

  it('holds back a transaction that writes nothing, but locks no rows', async () => {
    const inOne = () =>
      sql.transaction(async (inside) => {
        expect(await inside.queryOnDisk(LOOK, [])).not.toEqual([]);
      });
    await expect(onDiskAfter(inOne)).resolves.toBe(5);
    // The query and the COMMIT are sent together.
    const atOnce = () =>
      sql.transaction(async (inside) => {
        void inside.queryOnDisk(LOOK, []);
      });
    await expect(onDiskAfter(atOnce)).resolves.toBe(5);
    const readOnly = () =>
      sql.transaction(async (inside) => {
        await inside.execute(READ_ONLY, []);
        await inside.queryOnDisk(LOOK, []);
      });
    await expect(onDiskAfter(readOnly)).resolves.toBe(5);
  });

  it('holds back the acknowledgement of delivery reports that change nothing', async () => {
    const report = { sid: 'nobody-knows-it', status: 'delivered' } as const;
    const take = () =>
      sql.transaction(async (inside) => {
        await createStores(inside, NO_HEADS).reports.match('carrier', [
          { report, acceptsOtherNumber: false },
        ]);
      });
    await expect(onDiskAfter(take)).resolves.toBe(5);
  });
});
