import { parsePhoneNumberFromString } from 'libphonenumber-js/min';
import metadata from 'libphonenumber-js/min/metadata';

/** Characters of a phone number that tell its country: `+`, and the calling code with an area code. */
export const PREFIX_LENGTH = 5;
/** Digits that complete a prefix to a number of the North American (+1) or the Russian plan (+7). */
const REST = '2345678';
/** Calling codes whose area codes belong to different countries. */
const BY_AREA = ['1', '7'];
const known = new Map<string, string | null>();

/**
 * The country (ISO 3166) of the numbers that begin with a prefix; null if no country has them. Where countries share
 * a calling code, it is the area code's country for +1 and +7, and the largest country for the others.
 */
export function countryOf(prefix: string): string | null {
  const found = known.get(prefix);
  if (found !== undefined) return found;
  const country = read(prefix);
  known.set(prefix, country);
  return country;
}

function read(prefix: string): string | null {
  for (let length = 1; length <= 3; length++) {
    const callingCode = prefix.slice(1, 1 + length);
    const countries = (metadata.country_calling_codes as Record<string, readonly string[]>)[callingCode];
    if (callingCode.length < length || !countries) continue;
    const shown = BY_AREA.includes(callingCode)
      ? parsePhoneNumberFromString(prefix + REST)?.country
      : undefined;
    return shown ?? countries[0] ?? null;
  }
  return null;
}
