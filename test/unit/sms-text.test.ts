import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { describeText, unicodeCharacters } from '../../src/domain/messages/sms-text.ts';

// The GSM 03.38 alphabet as Unicode code points. It was copied from the standard, and not from the tested source.
const BASIC = [
  0x40,
  0xa3,
  0x24,
  0xa5,
  0xe8,
  0xe9,
  0xf9,
  0xec,
  0xf2,
  0xc7,
  0x0a,
  0xd8,
  0xf8,
  0x0d,
  0xc5,
  0xe5,
  0x394,
  0x5f,
  0x3a6,
  0x393,
  0x39b,
  0x3a9,
  0x3a0,
  0x3a8,
  0x3a3,
  0x398,
  0x39e,
  0xc6,
  0xe6,
  0xdf,
  0xc9,
  0xa4,
  0xa1,
  0xc4,
  0xd6,
  0xd1,
  0xdc,
  0xa7,
  0xbf,
  0xe4,
  0xf6,
  0xf1,
  0xfc,
  0xe0,
  ...range(0x20, 0x23),
  ...range(0x25, 0x3f),
  ...range(0x41, 0x5a),
  ...range(0x61, 0x7a),
];
const EXTENSION = [0x0c, 0x5e, 0x7b, 0x7d, 0x5c, 0x5b, 0x7e, 0x5d, 0x7c, 0x20ac];

const GSM = new Set([...BASIC, ...EXTENSION]);

function range(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, i) => first + i);
}

/** Packs whole characters into parts one by one, as the standard defines it. */
function pack(weights: readonly number[], single: number, part: number): number {
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  if (total <= single) return total === 0 ? 0 : 1;
  const parts: number[] = [0];
  for (const weight of weights) {
    const last = parts.at(-1) ?? 0;
    if (last + weight <= part) parts[parts.length - 1] = last + weight;
    else parts.push(weight);
  }
  return parts.length;
}

function oracle(text: string): { encoding: string; segments: number } {
  const characters = [...text];
  const codes = characters.map((char) => char.codePointAt(0) ?? 0);
  if (codes.every((code) => GSM.has(code))) {
    const weights = codes.map((code) => (EXTENSION.includes(code) ? 2 : 1));
    return { encoding: 'GSM-7', segments: pack(weights, 160, 153) };
  }
  return {
    encoding: 'UCS-2',
    segments: pack(
      characters.map((char) => char.length),
      70,
      67,
    ),
  };
}

describe('encoding (GSM 03.38)', () => {
  it('has 127 basic characters and ten in the extension table', () => {
    expect(new Set(BASIC).size).toBe(127);
    expect(EXTENSION).toHaveLength(10);
  });

  it('tells GSM-7 from UCS-2 for every code unit', () => {
    const wrong = range(0, 0xffff).filter((code) => {
      const { encoding } = describeText(String.fromCharCode(code));
      return (encoding === 'GSM-7') !== GSM.has(code);
    });
    expect(wrong).toEqual([]);
  });

  it.each([
    ['Hello', 'GSM-7'],
    ['[€]{}\\^~|', 'GSM-7'],
    ['line\r\nbreak', 'GSM-7'],
    ['`', 'UCS-2'],
    ['\t', 'UCS-2'],
    ['ç', 'UCS-2'],
    ['\u001b[31mred', 'UCS-2'],
    ['Olá', 'UCS-2'],
    ['“quoted”', 'UCS-2'],
    ['e\u0301', 'UCS-2'],
    ['😀', 'UCS-2'],
  ])('%j is sent as %s', (text, encoding) => {
    expect(describeText(text).encoding).toBe(encoding);
  });
});

describe('segments (R192)', () => {
  it.each([
    ['empty', '', 0],
    ['one character', 'a', 1],
    ['160 septets', 'a'.repeat(160), 1],
    ['161 septets', 'a'.repeat(161), 2],
    ['306 septets', 'a'.repeat(306), 2],
    ['307 septets', 'a'.repeat(307), 3],
    ['1000 septets', 'a'.repeat(1000), 7],
    ['80 extension characters', '€'.repeat(80), 1],
    ['81 extension characters', '€'.repeat(81), 2],
    ['158 and one extension character', `${'a'.repeat(158)}€`, 1],
    ['159 and one extension character', `${'a'.repeat(159)}€`, 2],
    // 152 + 2 exceeds 153, so the extension character moves to the second part. There 2 + 152 exceeds 153 by one.
    ['an extension character on the boundary', `${'a'.repeat(152)}€${'a'.repeat(152)}`, 3],
    ['the same length without one on the boundary', `€${'a'.repeat(304)}`, 2],
    ['1000 extension characters', '€'.repeat(1000), 14],
    ['70 units', 'ж'.repeat(70), 1],
    ['71 units', 'ж'.repeat(71), 2],
    ['134 units', 'ж'.repeat(134), 2],
    ['135 units', 'ж'.repeat(135), 3],
    ['35 emoji', '😀'.repeat(35), 1],
    ['36 emoji', '😀'.repeat(36), 2],
    // A part holds 67 units. That is odd, and a surrogate pair is never split. So it holds 66 units of these.
    ['66 emoji', '😀'.repeat(66), 2],
    ['67 emoji', '😀'.repeat(67), 3],
    ['a pair on the boundary', `${'ж'.repeat(66)}😀${'ж'.repeat(66)}`, 3],
    ['the same length with the pair inside', `😀${'ж'.repeat(132)}`, 2],
    ['one foreign character among 70', `${'a'.repeat(70)}ж`, 2],
    ['lone surrogates are units of their own', '\ud83d'.repeat(67) + 'ж'.repeat(4), 2],
  ])('%s', (_name, text, segments) => {
    expect(describeText(text).segments).toBe(segments);
  });

  const gsmChar = fc.constantFrom(...[...BASIC, ...EXTENSION].map((code) => String.fromCodePoint(code)));
  const wideChar = fc.oneof(gsmChar, fc.constantFrom('😀', 'ж', '`', '👩‍👩‍👧', '\ud83d', '\ude00'));
  it.each([
    ['GSM-7', fc.string({ unit: gsmChar, maxLength: 1000 })],
    ['long GSM-7', fc.string({ unit: gsmChar, minLength: 120, maxLength: 340, size: 'max' })],
    [
      'ASCII and euro',
      fc.string({ unit: fc.constantFrom('a', '€'), minLength: 140, maxLength: 330, size: 'max' }),
    ],
    ['mixed', fc.string({ unit: wideChar, maxLength: 400, size: 'max' })],
    ['emoji', fc.string({ unit: fc.constantFrom('😀', 'ж'), minLength: 30, maxLength: 220, size: 'max' })],
  ])('agrees with packing character by character: %s', (_name, texts) => {
    fc.assert(
      fc.property(texts, (text) => {
        const { encoding, segments } = describeText(text);
        expect({ encoding, segments }).toEqual(oracle(text));
      }),
      { numRuns: 500 },
    );
  });
});

describe('billing units and length (R5, R56, R57, R193)', () => {
  it.each([
    ['', 0, 0],
    ['a', 1, 1],
    ['a'.repeat(159), 159, 1],
    ['a'.repeat(160), 160, 1],
    ['a'.repeat(161), 161, 2],
    ['a'.repeat(320), 320, 2],
    ['a'.repeat(321), 321, 3],
    ['a'.repeat(1000), 1000, 7],
    // Billing counts UTF-16 code units, and not characters or septets. So it does not depend on the encoding.
    ['😀'.repeat(80), 160, 1],
    ['😀'.repeat(81), 162, 2],
    ['€'.repeat(160), 160, 1],
    ['ж'.repeat(160), 160, 1],
  ])('%j', (text, length, billingUnits) => {
    expect(describeText(text)).toMatchObject({ length, billingUnits });
  });
});

describe('unicodeCharacters (R21)', () => {
  it.each([
    ['Hello €', []],
    ['', []],
    [
      'Olá 😀 — ½',
      [
        ['á', 2],
        ['😀', 4],
        ['—', 7],
        ['½', 9],
      ],
    ],
    [
      '😀😀',
      [
        ['😀', 0],
        ['😀', 2],
      ],
    ],
    [
      'a`a`',
      [
        ['`', 1],
        ['`', 3],
      ],
    ],
    ['e\u0301', [['\u0301', 1]]],
    [
      '\ud83dx\ude00',
      [
        ['\ud83d', 0],
        ['\ude00', 2],
      ],
    ],
    [
      '\u0000\u001b',
      [
        ['\u0000', 0],
        ['\u001b', 1],
      ],
    ],
  ])('%j', (text, expected) => {
    expect(unicodeCharacters(text)).toEqual(expected.map(([char, index]) => ({ char, index })));
  });

  it('is empty exactly for GSM-7 texts, and a text without these characters is GSM-7', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 60 }), (text) => {
        const found = unicodeCharacters(text);
        expect(found.length === 0).toBe(describeText(text).encoding === 'GSM-7');
        let rest = text;
        for (const { char, index } of found.toReversed()) {
          expect(text.startsWith(char, index)).toBe(true);
          expect([...char]).toHaveLength(1);
          rest = rest.slice(0, index) + rest.slice(index + char.length);
        }
        expect(describeText(rest).encoding).toBe('GSM-7');
      }),
    );
  });
});
