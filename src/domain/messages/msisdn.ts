/**
 * Terms. **MSISDN**: a phone number in E.164, `+` and at most 15 digits. Every number that enters the
 * service is parsed here and nowhere else; what leaves this file is E.164 or nothing.
 *
 * Invariants. Parsing a parsed number gives the same number. A hostile text costs time linear in its
 * length: one pass over character codes, and only a number whose length its country has reaches the library.
 */
import { Metadata, parsePhoneNumberFromString } from 'libphonenumber-js/min';
import metadata from 'libphonenumber-js/min/metadata';

export type Msisdn = `+${string}`;

export interface ParsedRecipients {
  /** E.164, each once, in the order in which they were first seen. */
  readonly valid: string[];
  /** The elements that are no number, as given, without the spaces around them. */
  readonly invalid: string[];
  /** How many elements named a number that an earlier element had named. */
  readonly duplicatesRemoved: number;
  /** True when reading stopped at too many different spellings of foreign numbers. */
  readonly isCutShort: boolean;
}

const UGANDA = '256';
const UGANDAN_NATIONAL_DIGITS = 9;
const E164_MAX_DIGITS = 15;

const SPACE = 0x20;
const PLUS = 0x2b;
const ZERO = 0x30;
const NINE = 0x39;

/** Space, hyphen, dot, opening and closing parenthesis (R34). */
function isSeparator(code: number): boolean {
  return code === SPACE || code === 0x2d || code === 0x2e || code === 0x28 || code === 0x29;
}

/** The digits of a number, with the leading `+` when it has one; undefined when anything else is in it. */
function compact(raw: string): string | undefined {
  let kept = '';
  let from = 0;
  let digits = 0;
  let plus = false;
  for (let i = 0; i < raw.length; i++) {
    const code = raw.charCodeAt(i);
    if (code >= ZERO && code <= NINE) {
      digits++;
      if (digits > E164_MAX_DIGITS) return undefined;
    } else if (isSeparator(code)) {
      if (from < i) kept += raw.slice(from, i);
      from = i + 1;
    } else if (code === PLUS && !plus && digits === 0) {
      plus = true;
    } else {
      return undefined;
    }
  }
  return from === 0 ? raw : kept + raw.slice(from);
}

/**
 * Reads one phone number (R34, R96), or gives undefined when
 * the text is none. Ugandan: `+256`, `256`, `0` or nothing before any nine digits. Others: `+`, a known
 * country code and a possible length. Spaces, hyphens, dots and parentheses are dropped first; digits
 * that are not ASCII, control characters and everything else make it no number.
 */
export function parseMsisdn(raw: string): Msisdn | undefined {
  const number = compact(raw);
  if (number === undefined) return undefined;
  if (number.charCodeAt(0) === PLUS) {
    if (!number.startsWith(UGANDA, 1)) return parseForeign(number as Msisdn);
    // Never left to the library: it would drop a trunk 0 (+256 0700…), which R96 does not list.
    return number.length === 1 + UGANDA.length + UGANDAN_NATIONAL_DIGITS ? (number as Msisdn) : undefined;
  }
  switch (number.length) {
    case UGANDAN_NATIONAL_DIGITS:
      return `+${UGANDA}${number}`;
    case UGANDAN_NATIONAL_DIGITS + 1:
      return number.charCodeAt(0) === ZERO ? `+${UGANDA}${number.slice(1)}` : undefined;
    case UGANDAN_NATIONAL_DIGITS + UGANDA.length:
      return number.startsWith(UGANDA) ? `+${number}` : undefined;
    default:
      return undefined;
  }
}

/** By country code, the possible lengths of a national number as bits: bit 9 for nine digits. */
const LENGTHS = possibleLengths();

function possibleLengths(): ReadonlyMap<string, number> {
  const plans = new Metadata();
  const lengths = new Map<string, number>();
  for (const [callingCode, countries] of Object.entries(metadata.country_calling_codes)) {
    let bits = 0;
    for (const country of countries) {
      plans.selectNumberingPlan(country);
      for (const length of plans.numberingPlan?.possibleLengths() ?? []) bits |= 1 << length;
    }
    lengths.set(callingCode, bits);
  }
  // Plans of no country (satellite, freephone) cannot be selected; their numbers all go to the library.
  for (const callingCode of Object.keys(metadata.nonGeographic)) lengths.set(callingCode, -1);
  return lengths;
}

/**
 * The library decides, but it also repairs: it drops trunk prefixes and carrier codes and adds area codes.
 * Of that only a dropped trunk 0 is taken over (+44 (0)20… is +44 20…); after any other repair the number
 * stays as it was given when that has a possible length, for the repaired one is not what the caller wrote.
 */
function parseForeign(number: Msisdn): Msisdn | undefined {
  const codeEnd = callingCodeEnd(number);
  if (codeEnd === undefined) return undefined;
  const lengths = LENGTHS.get(number.slice(1, codeEnd)) ?? 0;
  const trunkZero = number.charCodeAt(codeEnd) === ZERO;
  const nationalDigits = number.length - codeEnd;
  const possibleAsGiven = ((lengths >> nationalDigits) & 1) === 1;
  const possibleWithoutTrunk = trunkZero && ((lengths >> (nationalDigits - 1)) & 1) === 1;
  // The library builds and throws an error for what it refuses: dear, when a hostile list is full of it.
  if (!possibleAsGiven && !possibleWithoutTrunk) return undefined;
  const parsed = possibleNumber(number);
  if (parsed === undefined || parsed === number) return parsed;
  const withoutTrunk: Msisdn = `+${number.slice(1, codeEnd)}${number.slice(codeEnd + 1)}`;
  // Asked again because what is left may want a second repair; then it is in no final form.
  if (trunkZero && parsed === withoutTrunk && possibleNumber(withoutTrunk) === withoutTrunk)
    return withoutTrunk;
  return possibleAsGiven ? number : undefined;
}

/** What the library makes of the number, repairs included, when its length is possible. */
function possibleNumber(number: Msisdn): Msisdn | undefined {
  const parsed = parsePhoneNumberFromString(number, { extract: false });
  return parsed?.isPossible() ? (parsed.number as Msisdn) : undefined;
}

/** Where the country code ends; no code is the beginning of another. */
function callingCodeEnd(number: Msisdn): number | undefined {
  for (let end = 2; end <= 4; end++) {
    if (LENGTHS.has(number.slice(1, end))) return end;
  }
  return undefined;
}

/**
 * Splits the `to` of a request at its commas and parses each element (R34, R96–R98). An element of nothing but spaces is ignored; every other one is counted once,
 * so `valid.length + invalid.length + duplicatesRemoved` is the number of elements that are not empty.
 * Reading stops at the first valid number beyond `limit`: more than `limit` in `valid` means too many. It stops as well
 * when it has met more than twice `limit` different spellings with a `+`: the library takes 20 µs for one, valid or not,
 * and a body has room for a hundred thousand.
 */
export function parseRecipients(input: string, limit = Number.POSITIVE_INFINITY): ParsedRecipients {
  const valid = new Set<string>();
  const invalid: string[] = [];
  let duplicatesRemoved = 0;
  const foreign = new ForeignNumbers();
  for (const element of input.split(',')) {
    const raw = trimSpaces(element);
    if (raw === '') continue;
    // What equals a parsed number is one; saves the library a list of repetitions.
    const msisdn = valid.has(raw) ? raw : foreign.read(raw);
    if (msisdn === undefined) invalid.push(raw);
    else if (valid.has(msisdn)) duplicatesRemoved++;
    else if (valid.add(msisdn).size > limit) break;
    if (foreign.count > 2 * limit) break;
  }
  return { valid: [...valid], invalid, duplicatesRemoved, isCutShort: foreign.count > 2 * limit };
}

/** Reads the elements of one list; what has a plus sign is read once, however often it is there. */
class ForeignNumbers {
  readonly #read = new Map<string, Msisdn | undefined>();

  /** Different spellings that were read. */
  get count(): number {
    return this.#read.size;
  }

  read(raw: string): Msisdn | undefined {
    if (!raw.includes('+') || raw.startsWith('+256')) return parseMsisdn(raw);
    const known = this.#read.get(raw);
    if (known !== undefined || this.#read.has(raw)) return known;
    const msisdn = parseMsisdn(raw);
    this.#read.set(raw, msisdn);
    return msisdn;
  }
}

/** String.trim would hide a tab or a line break, which are no part of a number. */
function trimSpaces(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && text.charCodeAt(start) === SPACE) start++;
  while (end > start && text.charCodeAt(end - 1) === SPACE) end--;
  return text.slice(start, end);
}

/**
 * The number as it may stand in a log (`+25670•••456`): at most its first five and last three digits, and
 * never more than all but four of them; nothing of a text too short to hide four.
 */
export function maskMsisdn(msisdn: string): string {
  const tail = 3;
  const hidden = 4;
  const head = Math.min(6, msisdn.length - tail - hidden);
  return head <= 0 ? '•••' : `${msisdn.slice(0, head)}•••${msisdn.slice(-tail)}`;
}
