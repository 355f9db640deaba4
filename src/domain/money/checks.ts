/** What people give when they move money or set prices. */
import { validationError } from '../errors.ts';
import { fromMinor, toMinor } from './money.ts';

const REFERENCE_MAX_LENGTH = 200;

/** What names a payment or a change of prices, so that it takes place once; null for none. Throws `validation_error`. */
export function checkReference(reference: string | undefined): string | null {
  if (reference === undefined) return null;
  if (reference.trim() === '' || reference.length > REFERENCE_MAX_LENGTH) {
    const message = `must have 1 to ${REFERENCE_MAX_LENGTH} characters, or be left out`;
    throw validationError([{ path: 'reference', message }]);
  }
  return reference;
}

/**
 * An amount that somebody gave, in minor units from `leastMinor` to `mostMinor`. Throws `validation_error` that names
 * `path`.
 */
export function checkAmount(
  path: string,
  amount: number,
  currency: string,
  [leastMinor, mostMinor]: readonly [number, number],
): number {
  const refuse = (message: string) => validationError([{ path, message }]);
  let minor: number;
  try {
    minor = toMinor(amount, currency);
  } catch (error) {
    throw refuse(error instanceof RangeError ? error.message : 'is not an amount');
  }
  if (minor < leastMinor) throw refuse(`must be at least ${fromMinor(leastMinor, currency)} ${currency}`);
  if (minor > mostMinor) throw refuse(`must be at most ${fromMinor(mostMinor, currency)} ${currency}`);
  return minor;
}
