import { language, t, translated } from './words.ts';

const UNITS: readonly (readonly [Intl.RelativeTimeFormatUnit, number])[] = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
];
const relative = new Intl.RelativeTimeFormat(language, { numeric: 'auto' });
const numbers = new Intl.NumberFormat(language);
const percent = new Intl.NumberFormat(language, { style: 'percent', maximumFractionDigits: 1 });
const countries = new Intl.DisplayNames(language, { type: 'region' });
const list = new Intl.ListFormat(language === 'en' ? 'en-GB' : language);
const absolute = new Intl.DateTimeFormat(language, { dateStyle: 'medium', timeStyle: 'medium' });
const utc = new Intl.DateTimeFormat(language, {
  dateStyle: 'medium',
  timeStyle: 'medium',
  timeZone: 'UTC',
});

/** Formats an amount with its currency, such as `UGX 99,970`. `amount` is in currency units, not minor units. */
export function formatMoney(amount: number, currency: string): string {
  return new Intl.NumberFormat(language, { style: 'currency', currency, currencyDisplay: 'code' }).format(
    amount,
  );
}

/** Formats a number, with exactly `digits` after the decimal point if given. */
export function formatNumber(value: number, digits?: number): string {
  if (digits === undefined) return numbers.format(value);
  return value.toLocaleString(language, { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

/** Formats a share from 0 to 1, such as `98.5%`. */
export function formatPercent(share: number): string {
  return percent.format(share);
}

/** Returns the name of a country by its ISO code. A code without a name stays as it is. */
export function formatCountry(code: string): string {
  return countries.of(code) ?? code;
}

/** Joins words, such as `SPF, DKIM and DMARC`. */
export function formatList(words: readonly string[]): string {
  return list.format(words);
}

/** Formats a duration of `ms` milliseconds, such as `120 ms`, `1.4 s` or `3 min`. */
export function formatDuration(ms: number): string {
  if (ms < 1_000) return t('{time} ms', { time: Math.round(ms) });
  if (ms < 120_000) return t('{time} s', { time: Math.round(ms / 100) / 10 });
  return t('{time} min', { time: Math.round(ms / 60_000) });
}

/** Formats a size, such as `12 MB`. */
export function formatBytes(bytes: number): string {
  if (bytes < 1024) return t('{bytes} bytes', { bytes });
  return bytes < 1_048_576
    ? `${formatNumber(Math.round(bytes / 1024))} kB`
    : `${formatNumber(Math.round(bytes / 104_857.6) / 10)} MB`;
}

/** Formats the time between `at` and `now`, such as `3 minutes ago`. Below one minute: `just now` or `in a moment`. */
export function formatRelative(at: Date, now: Date): string {
  const seconds = (at.getTime() - now.getTime()) / 1000;
  const unit = UNITS.find(([, size]) => Math.abs(seconds) >= size);
  if (!unit) return seconds > 1 ? t('in a moment') : t('just now');
  return relative.format(Math.trunc(seconds / unit[1]), unit[0]);
}

/** Formats a time in the browser's time zone, with seconds. */
export function formatAbsolute(at: Date): string {
  return absolute.format(at);
}

/** Formats a time in the browser's time zone, and on a second line in UTC, as logs and other people have it. */
export function formatZones(at: Date): string {
  return `${absolute.format(at)}\n${utc.format(at)} UTC`;
}

/**
 * Makes a name of the API readable: `SEND_SMS` becomes `Send SMS`, or what that is in the language of the page
 * (`tools/words.js` knows the names).
 */
export function formatName(name: string): string {
  const text = name
    .toLowerCase()
    .replaceAll('_', ' ')
    .replace(/\b(sms|api|csv|otp)\b/g, (word) => word.toUpperCase())
    .replace('whatsapp', 'WhatsApp');
  return translated(text.charAt(0).toUpperCase() + text.slice(1));
}
