import { describe, expect, it } from '@jest/globals';
import type { Channel } from '../../src/domain/messages/message.ts';
import {
  HELD_MAX_MS,
  parseQuietTime,
  QuietHours,
  type QuietTime,
} from '../../src/domain/messages/quiet-hours.ts';

const hours = (...entries: string[]) => new QuietHours(entries.map((entry) => parse(entry)));

function parse(entry: string): QuietTime {
  const time = parseQuietTime(entry);
  if (typeof time === 'string') throw new Error(`${entry} ${time}`);
  return time;
}

const heldUntil = (quiet: QuietHours, at: string, address = '+256700000001', channel: Channel = 'sms') =>
  quiet.heldUntil(channel, address, new Date(at))?.toISOString() ?? null;

const KAMPALA = '256=20:00-08:00 Africa/Kampala';
const EIGHT = '2026-11-27T05:00:00.000Z';

describe('quiet hours (R385)', () => {
  it.each([
    ['before them', '2026-11-26T16:59:59.999Z', null],
    ['at FROM', '2026-11-26T17:00:00.000Z', EIGHT],
    ['in the evening', '2026-11-26T18:12:34.567Z', EIGHT],
    ['at midnight', '2026-11-26T21:00:00.000Z', EIGHT],
    ['in the morning', '2026-11-27T04:59:59.999Z', EIGHT],
    ['at TO', '2026-11-27T05:00:00.000Z', null],
  ])('that contain midnight: %s', (_, at, until) => {
    expect(heldUntil(hours(KAMPALA), at)).toBe(until);
  });

  it.each([
    ['before them', '2026-11-26T10:59:59.999Z', null],
    ['in them', '2026-11-26T11:00:00.000Z', '2026-11-26T12:30:00.000Z'],
    ['after them', '2026-11-26T12:30:00.000Z', null],
  ])('within a day: %s', (_, at, until) => {
    expect(heldUntil(hours('256=14:00-15:30 Africa/Kampala'), at)).toBe(until);
  });

  it.each([
    ['before them', KAMPALA, '2026-11-26T16:59:59.999Z', '2026-11-26T17:00:00.000Z'],
    ['at FROM', KAMPALA, '2026-11-26T17:00:00.000Z', '2026-11-26T17:00:00.000Z'],
    ['in them', KAMPALA, '2026-11-26T23:00:00.000Z', '2026-11-26T23:00:00.000Z'],
    ['after them', KAMPALA, '2026-11-27T05:00:00.000Z', '2026-11-27T17:00:00.000Z'],
    // The clock is set forward from 1:00 to 2:00 UTC+1, and back from 2:00 to 1:00.
    [
      'after a clock that skips FROM',
      '256=01:30-08:00 Europe/London',
      '2026-03-29T00:10:00.000Z',
      '2026-03-29T01:00:00.000Z',
    ],
    [
      'after a clock that is set back',
      '256=20:00-08:00 Europe/London',
      '2026-10-24T23:00:00.000Z',
      '2026-10-24T23:00:00.000Z',
    ],
    [
      'over a clock that is set back',
      '256=20:00-00:30 Europe/London',
      '2026-10-25T00:10:00.000Z',
      '2026-10-25T20:00:00.000Z',
    ],
  ])('begin next, seen %s', (_, entry, at, beginning) => {
    const quiet = hours(entry);
    const next = () => quiet.beginsAfter('sms', '+256700000001', new Date(at))?.toISOString();
    expect([next(), next()]).toEqual([beginning, beginning]);
    expect(quiet.beginsAfter('sms', '+447700900123', new Date(at))).toBe(null);
    expect(quiet.beginsAfter('email', 'ann@example.com', new Date(at))).toBe(null);
  });

  it('may end at midnight, as 24:00 or 00:00', () => {
    for (const end of ['24:00', '00:00']) {
      const quiet = hours(`256=22:00-${end} UTC`);
      expect(heldUntil(quiet, '2026-11-26T23:59:59.999Z')).toBe('2026-11-27T00:00:00.000Z');
      expect(heldUntil(quiet, '2026-11-27T00:00:00.000Z')).toBe(null);
    }
  });

  it('apply by the longest prefix, to SMS and WhatsApp only', () => {
    const quiet = hours(KAMPALA, '25677=00:00-23:59 UTC', '1=20:00-21:00 UTC');
    const at = '2026-11-26T18:00:00.000Z';
    expect(heldUntil(quiet, at, '+256700000001')).toBe(EIGHT);
    expect(heldUntil(quiet, at, '+256770000001')).toBe('2026-11-26T23:59:00.000Z');
    expect(heldUntil(quiet, at, '+447700900123')).toBe(null);
    expect(heldUntil(quiet, at, '+256700000001', 'whatsapp')).toBe(EIGHT);
    expect(heldUntil(quiet, at, '256ann@example.com', 'email')).toBe(null);
    expect(heldUntil(quiet, at, '25600000-0000-4000-8000-000000000000', 'push')).toBe(null);
    expect(heldUntil(new QuietHours([]), at)).toBe(null);
  });

  // In Berlin, the clock goes from 02:00 to 03:00 on 29 March 2026, and from 03:00 to 02:00 on 25 October 2026.
  it.each([
    [
      'the night in which the clock is set forward',
      '20:00-08:00',
      '2026-03-28T20:00:00Z',
      '2026-03-29T06:00:00.000Z',
    ],
    [
      'the night in which the clock is set back',
      '20:00-08:00',
      '2026-10-24T19:00:00Z',
      '2026-10-25T07:00:00.000Z',
    ],
    ['an end that the clock skips', '20:00-02:30', '2026-03-28T20:00:00Z', '2026-03-29T01:00:00.000Z'],
    [
      'an end that the clock reads twice: the first',
      '20:00-02:30',
      '2026-10-24T19:00:00Z',
      '2026-10-25T00:30:00.000Z',
    ],
    ['the hour that is quiet again', '20:00-02:30', '2026-10-25T01:10:00Z', '2026-10-25T01:30:00.000Z'],
  ])('on %s', (_, span, at, until) => {
    expect(heldUntil(hours(`49=${span} Europe/Berlin`), at, '+491700000001')).toBe(until);
  });

  it('always end when the clock reads an hour that is not quiet, and not a minute later', () => {
    const zones = [
      'Africa/Kampala',
      'Europe/Berlin',
      'America/New_York',
      'Australia/Lord_Howe',
      'Asia/Kathmandu',
    ];
    const spans = ['20:00-08:00', '21:30-02:30', '01:00-02:15', '03:00-02:00', '12:00-11:59'];
    for (const zone of zones) {
      for (const span of spans) {
        const quiet = hours(`49=${span} ${zone}`);
        for (let hour = 0; hour < 366 * 24; hour += 7) {
          const at = new Date(Date.UTC(2026, 0, 1, hour, hour % 60));
          const until = quiet.heldUntil('sms', '+491700000001', at);
          if (!until) continue;
          expect(until.getTime()).toBeGreaterThan(at.getTime());
          expect(until.getTime() - at.getTime()).toBeLessThanOrEqual(HELD_MAX_MS);
          expect(quiet.heldUntil('sms', '+491700000001', until)).toBe(null);
          const minuteBefore = new Date(until.getTime() - 60_000);
          if (minuteBefore >= at)
            expect(quiet.heldUntil('sms', '+491700000001', minuteBefore)).toEqual(until);
        }
      }
    }
  });

  it.each([
    ['256', 'is not PREFIX=FROM-TO ZONE'],
    ['256=20:00-08:00', 'is not PREFIX=FROM-TO ZONE'],
    ['256=8-20 Africa/Kampala', 'is not PREFIX=FROM-TO ZONE'],
    ['256=20:00-25:00 Africa/Kampala', 'is not PREFIX=FROM-TO ZONE'],
    ['256=24:00-08:00 Africa/Kampala', 'is not PREFIX=FROM-TO ZONE'],
    ['UG=20:00-08:00 Africa/Kampala', 'is not PREFIX=FROM-TO ZONE'],
    ['256=08:00-08:00 Africa/Kampala', 'is quiet all day; FROM and TO must differ'],
    ['256=00:00-24:00 Africa/Kampala', 'is quiet all day; FROM and TO must differ'],
    ['256=20:00-08:00 Africa/Kampla', 'has the unknown time zone Africa/Kampla'],
  ])('%s %s', (entry, fault) => {
    expect(parseQuietTime(entry)).toBe(fault);
  });
});
