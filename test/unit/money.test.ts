import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { decimalOf, fromMinor, isCurrency, toMinor } from '../../src/domain/money/money.ts';

const CURRENCIES = ['UGX', 'USD', 'KWD', 'CLF'] as const;

describe('isCurrency (ISO 4217)', () => {
  it.each(['UGX', 'USD', 'EUR', 'KES', 'TZS', 'RWF', 'NGN', 'ZAR', 'JPY', 'KWD', 'CLF', 'XAF', 'ZWG'])(
    'knows %s',
    (code) => {
      expect(isCurrency(code)).toBe(true);
    },
  );

  it.each(['', 'ugx', 'UGX ', 'XXX', 'XTS', 'XAU', 'ABC', 'US', 'USDT', '__proto__', 'constructor'])(
    'refuses %j',
    (code) => {
      expect(isCurrency(code)).toBe(false);
    },
  );

  it('knows every current ISO 4217 currency that Intl has', () => {
    const inUse =
      'AED ARS AUD BDT BRL CAD CHF CNY CZK DKK EGP ETB GBP GHS HKD IDR ILS INR KRW LKR MAD MXN MYR NOK NZD PHP PKR PLN QAR SAR SEK SGD THB TRY TWD UAH VND XOF ZMW';
    expect(inUse.split(' ').filter((code) => !isCurrency(code))).toEqual([]);
  });
});

describe('toMinor and fromMinor (R17)', () => {
  it.each([
    [30, 'UGX', 30],
    [0, 'UGX', 0],
    [-30, 'UGX', -30],
    [9007199254740991, 'UGX', 9007199254740991],
    [100, 'JPY', 100],
    [19.99, 'USD', 1999],
    [0.1, 'USD', 10],
    [0.29, 'USD', 29],
    [1.15, 'USD', 115],
    [1.005, 'KWD', 1005],
    [-0.01, 'KES', -1],
    [5, 'KES', 500],
    [0.0001, 'CLF', 1],
    // These currencies have 2 decimals in ISO 4217. CLDR says otherwise, and so does `Intl`.
    [1.5, 'RSD', 150],
    [1.5, 'MGA', 150],
    [1.005, 'IQD', 1005],
    [70368744177663.99, 'USD', 7036874417766399],
  ])('%d %s is %d minor units and back', (amount, currency, minor) => {
    expect(toMinor(amount, currency)).toBe(minor);
    expect(fromMinor(minor, currency)).toBe(amount);
  });

  it('has no negative zero', () => {
    for (const currency of CURRENCIES) {
      expect(toMinor(-0, currency)).toBe(0);
      expect(fromMinor(-0, currency)).toBe(0);
    }
  });

  it.each([
    [0.5, 'UGX', 'a decimal too many'],
    [1.001, 'USD', 'a decimal too many'],
    [0.1 + 0.2, 'USD', 'the remainder of a computation'],
    [1.0001, 'KWD', 'a decimal too many'],
    [1e-7, 'USD', 'exponent form'],
    [1e-7, 'CLF', 'exponent form'],
    [Number.NaN, 'USD', 'not a number'],
    [Number.POSITIVE_INFINITY, 'USD', 'infinite'],
    [Number.NEGATIVE_INFINITY, 'UGX', 'infinite'],
    [9007199254740992, 'UGX', 'not a safe integer'],
    [-9007199254740992, 'UGX', 'not a safe integer'],
    [90071992547409.92, 'USD', 'not a safe integer in minor units'],
    [1e21, 'UGX', 'exponent form'],
    [1, 'XXX', 'no currency'],
    [1, 'usd', 'small letters'],
  ])('toMinor refuses %d %s (%s)', (amount, currency) => {
    expect(() => toMinor(amount, currency)).toThrow(RangeError);
  });

  it.each([
    [0.5, 'UGX'],
    [1.5, 'USD'],
    [Number.NaN, 'USD'],
    [Number.POSITIVE_INFINITY, 'USD'],
    [9007199254740992, 'UGX'],
    [1, 'XXX'],
    // At this size, neighbouring doubles are more than a cent apart. So the amount would change.
    [9007199254740991, 'USD'],
  ])('fromMinor refuses %d %s', (minor, currency) => {
    expect(() => fromMinor(minor, currency)).toThrow(RangeError);
  });

  it('round-trips every amount of up to 15 digits, and shows the same decimal', () => {
    const minors = fc.oneof(fc.maxSafeInteger(), fc.integer({ min: -(10 ** 6), max: 10 ** 6 }));
    fc.assert(
      fc.property(minors, fc.constantFrom(...CURRENCIES), (any, currency) => {
        const minor = any % 10 ** 15;
        const amount = fromMinor(minor, currency);
        expect(toMinor(amount, currency)).toBe(minor + 0);
        const decimals = { UGX: 0, USD: 2, KWD: 3, CLF: 4 }[currency];
        const digits = String(Math.abs(minor)).padStart(decimals + 1, '0');
        const whole = digits.slice(0, digits.length - decimals);
        const fraction = digits.slice(digits.length - decimals).replace(/0+$/, '');
        const shown = `${minor < 0 ? '-' : ''}${whole}${fraction === '' ? '' : `.${fraction}`}`;
        expect(Number(JSON.stringify(amount))).toBe(Number(shown));
        if (!JSON.stringify(amount).includes('e')) expect(JSON.stringify(amount)).toBe(shown);
      }),
      { numRuns: 2000 },
    );
  });

  it('beyond 15 digits gives the same amount back or refuses, never another amount', () => {
    fc.assert(
      fc.property(fc.maxSafeInteger(), fc.constantFrom(...CURRENCIES), (minor, currency) => {
        let amount: number;
        try {
          amount = fromMinor(minor, currency);
        } catch (error) {
          expect(error).toBeInstanceOf(RangeError);
          expect(Math.abs(minor)).toBeGreaterThan(10 ** 15);
          return;
        }
        expect(toMinor(amount, currency)).toBe(minor + 0);
      }),
      { numRuns: 2000 },
    );
  });

  it('toMinor returns the safe integer of the given amount, or throws', () => {
    fc.assert(
      fc.property(fc.double(), fc.constantFrom(...CURRENCIES), (amount, currency) => {
        let minor: number;
        try {
          minor = toMinor(amount, currency);
        } catch (error) {
          expect(error).toBeInstanceOf(RangeError);
          return;
        }
        expect(Number.isSafeInteger(minor)).toBe(true);
        expect(minor / { UGX: 1, USD: 100, KWD: 1000, CLF: 10_000 }[currency]).toBe(amount + 0);
      }),
      { numRuns: 2000 },
    );
  });

  it('decimalOf writes each minor unit, with the sign and the zeros [R248]', () => {
    expect([decimalOf(1990, 'USD'), decimalOf(30, 'UGX'), decimalOf(-5, 'KWD'), decimalOf(0, 'USD')]).toEqual(
      ['19.90', '30', '-0.005', '0.00'],
    );
    expect(decimalOf(Number.MAX_SAFE_INTEGER, 'USD')).toBe('90071992547409.91');
  });
});
