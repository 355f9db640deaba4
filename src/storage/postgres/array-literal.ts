import { isoTime } from '../../domain/iso-time.ts';

/** JSON's escapes but those of quote and backslash, which PostgreSQL reads as the letter that follows. */
const FOREIGN_ESCAPE = /\\[^"\\]/;

/**
 * An array as PostgreSQL reads it: of strings, numbers, booleans, times and nulls. Its text is that of JSON but for the
 * brackets, unless a string holds control characters. The driver's own way makes a dozen short-lived strings of each
 * element, and statements over many rows are mostly arrays.
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
