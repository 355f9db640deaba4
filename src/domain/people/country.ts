/** **Country**: where a person signs in from, as ISO 3166-1 alpha-2 (`KE`). It is known only where R487 says. */

/** A sign-in is compared with the countries of this time before it, in days (R488). */
export const COUNTRY_DAYS = 180;
/** Largest number of countries that are stored for a person. */
export const COUNTRIES_MAX = 100;
/** Codes with which proxies and databases say that they do not know the country. */
const UNKNOWN: readonly string[] = ['XX', 'ZZ'];
const names = new Intl.DisplayNames('en', { type: 'region' });

/** Parses a country. Undefined for anything but two letters, and for the codes that mean an unknown country. */
export function parseCountry(text: string | undefined): string | undefined {
  if (text === undefined || !/^[A-Za-z]{2}$/.test(text)) return undefined;
  const country = text.toUpperCase();
  return UNKNOWN.includes(country) ? undefined : country;
}

/** Returns the English name of a country, or its code if it has none. */
export const countryName = (country: string): string => names.of(country) ?? country;
