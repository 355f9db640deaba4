import { isoTime } from '../../domain/iso-time.ts';

/**
 * Finds an escape of JSON other than `\"` and `\\`. PostgreSQL would read such an escape as the letter after the
 * backslash.
 */
const FOREIGN_ESCAPE = /\\[^"\\]/;

/**
 * Returns an array of strings, numbers, booleans, times and nulls in PostgreSQL's text format. The format is that of
 * JSON with other brackets, except for strings with control characters. The driver's own conversion creates a dozen
 * short-lived strings for each element. Statements over many rows consist mostly of arrays, so that cost matters.
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
