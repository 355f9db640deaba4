import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { isoTime, parseIsoTime } from '../../src/domain/iso-time.ts';

describe('parseIsoTime (R18)', () => {
  it.each([
    ['2026-03-01T09:30:15Z', '2026-03-01T09:30:15.000Z'],
    ['2026-03-01T09:30Z', '2026-03-01T09:30:00.000Z'],
    ['2026-03-01T09:30:15.2Z', '2026-03-01T09:30:15.200Z'],
    ['2026-03-01T09:30:15.250Z', '2026-03-01T09:30:15.250Z'],
    ['2026-03-01T09:30:15,25Z', '2026-03-01T09:30:15.250Z'],
    ['2026-03-01T09:30:15.123456789Z', '2026-03-01T09:30:15.123Z'],
    ['2026-03-01T09:30:15.9999Z', '2026-03-01T09:30:15.999Z'],
    ['2026-03-01T09:30:15+03:00', '2026-03-01T06:30:15.000Z'],
    ['2026-03-01T09:30:15-05:30', '2026-03-01T15:00:15.000Z'],
    ['2026-03-01T09:30+03', '2026-03-01T06:30:00.000Z'],
    ['2026-03-01T01:00:00+03:00', '2026-02-28T22:00:00.000Z'],
    ['2026-03-01T09:30:15-00:00', '2026-03-01T09:30:15.000Z'],
    ['2026-03-01T09:30:15+23:59', '2026-02-28T09:31:15.000Z'],
    ['2024-02-29T00:00:00Z', '2024-02-29T00:00:00.000Z'],
    ['2000-02-29T00:00:00Z', '2000-02-29T00:00:00.000Z'],
    ['2026-12-31T23:59:59Z', '2026-12-31T23:59:59.000Z'],
    ['0050-01-01T00:00:00Z', '0050-01-01T00:00:00.000Z'],
    ['9999-12-31T23:59:59.999Z', '9999-12-31T23:59:59.999Z'],
  ])('%s is %s', (raw, expected) => {
    expect(parseIsoTime(raw)?.toISOString()).toBe(expected);
  });

  it.each([
    ['', 'empty'],
    ['1700000000', 'digits'],
    ['2099-12-01', 'a date alone'],
    ['2099-12-01T10:00:00', 'no zone'],
    ['2099-12-01 10:00:00Z', 'space instead of T'],
    ['2099-12-01t10:00:00Z', 'small t'],
    ['2099-12-01T10:00:00z', 'small z'],
    ['2099-12-01T10Z', 'no minutes'],
    ['2099-12-01T10:00:00.Z', 'empty fraction'],
    ['2099-12-01T10:00.5Z', 'fraction of a minute'],
    ['2099-12-01T10:00:00.1234567890Z', 'ten digits of fraction'],
    ['2099-02-30T00:00:00Z', '30 February'],
    ['2026-02-29T00:00:00Z', '29 February, no leap year'],
    ['2100-02-29T00:00:00Z', '29 February, a century'],
    ['2026-04-31T00:00:00Z', '31 April'],
    ['2026-06-31T00:00:00Z', '31 June'],
    ['2026-09-31T00:00:00Z', '31 September'],
    ['2026-11-31T00:00:00Z', '31 November'],
    ['2026-01-32T00:00:00Z', '32 January'],
    ['2026-01-00T00:00:00Z', 'day 0'],
    ['2026-00-01T00:00:00Z', 'month 0'],
    ['2026-13-01T00:00:00Z', 'month 13'],
    ['2099-12-01T24:00:00Z', '24:00'],
    ['2099-12-01T25:00:00Z', 'hour 25'],
    ['2099-12-01T10:60:00Z', 'minute 60'],
    ['2016-12-31T23:59:60Z', 'leap second'],
    ['2099-12-01T10:00:00+99:99', 'offset 99:99'],
    ['2099-12-01T10:00:00+24:00', 'offset 24:00'],
    ['2099-12-01T10:00:00+03:60', 'offset minute 60'],
    ['2099-12-01T10:00:00+0300', 'basic offset'],
    ['2099-12-01T10:00:00+3', 'offset of one digit'],
    ['2099-12-01T10:00:00 +03:00', 'space before the offset'],
    ['2099-12-01T10:00:00Z+03:00', 'two zones'],
    ['2099-12-01T10:00:00UTC', 'zone by name'],
    ['20991201T100000Z', 'basic form'],
    ['2099-W49-1', 'week date'],
    ['2099-335T10:00:00Z', 'ordinal date'],
    ['Tue Dec 01 2099', 'words'],
    ['+275760-09-13T00:00:00.001Z', 'beyond Date'],
    ['+002099-12-01T10:00:00Z', 'expanded year'],
    ['99-12-01T10:00:00Z', 'year of two digits'],
    ['12099-12-01T10:00:00Z', 'year of five digits'],
    ['9999-12-31T23:59:59-00:01', 'year 10000 in UTC'],
    ['0000-12-31T23:59:59Z', 'year 0, which PostgreSQL does not have'],
    ['0001-01-01T00:00:00+00:01', 'before year 1 in UTC'],
    [' 2099-12-01T10:00:00Z', 'leading space'],
    ['2099-12-01T10:00:00Z\n', 'trailing line feed'],
    ["2099-12-01T10:00:00Z'::text--", 'SQL'],
    ['\u0662\u0660\u0669\u0669-12-01T10:00:00Z', 'Arabic-Indic digits'],
    ['2099-12-01T10:00:00\u221203:00', 'minus sign U+2212'],
  ])('refuses %j (%s)', (raw) => {
    expect(parseIsoTime(raw)).toBeUndefined();
  });

  const years = { min: new Date('0001-01-01T00:00:00Z'), max: new Date('9999-12-31T23:59:59.999Z') };

  it('parses what toISOString writes', () => {
    fc.assert(
      fc.property(fc.date({ ...years, noInvalidDate: true }), (date) => {
        expect(parseIsoTime(date.toISOString())).toEqual(date);
      }),
      { numRuns: 1000 },
    );
  });

  it('finds the same instant in any offset', () => {
    const dates = fc.date({
      min: new Date('0001-01-01T00:00:00Z'),
      max: new Date('9998-12-31T00:00:00Z'),
      noInvalidDate: true,
    });
    fc.assert(
      fc.property(dates, fc.integer({ min: -23 * 60 - 59, max: 23 * 60 + 59 }), (date, offset) => {
        const local = new Date(date.getTime() + offset * 60_000).toISOString().slice(0, -1);
        const two = (n: number) => String(n).padStart(2, '0');
        const zone = `${offset < 0 ? '-' : '+'}${two(Math.floor(Math.abs(offset) / 60))}:${two(Math.abs(offset) % 60)}`;
        expect(parseIsoTime(local + zone)).toEqual(date);
      }),
      { numRuns: 1000 },
    );
  });

  it('accepts a day exactly when the calendar has it', () => {
    const part = (max: number) => fc.integer({ min: 0, max });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 9999 }), part(14), part(32), (year, month, day) => {
        const date = new Date(0);
        date.setUTCFullYear(year, month - 1, day);
        const real =
          date.getUTCFullYear() === year && date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
        const text = `${String(year).padStart(4, '0')}-${String(month).padStart(2, '0')}-${String(day).padStart(2, '0')}`;
        expect(parseIsoTime(`${text}T00:00Z`)).toEqual(real ? date : undefined);
      }),
      { numRuns: 5000 },
    );
  });
});

describe('isoTime', () => {
  it('formats any time like toISOString, whatever it formatted before', () => {
    const near = fc.integer({ min: -2_500, max: 2_500 });
    fc.assert(
      fc.property(fc.date({ noInvalidDate: true }), fc.array(near), (at, steps) => {
        const times = [at, ...steps.map((step) => new Date(at.getTime() + step))];
        const valid = times.filter((time) => !Number.isNaN(time.getTime()));
        expect(valid.map(isoTime)).toEqual(valid.map((time) => time.toISOString()));
      }),
    );
    expect(() => isoTime(new Date(Number.NaN))).toThrow(RangeError);
  });
});
