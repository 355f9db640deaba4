/** A time as ISO 8601; one without a zone, as `datetime-local` fields give it, is in the reader's. Null for no time. */
export function isoOf(text: string): string | null {
  const at = new Date(text);
  return Number.isNaN(at.getTime()) ? null : at.toISOString();
}

/** A time as a `datetime-local` field takes it, in the reader's zone; empty for no time. */
export function localTime(text: string | null): string {
  const at = new Date(text ?? '');
  const shifted = new Date(at.getTime() - at.getTimezoneOffset() * 60_000);
  return Number.isNaN(shifted.getTime()) ? '' : shifted.toISOString().slice(0, 16);
}
