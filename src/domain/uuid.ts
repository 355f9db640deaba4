/** Returns the smallest UUID of version 7 for a time. Ids created at that time or later are equal or greater. */
export function uuidFloor(time: Date): string {
  const hex = Math.max(0, time.getTime()).toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`;
}

/** Returns the time at which a UUID of version 7 was created. */
export function uuidTime(id: string): Date {
  return new Date(Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16));
}

/** A UUID that is smaller than every other one. */
export const FIRST_UUID = '00000000-0000-0000-0000-000000000000';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** True if `text` has the form of a UUID. No object has an id of another form. */
export function isUuid(text: string): boolean {
  return UUID.test(text);
}
