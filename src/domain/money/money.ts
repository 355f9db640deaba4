/**
 * **Minor unit**: the smallest unit of a currency (1 UGX, 1 cent, 1 fils). **Amount**: a JSON number in units of the
 * currency, as the API shows it.
 *
 * Invariant (R17). Storage and code use whole minor units, always safe integers, with names that end in `Minor`. Only
 * requests and responses contain amounts. `toMinor` and `fromMinor` convert between the two.
 */
import { validationError } from '../errors.ts';

/**
 * The ISO 4217 currency codes, grouped by their number of decimals. `Intl` cannot supply these numbers: it follows
 * CLDR, which gives several currencies (RSD, IQD, MGA…) no decimals.
 */
const BY_DECIMALS: readonly (readonly [decimals: number, codes: string])[] = [
  [0, 'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF'],
  [
    2,
    'AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BGN BMD BND BOB BOV BRL BSD BTN BWP BYN BZD CAD CDF CHE ' +
      'CHF CHW CNY COP COU CRC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD HKD ' +
      'HNL HTG HUF IDR ILS INR IRR JMD KES KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP ' +
      'MRU MUR MVR MWK MXN MXV MYR MZN NAD NGN NIO NOK NPR NZD PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD ' +
      'SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TOP TRY TTD TWD TZS UAH USD USN UYU UZS ' +
      'VED VES WST XCD XCG YER ZAR ZMW ZWG',
  ],
  [3, 'BHD IQD JOD KWD LYD OMR TND'],
  [4, 'CLF UYW'],
];

const DECIMALS: ReadonlyMap<string, number> = new Map(
  BY_DECIMALS.flatMap(([decimals, codes]) => codes.split(' ').map((code) => [code, decimals] as const)),
);

/**
 * Number of minor units up to which an amount has at most 15 significant digits. A double represents such an amount
 * exactly.
 */
const ALWAYS_EXACT_MINOR = 10 ** 15;
/** Largest balance in minor units. Sums of smaller values are exact. */
export const BALANCE_MAX_MINOR = ALWAYS_EXACT_MINOR;
const REFERENCE_MAX_LENGTH = 200;

/**
 * True if `code` is an ISO 4217 currency in use, in capitals. False for metals, test codes and funds, which have no
 * decimals.
 */
export function isCurrency(code: string): boolean {
  return DECIMALS.has(code);
}

/**
 * Converts an amount to minor units (R17): 30 UGX is 30, 19.99 USD is 1999. The result is exact, because the function
 * works on the decimal text of the number. Throws RangeError for an unknown currency, a number that is not finite or
 * has too many decimals, and a result that is no safe integer.
 */
export function toMinor(amount: number, currency: string): number {
  const decimals = decimalsOf(currency);
  if (!Number.isFinite(amount)) throw new RangeError('The amount is not a finite number');
  const match = /^(-?\d+)(?:\.(\d+))?$/.exec(String(amount));
  const [, whole = '', fraction = ''] = match ?? [];
  // `String` writes numbers below 1e-6 and from 1e21 on with an exponent, and these do not match. They are out of range
  // for every currency.
  if (!match || fraction.length > decimals) {
    throw new RangeError(`The amount has more than ${decimals} decimals or is too large for ${currency}`);
  }
  const minor = Number(whole + fraction.padEnd(decimals, '0'));
  if (!Number.isSafeInteger(minor)) throw new RangeError('The amount is too large');
  return minor;
}

/**
 * Converts minor units to the number that JSON shows (R17). It is the inverse of `toMinor`. Throws RangeError for an
 * unknown currency and for minor units that are no safe integer. Also throws it for the few values above 10^15 that no
 * double can represent.
 */
export function fromMinor(minor: number, currency: string): number {
  const decimals = decimalsOf(currency);
  if (!Number.isSafeInteger(minor)) throw new RangeError('Minor units are safe integers');
  // Adding 0 changes -0 to 0.
  const amount = minor / 10 ** decimals + 0;
  if (Math.abs(minor) > ALWAYS_EXACT_MINOR && toMinor(amount, currency) !== minor) {
    throw new RangeError(`The amount is too large for ${currency}`);
  }
  return amount;
}

/** Writes minor units as exact decimal text in units of the currency: 1999 of USD is `19.99`, 30 of UGX is `30`. */
export function decimalOf(minor: number, currency: string): string {
  const decimals = decimalsOf(currency);
  if (!Number.isSafeInteger(minor)) throw new RangeError('Minor units are safe integers');
  const digits = String(Math.abs(minor)).padStart(decimals + 1, '0');
  const whole = digits.slice(0, digits.length - decimals);
  const text = decimals === 0 ? whole : `${whole}.${digits.slice(-decimals)}`;
  return minor < 0 ? `-${text}` : text;
}

function decimalsOf(currency: string): number {
  const decimals = DECIMALS.get(currency);
  if (decimals === undefined) throw new RangeError('Not a currency of ISO 4217');
  return decimals;
}

/**
 * Checks the reference of a payment or a price change. A request repeated with the same reference changes nothing.
 * Returns null if none is given. Throws `validation_error`.
 */
export function checkReference(reference: string | undefined): string | null {
  if (reference === undefined) return null;
  if (reference.trim() === '' || reference.length > REFERENCE_MAX_LENGTH) {
    const message = `must have 1 to ${REFERENCE_MAX_LENGTH} characters, or be left out`;
    throw validationError([{ path: 'reference', message }]);
  }
  return reference;
}

/**
 * Converts the amount of a request to minor units and checks that it is in range. Throws `validation_error` at `path`.
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
