import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { decideBatch, placeBatch } from '../../src/domain/messages/batch-decision.ts';
import { CHANNELS, type Channel, type PreparedMessage } from '../../src/domain/messages/message.ts';

const ACCOUNTS = ['a', 'b', 'c'];

function prepared(accountId: string, channel: Channel, costMinor: number, at: number): PreparedMessage {
  return {
    id: `${accountId} ${at}`,
    accountId,
    channel,
    environment: costMinor === 0 ? 'sandbox' : 'production',
    from: 'SERVICE',
    content: 'Hello',
    payload: null,
    bulk: null,
    recipients: [{ address: '+256700123456', costMinor, routeKey: 'route', heldUntil: null }],
    costMinor,
    unitPriceMinor: costMinor,
    currency: 'UGX',
    invalidSkipped: 0,
    duplicatesRemoved: 0,
    purpose: 'transactional',
    suppressedSkipped: 0,
    apiKeyId: null,
    userId: null,
    createdAt: new Date(at),
    scheduledFor: null,
    heldUntil: null,
    expiresAt: new Date(at + 1),
    idempotency: null,
    limits: [],
    review: null,
  };
}

const message = fc.record({
  accountId: fc.constantFrom(...ACCOUNTS),
  channel: fc.constantFrom(...CHANNELS),
  costMinor: fc.nat(100),
  at: fc.nat(1_000),
});
const balances = fc.tuple(fc.nat(500), fc.nat(500), fc.nat(500));

describe('a batch of messages is charged message by message (R17, R99)', () => {
  it('decides as if the messages came one after the other, for any batch', () => {
    fc.assert(
      fc.property(fc.array(message, { maxLength: 40 }), balances, (wanted, purses) => {
        const before = new Map(ACCOUNTS.map((id, index) => [id, purses[index] as number]));
        const batch = wanted.map(({ accountId, channel, costMinor, at }) =>
          prepared(accountId, channel, costMinor, at),
        );
        const { affordable, refused } = decideBatch(batch, before);
        const { placed, shares } = placeBatch(affordable);

        // A simple model of intake to compare with. Each account has a balance, a message number (`seq`) for each
        // channel, a ledger and a clock.
        const desks = new Map(
          [...before].map(([id, purse]) => [
            id,
            { purse, rolls: { sms: 0, email: 0, push: 0, whatsapp: 0 }, book: 0, clock: -1 },
          ]),
        );
        const turnedAway: unknown[] = [];
        const served = batch.flatMap((asked) => {
          const desk = desks.get(asked.accountId);
          if (!desk) throw new Error('no desk');
          if (desk.purse < asked.costMinor) {
            turnedAway.push({ prepared: asked, shortage: { balanceMinor: desk.purse } });
            return [];
          }
          desk.purse -= asked.costMinor;
          desk.rolls[asked.channel] += 1;
          if (asked.costMinor > 0) desk.book += 1;
          desk.clock = Math.max(desk.clock, asked.createdAt.getTime());
          const entry = asked.costMinor > 0 ? { place: desk.book, left: desk.purse } : undefined;
          return [{ asked, place: desk.rolls[asked.channel], entry }];
        });

        expect(refused).toEqual(turnedAway);
        expect(
          placed.map(({ prepared: asked, place, charge, share }) => ({
            asked,
            place,
            entry: charge && {
              place: charge.place,
              left: (before.get(share.accountId) ?? 0) - charge.totalMinor,
            },
          })),
        ).toEqual(served);
        for (const { share, prepared: asked } of placed) expect(share.accountId).toBe(asked.accountId);
        expect(
          shares.map(({ accountId, costMinor, messages, entries, askedAt }) => ({
            accountId,
            purse: (before.get(accountId) ?? 0) - costMinor,
            rolls: messages,
            book: entries,
            clock: askedAt.getTime(),
          })),
        ).toEqual(
          [...new Set(served.map(({ asked }) => asked.accountId))].map((accountId) => ({
            accountId,
            ...desks.get(accountId),
          })),
        );
      }),
      { numRuns: 500 },
    );
  });

  it('throws for an account that is not locked', () => {
    expect(() => decideBatch([prepared('d', 'sms', 1, 0)], new Map())).toThrow('account d is not locked');
  });
});
