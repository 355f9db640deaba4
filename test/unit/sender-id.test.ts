import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { parseSenderId } from '../../src/domain/messages/sender-id.ts';

describe('parseSenderId (R22, R92)', () => {
  it.each(['INFO', 'ABC123', 'MyBrand', 'a', 'Z', '0', '9', 'z', '12345678901', 'ABCDEFGHIJK'])(
    'keeps %s',
    (raw) => {
      expect(parseSenderId(raw)).toBe(raw);
    },
  );

  it.each([
    [''],
    ['ABCDEFGHIJKL'],
    ['MY-BRAND'],
    ['MY BRAND'],
    ['MY_BRAND'],
    ['+256700'],
    ['ÄBC'],
    ['ＡＢＣ'],
    ['😀'],
    ['A\r\nB'],
    ['INFO\n'],
    ['INFO\u0000'],
    [' INFO'],
    ['INFO '],
    ['../x'],
    ['\u0660\u0661'],
    // The ASCII characters next to the allowed ranges.
    ['@'],
    ['['],
    ['`'],
    ['{'],
    ['/'],
    [':'],
    // The Kelvin sign. Its lower case is k, so a case-insensitive Unicode pattern would accept it.
    ['\u212a'],
  ])('refuses %j', (raw) => {
    expect(parseSenderId(raw)).toBeUndefined();
  });

  it('accepts exactly 1 to 11 ASCII letters and digits', () => {
    const allowed = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
    fc.assert(
      fc.property(
        fc.oneof(fc.string({ unit: fc.constantFrom(...allowed), maxLength: 13 }), fc.string()),
        (raw) => {
          const fits =
            raw.length >= 1 && raw.length <= 11 && [...raw].every((char) => allowed.includes(char));
          expect(parseSenderId(raw)).toBe(fits ? raw : undefined);
        },
      ),
    );
  });
});
