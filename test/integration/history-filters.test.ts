import { randomBytes, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Knex } from 'knex';
import { ENVIRONMENTS, type Environment } from '../../src/domain/caller.ts';
import { MESSAGE_STATUSES, type MessageStatus } from '../../src/domain/messages/message.ts';
import type { MessageListFilter } from '../../src/domain/ports/list-stores.ts';
import type { MessageFilter } from '../../src/domain/ports/message-stores.ts';
import { uuidFloor } from '../../src/domain/uuid.ts';
import { createKnex, Sql } from '../../src/storage/postgres/sql.ts';
import { PgMessageListStore, PgMessageStore } from '../../src/storage/stores/message.store.ts';
import { PgRetentionStore } from '../../src/storage/stores/retention.store.ts';
import { PgUsageStore } from '../../src/storage/stores/usage.store.ts';
import { createTestDatabase, silentLogger, type TestDatabase } from '../support/database.ts';
import { openSql, type TestSql } from '../support/sql.ts';

const START = Date.parse('2026-03-01T00:00:00Z');
const HOUR_MS = 3_600_000;
/**
 * Number of messages. With the deleted ones before them, their numbers cross the boundaries of blocks of all sizes (64,
 * 2,048 and 65,536).
 */
const COUNT = 9_000;
const GONE = 65_536 - 4_500;
const FEW = 700;

interface Row {
  readonly id: string;
  readonly seq: number;
  readonly createdAt: Date;
  status: MessageStatus;
  readonly environment: Environment;
  readonly apiKeyId: string | null;
  readonly address: string;
}

interface Account {
  readonly id: string;
  readonly keys: readonly [string, string];
  readonly rows: readonly Row[];
}

/**
 * Creates messages over some days. There are busy and empty hours, and whole hours and blocks without a failed message.
 */
function makeRows(count: number, above: number, [main, rare]: readonly [string, string]): Row[] {
  let at = START;
  return Array.from({ length: count }, (_, index) => {
    at += index % 500 === 0 ? 5 * HOUR_MS : index % 3 === 0 ? 0 : 7_000;
    const createdAt = new Date(at);
    const moved =
      index % 970 === 0 ? 'pending' : index % 410 === 0 ? 'failed' : index % 9 ? 'delivered' : 'sent';
    const environment = index % 70 === 3 ? 'sandbox' : 'production';
    return {
      id: uuidFloor(createdAt).slice(0, 14) + randomUUID().slice(14),
      seq: above + index + 1,
      createdAt,
      status: environment === 'sandbox' ? 'sent' : moved,
      environment,
      apiKeyId: index % 331 === 0 ? rare : index % 5 === 0 ? null : main,
      address: `+25670000000${index % 4}`,
    };
  });
}

/** A filter of the history, with its environment. */
type Asked = MessageFilter & { readonly environment?: Environment | undefined };

describe('filtered histories give what a filter of the whole list gives (R6, R20)', () => {
  let database: TestDatabase;
  let sql: TestSql;
  let knex: Knex;
  const account = (count: number, above: number) => {
    const keys = [randomBytes(8).toString('hex'), randomBytes(8).toString('hex')] as const;
    return { id: randomUUID(), keys, rows: makeRows(count, above, keys) };
  };
  const accounts = [account(COUNT, GONE), account(FEW, 0)] as const;
  const fold = () => new PgUsageStore(new Sql(knex)).fold();

  /** Adds `sign` to the message counters, as intake and transitions do. */
  const count = (accountId: string, changed: readonly Row[], status: (row: Row) => string, sign: number) =>
    sql.query(
      `INSERT INTO usage_deltas (account_id, hour, channel, environment, status, api_key_id, block, bitmap,
         messages, cost_minor)
       SELECT $1, date_trunc('hour', created_at, 'UTC'), 'sms', environment, status, coalesce(api_key_id, ''),
         ((seq - 1) / 64)::int, bit_xor(1::bigint << ((seq - 1) % 64)::int), $7 * count(*), 0
       FROM unnest($2::timestamptz[], $3::text[], $4::text[], $5::text[], $6::bigint[])
         AS n (created_at, environment, status, api_key_id, seq)
       GROUP BY 2, 4, 5, 6, 7`,
      [
        accountId,
        changed.map((row) => row.createdAt),
        changed.map((row) => row.environment),
        changed.map(status),
        changed.map((row) => row.apiKeyId),
        changed.map((row) => row.seq),
        sign,
      ],
    );
  /** Changes messages from their current status to `to`, and counts the change. */
  const move = async (accountId: string, wanted: readonly Row[], to: MessageStatus) => {
    // Messages of the sandbox keep their status `sent`.
    const moved = wanted.filter(({ environment }) => environment === 'production');
    await count(accountId, moved, (row) => row.status, -1);
    await count(accountId, moved, () => to, 1);
    await sql.query(
      `UPDATE recipients SET status = $2,
         failed_at = CASE $2 WHEN 'failed' THEN now() END,
         delivered_at = CASE $2 WHEN 'delivered' THEN now() END, error_code = CASE $2 WHEN 'failed' THEN 'x' END
       WHERE message_id = ANY($1::uuid[])`,
      [moved.map((row) => row.id), to],
    );
    for (const row of moved) row.status = to;
  };

  beforeAll(async () => {
    database = await createTestDatabase();
    sql = await openSql(database);
    // This test changes statuses in any direction, which a trigger normally forbids.
    await sql.query('ALTER TABLE recipients DISABLE TRIGGER only_forward');
    knex = createKnex(database.connection, silentLogger, { poolSize: 2 });
    for (const [index, { id, keys, rows }] of accounts.entries()) {
      const last = rows.at(-1)?.seq;
      await sql.query(
        `INSERT INTO accounts (id, name, email, currency, created_at, sms_seq)
         VALUES ($1, 'a', 'a' || $2::int || '@example.com', 'UGX', now(), $3)`,
        [id, index, last],
      );
      await sql.query(
        `INSERT INTO api_keys (key_id, account_id, name, secret_hash, scopes, environment, created_by, issued_by, created_at)
         SELECT key_id, $1, 'k', decode(repeat('00', 32), 'hex'), '{SEND_SMS}', 'production', 'system:test', 'system:test', now()
         FROM unnest($2::text[]) AS n (key_id)`,
        [id, keys],
      );
      await sql.query(
        `INSERT INTO messages (id, account_id, seq, cost_minor, unit_price_minor, created_at, expires_at, channel,
           environment, api_key_id, currency, sender, content)
         SELECT id, $1, seq, 30, 30, created_at, created_at, 'sms', environment, api_key_id, 'UGX', 'SERVICE', 'Hello'
         FROM unnest($2::uuid[], $3::bigint[], $4::timestamptz[], $5::text[], $6::text[])
           AS n (id, seq, created_at, environment, api_key_id)`,
        [
          id,
          rows.map((row) => row.id),
          rows.map((row) => row.seq),
          rows.map((row) => row.createdAt),
          rows.map((row) => row.environment),
          rows.map((row) => row.apiKeyId),
        ],
      );
      await sql.query(
        `INSERT INTO recipients (message_id, account_id, cost_minor, position, address, status, sent_at)
         SELECT id, $1, 30, 0, address, CASE WHEN is_sandbox THEN 'sent' ELSE 'pending' END, now()
         FROM unnest($2::uuid[], $3::text[], $4::boolean[]) AS n (id, address, is_sandbox)`,
        [
          id,
          rows.map((row) => row.id),
          rows.map((row) => row.address),
          rows.map((row) => row.environment === 'sandbox'),
        ],
      );
      const wanted = Map.groupBy(rows, (row) => row.status);
      for (const row of rows) row.status = row.environment === 'sandbox' ? 'sent' : 'pending';
      await count(id, rows, (row) => row.status, 1);
      await fold();
      // Fold the counters after the first half of the changes, and not after the second half.
      for (const half of [0, 1]) {
        for (const [status, own] of wanted) {
          const moved = own.filter(({ seq }) => seq % 2 === half && status !== 'pending');
          await move(id, moved, status);
        }
        if (half === 0) await fold();
      }
    }
    await sql.query(
      `INSERT INTO message_retention (account_id, channel, erased_seq, removed_seq) VALUES ($1, 'sms', $2, $2)`,
      [accounts[0].id, GONE],
    );
    await sql.query('ANALYZE');
  });
  afterAll(async () => {
    await knex?.destroy();
    await sql?.close();
    await database?.drop();
  });

  const time = fc.oneof(
    fc.nat(COUNT - 1).map((index) => accounts[0].rows[index]?.createdAt ?? new Date(0)),
    fc.nat(120).map((hour) => new Date(START + hour * HOUR_MS)),
    fc.integer({ min: -HOUR_MS, max: 120 * HOUR_MS }).map((ms) => new Date(START + ms)),
  );
  const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined, freq: 2 });
  const filter: fc.Arbitrary<Asked> = fc.record({
    status: maybe(fc.constantFrom(...MESSAGE_STATUSES)),
    environment: maybe(fc.constantFrom(...ENVIRONMENTS)),
    to: fc.oneof(
      { weight: 5, arbitrary: fc.constant(undefined) },
      fc.constantFrom('+256700000001', '+256700000009'),
    ),
    from: maybe(time),
    until: maybe(time),
  });
  const request = fc.record({
    page: fc.oneof(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 400 })),
    limit: fc.integer({ min: 1, max: 100 }),
  });
  const fitting = (rows: readonly Row[], wanted: Asked & { apiKeyId?: string | undefined }): readonly Row[] =>
    rows
      .filter((row) => wanted.status === undefined || row.status === wanted.status)
      .filter((row) => wanted.environment === undefined || row.environment === wanted.environment)
      .filter((row) => wanted.apiKeyId === undefined || row.apiKeyId === wanted.apiKeyId)
      .filter((row) => wanted.to === undefined || row.address === wanted.to)
      .filter((row) => !wanted.from || row.createdAt >= wanted.from)
      .filter((row) => !wanted.until || row.createdAt <= wanted.until)
      .toReversed();

  const compare = async (numRuns: number, { id, keys, rows }: Account) => {
    const store = new PgMessageStore(new Sql(knex));
    await fc.assert(
      fc.asyncProperty(filter, request, async (wanted, { page, limit }) => {
        const fits = fitting(rows, wanted);
        const { environment, ...asked } = wanted;
        const reach = { accountId: id, environment };
        const found = await store.history(reach, 'sms', asked, { page, limit });
        expect({ total: found.total, ids: found.rows.map((row) => row.id) }).toEqual({
          total: fits.length,
          ids: fits.slice((page - 1) * limit, page * limit).map((row) => row.id),
        });
        for (const row of found.rows) expect(row.status).toBe(wanted.status ?? row.status);
      }),
      { numRuns },
    );
    const lists = new PgMessageListStore(new Sql(knex));
    await fc.assert(
      fc.asyncProperty(
        filter,
        maybe(fc.constantFrom(...keys)),
        fc.nat(COUNT),
        fc.integer({ min: 1, max: 100 }),
        fc.subarray([...MESSAGE_STATUSES]),
        async (
          { to: _to, channel: _channel, status: _status, until, ...narrowing },
          apiKeyId,
          back,
          limit,
          status,
        ) => {
          const wanted: MessageListFilter = { ...narrowing, status, to: until, apiKeyId };
          const fits = fitting(rows, { ...narrowing, until, apiKeyId }).filter(
            (row) => status.length === 0 || status.includes(row.status),
          );
          const before = (rows.at(-1)?.seq ?? 0) + 1 - back;
          const found = await lists.keys(id, wanted, new Map([['sms', before]]), limit);
          expect(found.map((key) => key.id)).toEqual(
            fits
              .filter((row) => row.seq < before)
              .slice(0, limit)
              .map((row) => row.id),
          );
          expect(await lists.count(id, wanted)).toBe(fits.length);
        },
      ),
      { numRuns },
    );
  };
  const compareAll = async (numRuns: number) => {
    for (const account of accounts) await compare(numRuns, account);
  };

  it('the same page and total, for any filter', () => compareAll(120));

  it('also while messages change status, before and after counts are folded', async () => {
    const [{ id, rows }] = accounts;
    await move(
      id,
      rows.filter(({ status, seq }) => status === 'sent' && seq % 4 === 0),
      'delivered',
    );
    await compareAll(60);
    await fold();
    await compareAll(60);
    // Empty the last block, which still gets new messages, and a block in the middle.
    await move(
      id,
      rows.filter(({ status, seq }) => status === 'pending' && seq > GONE + 4_000),
      'failed',
    );
    await compareAll(60);
  });

  it('also after the oldest messages and their smallest blocks were deleted', async () => {
    const [large, few] = accounts;
    const { id, rows } = large;
    const removed = GONE + 3_333;
    const remove = async (seq: number) => {
      await sql.query('DELETE FROM messages WHERE account_id = $1 AND seq <= $2', [id, seq]);
      await new PgRetentionStore(new Sql(knex)).advance(
        { accountId: id, channel: 'sms' },
        { erasedSeq: seq, removedSeq: seq },
      );
    };
    const blocks = async () => {
      const ofAccount = 'account_id = $1 AND size = 64 AND (block + 1) * 64 <= $2';
      const [row] = await sql.query(`SELECT count(*)::int AS count FROM message_blocks WHERE ${ofAccount}`, [
        id,
        removed,
      ]);
      return row.count;
    };
    expect(await blocks()).toBeGreaterThan(0);
    await remove(removed);
    expect(await blocks()).toBe(0);
    await compare(150, { ...large, rows: rows.filter(({ seq }) => seq > removed) });
    await remove(rows.at(-1)?.seq ?? 0);
    await compare(50, { ...large, rows: [] });
    await compare(50, few);
  });
});
