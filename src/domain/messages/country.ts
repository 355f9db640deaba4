import { parsePhoneNumberFromString } from 'libphonenumber-js/min';
import metadata from 'libphonenumber-js/min/metadata';

/**
 * Number of characters at the beginning of a phone number that identify its country: `+`, and the calling code with an
 * area code.
 */
export const PREFIX_LENGTH = 5;
/** Digits that complete a prefix to a number of the North American plan (+1) or the Russian plan (+7). */
const REST = '2345678';
/** Calling codes whose area codes belong to different countries. */
const BY_AREA = ['1', '7'];
const known = new Map<string, string | null>();

/**
 * Returns the country (ISO 3166) of the phone numbers that begin with `prefix`. Null if no country has them. If
 * countries share a calling code, the result for +1 and +7 is the country of the area code. For the others it is the
 * largest of the countries.
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
