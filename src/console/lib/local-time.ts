/**
 * A time as ISO 8601. A text without a zone, as `datetime-local` fields give it, is in the browser's zone. Null for an
 * empty or invalid text.
 */
export function isoOf(text: string): string | null {
  const at = new Date(text);
  return Number.isNaN(at.getTime()) ? null : at.toISOString();
}

/** A time as the value of a `datetime-local` field, in the browser's zone; empty for null. */
export function localTime(text: string | null): string {
  const at = new Date(text ?? '');
  const shifted = new Date(at.getTime() - at.getTimezoneOffset() * 60_000);
  return Number.isNaN(shifted.getTime()) ? '' : shifted.toISOString().slice(0, 16);
}
