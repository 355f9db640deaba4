import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Knex } from 'knex';
import { ENVIRONMENTS, type Environment } from '../../src/domain/caller.ts';
import { MESSAGE_STATUSES, type MessageStatus } from '../../src/domain/messages/message.ts';
import type { MessageFilter } from '../../src/domain/ports/stores.ts';
import { PgMessageStore } from '../../src/storage/message.store.ts';
import { createKnex, Sql } from '../../src/storage/sql.ts';
import { createTestDatabase, silentLogger, type TestDatabase } from '../support/database.ts';
import { openSql, type TestSql } from '../support/sql.ts';

const COUNT = 700;
const START = Date.parse('2026-03-01T00:00:00Z');
const HOUR_MS = 3_600_000;

interface Row {
  readonly id: string;
  readonly seq: number;
  readonly createdAt: Date;
  readonly status: MessageStatus;
  readonly environment: Environment;
  readonly address: string;
}

/** Messages over some days: busy hours, empty hours, and whole hours without a failure. */
function makeRows(): Row[] {
  let at = START;
  return Array.from({ length: COUNT }, (_, index) => {
    at += index % 50 === 0 ? 5 * HOUR_MS : index % 3 === 0 ? 0 : 61_000;
    return {
      id: randomUUID(),
      seq: index + 1,
      createdAt: new Date(at),
      status: index % 97 === 0 ? 'pending' : index % 41 === 0 ? 'failed' : index % 2 ? 'delivered' : 'sent',
      environment: index % 7 === 0 ? 'sandbox' : 'production',
      address: `+25670000000${index % 4}`,
    };
  });
}

describe('filtered histories against a filter of the whole list (decisions 6 and 20)', () => {
  let database: TestDatabase;
  let sql: TestSql;
  let knex: Knex;
  const accountId = randomUUID();
  const rows = makeRows();
  beforeAll(async () => {
    database = await createTestDatabase();
    sql = await openSql(database);
    knex = createKnex(database.connection, silentLogger, 2);
    await sql.query(
      `INSERT INTO accounts (id, name, email, currency, created_at, sms_seq) VALUES ($1, 'a', 'a@example.com', 'UGX', now(), $2)`,
      [accountId, COUNT],
    );
    await sql.query(
      `INSERT INTO messages (id, account_id, seq, cost_minor, unit_price_minor, created_at, expires_at, channel,
         environment, status, currency, sender, content)
       SELECT id, $1, seq, 30, 30, created_at, created_at, 'sms', environment, status, 'UGX', 'SERVICE', 'Hello'
       FROM unnest($2::uuid[], $3::bigint[], $4::timestamptz[], $5::text[], $6::text[])
         AS n (id, seq, created_at, environment, status)`,
      [
        accountId,
        rows.map((row) => row.id),
        rows.map((row) => row.seq),
        rows.map((row) => row.createdAt),
        rows.map((row) => row.environment),
        rows.map((row) => row.status),
      ],
    );
    await sql.query(
      `INSERT INTO recipients (message_id, account_id, cost_minor, position, address, status, sent_at)
       SELECT id, $1, 30, 0, address, CASE status WHEN 'failed' THEN 'pending' ELSE status END, now()
       FROM unnest($2::uuid[], $3::text[], $4::text[]) AS n (id, address, status)`,
      [accountId, rows.map((row) => row.id), rows.map((row) => row.address), rows.map((row) => row.status)],
    );
    await sql.query(
      `UPDATE recipients SET status = 'failed', failed_at = now(), error_code = 'x' WHERE message_id = ANY($1::uuid[])`,
      [rows.filter((row) => row.status === 'failed').map((row) => row.id)],
    );
    // Half of the counts are folded already, half are not.
    for (const [table, rest] of [
      ['usage_hours', 0],
      ['usage_deltas', 1],
    ] as const) {
      await sql.query(
        `INSERT INTO ${table} (account_id, hour, channel, environment, status, api_key_id, messages, cost_minor)
         SELECT account_id, date_trunc('hour', created_at, 'UTC'), channel, environment, status, '', count(*), 0
         FROM messages WHERE seq % 2 = $1 GROUP BY 1, 2, 3, 4, 5`,
        [rest],
      );
    }
  });
  afterAll(async () => {
    await knex?.destroy();
    await sql?.close();
    await database?.drop();
  });

  const time = fc.oneof(
    fc.nat(COUNT - 1).map((index) => rows[index]?.createdAt ?? new Date(0)),
    fc.nat(80).map((hour) => new Date(START + hour * HOUR_MS)),
    fc.integer({ min: -HOUR_MS, max: 100 * HOUR_MS }).map((ms) => new Date(START + ms)),
  );
  const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });
  const filter: fc.Arbitrary<MessageFilter> = fc.record({
    status: maybe(fc.constantFrom(...MESSAGE_STATUSES)),
    environment: maybe(fc.constantFrom(...ENVIRONMENTS)),
    to: maybe(fc.constantFrom('+256700000001', '+256700000009')),
    from: maybe(time),
    until: maybe(time),
  });
  const request = fc.record({
    page: fc.integer({ min: 1, max: 40 }),
    limit: fc.integer({ min: 1, max: 100 }),
  });

  const compare = async (kept: readonly Row[], numRuns: number) => {
    const store = new PgMessageStore(new Sql(knex));
    await fc.assert(
      fc.asyncProperty(filter, request, async (wanted, { page, limit }) => {
        const fits = kept
          .filter((row) => wanted.status === undefined || row.status === wanted.status)
          .filter((row) => wanted.environment === undefined || row.environment === wanted.environment)
          .filter((row) => wanted.to === undefined || row.address === wanted.to)
          .filter((row) => !wanted.from || row.createdAt >= wanted.from)
          .filter((row) => !wanted.until || row.createdAt <= wanted.until)
          .map((row) => row.id)
          .reverse();
        const found = await store.history(accountId, 'sms', wanted, { page, limit });
        expect({ total: found.total, ids: found.rows.map((row) => row.id) }).toEqual({
          total: fits.length,
          ids: fits.slice((page - 1) * limit, page * limit),
        });
      }),
      { numRuns },
    );
  };

  it('gives the same page and total, whatever the filter', () => compare(rows, 400));

  it('does so once the oldest messages are gone, whose counts stay', async () => {
    const GONE = 333;
    await sql.query('DELETE FROM messages WHERE seq <= $1', [GONE]);
    await sql.query(
      `INSERT INTO message_retention (account_id, channel, erased_seq, removed_seq) VALUES ($1, 'sms', $2, $2)`,
      [accountId, GONE],
    );
    await compare(rows.slice(GONE), 400);
    await sql.query('DELETE FROM messages');
    await sql.query('UPDATE message_retention SET erased_seq = $1, removed_seq = $1', [COUNT]);
    await compare([], 50);
  });
});
