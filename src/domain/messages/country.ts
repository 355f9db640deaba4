import { parsePhoneNumberFromString } from 'libphonenumber-js/min';
import metadata from 'libphonenumber-js/min/metadata';

/**
 * Number of characters at the beginning of a phone number that identify its country: `+`, the calling code and an area
 * code.
 */
export const PREFIX_LENGTH = 5;
/**
 * Digits that make a complete phone number out of a prefix, for the North American plan (+1) and the Russian plan (+7).
 */
const REST = '2345678';
/** Calling codes whose area codes belong to different countries. */
const BY_AREA = ['1', '7'];
const known = new Map<string, string | null>();

/**
 * Returns the country (ISO 3166) of the phone numbers that begin with `prefix`. Null if no country has such numbers.
 * Several countries share a calling code. With +1 and +7, the area code decides. With any other code, the result is the
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
