/**
 * **Cell**: a gateway with a PostgreSQL of its own, which has some of the accounts of an installation. **Slot**: a
 * number from 0 to 4095. Each cell owns ranges of slots, and new key ids begin with a slot of their cell. So a proxy
 * finds the cell of a key without a database.
 *
 * A slot has three hex digits. 4,096 slots can be divided among many cells, and the other 13 digits of a key id have 52
 * random bits, so that two keys never get the same id.
 */

/** Number of slots. */
export const SLOTS = 4_096;
/** Number of hex digits of a slot. */
export const SLOT_DIGITS = 3;

/** A range of slots, both ends included. */
export interface SlotRange {
  readonly first: number;
  readonly last: number;
}

export const ALL_SLOTS: readonly SlotRange[] = [{ first: 0, last: SLOTS - 1 }];

const RANGE = /^([0-9a-f]{3})(?:-([0-9a-f]{3}))?$/;

/** Reads ranges such as `000-7ff,a00`. Returns undefined if the text is none, or if two ranges overlap. */
export function parseSlots(text: string): readonly SlotRange[] | undefined {
  const ranges = text.split(',').map((part): SlotRange | undefined => {
    const [, first, last = first] = RANGE.exec(part.trim()) ?? [];
    if (first === undefined || last === undefined || first > last) return undefined;
    return { first: Number.parseInt(first, 16), last: Number.parseInt(last, 16) };
  });
  const parsed = ranges.filter((range) => range !== undefined).sort((one, other) => one.first - other.first);
  if (parsed.length < ranges.length) return undefined;
  const overlaps = parsed.some(({ first }, index) => first <= (parsed[index - 1]?.last ?? -1));
  return overlaps ? undefined : parsed;
}

/** Returns the text of a slot: three hex digits. */
export function slotText(slot: number): string {
  return slot.toString(16).padStart(SLOT_DIGITS, '0');
}

/** Returns the text of ranges, as `parseSlots` reads it. */
export function slotsText(ranges: readonly SlotRange[]): string {
  return ranges
    .map(({ first, last }) => (first === last ? slotText(first) : `${slotText(first)}-${slotText(last)}`))
    .join(',');
}

/** True if both have the same slots, also if they divide them into ranges in other ways. */
export function areSameSlots(some: readonly SlotRange[], others: readonly SlotRange[]): boolean {
  const has = (ranges: readonly SlotRange[], slot: number) =>
    ranges.some(({ first, last }) => first <= slot && slot <= last);
  return Array.from({ length: SLOTS }, (_, slot) => slot).every(
    (slot) => has(some, slot) === has(others, slot),
  );
}

/** True if the key id begins with one of these slots. */
export function isInSlots(keyId: string, ranges: readonly SlotRange[]): boolean {
  const slot = Number.parseInt(keyId.slice(0, SLOT_DIGITS), 16);
  return ranges.some(({ first, last }) => first <= slot && slot <= last);
}

/**
 * Returns the slot of an account in a cell that owns `ranges`: the first three digits of its new key ids (R500). The
 * last digits of an account's id are random, so that accounts spread evenly over the slots of their cell.
 */
export function slotOf(accountId: string, ranges: readonly SlotRange[]): string {
  const own = ranges.reduce((sum, { first, last }) => sum + last - first + 1, 0);
  let place = Math.floor((Number.parseInt(accountId.slice(-SLOT_DIGITS), 16) * own) / SLOTS);
  for (const { first, last } of ranges) {
    if (place <= last - first) return slotText(first + place);
    place -= last - first + 1;
  }
  throw new RangeError('A cell owns at least one slot');
}

/** Returns the id of a new key of the account. `random` returns that many random bytes. */
export function newKeyId(
  accountId: string,
  ranges: readonly SlotRange[],
  random: (bytes: number) => Buffer,
): string {
  return slotOf(accountId, ranges) + random(8).toString('hex').slice(SLOT_DIGITS);
}
