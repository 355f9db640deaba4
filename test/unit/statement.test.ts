import { describe, expect, it } from '@jest/globals';
import { differenceOf, parseMonth } from '../../src/domain/accounts/statement.ts';

const NOW = new Date('2026-11-26T10:00:00Z');

describe('the month of a statement (R460)', () => {
  it.each([
    ['2026-11', '2026-11-01T00:00:00.000Z', '2026-12-01T00:00:00.000Z'],
    ['2025-12', '2025-12-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z'],
    ['2024-02', '2024-02-01T00:00:00.000Z', '2024-03-01T00:00:00.000Z'],
  ])('%s is from %s to %s', (text, from, to) => {
    expect(parseMonth(text, NOW)).toEqual({ name: text, from: new Date(from), to: new Date(to) });
  });

  it.each(['', '2026', '2026-1', '2026-00', '2026-13', '1999-12', '2026-12', '2026-11-01', ' 2026-11'])(
    'refuses %j',
    (text) => {
      expect(() => parseMonth(text, NOW)).toThrow(expect.objectContaining({ code: 'validation_error' }));
    },
  );
});

describe('the sum of a statement (R460)', () => {
  const sums = {
    openingMinor: 100,
    topUpMinor: 50,
    topUps: 2,
    refundMinor: 20,
    refunds: 1,
    charges: [
      { channel: 'sms', messages: 2, amountMinor: 60 },
      { channel: 'whatsapp', messages: 1, amountMinor: 30 },
    ],
    closingMinor: 80,
  } as const;

  it('has no difference when opening balance and sums give the closing balance', () => {
    expect(differenceOf(sums)).toBe(0);
    expect(differenceOf({ ...sums, closingMinor: 81 })).toBe(1);
    expect(differenceOf({ ...sums, charges: [] })).toBe(-90);
  });
});
