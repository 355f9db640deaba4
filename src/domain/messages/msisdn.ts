/**
 * **MSISDN**: a phone number in E.164, which is `+` and at most 15 digits. Every number that enters the service is
 * parsed here.
 *
 * Invariants. Parsing a parsed number returns the same number. Parsing takes linear time, even for hostile text (R216):
 * it makes one pass over the characters. Only numbers whose length is possible for their country reach the phone number
 * library.
 */
import { Metadata, parsePhoneNumberFromString } from 'libphonenumber-js/min';
import metadata from 'libphonenumber-js/min/metadata';

export type Msisdn = `+${string}`;

export interface ParsedRecipients {
  /** Numbers in E.164, each once, in the order of their first occurrence. */
  readonly valid: string[];
  /** Elements that are no phone number, trimmed. */
  readonly invalid: string[];
  /** Number of elements that repeat an earlier number. */
  readonly duplicatesRemoved: number;
  /** True if reading stopped because the list has too many different spellings of foreign numbers. */
  readonly isCutShort: boolean;
}

const UGANDA = '256';
const UGANDAN_NATIONAL_DIGITS = 9;
const E164_MAX_DIGITS = 15;

const SPACE = 0x20;
const PLUS = 0x2b;
const ZERO = 0x30;
const NINE = 0x39;

/** True for space, hyphen, dot and parentheses (R34). */
function isSeparator(code: number): boolean {
  return code === SPACE || code === 0x2d || code === 0x2e || code === 0x28 || code === 0x29;
}

/** Removes separators. Returns undefined if anything but digits and a leading `+` remains. */
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
 * Parses one phone number (R34, R96). Returns undefined if the text is none. A Ugandan number is any nine digits, after
 * `+256`, `256`, `0` or nothing. Any other number needs `+`, a known country code and a possible length. Separators are
 * removed first. Any other character, non-ASCII digits included, makes the text invalid.
 */
export function parseMsisdn(raw: string): Msisdn | undefined {
  const number = compact(raw);
  if (number === undefined) return undefined;
  if (number.charCodeAt(0) === PLUS) {
    if (!number.startsWith(UGANDA, 1)) return parseForeign(number as Msisdn);
    // Do not use the library for Ugandan numbers: it would accept and drop a trunk 0 (+256 0700…), which R96 does not
    // allow.
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

/** Matches the beginning of a Ugandan number in its national form, with the trunk 0. */
const TRUNK_PREFIXED = /^0\d{3,}$/;

/**
 * Returns the digits by which a search finds a phone number: `700123456` for `0700 123 456` (R340). All spellings of
 * the number without separators contain these digits. Returns any other text unchanged.
 */
export function searchedDigits(text: string): string {
  const trimmed = text.trim();
  const number = parseMsisdn(trimmed);
  if (number === undefined) return TRUNK_PREFIXED.test(trimmed) ? trimmed.slice(1) : text;
  return number.startsWith(`+${UGANDA}`) ? number.slice(1 + UGANDA.length) : number.slice(1);
}

/** Possible lengths of national numbers by country code, as a bit set: bit 9 is set if nine digits are possible. */
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
  // For satellite and freephone codes, the code above cannot read the possible lengths from the library. So allow every
  // length (set all bits), and let the library check the number later.
  for (const callingCode of Object.keys(metadata.nonGeographic)) lengths.set(callingCode, -1);
  return lengths;
}

/**
 * Parses a number outside Uganda. The phone number library decides whether the number is valid. The library also
 * changes numbers: it drops trunk prefixes and carrier codes, and adds area codes. Only one change is accepted, a
 * dropped trunk 0 (+44 (0)20… is +44 20…). After any other change, the message would go to a number that the caller did
 * not write. Then the number is used as it was given, if its length is possible.
 */
function parseForeign(number: Msisdn): Msisdn | undefined {
  const codeEnd = callingCodeEnd(number);
  if (codeEnd === undefined) return undefined;
  const lengths = LENGTHS.get(number.slice(1, codeEnd)) ?? 0;
  const trunkZero = number.charCodeAt(codeEnd) === ZERO;
  const nationalDigits = number.length - codeEnd;
  const possibleAsGiven = ((lengths >> nationalDigits) & 1) === 1;
  const possibleWithoutTrunk = trunkZero && ((lengths >> (nationalDigits - 1)) & 1) === 1;
  // Check the length before calling the library. It throws for a bad number, and throwing is slow for a long list.
  if (!possibleAsGiven && !possibleWithoutTrunk) return undefined;
  const parsed = possibleNumber(number);
  if (parsed === undefined || parsed === number) return parsed;
  const withoutTrunk: Msisdn = `+${number.slice(1, codeEnd)}${number.slice(codeEnd + 1)}`;
  // Parsing a parsed number must return the same number. So accept the number without its trunk 0 only if the library
  // leaves that number unchanged.
  if (trunkZero && parsed === withoutTrunk && possibleNumber(withoutTrunk) === withoutTrunk)
    return withoutTrunk;
  return possibleAsGiven ? number : undefined;
}

/**
 * Returns the number as the library parses it, which may differ from the given one. Undefined if its length is not
 * possible.
 */
function possibleNumber(number: Msisdn): Msisdn | undefined {
  const parsed = parsePhoneNumberFromString(number, { extract: false });
  return parsed?.isPossible() ? (parsed.number as Msisdn) : undefined;
}

/** Returns the index after the country code. The first match is right, because no code is a prefix of another. */
function callingCodeEnd(number: Msisdn): number | undefined {
  for (let end = 2; end <= 4; end++) {
    if (LENGTHS.has(number.slice(1, end))) return end;
  }
  return undefined;
}

/**
 * Splits the `to` of a request at its commas and parses each element (R34, R96–R98). Elements that consist of spaces
 * are ignored. The other elements that were read are counted in `valid.length + invalid.length + duplicatesRemoved`.
 *
 * Stops after the first valid number over `limit`. So a longer `valid` means too many recipients. Also stops after more
 * than twice `limit` different spellings with a `+`. The library takes 20 µs for each of them, and a request body has
 * room for 100,000.
 */
export function parseRecipients(input: string, limit = Number.POSITIVE_INFINITY): ParsedRecipients {
  const valid = new Set<string>();
  const invalid: string[] = [];
  let duplicatesRemoved = 0;
  const foreign = new ForeignNumbers();
  for (const element of input.split(',')) {
    const raw = trimSpaces(element);
    if (raw === '') continue;
    // A repeated number is not parsed again.
    const msisdn = valid.has(raw) ? raw : foreign.read(raw);
    if (msisdn === undefined) invalid.push(raw);
    else if (valid.has(msisdn)) duplicatesRemoved++;
    else if (valid.add(msisdn).size > limit) break;
    if (foreign.count > 2 * limit) break;
  }
  return { valid: [...valid], invalid, duplicatesRemoved, isCutShort: foreign.count > 2 * limit };
}

/** Parses the elements of one list. Each spelling with a plus sign is parsed once. */
class ForeignNumbers {
  readonly #read = new Map<string, Msisdn | undefined>();

  /** Number of different spellings so far. */
  get count(): number {
    return this.#read.size;
  }

  read(raw: string): Msisdn | undefined {
    if (!raw.includes('+') || raw.startsWith('+256')) return parseMsisdn(raw);
    const parsed = this.#read.get(raw);
    if (parsed !== undefined || this.#read.has(raw)) return parsed;
    const msisdn = parseMsisdn(raw);
    this.#read.set(raw, msisdn);
    return msisdn;
  }
}

/** Removes spaces only. `String.trim` would also remove tabs and line breaks, which are invalid in a number. */
function trimSpaces(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && text.charCodeAt(start) === SPACE) start++;
  while (end > start && text.charCodeAt(end - 1) === SPACE) end--;
  return text.slice(start, end);
}

/**
 * Masks a number for a log (`+25670•••456`). At most the first five and the last three digits stay, and at least four
 * digits are hidden.
 */
export function maskMsisdn(msisdn: string): string {
  const tail = 3;
  const hidden = 4;
  const head = Math.min(6, msisdn.length - tail - hidden);
  return head <= 0 ? '•••' : `${msisdn.slice(0, head)}•••${msisdn.slice(-tail)}`;
}
