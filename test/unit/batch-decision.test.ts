import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type AccountState, decideBatch } from '../../src/domain/messages/batch-decision.ts';
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
    recipients: [{ address: '+256700123456', costMinor, group: 'route' }],
    costMinor,
    unitPriceMinor: costMinor,
    currency: 'UGX',
    invalidSkipped: 0,
    duplicatesRemoved: 0,
    apiKeyId: null,
    userId: null,
    createdAt: new Date(at),
    scheduledFor: null,
    expiresAt: new Date(at + 1),
    idempotency: null,
  };
}

const message = fc.record({
  accountId: fc.constantFrom(...ACCOUNTS),
  channel: fc.constantFrom(...CHANNELS),
  costMinor: fc.nat(100),
  at: fc.nat(1_000),
});
const state = fc.record({
  balanceMinor: fc.nat(500),
  ledgerSeq: fc.nat(9),
  seq: fc.record({ sms: fc.nat(9), email: fc.nat(9), push: fc.nat(9), whatsapp: fc.nat(9) }),
  lastAcceptedAt: fc.option(
    fc.nat(1_000).map((at) => new Date(at)),
    { nil: null },
  ),
});

describe('a batch is decided message by message (contract, POST /developers/sms: rule 4; decision 17)', () => {
  it('as a cashier would who serves them one after the other, whatever the batch', () => {
    fc.assert(
      fc.property(fc.array(message, { maxLength: 40 }), fc.tuple(state, state, state), (wanted, states) => {
        const before = new Map(ACCOUNTS.map((id, index) => [id, states[index] as AccountState]));
        const batch = wanted.map(({ accountId, channel, costMinor, at }) =>
          prepared(accountId, channel, costMinor, at),
        );
        const { decisions, after } = decideBatch(batch, before);

        // The cashier: a purse, a roll of numbers for each channel, a book and a clock for each account.
        const desks = new Map(
          [...before].map(([id, { balanceMinor, seq, ledgerSeq, lastAcceptedAt }]) => [
            id,
            {
              purse: balanceMinor,
              rolls: { ...seq },
              book: ledgerSeq,
              clock: lastAcceptedAt?.getTime() ?? 0,
            },
          ]),
        );
        const served = batch.map((asked) => {
          const desk = desks.get(asked.accountId);
          if (!desk) throw new Error('no desk');
          if (desk.purse < asked.costMinor) return { asked, refusedAt: desk.purse };
          desk.purse -= asked.costMinor;
          desk.rolls[asked.channel] += 1;
          if (asked.costMinor > 0) desk.book += 1;
          desk.clock = Math.max(desk.clock, asked.createdAt.getTime());
          const ledger = asked.costMinor > 0 ? { seq: desk.book, balanceAfterMinor: desk.purse } : null;
          return { asked, seq: desk.rolls[asked.channel], ledger, at: desk.clock };
        });

        expect(
          decisions.map((decision) =>
            decision.kind === 'refuse'
              ? { asked: decision.asked, refusedAt: decision.balanceMinor }
              : {
                  asked: decision.asked,
                  seq: decision.seq,
                  ledger: decision.ledger,
                  at: decision.prepared.createdAt.getTime(),
                },
          ),
        ).toEqual(served);
        const touched = new Set(
          decisions.flatMap((each) => (each.kind === 'accept' ? [each.asked.accountId] : [])),
        );
        expect(new Set(after.keys())).toEqual(touched);
        for (const [id, { balanceMinor, seq, ledgerSeq, lastAcceptedAt }] of after) {
          const desk = desks.get(id);
          expect({
            purse: balanceMinor,
            rolls: seq,
            book: ledgerSeq,
            clock: lastAcceptedAt?.getTime(),
          }).toEqual(desk);
        }
      }),
      { numRuns: 500 },
    );
  });

  it('throws for an account that is not locked', () => {
    expect(() => decideBatch([prepared('d', 'sms', 1, 0)], new Map())).toThrow('account d is not locked');
  });
});
