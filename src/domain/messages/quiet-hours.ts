/**
 * **Quiet hours** are the hours of a day in which no marketing may reach the phone numbers of a country (R385). The
 * prefix of a number names its quiet hours; the longest prefix counts. Hours are those of the wall clock of a time zone.
 */
import type { Channel } from './message.ts';

/** Quiet hours of the numbers that start with `prefix` (digits, without `+`). */
export interface QuietTime {
  readonly prefix: string;
  /** Minutes after midnight. If `fromMinute` is later than `toMinute`, the quiet hours contain midnight. */
  readonly fromMinute: number;
  readonly toMinute: number;
  /** An IANA time zone. */
  readonly zone: string;
}

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
/** All time zones in use change their offset at a multiple of this, and by a multiple of it. */
const OFFSET_STEP_MS = 15 * MINUTE_MS;

/**
 * No hold is longer. It is less than a day but for the day on which a clock that is set forward skips all hours that
 * are not quiet.
 */
export const HELD_MAX_MS = 2 * DAY_MS;

const FORM = /^\+?([1-9]\d{0,14})=([01]\d|2[0-3]):([0-5]\d)-(?:([01]\d|2[0-3]):([0-5]\d)|24:00) +(\S+)$/;

/** Parses one entry, such as `256=20:00-08:00 Africa/Kampala`. Returns what is wrong with it as a text. */
export function parseQuietTime(entry: string): QuietTime | string {
  const [, prefix, fromHour, fromMinutes, toHour = '0', toMinutes = '0', zone] = FORM.exec(entry) ?? [];
  if (prefix === undefined || zone === undefined) return 'is not PREFIX=FROM-TO ZONE';
  const fromMinute = Number(fromHour) * 60 + Number(fromMinutes);
  const toMinute = Number(toHour) * 60 + Number(toMinutes);
  if (fromMinute === toMinute) return 'is quiet all day; FROM and TO must differ';
  try {
    wallClock(zone);
  } catch {
    return `has the unknown time zone ${zone}`;
  }
  return { prefix, fromMinute, toMinute, zone };
}

/** The quiet hours of all prefixes. */
export class QuietHours {
  readonly #byPrefix: ReadonlyMap<string, Window>;
  readonly #longestPrefix: number;

  constructor(times: readonly QuietTime[]) {
    this.#byPrefix = new Map(times.map((time) => [time.prefix, new Window(time)]));
    this.#longestPrefix = Math.max(0, ...times.map(({ prefix }) => prefix.length));
  }

  /**
   * Returns when a marketing message may leave that would leave at `at`. Null: at `at`. Only SMS and WhatsApp messages
   * have numbers, so all others leave at once (R385).
   */
  heldUntil(channel: Channel, address: string, at: Date): Date | null {
    return this.#windowOf(channel, address)?.heldUntil(at) ?? null;
  }

  /** Returns when the next quiet hours of the number begin: `at` or later. Null if it has none. */
  beginsAfter(channel: Channel, address: string, at: Date): Date | null {
    return this.#windowOf(channel, address)?.beginsAfter(at) ?? null;
  }

  #windowOf(channel: Channel, address: string): Window | undefined {
    if (channel !== 'sms' && channel !== 'whatsapp') return undefined;
    const digits = address.startsWith('+') ? address.slice(1) : address;
    for (let length = Math.min(digits.length, this.#longestPrefix); length > 0; length--) {
      const window = this.#byPrefix.get(digits.slice(0, length));
      if (window) return window;
    }
    return undefined;
  }
}

class Window {
  readonly #fromMs: number;
  readonly #toMs: number;
  readonly #clock: Intl.DateTimeFormat;
  /** The last answer. The recipients of a message share it. */
  #last: { readonly at: number; readonly until: Date | null } = { at: Number.NaN, until: null };
  /** The last beginning, and a time from which on it is the next one. */
  #next = { from: Number.NaN, beginning: Number.NaN };

  constructor({ fromMinute, toMinute, zone }: QuietTime) {
    this.#fromMs = fromMinute * MINUTE_MS;
    this.#toMs = toMinute * MINUTE_MS;
    this.#clock = wallClock(zone);
  }

  heldUntil(at: Date): Date | null {
    const time = at.getTime();
    if (this.#last.at !== time) {
      this.#last = { at: time, until: this.#isQuiet(time) ? new Date(this.#firstAfter(time, false)) : null };
    }
    return this.#last.until;
  }

  beginsAfter(at: Date): Date {
    const time = at.getTime();
    if (!(time >= this.#next.from && time <= this.#next.beginning))
      this.#next = { from: time, beginning: this.#firstAfter(time, true) };
    return new Date(this.#next.beginning);
  }

  /** Returns the first time from `start` on that is quiet, or that is not. */
  #firstAfter(start: number, isQuiet: boolean): number {
    const boundary = isQuiet ? this.#fromMs : this.#toMs;
    let found = start;
    // A clock that is set back meanwhile still reads an hour before the boundary after the first round.
    while (this.#isQuiet(found) !== isQuiet) found += (boundary - this.#timeOfDay(found) + DAY_MS) % DAY_MS;
    // A clock that was set forward meanwhile reads too late an hour.
    const tooLateMs = (this.#timeOfDay(found) - boundary + DAY_MS) % DAY_MS;
    for (let earlier = found - tooLateMs; earlier < found; earlier += OFFSET_STEP_MS) {
      if (earlier >= start && this.#isQuiet(earlier) === isQuiet) return earlier;
    }
    return found;
  }

  #isQuiet(time: number): boolean {
    const now = this.#timeOfDay(time);
    return this.#fromMs < this.#toMs
      ? now >= this.#fromMs && now < this.#toMs
      : now >= this.#fromMs || now < this.#toMs;
  }

  /** Returns what the clock of the zone reads, in ms after midnight. */
  #timeOfDay(time: number): number {
    const [hours = 0, minutes = 0, seconds = 0] = this.#clock.format(time).split(':').map(Number);
    return (hours * 60 + minutes) * MINUTE_MS + seconds * 1_000 + (((time % 1_000) + 1_000) % 1_000);
  }
}

/** Throws RangeError if there is no such time zone. */
function wallClock(timeZone: string): Intl.DateTimeFormat {
  return new Intl.DateTimeFormat('en-GB', {
    timeZone,
    hourCycle: 'h23',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
  });
}
