import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { DomainError } from '../../src/domain/errors.ts';
import type { PreparedMessage } from '../../src/domain/messages/message.ts';
import type { Intake, SendAnswer } from '../../src/domain/ports/intake.ts';
import { PgIntake } from '../../src/storage/intake/intake.ts';
import { CLOCK_TOLERANCE_MS } from '../../src/storage/postgres/database-clock.ts';
import { createKnex, Sql } from '../../src/storage/postgres/sql.ts';
import { silentLogger } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { preparedMessage as prepared } from '../support/prepared-message.ts';
import { checkLedger, openSql, type TestSql } from '../support/sql.ts';

const COST = 35;
const DAY_MS = 86_400_000;
let gateway: TestGateway;
let sql: TestSql;
beforeAll(async () => {
  gateway = await startTestGateway({ ROLES: 'api' });
  sql = await openSql(gateway.database);
});
afterAll(async () => {
  await sql.close();
  await gateway.stop();
});
const opened: { destroy(): Promise<unknown> }[] = [];
afterEach(async () => {
  for (const knex of opened.splice(0)) await knex.destroy();
});

/** Creates an intake as a separate process has it. Also returns the names of the statements that it sends. */
function startIntake() {
  const statements: string[] = [];
  const knex = createKnex(gateway.database.connection, silentLogger);
  opened.push(knex);
  const seen = new Sql(knex);
  const transaction = seen.transaction.bind(seen);
  seen.transaction = (work) =>
    transaction((inside, connection) => {
      for (const name of ['query', 'send'] as const) {
        const run = inside[name].bind(inside);
        inside[name] = ((prepared, values) => {
          statements.push(prepared.name);
          return run(prepared, values);
        }) as typeof inside.query;
      }
      return work(inside, connection);
    });
  const intake = new PgIntake(seen, (own) => gateway.parts.queue.sinkFor(own), {
    maxBatchRecipients: 1_000,
    maxWaitingRecipients: 10_000,
  });
  return { intake, statements };
}

const keyed = (accountId: string, key: string) => prepared(accountId, { idempotency: { route: 'sms', key } });
type Outcome =
  | ({ readonly kind: 'accepted' | 'replayed' } & SendAnswer & { readonly seq?: number })
  | { readonly kind: 'insufficient' };
/** Accepts a message. If the balance is too low, returns that refusal as a value. */
async function accept(intake: Intake, message: PreparedMessage): Promise<Outcome> {
  try {
    const answer = await intake.accept(message);
    return { kind: answer.isReplay ? 'replayed' : 'accepted', ...answer };
  } catch (error) {
    if (error instanceof DomainError && error.code === 'insufficient_balance')
      return { kind: 'insufficient' };
    throw error;
  }
}
const kinds = (answers: readonly Outcome[]) => answers.map(({ kind }) => kind);
const stored = (accountId: string) =>
  sql.query(
    `SELECT id, seq::int AS seq, created_at FROM messages WHERE account_id = $1 AND channel = 'sms' ORDER BY seq`,
    [accountId],
  );

describe('accepting a batch of messages in PostgreSQL (R17, R20)', () => {
  it('takes one round trip when all of it can be accepted', async () => {
    const { accountId } = await gateway.createAccount(COST * 20);
    const { intake, statements } = startIntake();
    const answers = await Promise.all(Array.from({ length: 20 }, () => accept(intake, prepared(accountId))));
    expect(kinds(answers)).toEqual(Array(20).fill('accepted'));
    expect(new Set(statements)).toEqual(new Set(['intake-write']));
    const rows = await stored(accountId);
    expect(rows.map(({ seq }) => seq)).toEqual(Array.from({ length: 20 }, (_, index) => index + 1));
    // Rows must be inserted in the order of `seq`. In another order, the pages of an index that grows at its end would
    // stay half empty.
    const laid = await sql.query('SELECT id FROM messages WHERE account_id = $1 ORDER BY ctid', [accountId]);
    expect(laid.map(({ id }) => id)).toEqual(rows.map(({ id }) => id));
    const entries = await sql.query(
      `SELECT message_id FROM ledger_entries WHERE account_id = $1 AND kind = 'charge' ORDER BY ctid`,
      [accountId],
    );
    expect(entries.map(({ message_id }) => message_id)).toEqual(rows.map(({ id }) => id));
    // The answers have the ids and numbers of the stored rows.
    expect(answers.map((answer) => answer.kind === 'accepted' && [answer.messageId, answer.seq])).toEqual(
      rows.map(({ id, seq }) => [id, seq]),
    );
    await checkLedger(sql, accountId);
  });

  it('gives each caller its own result, in any order', async () => {
    const accounts = await Promise.all([1, 2].map(() => gateway.createAccount(COST * 100)));
    const { intake, statements } = startIntake();
    const batch = Array.from({ length: 24 }, (_, index) => {
      const accountId = (accounts[index % 2] as (typeof accounts)[number]).accountId;
      const recipients = Array.from({ length: (index % 3) + 1 }, (_, position) => {
        return {
          address: `+25670000${index + 10}${position}`,
          costMinor: COST,
          routeKey: '*',
          heldUntil: null,
        };
      });
      return prepared(accountId, {
        environment: index % 5 === 0 ? 'sandbox' : 'production',
        costMinor: index % 5 === 0 ? 0 : COST * recipients.length,
        channel: index % 7 === 0 ? 'push' : 'sms',
        payload: index % 7 === 0 ? { userIds: [], deviceIds: ['d1'] } : null,
        apiKeyId: index % 4 === 0 ? null : `key-${index % 4}`,
        userId: index % 4 === 0 ? randomUUID() : null,
        scheduledFor: index % 6 === 0 ? new Date(Date.now() + DAY_MS) : null,
        recipients,
        idempotency: index % 2 === 0 ? null : { route: 'sms', key: `mixed ${index}` },
      });
    });
    expect(kinds(await Promise.all(batch.map((each) => accept(intake, each))))).toEqual(
      Array(24).fill('accepted'),
    );
    expect(statements.filter((name) => name === 'intake-write')).toHaveLength(1);
    const rows = await sql.query(
      `SELECT m.id, m.account_id, m.environment, m.channel, m.currency, m.api_key_id, m.user_id,
         (SELECT array_agg(concat_ws(' ', r.account_id, r.address, r.status, r.claimed, r.sent_at = m.created_at)
            ORDER BY position) FROM recipients r WHERE r.message_id = m.id) AS recipients,
         (SELECT array_agg(concat_ws(' ', l.account_id, l.amount_minor)) FROM ledger_entries l
            WHERE l.message_id = m.id) AS entries,
         (SELECT array_agg(concat_ws(' ', i.account_id, i.environment, i.key, i.status_code, i.body::jsonb ->> 'id'))
            FROM idempotency_records i WHERE i.message_id = m.id) AS answers
       FROM messages m WHERE account_id = ANY($1)`,
      [accounts.map(({ accountId }) => accountId)],
    );
    const found = new Map(rows.map((row) => [row.id, row]));
    for (const each of batch) {
      const { id, accountId, environment, scheduledFor, costMinor, idempotency } = each;
      const state = environment === 'sandbox' ? 'sent' : 'pending';
      const sentAt = environment === 'sandbox' ? ' t' : '';
      expect(found.get(id)).toMatchObject({
        account_id: accountId,
        environment,
        channel: each.channel,
        currency: each.currency,
        api_key_id: each.apiKeyId,
        user_id: each.userId,
        recipients: each.recipients.map(
          ({ address }) => `${accountId} ${address} ${state} ${scheduledFor ? 'f' : 't'}${sentAt}`,
        ),
        entries: costMinor > 0 ? [`${accountId} -${costMinor}`] : null,
        answers: idempotency ? [`${accountId} ${environment} ${idempotency.key} 200 ${id}`] : null,
      });
    }
    for (const { accountId } of accounts) await checkLedger(sql, accountId);
  });

  it('goes message by message for a while after a refusal, then takes one round trip again', async () => {
    const { accountId } = await gateway.createAccount(COST);
    const { intake, statements } = startIntake();
    const both = await Promise.all([
      accept(intake, prepared(accountId)),
      accept(intake, prepared(accountId)),
    ]);
    expect(kinds(both)).toEqual(['accepted', 'insufficient']);
    expect(await stored(accountId)).toHaveLength(1);
    expect(statements).toEqual(['intake-write', 'intake-lock', 'intake-write']);
    const free = () =>
      accept(
        intake,
        prepared(accountId, { environment: 'sandbox', costMinor: 0, unitPriceMinor: 0, recipients: [] }),
      );
    statements.length = 0;
    for (let sent = 0; sent < 9; sent += 1) expect((await free()).kind).toBe('accepted');
    expect(statements).toEqual([...Array(8).fill(['intake-lock', 'intake-write']).flat(), 'intake-write']);
    expect((await stored(accountId)).map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    await checkLedger(sql, accountId);
  });

  it('a message that PostgreSQL refuses fails alone, and so does one that the balance does not cover', async () => {
    const { accountId } = await gateway.createAccount(COST * 3);
    const { intake } = startIntake();
    const results = await Promise.allSettled(
      ['Hello', 'with a \0 in it', 'Hello', 'Hello', 'Hello'].map((content) =>
        accept(intake, prepared(accountId, { content })),
      ),
    );
    expect(
      results.map((result) => (result.status === 'fulfilled' ? result.value.kind : result.status)),
    ).toEqual(['accepted', 'rejected', 'accepted', 'accepted', 'insufficient']);
    expect((await stored(accountId)).map(({ seq }) => seq)).toEqual([1, 2, 3]);
    await checkLedger(sql, accountId);
  });

  it('two processes accept messages of one account, and an idempotency key that both got only once (R19)', async () => {
    const { accountId } = await gateway.createAccount(COST * 1_000);
    const processes = [startIntake(), startIntake()];
    const keys = Array.from({ length: 200 }, (_, index) => `key ${index}`);
    const answers = await Promise.all(
      keys.flatMap((key) =>
        processes.map(async ({ intake }) => {
          const answer = await accept(intake, keyed(accountId, key));
          if (answer.kind === 'insufficient') throw new Error('there is money for all');
          return { key, kind: answer.kind, body: answer.body };
        }),
      ),
    );
    for (const key of keys) {
      const own = answers.filter((answer) => answer.key === key);
      expect(own.map(({ kind }) => kind).sort()).toEqual(['accepted', 'replayed']);
      expect(new Set(own.map(({ body }) => body)).size).toBe(1);
    }
    const rows = await stored(accountId);
    expect(rows.map(({ seq }) => seq)).toEqual(keys.map((_, index) => index + 1));
    const times = rows.map(({ created_at }) => created_at.getTime());
    expect(times).toEqual([...times].sort((left, right) => left - right));
    await checkLedger(sql, accountId);
  });

  /**
   * Makes `intake` notice that another process also accepts messages for the account. To do so, another intake accepts
   * a message between two of its batches.
   */
  async function share(intake: PgIntake, accountId: string): Promise<void> {
    const other = startIntake().intake;
    for (const process of [intake, other, intake]) await accept(process, prepared(accountId));
  }
  /** Locks an account, as another process does that accepts messages. Returns a function that unlocks it. */
  async function holdAccount(accountId: string): Promise<() => Promise<void>> {
    const other = await openSql(gateway.database);
    await other.query('BEGIN');
    await other.query('SELECT FROM accounts WHERE id = $1 FOR NO KEY UPDATE', [accountId]);
    return () => other.close();
  }

  it('when two processes share an account, messages that arrive while a batch waits for its lock join the batch', async () => {
    const { accountId } = await gateway.createAccount(COST * 100);
    const { intake, statements } = startIntake();
    await share(intake, accountId);
    statements.length = 0;
    const { accountId: another } = await gateway.createAccount(COST);
    const letGo = await holdAccount(accountId);
    const first = [1, 2].map(() => accept(intake, prepared(accountId)));
    await eventually(() => statements.includes('intake-lock'));
    const later = [
      accept(intake, prepared(another)),
      ...[1, 2, 3].map(() => accept(intake, prepared(accountId))),
    ];
    await letGo();
    expect(kinds(await Promise.all([...first, ...later]))).toEqual(Array(6).fill('accepted'));
    const rows = await stored(accountId);
    expect(rows.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    // One transaction wrote all five messages of the account. Another transaction wrote the message of the other
    // account.
    expect(new Set(rows.slice(3).map(({ created_at }) => created_at.getTime())).size).toBe(1);
    expect(statements.filter((name) => name === 'intake-write')).toHaveLength(2);
    await checkLedger(sql, accountId);
    await checkLedger(sql, another);
  });

  it('a message that joined is refused alone when the balance does not cover it, and a repeat that joined is answered', async () => {
    const { accountId } = await gateway.createAccount(COST * 7);
    const { intake, statements } = startIntake();
    await share(intake, accountId);
    statements.length = 0;
    const earlier = await accept(intake, keyed(accountId, 'along'));
    // A message that comes alone is written without locking the account first.
    expect(statements).toEqual(['intake-write']);
    statements.length = 0;
    const letGo = await holdAccount(accountId);
    const first = [1, 2].map(() => accept(intake, prepared(accountId)));
    await eventually(() => statements.includes('intake-lock'));
    const later = [keyed(accountId, 'along'), prepared(accountId), prepared(accountId)].map((each) =>
      accept(intake, each),
    );
    await letGo();
    const answers = await Promise.all([...first, ...later]);
    expect(kinds(answers)).toEqual(['accepted', 'accepted', 'replayed', 'accepted', 'insufficient']);
    expect(answers[2]).toMatchObject(
      earlier.kind === 'accepted' ? { body: earlier.body, messageId: earlier.messageId } : {},
    );
    expect(earlier.kind).toBe('accepted');
    await checkLedger(sql, accountId);
  });

  it('the process does not mistake its own messages for those of another process', async () => {
    const { accountId } = await gateway.createAccount(COST * 100);
    const { accountId: another } = await gateway.createAccount(COST * 100);
    const { intake, statements } = startIntake();
    const send = (...batch: readonly ReturnType<typeof prepared>[]) =>
      Promise.all(batch.map((each) => accept(intake, each)));
    const own = () => [prepared(accountId), prepared(accountId)];
    await send(...own());
    // Send them in one batch with another account's message, before and after it.
    await send(...own(), prepared(another));
    await send(prepared(another), ...own());
    statements.length = 0;
    // The process must not take its own messages for another's. Otherwise the first batch would see a gap in `seq`, and
    // the second would lock the account first.
    await send(...own());
    await send(...own());
    expect(statements).toEqual(['intake-write', 'intake-write']);
    // These messages are decided one by one, as in every batch after a replay.
    await send(keyed(accountId, 'again'));
    expect(kinds(await send(keyed(accountId, 'again'), ...own()))).toEqual([
      'replayed',
      'accepted',
      'accepted',
    ]);
    for (let batch = 0; batch < 10 && statements.at(-2) !== 'intake-write'; batch += 1) await send(...own());
    statements.length = 0;
    await send(...own());
    await send(...own());
    expect(statements).toEqual(['intake-write', 'intake-write']);
    await checkLedger(sql, accountId);
  });

  it('many accounts in two processes do not deadlock', async () => {
    const accounts = await Promise.all(Array.from({ length: 6 }, () => gateway.createAccount(COST * 100)));
    const orders = [accounts, accounts.toReversed()];
    for (let round = 0; round < 10; round += 1) {
      const answers = await Promise.all(
        [startIntake(), startIntake()].flatMap(({ intake }, process) =>
          (orders[process] ?? []).map(({ accountId }) => accept(intake, prepared(accountId))),
        ),
      );
      expect(kinds(answers)).toEqual(Array(12).fill('accepted'));
    }
    for (const { accountId } of accounts) {
      expect((await stored(accountId)).map(({ seq }) => seq)).toEqual(
        Array.from({ length: 20 }, (_, index) => index + 1),
      );
      await checkLedger(sql, accountId);
    }
  });

  it('accounts are locked in the order of their ids, in any batch', async () => {
    const accounts = await Promise.all([1, 2, 3].map(() => gateway.createAccount(COST)));
    const ids = accounts.map(({ accountId }) => accountId).sort();
    const holder = await openSql(gateway.database);
    await holder.query('BEGIN');
    await holder.query('SELECT FROM accounts WHERE id = $1 FOR UPDATE', [ids[0]]);
    const { intake } = startIntake();
    const answers = Promise.all(ids.toReversed().map((id) => accept(intake, prepared(id))));
    const waits = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
    await eventually(async () => (await sql.query(waits)).length === 1);
    await sql.query('SELECT FROM accounts WHERE id = ANY($1) FOR UPDATE NOWAIT', [ids.slice(1)]);
    await holder.query('COMMIT');
    await holder.close();
    expect(kinds(await answers)).toEqual(Array(3).fill('accepted'));
  });

  it("a clock that is behind continues from the account's last time, in the stored answer too (R20)", async () => {
    const { accountId } = await gateway.createAccount(COST * 10);
    const { intake } = startIntake();
    const ahead = new Date(Date.now() + 3_000);
    await sql.query('UPDATE accounts SET last_accepted_at = $2 WHERE id = $1', [accountId, ahead]);
    const content = `🚀 "createdAt":"2020-01-01T00:00:00.000Z" \\"createdAt":"`;
    const claim = { route: 'sms', key: 'behind' };
    const answer = await accept(intake, prepared(accountId, { content, idempotency: claim }));
    if (answer.kind !== 'accepted') throw new Error(answer.kind);
    expect(JSON.parse(answer.body)).toMatchObject({ content, createdAt: ahead.toISOString() });
    const again = await startIntake().intake.replay(accountId, 'production', claim);
    expect(again?.body).toBe(answer.body);
    expect((await stored(accountId)).map(({ created_at }) => created_at)).toEqual([ahead]);
  });

  it('a clock that is ahead accepts no message later than PostgreSQL allows, nor any after it (ADR-0021) (ADR-0021)', async () => {
    const { accountId } = await gateway.createAccount(COST * 10);
    const { intake } = startIntake();
    const claim = { route: 'sms', key: 'ahead' };
    const createdAt = new Date(Date.now() + 25 * 3_600_000);
    const answer = await accept(intake, prepared(accountId, { createdAt, idempotency: claim }));
    expect((await accept(intake, prepared(accountId))).kind).toBe('accepted');
    if (answer.kind !== 'accepted') throw new Error(answer.kind);
    const latest = Date.now() + CLOCK_TOLERANCE_MS;
    for (const { created_at } of await stored(accountId))
      expect(created_at.getTime()).toBeLessThanOrEqual(latest);
    // The first answer and its replay contain the stored time.
    expect(new Date(JSON.parse(answer.body).createdAt)).toEqual((await stored(accountId))[0]?.created_at);
    expect((await intake.replay(accountId, 'production', claim))?.body).toBe(answer.body);
  });

  it('a clock that is behind dates no message earlier than PostgreSQL allows (R260)', async () => {
    const { accountId } = await gateway.createAccount(COST * 10);
    const { intake } = startIntake();
    const earliest = Date.now() - CLOCK_TOLERANCE_MS;
    const createdAt = new Date(Date.now() - 25 * 3_600_000);
    const answer = await accept(intake, prepared(accountId, { createdAt }));
    if (answer.kind !== 'accepted') throw new Error(answer.kind);
    const [row] = await stored(accountId);
    expect(row?.created_at.getTime()).toBeGreaterThanOrEqual(earliest);
    expect(new Date(JSON.parse(answer.body).createdAt)).toEqual(row?.created_at);
  });

  it('sets messages back that a clock dated in the future, in every list and count (R260)', async () => {
    const { accountId } = await gateway.createAccount(COST * 20);
    const { intake } = startIntake();
    for (let time = 0; time < 3; time += 1) await accept(intake, prepared(accountId));
    await accept(
      intake,
      prepared(accountId, { channel: 'push', payload: { userIds: [], deviceIds: ['d1'] } }),
    );
    // Store times as a database would have that ran 25 h ahead. This concerns the last two SMS and the push message.
    const ahead = `(SELECT id FROM messages WHERE account_id = $1 AND (seq > 1 OR channel = 'push'))`;
    for (const change of [
      `UPDATE messages SET created_at = created_at + interval '25 hours' WHERE id IN ${ahead}`,
      `UPDATE usage_deltas SET hour = hour + interval '25 hours' WHERE account_id = $1 AND (bitmap <> 1 OR channel = 'push')`,
      `UPDATE accounts SET last_accepted_at = last_accepted_at + interval '25 hours' WHERE id = $1`,
    ])
      await sql.query(change, [accountId]);

    const answers = await Promise.all([1, 2].map(() => accept(startIntake().intake, prepared(accountId))));
    expect(kinds(answers)).toEqual(['accepted', 'accepted']);
    expect((await accept(intake, prepared(accountId))).kind).toBe('accepted');

    const rows = await stored(accountId);
    expect(rows.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6]);
    const times = rows.map(({ created_at }) => created_at.getTime());
    expect(times).toEqual(times.toSorted((left, right) => left - right));
    const [late] = await sql.query(
      `SELECT count(*)::int AS count FROM messages WHERE account_id = $1
         AND created_at > now() + interval '${CLOCK_TOLERANCE_MS} milliseconds'`,
      [accountId],
    );
    expect(late.count).toBe(0);
    const counted = await sql.query(
      `SELECT channel, hour, sum(messages)::int AS messages, sum(cost_minor)::int AS cost FROM (
         SELECT channel, hour, messages, cost_minor FROM usage_deltas WHERE account_id = $1
         UNION ALL SELECT channel, hour, messages, cost_minor FROM usage_hours WHERE account_id = $1) u
       GROUP BY 1, 2 HAVING sum(messages) <> 0 ORDER BY 1, 2`,
      [accountId],
    );
    const there = await sql.query(
      `SELECT channel, date_trunc('hour', created_at, 'UTC') AS hour, count(*)::int AS messages, sum(cost_minor)::int AS cost
       FROM messages WHERE account_id = $1 GROUP BY 1, 2 ORDER BY 1, 2`,
      [accountId],
    );
    expect(counted).toEqual(there);
    await checkLedger(sql, accountId);
  });

  it("an idempotency key used an hour ago stays used, whatever the process's clock says (ADR-0021) (ADR-0021)", async () => {
    const { accountId } = await gateway.createAccount(COST * 10);
    const claim = { route: 'sms', key: 'fresh' };
    const first = await accept(startIntake().intake, prepared(accountId, { idempotency: claim }));
    if (first.kind !== 'accepted') throw new Error(first.kind);
    for (const hours of [25, -25]) {
      const createdAt = new Date(Date.now() + hours * 3_600_000);
      const again = await accept(
        startIntake().intake,
        prepared(accountId, { createdAt, idempotency: claim }),
      );
      expect(again).toMatchObject({ kind: 'replayed', messageId: first.messageId, body: first.body });
    }
    expect(await stored(accountId)).toHaveLength(1);
  });

  it('the answers of a batch are stored exactly as they were given, for any text', async () => {
    const { accountId } = await gateway.createAccount(COST * 10);
    const { intake, statements } = startIntake();
    const contents = ['plain', 'a\u001eb', '\u001e', 'say "hi"\\ \n\u2028 🚀', '{"a":[null,{}]}'];
    const claims = contents.map((_, index) => ({ route: 'sms', key: `letters ${index}` }));
    const answers = await Promise.all(
      contents.map((content, index) =>
        accept(intake, prepared(accountId, { content, idempotency: claims[index] ?? null })),
      ),
    );
    expect(statements.filter((name) => name === 'intake-write')).toHaveLength(1);
    for (const [index, answer] of answers.entries()) {
      if (answer.kind !== 'accepted') throw new Error(answer.kind);
      expect(JSON.parse(answer.body).content).toBe(contents[index]);
      const again = await intake.replay(accountId, 'production', claims[index]!);
      expect(again?.body).toBe(answer.body);
    }
  });

  it("another process's stored answer is returned only when it is on the disk (ADR-0017) (ADR-0017)", async () => {
    const { accountId } = await gateway.createAccount(COST * 10);
    const { database } = gateway.database.connection;
    // The tests' server is configured not to wait for the disk. Change that here.
    await sql.query(`ALTER DATABASE ${database} SET synchronous_commit = on`);
    const { intake } = startIntake();
    for (const key of ['a', 'b', 'c', 'd', 'e']) {
      const claim = { route: 'sms', key };
      await accept(intake, prepared(accountId, { idempotency: claim }));
      // Write the record again in a transaction that does not wait for the disk.
      await sql.query('UPDATE idempotency_records SET body = body WHERE account_id = $1 AND key = $2', [
        accountId,
        key,
      ]);
      const [before] = await sql.query('SELECT pg_current_wal_insert_lsn() AS lsn');
      expect(await intake.replay(accountId, 'production', claim)).toBeDefined();
      const [after] = await sql.query('SELECT pg_current_wal_flush_lsn() >= $1::pg_lsn AS "isOnDisk"', [
        before?.lsn,
      ]);
      expect(after).toEqual({ isOnDisk: true });
    }
    await sql.query(`ALTER DATABASE ${database} RESET synchronous_commit`);
  });

  it('an idempotency key can be used again when its answer has expired', async () => {
    const { accountId } = await gateway.createAccount(COST * 10);
    const { intake, statements } = startIntake();
    const claim = { route: 'sms', key: 'old' };
    await accept(intake, prepared(accountId, { idempotency: claim }));
    await sql.query('UPDATE idempotency_records SET expires_at = now() WHERE account_id = $1', [accountId]);
    const answer = await accept(intake, prepared(accountId, { idempotency: claim }));
    expect(answer.kind).toBe('accepted');
    expect(statements).toEqual(['intake-write', 'intake-write']);
    expect((await accept(intake, prepared(accountId, { idempotency: claim }))).kind).toBe('replayed');
  });
});
