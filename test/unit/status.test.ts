import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { MESSAGE_STATUSES, type MessageStatus } from '../../src/domain/messages/message.ts';
import { canMove, messageStatus } from '../../src/domain/messages/status.ts';

function count(statuses: readonly MessageStatus[]): Partial<Record<MessageStatus, number>> {
  const counts: Partial<Record<MessageStatus, number>> = {};
  for (const status of statuses) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

describe('canMove (R13, R86–R89)', () => {
  const allowed = ['pending sent', 'pending failed', 'sent delivered', 'sent failed'];
  const pairs = MESSAGE_STATUSES.flatMap((from) => MESSAGE_STATUSES.map((to) => [from, to] as const));

  it.each(pairs)('%s → %s', (from, to) => {
    expect(canMove(from, to)).toBe(allowed.includes(`${from} ${to}`));
  });
});

describe('messageStatus (R13)', () => {
  it.each<[MessageStatus[], MessageStatus]>([
    [['pending'], 'pending'],
    [['sent'], 'sent'],
    [['delivered'], 'delivered'],
    [['failed'], 'failed'],
    [['pending', 'sent', 'delivered', 'failed'], 'pending'],
    [['failed', 'failed', 'pending'], 'pending'],
    [['delivered', 'pending'], 'pending'],
    [['failed', 'failed'], 'failed'],
    [['delivered', 'failed'], 'delivered'],
    [['delivered', 'delivered'], 'delivered'],
    [['sent', 'delivered'], 'sent'],
    [['sent', 'failed'], 'sent'],
    [['sent', 'delivered', 'failed'], 'sent'],
  ])('%j together are %s', (recipients, status) => {
    expect(messageStatus(count(recipients))).toBe(status);
  });

  it('treats a count of 0 as absent', () => {
    expect(messageStatus({ pending: 0, sent: 0, delivered: 3, failed: 1 })).toBe('delivered');
  });

  it('refuses a message without recipients', () => {
    expect(() => messageStatus({})).toThrow(RangeError);
    expect(() => messageStatus({ pending: 0, sent: 0, delivered: 0, failed: 0 })).toThrow(RangeError);
  });

  const statuses = fc.array(fc.constantFrom(...MESSAGE_STATUSES), { minLength: 1, maxLength: 12 });

  it('follows the rule for every combination of counts', () => {
    fc.assert(
      fc.property(statuses, (recipients) => {
        const notFailed = recipients.filter((status) => status !== 'failed');
        const expected = recipients.includes('pending')
          ? 'pending'
          : notFailed.length === 0
            ? 'failed'
            : notFailed.every((status) => status === 'delivered')
              ? 'delivered'
              : 'sent';
        expect(messageStatus(count(recipients))).toBe(expected);
      }),
      { numRuns: 1000 },
    );
  });

  it('never goes back while recipients only move forward', () => {
    const later: Record<MessageStatus, readonly MessageStatus[]> = {
      pending: ['pending', 'sent', 'delivered', 'failed'],
      sent: ['sent', 'delivered', 'failed'],
      delivered: ['delivered'],
      failed: ['failed'],
    };
    fc.assert(
      fc.property(statuses, fc.nat(), fc.constantFrom(...MESSAGE_STATUSES), (recipients, at, to) => {
        const index = at % recipients.length;
        fc.pre(canMove(recipients[index]!, to));
        const before = messageStatus(count(recipients));
        expect(later[before]).toContain(messageStatus(count(recipients.with(index, to))));
      }),
      { numRuns: 1000 },
    );
  });
});
