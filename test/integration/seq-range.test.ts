import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Knex } from 'knex';
import { seqRange } from '../../src/storage/message-index/seq-range.ts';
import { createKnex, Sql } from '../../src/storage/postgres/sql.ts';
import { createTestDatabase, silentLogger, type TestDatabase } from '../support/database.ts';
import { openSql, type TestSql } from '../support/sql.ts';

const START = Date.parse('2026-03-01T00:00:00Z');
const DAY_MS = 24 * 3_600_000;

/** `count` messages, one each `everyMs`. Each of them is later by its entry in `jitter`, in ms. */
interface Stretch {
  readonly count: number;
  readonly everyMs: number;
  readonly jitter: readonly number[];
}

describe('the range of message numbers in a span of time (R20)', () => {
  let database: TestDatabase;
  let sql: TestSql;
  let knex: Knex;
  beforeAll(async () => {
    database = await createTestDatabase();
    sql = await openSql(database);
    knex = createKnex(database.connection, silentLogger, { poolSize: 1 });
  });
  afterAll(async () => {
    await knex?.destroy();
    await sql?.close();
    await database?.drop();
  });

  /** Creates an account with messages of these times, and deletes the first `removed` of them. */
  const accountWith = async (times: readonly number[], removed: number): Promise<string> => {
    const id = randomUUID();
    await sql.query(
      `INSERT INTO accounts (id, name, email, currency, created_at, sms_seq)
       VALUES ($1, 'a', $3, 'UGX', now(), $2)`,
      [id, times.length, `${id}@example.com`],
    );
    await sql.query(
      `INSERT INTO messages (id, account_id, seq, cost_minor, unit_price_minor, created_at, expires_at, channel,
         environment, currency, sender, content)
       SELECT gen_random_uuid(), $1, seq, 30, 30, at, at, 'sms', 'production', 'UGX', 'SERVICE', 'Hello'
       FROM unnest($2::timestamptz[]) WITH ORDINALITY AS n (at, seq) WHERE seq > $3`,
      [id, times.map((time) => new Date(time)), removed],
    );
    if (removed > 0) {
      await sql.query(
        `INSERT INTO message_retention (account_id, channel, erased_seq, removed_seq) VALUES ($1, 'sms', $2, $2)`,
        [id, removed],
      );
    }
    return id;
  };

  const stretch: fc.Arbitrary<Stretch> = fc.record({
    count: fc.oneof(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1, max: 2_000 })),
    everyMs: fc.constantFrom(0, 1, 40, 7_000, DAY_MS),
    jitter: fc.array(fc.nat(50_000), { minLength: 1, maxLength: 7 }),
  });
  const history = fc.array(stretch, { maxLength: 5 }).map((stretches) => {
    let at = START;
    return stretches.flatMap(({ count, everyMs, jitter }) =>
      Array.from({ length: count }, (_, index) => {
        at += everyMs === 0 ? 0 : everyMs + (jitter[index % jitter.length] ?? 0);
        return at;
      }),
    );
  });
  const share = fc.oneof(
    fc.constantFrom(0, 1),
    fc.nat(10_000).map((part) => part / 10_000),
  );
  /** An end of a range. It is the time of a message (as a fraction of the list) plus some ms, or any time. */
  const end = fc.option(
    fc.oneof(
      {
        weight: 3,
        arbitrary: fc.tuple(share, fc.constantFrom(-1, 0, 1, 500)),
      },
      fc.tuple(fc.constantFrom(0, 1), fc.constantFrom(-10_000 * DAY_MS, 10_000 * DAY_MS)),
    ),
    { nil: undefined, freq: 4 },
  );

  it('equals a scan of all messages, however unevenly they were sent and whatever was deleted', async () => {
    await fc.assert(
      fc.asyncProperty(
        history,
        share,
        fc.array(fc.tuple(end, end), { minLength: 30, maxLength: 30 }),
        async (times, gone, spans) => {
          const removed = Math.floor(times.length * gone);
          const id = await accountWith(times, removed);
          const timeOf = (at: readonly [number, number] | undefined) =>
            at && new Date((times[Math.floor(at[0] * (times.length - 1))] ?? START) + at[1]);
          const lastBefore = (time: number) => Math.max(removed, times.findLastIndex((at) => at < time) + 1);
          for (const [first, last] of spans) {
            const [from, until] = [timeOf(first), timeOf(last)];
            const above = from === undefined ? removed : lastBefore(from.getTime());
            const upTo = until === undefined ? times.length : lastBefore(until.getTime() + 1);
            expect({ from, until, ...(await seqRange(new Sql(knex), id, 'sms', { from, until })) }).toEqual({
              from,
              until,
              above,
              upTo: Math.max(above, upTo),
            });
          }
          expect(await seqRange(new Sql(knex), id, 'email', { from: new Date(START) })).toEqual({
            above: 0,
            upTo: 0,
          });
        },
      ),
      { numRuns: 60 },
    );
  });
});
