import { isoTime } from '../../domain/iso-time.ts';

/** JSON's escapes except those of quote and backslash. PostgreSQL reads them as the letter after the backslash. */
const FOREIGN_ESCAPE = /\\[^"\\]/;

/**
 * An array in PostgreSQL's text format, of strings, numbers, booleans, times and nulls. It equals JSON except for the
 * brackets, unless a string has control characters. The driver's own conversion makes a dozen short-lived strings for
 * each element, and statements over many rows are mostly arrays.
 */
export function arrayLiteral(given: readonly unknown[]): string {
  const values = given.find((value) => value !== null) instanceof Date ? given.map(timeText) : given;
  const json = JSON.stringify(values);
  const elements = FOREIGN_ESCAPE.test(json) ? values.map(elementOf).join() : json.slice(1, -1);
  return `{${elements}}`;
}

const timeText = (value: unknown) => (value instanceof Date ? isoTime(value) : value);

function elementOf(value: unknown): string {
  return typeof value === 'string' ? `"${value.replace(/["\\]/g, '\\$&')}"` : JSON.stringify(value ?? null);
}
