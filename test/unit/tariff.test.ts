import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Tariff } from '../../src/domain/money/tariff.ts';

const row = (prefix: string, amountMinor: number, currency = 'UGX', channel = 'sms') => ({
  currency,
  channel,
  prefix,
  amountMinor,
});

describe('Tariff (R17: longest prefix wins)', () => {
  const tariff = new Tariff([
    row('256', 25),
    row('', 30),
    row('25677', 20),
    row('254', 90),
    row('', 0, 'UGX', 'email'),
    row('256', 2, 'USD'),
    row('256', 5, 'UGX', 'whatsapp'),
  ]);

  it.each([
    ['UGX', 'sms', '+256700123456', 25],
    ['UGX', 'sms', '256700123456', 25],
    ['UGX', 'sms', '+256770123456', 20],
    ['UGX', 'sms', '+256760123456', 25],
    ['UGX', 'sms', '+254712345678', 90],
    ['UGX', 'sms', '+14155552671', 30],
    ['UGX', 'sms', '+25', 30],
    ['UGX', 'sms', '', 30],
    ['UGX', 'email', 'a@example.com', 0],
    ['UGX', 'whatsapp', '+256700123456', 5],
    ['USD', 'sms', '+256700123456', 2],
    ['USD', 'sms', '+254712345678', undefined],
    ['UGX', 'whatsapp', '+254712345678', undefined],
    ['UGX', 'push', 'user-1', undefined],
    ['EUR', 'sms', '+256700123456', undefined],
  ] as const)('%s %s to %s costs %s', (currency, channel, destination, price) => {
    expect(tariff.unitPrice(currency, channel, destination)).toBe(price);
  });

  it('the shipped price is 30 for all destinations', () => {
    const shipped = new Tariff([row('', 30)]);
    expect(shipped.unitPrice('UGX', 'sms', '+256700123456')).toBe(30);
    expect(shipped.unitPrice('UGX', 'sms', '+447911123456')).toBe(30);
  });

  it('has no price without rows', () => {
    expect(new Tariff([]).unitPrice('UGX', 'sms', '+256700123456')).toBeUndefined();
  });

  it.each([
    ['a plus in the prefix', [row('+256', 1)]],
    ['letters in the prefix', [row('25a', 1)]],
    ['a prefix longer than a number', [row('1234567890123456', 1)]],
    ['a fraction', [row('256', 1.5)]],
    ['a negative price', [row('256', -1)]],
    ['no number', [row('256', Number.NaN)]],
    ['an unsafe integer', [row('256', 2 ** 53)]],
    ['the same row twice', [row('256', 1), row('256', 1)]],
  ])('refuses %s', (_name, rows) => {
    expect(() => new Tariff(rows)).toThrow(RangeError);
  });

  it('agrees with a scan of all rows', () => {
    const digits = (max: number) => fc.string({ unit: fc.constantFrom('0', '1', '2'), maxLength: max });
    const rows = fc.uniqueArray(
      fc.record({
        currency: fc.constantFrom('UGX', 'USD'),
        channel: fc.constantFrom('sms', 'whatsapp'),
        prefix: digits(5),
        amountMinor: fc.nat(),
      }),
      { selector: (r) => `${r.currency}/${r.channel}/${r.prefix}`, maxLength: 30 },
    );
    const query = fc.tuple(fc.constantFrom('UGX', 'USD'), fc.constantFrom('sms', 'whatsapp'), digits(9));
    fc.assert(
      fc.property(rows, fc.array(query, { minLength: 1 }), (given, queries) => {
        const built = new Tariff(given);
        for (const [currency, channel, number] of queries) {
          const naive = given
            .filter((r) => r.currency === currency && r.channel === channel && number.startsWith(r.prefix))
            .sort((a, b) => b.prefix.length - a.prefix.length)[0]?.amountMinor;
          expect(built.unitPrice(currency, channel, `+${number}`)).toBe(naive);
        }
      }),
      { numRuns: 500 },
    );
  });
});
