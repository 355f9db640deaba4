import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import metadata from 'libphonenumber-js/min/metadata';
import examples from 'libphonenumber-js/mobile/examples';
import { maskMsisdn, parseMsisdn, parseRecipients } from '../../src/domain/messages/msisdn.ts';

describe('parseMsisdn: Ugandan forms (R34, R96)', () => {
  it.each([
    ['+256700123456', '+256700123456'],
    ['256700123456', '+256700123456'],
    ['0700123456', '+256700123456'],
    ['700123456', '+256700123456'],
    // Any nine digits are accepted. There is no table of the ranges that are in use.
    ['+256000000000', '+256000000000'],
    ['0999999999', '+256999999999'],
    ['070012345', '+256070012345'],
    ['256700123', '+256256700123'],
    ['+256 700 123 456', '+256700123456'],
    ['(0700) 123-456', '+256700123456'],
    ['0700.123.456', '+256700123456'],
    ['(+256) 700-12-34-56', '+256700123456'],
    [' 0700123456 ', '+256700123456'],
  ])('%j is %s', (raw, expected) => {
    expect(parseMsisdn(raw)).toBe(expected);
  });

  it.each([
    ['', 'empty'],
    [' ', 'only a space'],
    ['-', 'only a separator'],
    ['()', 'only brackets'],
    ['+', 'only a plus'],
    ['0', 'only the trunk 0'],
    ['256', 'only the code'],
    ['+256', 'only the code with a plus'],
    ['+25670012345', 'eight digits after the code'],
    ['+2567001234567', 'ten digits after the code'],
    ['+2560700123456', 'code and trunk 0'],
    ['25670012345', 'eight digits after 256'],
    ['2567001234567', 'ten digits after 256'],
    ['070012345678', 'eleven digits after 0'],
    ['07001234', 'seven digits after 0'],
    ['70012345', 'eight digits'],
    ['7001234567', 'ten digits without 0'],
    ['254712345678', 'another country without a plus'],
    ['00256700123456', 'international prefix 00'],
    ['++256700123456', 'two pluses'],
    ['256+700123456', 'plus inside'],
    ['700123456+', 'plus at the end'],
    ['+256700123456+256700123457', 'two glued'],
    ['+256700123456;ext=1', 'tel parameter'],
    ['tel:+256700123456', 'tel scheme'],
    ['+256700123456x1', 'extension'],
    ['0x2A6', 'hex'],
    ['7e8', 'exponent'],
    ['Infinity', 'word'],
    ['+256/700123456', 'slash'],
    ['+256_700123456', 'underscore'],
    ['+256700123456\u0000', 'NUL'],
    ['\t0700123456', 'tab'],
    ['0700123456\n', 'line feed'],
    ['0700123456\r', 'carriage return'],
    ['0700\u00a0123456', 'no-break space'],
    ['+256\u200b700123456', 'zero-width space'],
    ['\ufeff0700123456', 'byte order mark'],
    ['\u202a0700123456', 'direction mark'],
    ['0700\u2010123456', 'Unicode hyphen'],
    ['\u0660\u0667\u0660\u0660\u0661\u0662\u0663\u0664\u0665\u0666', 'Arabic-Indic digits'],
    ['\uff10\uff17\uff10\uff10\uff11\uff12\uff13\uff14\uff15\uff16', 'fullwidth digits'],
    ['\uff0b256700123456', 'fullwidth plus'],
    ['0700123456\ud83d', 'lone surrogate'],
  ])('%j is no number (%s)', (raw) => {
    expect(parseMsisdn(raw)).toBeUndefined();
  });
});

describe('parseMsisdn: other countries (R34)', () => {
  it.each([
    ['+254712345678', '+254712345678'],
    ['+254 712-345.678', '+254712345678'],
    ['+447911123456', '+447911123456'],
    ['+1 (415) 555-2671', '+14155552671'],
    ['+390612345678', '+390612345678'],
    ['+7 701 234 56 78', '+77012345678'],
    ['+491234567890123', '+491234567890123'],
    ['+80012345678', '+80012345678'],
    ['+883510000000000', '+883510000000000'],
    // The length is possible. That is enough, because there is no table of ranges.
    ['+254000000000', '+254000000000'],
    // The 0 in parentheses is a trunk prefix and not part of E.164.
    ['+44 (0)20 7946 0958', '+442079460958'],
    ['+2540712345678', '+254712345678'],
    // The number has a possible length. So the library's correction of it is not used.
    ['+86120764003547', '+86120764003547'],
  ])('%s is %s', (raw, expected) => {
    expect(parseMsisdn(raw)).toBe(expected);
  });

  it.each([
    ['+1415555267', 'nine digits in North America'],
    ['+141555526711', 'eleven digits in North America'],
    ['+447', 'too short'],
    ['+4479111234567', 'too long'],
    ['+1234567890123456', 'sixteen digits'],
    ['+4912345678901234', 'sixteen digits, although the country has numbers that long'],
    ['+999123456789012', 'no such country code'],
    ['+0256700123456', 'country codes do not start with 0'],
    ['+800123456789', 'freephone of a wrong length'],
    ['+4400207946095', 'two trunk zeros'],
    ['+378841000', 'the library would put an area code in'],
    ['+114155552671', 'the trunk 1 of North America'],
    ['+785587304600', 'the trunk 8 of Russia'],
  ])('%s is no number (%s)', (raw) => {
    expect(parseMsisdn(raw)).toBeUndefined();
  });

  it('accepts the example number of every country unchanged', () => {
    const changed = Object.entries(metadata.country_calling_codes)
      .flatMap(([code, countries]) => countries.map((country) => `+${code}${examples[country]}`))
      .filter((number) => !number.endsWith('undefined') && parseMsisdn(number) !== number);
    expect(changed).toEqual([]);
  });
});

describe('parseMsisdn: properties', () => {
  const alphabet = '+0123456789 -.()'.split('');
  const numberLike = fc.string({ unit: fc.constantFrom(...alphabet), maxLength: 24 });
  const international = fc
    .array(fc.integer({ min: 0, max: 9 }), { minLength: 5, maxLength: 15 })
    .map((digits) => `+${digits.join('')}`);

  it('gives E.164 or nothing, and a parsed number parses to itself', () => {
    fc.assert(
      fc.property(fc.oneof(numberLike, international, fc.string({ unit: 'binary' })), (raw) => {
        const msisdn = parseMsisdn(raw);
        if (msisdn === undefined) return;
        expect(msisdn).toMatch(/^\+[1-9]\d{4,14}$/);
        expect(parseMsisdn(msisdn)).toBe(msisdn);
      }),
      { numRuns: 5000 },
    );
  });

  it('reads the four Ugandan forms alike, with any separators', () => {
    const nine = fc.array(fc.integer({ min: 0, max: 9 }), { minLength: 9, maxLength: 9 });
    const separators = fc.array(fc.string({ unit: fc.constantFrom(' ', '-', '.', '(', ')'), maxLength: 3 }), {
      minLength: 14,
      maxLength: 14,
    });
    fc.assert(
      fc.property(nine, fc.constantFrom('+256', '256', '0', ''), separators, (digits, prefix, between) => {
        const bare = prefix + digits.join('');
        const spaced = [...bare].map((char, i) => `${between[i]}${char}`).join('');
        expect(parseMsisdn(spaced + between[13])).toBe(`+256${digits.join('')}`);
      }),
    );
  });
});

describe('parseRecipients (R96–R98)', () => {
  it.each([
    ['+256700123456', ['+256700123456'], [], 0],
    ['0700123456, 0700123457', ['+256700123456', '+256700123457'], [], 0],
    ['0700123457,0700123456,700123457', ['+256700123457', '+256700123456'], [], 1],
    ['0700123456,256700123456,+256 700 123 456', ['+256700123456'], [], 2],
    ['+254712345678,+254712345678,+254 (0)712345678', ['+254712345678'], [], 2],
    ['0700123456,abc', ['+256700123456'], ['abc'], 0],
    [' abc , abc,ABC', [], ['abc', 'abc', 'ABC'], 0],
    ['0700123456,', ['+256700123456'], [], 0],
    [',, 0700123456 , ,', ['+256700123456'], [], 0],
    ['', [], [], 0],
    [',', [], [], 0],
    ['0700123456\t,\t', [], ['0700123456\t', '\t'], 0],
    ['0700123456;0700123457', [], ['0700123456;0700123457'], 0],
    ['-,0700123456', ['+256700123456'], ['-'], 0],
  ])('%j', (input, valid, invalid, duplicatesRemoved) => {
    expect(parseRecipients(input)).toEqual({ valid, invalid, duplicatesRemoved, isCutShort: false });
  });

  it('stops at the first valid number beyond the limit', () => {
    const input = '0700000001,x,0700000001,0700000002,0700000003,y';
    expect(parseRecipients(input, 2).valid).toHaveLength(3);
    expect(parseRecipients(input, 2).invalid).toEqual(['x']);
    expect(parseRecipients(input, 3)).toEqual(parseRecipients(input));
  });

  it('stops when foreign numbers have more than twice as many spellings as the recipient limit', () => {
    const spellings = (count: number) =>
      Array.from({ length: count }, (_, index) => `(+1${2_000_000 + index}`).join(',');
    expect(parseRecipients(`${spellings(4)},${spellings(4)}`, 2)).toMatchObject({ isCutShort: false });
    expect(parseRecipients(spellings(5), 2)).toMatchObject({ isCutShort: true });
    expect(parseRecipients('+256700000001,x,x,x,x,x,x'.repeat(9), 2)).toMatchObject({ isCutShort: false });
  });

  const element = fc.oneof(
    fc.constantFrom(
      '',
      ' ',
      'abc',
      '0700123456',
      '256700123456',
      '+254712345678',
      '+2540712345678',
      '+999',
      '1',
    ),
    fc.integer({ min: 0, max: 20 }).map((n) => `07001234${String(n).padStart(2, '0')}`),
    fc.string({ maxLength: 12 }).filter((text) => !text.includes(',')),
  );

  it('keeps the order of first occurrence, drops repetitions and counts every element once', () => {
    fc.assert(
      fc.property(fc.array(element, { maxLength: 40 }), (elements) => {
        const seen: string[] = [];
        const invalid: string[] = [];
        let duplicates = 0;
        for (const given of elements
          .map((text) => text.replace(/^ +| +$/g, ''))
          .filter((text) => text !== '')) {
          const msisdn = parseMsisdn(given);
          if (msisdn === undefined) invalid.push(given);
          else if (seen.includes(msisdn)) duplicates++;
          else seen.push(msisdn);
        }
        const parsed = parseRecipients(elements.join(','));
        expect(parsed).toEqual({ valid: seen, invalid, duplicatesRemoved: duplicates, isCutShort: false });
        // Parsing a result again returns the same result.
        expect(parseRecipients(parsed.valid.join(','))).toEqual({
          valid: seen,
          invalid: [],
          duplicatesRemoved: 0,
          isCutShort: false,
        });
      }),
      { numRuns: 500 },
    );
  });

  it.each([
    ['spaces', ' '.repeat(1_000_000)],
    ['spaces and a digit', `${' '.repeat(1_000_000)}1`],
    ['brackets', '('.repeat(1_000_000)],
    ['commas', ','.repeat(1_000_000)],
    ['digits', '7'.repeat(1_000_000)],
    ['pluses', '+,'.repeat(500_000)],
    ['wrong lengths', '+2547123456789,'.repeat(66_000)],
    ['one number over and over', '+254712345678,'.repeat(70_000)],
    ['one that is repaired, over and over', '+4400000000,'.repeat(80_000)],
    ['one that the library refuses, over and over', '+12000000,'.repeat(100_000)],
    ['separators between digits', '7-(.'.repeat(250_000)],
  ])('parses 1 MB of %s quickly', (_name, input) => {
    const before = process.cpuUsage();
    parseRecipients(input);
    // CPU time in microseconds, so that other processes do not count. A linear parser takes milliseconds, a quadratic
    // one minutes.
    expect(process.cpuUsage(before).user).toBeLessThan(3_000_000);
  });
});

describe('maskMsisdn', () => {
  it.each([
    ['+256700123456', '+25670•••456'],
    ['+80012345678', '+8001•••678'],
    ['+4712345', '+•••345'],
    ['+123456', '•••'],
    ['', '•••'],
  ])('%s is shown as %s', (msisdn, masked) => {
    expect(maskMsisdn(msisdn)).toBe(masked);
  });

  it('hides at least four digits', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^\+[1-9]\d{4,14}$/), (msisdn) => {
        const shown = maskMsisdn(msisdn).replace('•••', '');
        expect(shown.length).toBeLessThanOrEqual(msisdn.length - 4);
      }),
    );
  });
});
