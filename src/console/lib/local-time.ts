/**
 * Converts a time to ISO 8601. A text without a time zone, as a `datetime-local` field gives it, is in the browser's
 * time zone. Returns null for an empty or invalid text.
 */
export function isoOf(text: string): string | null {
  const at = new Date(text);
  return Number.isNaN(at.getTime()) ? null : at.toISOString();
}

/**
 * Converts an ISO 8601 time to the value of a `datetime-local` field in the browser's time zone. Returns '' for null.
 */
export function localTime(text: string | null): string {
  const at = new Date(text ?? '');
  const shifted = new Date(at.getTime() - at.getTimezoneOffset() * 60_000);
  return Number.isNaN(shifted.getTime()) ? '' : shifted.toISOString().slice(0, 16);
}
