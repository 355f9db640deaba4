import { language } from '../../lib/words.ts';

const MONTH = /^\d{4}-(0[1-9]|1[0-2])$/;
const name = new Intl.DateTimeFormat(language, { month: 'long', year: 'numeric', timeZone: 'UTC' });
const day = new Intl.DateTimeFormat(language, { dateStyle: 'long', timeZone: 'UTC' });

/** Returns the month of a time in UTC, such as `2026-11`. */
export function monthOf(at: Date): string {
  return at.toISOString().slice(0, 7);
}

/** Returns the month in the URL, or the month of `now` if the URL has none. */
export function chosenMonth(given: string | null, now: Date): string {
  return given !== null && MONTH.test(given) ? given : monthOf(now);
}

/** Returns the month that is `count` months after `month`. A negative `count` goes back. */
export function monthAfter(month: string, count: number): string {
  const [year = 0, number = 1] = month.split('-').map(Number);
  return monthOf(new Date(Date.UTC(year, number - 1 + count)));
}

/** Names a month, such as `November 2026`. */
export function monthName(month: string): string {
  return name.format(new Date(`${month}-01T00:00:00Z`));
}

/** Formats a day in UTC, such as `November 1, 2026`. */
export function dayOf(at: Date): string {
  return day.format(at);
}
