const UNITS: readonly (readonly [Intl.RelativeTimeFormatUnit, number])[] = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
];
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });
const absolute = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'medium' });

/** An amount with its currency, such as `UGX 99,970`. */
export function formatMoney(amount: number, currency: string): string {
  return new Intl.NumberFormat('en', { style: 'currency', currency, currencyDisplay: 'code' }).format(amount);
}

export function formatNumber(value: number): string {
  return value.toLocaleString('en');
}

/** The distance of a time, such as `3 minutes ago`; under a minute `just now` or `in a moment`. */
export function formatRelative(at: Date, now: Date): string {
  const seconds = (at.getTime() - now.getTime()) / 1000;
  const unit = UNITS.find(([, size]) => Math.abs(seconds) >= size);
  if (!unit) return seconds > 1 ? 'in a moment' : 'just now';
  return relative.format(Math.trunc(seconds / unit[1]), unit[0]);
}

/** A time in the time zone of the browser, to the second. */
export function formatAbsolute(at: Date): string {
  return absolute.format(at);
}

/** Turns a name of the API into text: `SEND_SMS` into `Send SMS`. */
export function formatName(name: string): string {
  const text = name
    .toLowerCase()
    .replaceAll('_', ' ')
    .replace(/\b(sms|api|csv)\b/g, (word) => word.toUpperCase())
    .replace('whatsapp', 'WhatsApp');
  return text.charAt(0).toUpperCase() + text.slice(1);
}
