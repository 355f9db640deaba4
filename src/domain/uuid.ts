/** The smallest UUID of version 7 that an id made at `time` can have: ids from then on are not below it. */
export function uuidFloor(time: Date): string {
  const hex = Math.max(0, time.getTime()).toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`;
}

/** Below every other UUID. */
export const FIRST_UUID = '00000000-0000-0000-0000-000000000000';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Whether `text` has the form of a UUID; what has not names nothing in the store. */
export function isUuid(text: string): boolean {
  return UUID.test(text);
}
