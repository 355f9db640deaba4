/**
 * Finds the equivalent forms of a sid, a carrier's message id (R15). A carrier may answer a submit in hexadecimal and
 * report in decimal, or the other way round. It may also add leading zeros or change case.
 */

/** Returns the form in which a sid is stored. */
export function sidKey(sid: string): string {
  const trimmed = sid.trim().toLowerCase();
  return trimmed.replace(/^0+(?=.)/, '');
}

// Matches numbers of at most 64 bits: 2^64 has 20 decimal and 16 hexadecimal digits. Longer ids are not converted.
const DECIMAL = /^[0-9]{1,20}$/;
const HEXADECIMAL = /^[0-9a-f]{1,16}$/;

/**
 * Returns every form in which the `sid` of a report may be stored. The first one is the sid itself, without a
 * conversion between hexadecimal and decimal.
 */
export function sidCandidates(sid: string): string[] {
  const key = sidKey(sid);
  const candidates = [key];
  if (DECIMAL.test(key)) candidates.push(BigInt(key).toString(16));
  if (HEXADECIMAL.test(key)) candidates.push(BigInt(`0x${key}`).toString(10));
  return [...new Set(candidates)];
}
