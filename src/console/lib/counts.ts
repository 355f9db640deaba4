import { t } from './words.ts';

/** A number with its noun, in the form that the language has for the number. */
const COUNTS = {
  address: (count: number) => t('{count, plural, one {# address} other {# addresses}}', { count }),
  attempt: (count: number) => t('{count, plural, one {# attempt} other {# attempts}}', { count }),
  billingUnit: (count: number) =>
    t('{count, plural, one {# billing unit} other {# billing units}}', { count }),
  delivery: (count: number) => t('{count, plural, one {# delivery} other {# deliveries}}', { count }),
  device: (count: number) => t('{count, plural, one {# device} other {# devices}}', { count }),
  file: (count: number) => t('{count, plural, one {# file} other {# files}}', { count }),
  key: (count: number) => t('{count, plural, one {# key} other {# keys}}', { count }),
  message: (count: number) => t('{count, plural, one {# message} other {# messages}}', { count }),
  recipient: (count: number) => t('{count, plural, one {# recipient} other {# recipients}}', { count }),
  row: (count: number) => t('{count, plural, one {# row} other {# rows}}', { count }),
  segment: (count: number) => t('{count, plural, one {# segment} other {# segments}}', { count }),
  time: (count: number) => t('{count, plural, one {# time} other {# times}}', { count }),
  topUp: (count: number) => t('{count, plural, one {# top-up} other {# top-ups}}', { count }),
} as const;

/** Formats a count with its noun: `1 recipient`, `2 recipients`. */
export function counted(count: number, noun: keyof typeof COUNTS): string {
  return COUNTS[noun](count);
}
