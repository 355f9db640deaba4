import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { checkLedger, openSql, type TestSql } from '../support/sql.ts';
import { sweepAt } from '../support/sweeps.ts';

const OPENING = 2_000;
const PRICE = 30;
/** Last four digits of a phone number. They decide the simulator's outcome. */
const ACCEPTED = '0004';
const REJECTED = '0001';

type Step =
  | { readonly kind: 'send'; readonly accepted: number; readonly rejected: number; readonly units: number }
  | { readonly kind: 'schedule'; readonly recipients: number; readonly isCanceled: boolean }
  | { readonly kind: 'repeat'; readonly name: number }
  | { readonly kind: 'topUp'; readonly amount: number; readonly reference: number | null };

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    kind: fc.constant('send' as const),
    accepted: fc.nat(4),
    rejected: fc.nat(4),
    units: fc.integer({ min: 1, max: 3 }),
  }),
  fc.record({
    kind: fc.constant('schedule' as const),
    recipients: fc.integer({ min: 1, max: 3 }),
    isCanceled: fc.boolean(),
  }),
  fc.record({ kind: fc.constant('repeat' as const), name: fc.nat(2) }),
  fc.record({
    kind: fc.constant('topUp' as const),
    amount: fc.integer({ min: 1, max: 300 }),
    reference: fc.option(fc.nat(2)),
  }),
);

describe('the ledger during concurrent sends, refunds, top-ups, cancellations and deadlines (R17)', () => {
  let gateway: TestGateway;
  let second: TestGateway;
  let sql: TestSql;
  beforeAll(async () => {
    gateway = await startTestGateway();
    second = await startTestGateway({}, gateway.database);
    sql = await openSql(gateway.database);
  });
  afterAll(async () => {
    await sql?.close();
    await second?.stop();
    await gateway?.stop();
  });

  const numbers = (count: number, last: string) =>
    Array.from({ length: count }, (_, index) => `07${index}000${last}`);
  const inADay = () => new Date(Date.now() + 86_400_000).toISOString();

  it('always adds up, and at the end equals what was paid in less what carriers accepted', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 40 }), async (steps) => {
        const owner = await gateway.createAccount(OPENING);
        const { key, accountId } = owner;
        const references = new Map<number, number>();
        const named = new Set<string>();
        let paidIn = OPENING;
        let taken = 0;

        const send = async (at: TestGateway, body: object, idempotencyKey?: string) => {
          const headers: Record<string, string> =
            idempotencyKey === undefined ? {} : { 'Idempotency-Key': idempotencyKey };
          const answer = await at.call('POST', '/developers/sms', { key, body, headers });
          if (answer.status !== 200) expect(answer.body.error.code).toBe('insufficient_balance');
          return answer;
        };
        const take = async (each: Step, at: TestGateway): Promise<void> => {
          switch (each.kind) {
            case 'send': {
              const to = [...numbers(each.accepted, ACCEPTED), ...numbers(each.rejected, REJECTED)].join(',');
              if (to === '') return;
              const { status } = await send(at, { to, message: 'a'.repeat(160 * each.units) });
              if (status === 200) taken += each.accepted * each.units * PRICE;
              return;
            }
            case 'schedule': {
              const to = numbers(each.recipients, ACCEPTED).join(',');
              const { status, body } = await send(at, { to, message: 'Hello', scheduledFor: inADay() });
              if (status !== 200) return;
              if (!each.isCanceled) {
                taken += each.recipients * PRICE;
                return;
              }
              // Both gateways cancel the message at the same time. Only one of them succeeds.
              const canceled = await Promise.all(
                [gateway, second].map((one) =>
                  one.call('DELETE', `/developers/messages/${body.id}`, { key }),
                ),
              );
              expect(canceled.map(({ status: code }) => code).sort()).toEqual([200, 409]);
              return;
            }
            case 'repeat': {
              const name = `repeat-${each.name}`;
              const { status } = await send(at, { to: `0700000004`, message: 'Hello' }, name);
              if (status === 200 && !named.has(name)) {
                named.add(name);
                taken += PRICE;
              }
              return;
            }
            case 'topUp': {
              const { amount, reference } = each;
              // A payment reference is used once. A later payment with the same reference keeps the first amount.
              const paid = reference === null ? amount : (references.get(reference) ?? amount);
              if (reference === null || !references.has(reference)) paidIn += paid;
              if (reference !== null) references.set(reference, paid);
              await at.parts.operations.accounts.topUp.run(
                { kind: 'system', name: 'test' },
                {
                  accountId,
                  amount: paid,
                  ...(reference === null ? {} : { reference: `payment-${reference}` }),
                },
              );
            }
          }
        };
        const isOver = { now: false };
        const watched = (async () => {
          while (!isOver.now) {
            // One statement reads the balance and the sum, so both are of the same snapshot.
            const [row] = await sql.query(
              `SELECT (a.balance_minor = coalesce(sum(l.amount_minor), 0)) AS agree FROM accounts a
               LEFT JOIN ledger_entries l ON l.account_id = a.id WHERE a.id = $1 GROUP BY a.id`,
              [accountId],
            );
            expect(row.agree).toBe(true);
          }
        })();
        try {
          await Promise.all(steps.map((each, index) => take(each, index % 2 ? second : gateway)));
          await eventually(async () => {
            const [{ waiting }] = await sql.query(
              `SELECT count(*)::int AS waiting FROM messages m JOIN recipients r ON r.message_id = m.id
               WHERE m.account_id = $1 AND r.status = 'pending' AND m.scheduled_for IS NULL`,
              [accountId],
            );
            return waiting === 0;
          });
        } finally {
          isOver.now = true;
        }
        await watched;
        await checkLedger(sql, accountId);
        const { body } = await gateway.call('GET', '/account', { key });
        expect(body.balance).toBe(paidIn - taken);
      }),
      { numRuns: 12 },
    );
  });

  it('refunds expired messages once while they are also being canceled', async () => {
    await using idle = await startTestGateway({ ROLES: 'api' });
    await using own = await openSql(idle.database);
    const { key, accountId } = await idle.createAccount(OPENING);
    const body = { to: '0700123456,0700123457', message: 'Hello', scheduledFor: inADay() };
    const sent = await Promise.all(
      Array.from({ length: 30 }, () => idle.call('POST', '/developers/sms', { key, body })),
    );
    const later = new Date(Date.now() + 3 * 86_400_000);
    await Promise.all([
      sweepAt(idle, later),
      ...sent.map(({ body: message }) => idle.call('DELETE', `/developers/messages/${message.id}`, { key })),
      sweepAt(idle, later),
    ]);
    await sweepAt(idle, later);
    await checkLedger(own, accountId);
    expect((await idle.call('GET', '/account', { key })).body.balance).toBe(OPENING);
  });
});
