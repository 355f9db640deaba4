import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { AnalyticsInput } from '../../src/domain/analytics/analytics-operations.ts';
import { latencyBucket, percentileMs } from '../../src/domain/analytics/latency.ts';
import type { MemberCaller } from '../../src/domain/caller.ts';
import { settleRefunds, transitionRecipients } from '../../src/domain/messages/transition-recipients.ts';
import type { Tx } from '../../src/domain/ports/stores.ts';
import { FOLD } from '../../src/storage/analytics/index.ts';
import { Retention } from '../../src/workers/retention/retention.ts';
import { eventually } from '../support/eventually.ts';
import { foldAnalytics } from '../support/fold-analytics.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { codesOf, graphql, signIn } from '../support/graphql.ts';
import { openSql, type TestSql } from '../support/sql.ts';
import { machineIds } from '../support/system.ts';
import { withUnitOfWork } from '../support/unit-of-work.ts';

const SYSTEM = { kind: 'system', name: 'test' } as const;
const DAY_MS = 24 * 3_600_000;
const ALL: AnalyticsInput = {
  from: new Date('2026-01-01T00:00:00Z'),
  to: new Date('2026-03-01T00:00:00Z'),
  timeZone: 'UTC',
  interval: undefined,
  groupBy: [],
  environment: undefined,
  orderBy: 'time',
  limit: 10_000,
  fillGaps: false,
  comparesWithPrevious: false,
};

describe('analytics', () => {
  let gateway: TestGateway;
  let sql: TestSql;
  beforeAll(async () => {
    gateway = await startTestGateway();
    sql = await openSql(gateway.database);
  });
  afterAll(async () => {
    await sql?.close();
    await gateway?.stop();
  });

  const fold = () => foldAnalytics(gateway, sql);
  const inTransaction = <T>(work: (tx: Tx) => Promise<T>) => withUnitOfWork(gateway, (uow) => uow.run(work));
  const callerOf = ({ accountId }: Pick<TestAccount, 'accountId'>): MemberCaller => {
    return { kind: 'member', accountId, userId: accountId, role: 'VIEWER' };
  };
  const query = (account: Pick<TestAccount, 'accountId'>, input: Partial<AnalyticsInput>) =>
    gateway.parts.operations.analytics.query.run(callerOf(account), { ...ALL, ...input });

  /** Returns the figures of each quarter hour, counted from the messages themselves. */
  const recount = async (accountId: string): Promise<string[]> => {
    const rows = await sql.query(
      `SELECT m.id, m.created_at, m.channel, m.environment, m.api_key_id, m.sender, r.status, r.address, r.provider,
         r.error_code, r.cost_minor, l.amount_minor AS refund
       FROM messages m JOIN recipients r ON r.message_id = m.id
       LEFT JOIN ledger_entries l ON l.message_id = m.id AND l.position = r.position AND l.kind = 'refund'
       WHERE m.account_id = $1`,
      [accountId],
    );
    const sums = new Map<string, number[]>();
    const add = (parts: unknown[], figures: number[]) => {
      const key = parts.map((part) => part ?? '').join('|');
      sums.set(
        key,
        figures.map((figure, index) => figure + (sums.get(key)?.[index] ?? 0)),
      );
    };
    for (const own of Map.groupBy(rows, (row) => row.id).values()) {
      const statuses = own.map(({ status }) => status);
      const status = ['pending', 'sent', 'delivered', 'failed'].find((each) => statuses.includes(each));
      for (const [index, row] of own.entries()) {
        const quarter = 15 * 60_000;
        const slot = new Date(Math.floor(row.created_at.getTime() / quarter) * quarter).toISOString();
        const both = [slot, row.channel, row.environment, row.api_key_id, row.sender];
        const prefix = ['sms', 'whatsapp'].includes(row.channel) ? row.address.slice(0, 5) : '';
        const figures = [0, 1, Number(row.cost_minor), Number(row.refund ?? 0)];
        add([...both, row.status, prefix, row.provider, row.error_code], figures);
        if (index === 0) add([...both, status, '', '', ''], [1, 0, 0, 0]);
      }
    }
    return [...sums].map(([key, figures]) => `${key} ${figures.join()}`).sort();
  };
  const counted = async (accountId: string, minutes = 15): Promise<string[]> => {
    const rows = await sql.query(
      `SELECT * FROM analytics_slots WHERE account_id = $1 AND minutes = $2
         AND (messages, recipients, cost_minor, refund_minor) <> (0, 0, 0, 0)`,
      [accountId, minutes],
    );
    return rows
      .map((row) => {
        const parts = [
          row.slot.toISOString(),
          row.channel,
          row.environment,
          row.api_key_id,
          row.sender,
          row.status,
        ];
        const key = [...parts, row.prefix, row.provider, row.error_code].join('|');
        return `${key} ${[row.messages, row.recipients, row.cost_minor, row.refund_minor].join()}`;
      })
      .sort();
  };
  /**
   * Waits until the stored figures equal a count of the tables. The gateway may be adding to the figures at the same
   * time.
   */
  const agrees = (accountId: string) =>
    eventually(async () => {
      await fold();
      return JSON.stringify(await counted(accountId)) === JSON.stringify(await recount(accountId));
    });

  /** Waits until no status will change any more. The simulator reports numbers that end with 0009 as delivered later. */
  const settled = (accountId: string) =>
    eventually(async () => {
      const [left] = await sql.query(
        `SELECT count(*) AS open FROM recipients WHERE account_id = $1
           AND (status = 'pending' OR status = 'sent' AND address LIKE '%0009' AND provider = 'simulator')`,
        [accountId],
      );
      return Number(left?.open) === 0;
    });

  it('equal a count of the tables after failures, late reports and refunds, and keep what retention deletes (R292)', async () => {
    const account = await gateway.createAccount();
    const { accountId } = account;
    const send = async (body: object, key = account.key) => {
      const answer = await gateway.call('POST', '/developers/sms', {
        key,
        body: { message: 'Hello', ...body },
      });
      expect(answer.status).toBe(200);
      return answer.body.id as string;
    };
    const numbers = ['+256701230009', '+256701230001', '+254712340009', '+14165550009', '+256771230004'];
    await Promise.all(numbers.map((to) => send({ to })));
    await send({ to: numbers.join() });
    await send({ to: '+256701230009,+256701230004' }, account.sandboxKey);
    await gateway.call('POST', '/developers/email', {
      key: account.key,
      body: { to: 'a@example.com,b@example.com', subject: 'Hi', message: 'Hello' },
    });
    await agrees(accountId);
    await settled(accountId);
    await agrees(accountId);

    // For both messages it is unknown whether the carrier accepted them. The first is reported as accepted later. The
    // second is refunded (R218).
    const inAnHour = new Date(Date.now() + 3_600_000).toISOString();
    const ids = [
      await send({ to: numbers[0], scheduledFor: inAnHour }),
      await send({ to: numbers[2], scheduledFor: inAnHour }),
    ];
    await fold();
    const move = (messageId: string) => ({
      messageId,
      position: 0,
      at: new Date(),
      provider: null,
      sids: [],
    });
    const error = { code: 'timeout', message: 'No answer' };
    await inTransaction((tx) => {
      const failures = ids.map(
        (id) => ({ ...move(id), from: 'pending', to: 'failed', error, possiblySent: true }) as const,
      );
      return transitionRecipients(tx, machineIds, ids, failures, new Date());
    });
    await agrees(accountId);
    const [accepted = ''] = ids;
    await inTransaction((tx) => {
      const late = {
        ...move(accepted),
        from: 'pending',
        to: 'sent',
        provider: 'late',
        sids: ['1'],
        error: null,
      } as const;
      return transitionRecipients(tx, machineIds, [accepted], [late], new Date());
    });
    await agrees(accountId);
    await sql.query('UPDATE deferred_refunds SET due_at = now() WHERE account_id = $1', [accountId]);
    const ended = new AbortController();
    const watch = await gateway.parts.live.watch(accountId, ['message'], ended.signal);
    expect(await inTransaction((tx) => settleRefunds(tx, 10, new Date()))).toBe(1);
    // The refund changes the balance, which live updates show.
    await eventually(() => watch.waiting === 1);
    ended.abort();
    await agrees(accountId);

    // A fold that is rolled back changes no figure.
    await send({ to: numbers[0] });
    await sql.query('BEGIN');
    await sql.query(FOLD.text);
    await sql.query('ROLLBACK');
    await agrees(accountId);
    await settled(accountId);
    await agrees(accountId);

    const before = await counted(accountId);
    for (const minutes of [60, 360, 1_440]) {
      const sumOf = (rows: string[]) =>
        rows.reduce((sum, row) => sum + Number(row.split(' ').at(-1)?.split(',')[1]), 0);
      expect(sumOf(await counted(accountId, minutes))).toBe(sumOf(before));
    }
    // The total must equal the sum of the ledger, including its last entry.
    const now = new Date();
    const [total] = await query(account, {
      from: new Date(now.getTime() - DAY_MS),
      to: new Date(now.getTime() + DAY_MS),
    });
    const [ledger] = await sql.query(
      `SELECT max(seq) AS seq, -sum(amount_minor) FILTER (WHERE kind IN ('charge', 'refund')) AS cost
       FROM ledger_entries WHERE account_id = $1`,
      [accountId],
    );
    expect(total).toMatchObject({ ledgerSeq: Number(ledger?.seq) });
    expect((total?.costMinor ?? 0) - (total?.refundMinor ?? 0)).toBe(Number(ledger?.cost));

    await gateway.parts.operations.accounts.setRetention.run(SYSTEM, {
      accountId,
      contentDays: 1,
      messageDays: 1,
    });
    await eventually(async () => {
      await withUnitOfWork(gateway, (uow, stores) =>
        new Retention(uow, stores, { now: () => new Date(Date.now() + 5 * DAY_MS) }).run(),
      );
      const [row] = await sql.query('SELECT count(*) AS kept FROM messages WHERE account_id = $1', [
        accountId,
      ]);
      return Number(row?.kept) === 0;
    });
    await fold();
    expect(await counted(accountId)).toEqual(before);
  });

  it('deletes no message before the figures contain it (R292)', async () => {
    const account = await gateway.createAccount();
    await gateway.call('POST', '/developers/sms', {
      key: account.key,
      body: { to: '+256701230001', message: 'Hello' },
    });
    await agrees(account.accountId);
    await sql.query('UPDATE analytics_marks SET sms_seq = 0, ledger_seq = NULL WHERE account_id = $1', [
      account.accountId,
    ]);
    const aged = await inTransaction((tx) =>
      tx.retention.aged(
        { accountId: account.accountId, channel: 'sms' },
        0,
        new Date(Date.now() + DAY_MS),
        10,
      ),
    );
    expect(aged).toEqual([]);
    // The figures were changed by this test itself. Delete them.
    await sql.query('DELETE FROM analytics_slots WHERE account_id = $1', [account.accountId]);
  });

  describe('by time', () => {
    let account: TestAccount;
    /** For each of `times`, the start of a quarter hour: counts one message with one recipient. */
    const count = async (...times: string[]) => {
      await sql.query(
        `INSERT INTO analytics_deltas (account_id, slot, channel, environment, api_key_id, sender, status, prefix,
           provider, error_code, messages, recipients, cost_minor, refund_minor)
         SELECT $1, at, 'sms', 'production', '', 'X', 'sent', '+2567', 'p', '', 1, 1, 10, 0 FROM unnest($2::timestamptz[]) at`,
        [account.accountId, times],
      );
      await eventually(async () => {
        await fold();
        const [row] = await sql.query('SELECT count(*) AS left FROM analytics_deltas WHERE account_id = $1', [
          account.accountId,
        ]);
        return Number(row?.left) === 0;
      });
    };
    beforeAll(async () => {
      account = await gateway.createAccount();
    });
    const shown = async (input: Partial<AnalyticsInput>) =>
      (await query(account, input)).map(({ at, messages }) => `${at.toISOString()} ${messages}`);

    it('begin days of half-hour zones at their midnight (R293)', async () => {
      await count(
        '2026-01-10T18:15:00Z',
        '2026-01-10T18:30:00Z',
        '2026-01-11T18:15:00Z',
        '2026-01-11T18:30:00Z',
      );
      const days = {
        interval: 'day',
        from: new Date('2026-01-09T18:30:00Z'),
        to: new Date('2026-01-12T18:30:00Z'),
      } as const;
      expect(await shown({ ...days, timeZone: 'Asia/Kolkata' })).toEqual([
        '2026-01-09T18:30:00.000Z 1',
        '2026-01-10T18:30:00.000Z 2',
        '2026-01-11T18:30:00.000Z 1',
      ]);
      expect(await shown({ ...days, timeZone: 'Asia/Kathmandu' })).toEqual([
        '2026-01-10T18:15:00.000Z 2',
        '2026-01-11T18:15:00.000Z 2',
      ]);
    });

    it('end months where they end, and compare with the months before (R293)', async () => {
      // In Kampala (UTC+3) these are the last quarter hours of January and February, and the first of March.
      await count(
        '2026-01-31T20:45:00Z',
        '2026-02-28T20:45:00Z',
        '2026-02-28T21:00:00Z',
        '2026-03-31T20:45:00Z',
      );
      const months = await query(account, {
        interval: 'month',
        timeZone: 'Africa/Kampala',
        from: new Date('2026-02-28T21:00:00Z'),
        to: new Date('2026-03-31T21:00:00Z'),
        comparesWithPrevious: true,
      });
      expect(months).toMatchObject([{ messages: 2, previous: { messages: 1 } }]);
      const february = await query(account, {
        interval: 'month',
        timeZone: 'Africa/Kampala',
        from: new Date('2026-01-31T21:00:00Z'),
        to: new Date('2026-02-28T21:00:00Z'),
        comparesWithPrevious: true,
      });
      // January has 5: the four messages of the previous test, and the one of 31 January.
      expect(february).toMatchObject([{ messages: 1, previous: { messages: 5 } }]);
    });

    it('fill gaps through a change of the clocks, with 25 hours on that day (R293)', async () => {
      const day = { from: new Date('2026-10-24T22:00:00Z'), to: new Date('2026-10-25T23:00:00Z') };
      const hours = await shown({ ...day, interval: 'hour', timeZone: 'Europe/Berlin', fillGaps: true });
      expect(hours).toHaveLength(25);
      expect(
        await shown({ ...day, interval: 'day', timeZone: 'Europe/Berlin', fillGaps: true }),
      ).toHaveLength(1);
    });

    it('refuse an unknown zone, a long span and a turned one (R293)', async () => {
      await expect(query(account, { timeZone: 'Mars/Base' })).rejects.toMatchObject({
        code: 'validation_error',
      });
      await expect(query(account, { timeZone: '+03:00' })).rejects.toMatchObject({
        code: 'validation_error',
      });
      await expect(query(account, { interval: 'hour' })).rejects.toMatchObject({ code: 'validation_error' });
      await expect(query(account, { to: ALL.from })).rejects.toMatchObject({ code: 'validation_error' });
    });

    it('answer dashboards, with a filter that lists the messages (R292)', async () => {
      const own = await gateway.createAccount();
      const to = '+256701230009,+256701230001,+254712340009';
      await gateway.call('POST', '/developers/sms', { key: own.key, body: { to, message: 'Hello' } });
      const token = await signIn(gateway, own);
      const from = new Date(Date.now() - DAY_MS).toISOString();
      const end = new Date(Date.now() + DAY_MS).toISOString();
      const ask = async (rest: string) => {
        await fold();
        const text = `{ analytics(from: "${from}", to: "${end}" ${rest}) { country errorCode status ledgerSeq
          figures { messages recipients delivered failed deliveryRate netCost { minor } refunds { minor } }
          previous { recipients } times { submitP50Ms reportP95Ms } filter { from to status channel environment apiKeyId } } }`;
        const answer = await graphql(gateway, text, { token });
        expect(answer.body.errors).toBeUndefined();
        return answer.body.data.analytics;
      };
      const [whole] = await eventually(async () => {
        const found = await ask('compareWith: PREVIOUS_PERIOD');
        return found[0]?.figures.delivered === 2 && found[0].figures.failed === 1 && found;
      });
      expect(whole.figures).toMatchObject({ messages: 1, recipients: 3, deliveryRate: 2 / 3 });
      expect(Number(whole.figures.refunds.minor)).toBeGreaterThan(0);
      expect(whole.previous).toEqual({ recipients: 0 });
      expect(whole.times).toEqual({ submitP50Ms: expect.any(Number), reportP95Ms: expect.any(Number) });
      const countries = await ask('groupBy: [COUNTRY], orderBy: RECIPIENTS');
      expect(countries).toMatchObject([
        { country: 'UG', figures: { messages: null, recipients: 2 }, filter: null },
        { country: 'KE', figures: { messages: null, recipients: 1 } },
      ]);
      const [reason] = await ask('groupBy: [ERROR_CODE], orderBy: FAILED, limit: 1');
      expect(reason).toMatchObject({ figures: { failed: 1 }, times: null });
      expect(reason.errorCode).toEqual(expect.any(String));
      const [delivered] = await ask('groupBy: [STATUS], orderBy: MESSAGES, limit: 1');
      const listed = await graphql(
        gateway,
        'query ($filter: MessageFilter) { messages(filter: $filter) { totalCount } }',
        {
          token,
          variables: { filter: delivered.filter },
        },
      );
      expect(listed.body.data.messages.totalCount).toBe(delivered.figures.messages);
      const far = `{ analytics(from: "2020-01-01T00:00:00Z", to: "2026-01-01T00:00:00Z", interval: DAY) { at } }`;
      expect(codesOf(await graphql(gateway, far, { token }))).toEqual(['BAD_USER_INPUT']);
    });
  });

  it('reads percentiles off a histogram, at most 9 % from the true time (R292)', () => {
    const times = Array.from({ length: 1_000 }, (_, index) => (index + 1) * 7);
    const histogram = new Map<number, number>();
    for (const time of times)
      histogram.set(latencyBucket(time), (histogram.get(latencyBucket(time)) ?? 0) + 1);
    for (const share of [0.5, 0.95]) {
      const read = percentileMs(histogram, share) ?? 0;
      expect(Math.abs(read / (share * 7_000) - 1)).toBeLessThan(0.1);
    }
    expect(percentileMs(new Map(), 0.5)).toBeNull();
  });
});
