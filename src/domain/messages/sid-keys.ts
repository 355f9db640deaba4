/**
 * Equivalent forms of a carrier's message id (R15). Carriers answer a submit in hexadecimal and report in decimal,
 * or the other way round, add leading zeros and change case.
 */

/** The form in which a sid is stored. */
export function sidKey(sid: string): string {
  const trimmed = sid.trim().toLowerCase();
  return trimmed.replace(/^0+(?=.)/, '');
}

// Longer ids are no numbers: 2^64 has 20 decimal and 16 hexadecimal digits.
const DECIMAL = /^[0-9]{1,20}$/;
const HEXADECIMAL = /^[0-9a-f]{1,16}$/;

/** Every stored form that the `sid` of a report may have, the literal one first. */
export function sidCandidates(sid: string): string[] {
  const key = sidKey(sid);
  const candidates = [key];
  if (DECIMAL.test(key)) candidates.push(BigInt(key).toString(16));
  if (HEXADECIMAL.test(key)) candidates.push(BigInt(`0x${key}`).toString(10));
  return [...new Set(candidates)];
}
