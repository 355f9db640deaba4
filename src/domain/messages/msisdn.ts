/**
 * **MSISDN**: a phone number in E.164, `+` and at most 15 digits. Every number that enters the service is parsed
 * here.
 *
 * Invariants. Parsing a parsed number gives the same number. Parsing takes linear time, also for hostile text
 * (R216): one pass over the characters, and only numbers of a length that is possible for their country reach the
 * library.
 */
import { Metadata, parsePhoneNumberFromString } from 'libphonenumber-js/min';
import metadata from 'libphonenumber-js/min/metadata';

export type Msisdn = `+${string}`;

export interface ParsedRecipients {
  /** E.164, each once, in the order of their first occurrence. */
  readonly valid: string[];
  /** Elements that are no number, trimmed. */
  readonly invalid: string[];
  /** Elements that repeat an earlier number. */
  readonly duplicatesRemoved: number;
  /** Reading stopped because of too many different spellings of foreign numbers. */
  readonly isCutShort: boolean;
}

const UGANDA = '256';
const UGANDAN_NATIONAL_DIGITS = 9;
const E164_MAX_DIGITS = 15;

const SPACE = 0x20;
const PLUS = 0x2b;
const ZERO = 0x30;
const NINE = 0x39;

/** Space, hyphen, dot and parentheses (R34). */
function isSeparator(code: number): boolean {
  return code === SPACE || code === 0x2d || code === 0x2e || code === 0x28 || code === 0x29;
}

/** Removes separators. Returns undefined if anything but digits and a leading `+` is left. */
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
 * Parses one phone number (R34, R96); undefined when the text is none. Ugandan: `+256`, `256`, `0` or nothing before
 * any nine digits. Others: `+`, a known country code and a possible length. Separators are removed first. Any other
 * character, non-ASCII digits included, makes the text no number.
 */
export function parseMsisdn(raw: string): Msisdn | undefined {
  const number = compact(raw);
  if (number === undefined) return undefined;
  if (number.charCodeAt(0) === PLUS) {
    if (!number.startsWith(UGANDA, 1)) return parseForeign(number as Msisdn);
    // The library would accept and drop a trunk 0 (+256 0700…), which R96 does not allow.
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

/** Possible lengths of national numbers by country code, as bits: bit 9 stands for nine digits. */
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
  // Satellite and freephone plans cannot be selected; the library decides about their numbers.
  for (const callingCode of Object.keys(metadata.nonGeographic)) lengths.set(callingCode, -1);
  return lengths;
}

/**
 * The library decides, but it also repairs: it drops trunk prefixes and carrier codes and adds area codes. Only a
 * dropped trunk 0 is accepted (+44 (0)20… is +44 20…). Any other repair would send to a number that the caller did
 * not write, so the number stays as given if its length is possible.
 */
function parseForeign(number: Msisdn): Msisdn | undefined {
  const codeEnd = callingCodeEnd(number);
  if (codeEnd === undefined) return undefined;
  const lengths = LENGTHS.get(number.slice(1, codeEnd)) ?? 0;
  const trunkZero = number.charCodeAt(codeEnd) === ZERO;
  const nationalDigits = number.length - codeEnd;
  const possibleAsGiven = ((lengths >> nationalDigits) & 1) === 1;
  const possibleWithoutTrunk = trunkZero && ((lengths >> (nationalDigits - 1)) & 1) === 1;
  // The library throws for what it refuses, which is slow for a list of bad numbers.
  if (!possibleAsGiven && !possibleWithoutTrunk) return undefined;
  const parsed = possibleNumber(number);
  if (parsed === undefined || parsed === number) return parsed;
  const withoutTrunk: Msisdn = `+${number.slice(1, codeEnd)}${number.slice(codeEnd + 1)}`;
  // If the result would be repaired again, it is not final.
  if (trunkZero && parsed === withoutTrunk && possibleNumber(withoutTrunk) === withoutTrunk)
    return withoutTrunk;
  return possibleAsGiven ? number : undefined;
}

/** The number as the library reads it, repairs included, if its length is possible. */
function possibleNumber(number: Msisdn): Msisdn | undefined {
  const parsed = parsePhoneNumberFromString(number, { extract: false });
  return parsed?.isPossible() ? (parsed.number as Msisdn) : undefined;
}

/** The end of the country code. No code is a prefix of another. */
function callingCodeEnd(number: Msisdn): number | undefined {
  for (let end = 2; end <= 4; end++) {
    if (LENGTHS.has(number.slice(1, end))) return end;
  }
  return undefined;
}

/**
 * Splits the `to` of a request at its commas and parses each element (R34, R96–R98). Ignores elements of spaces. Of
 * the others, `valid.length + invalid.length + duplicatesRemoved` is the number.
 *
 * Stops at the first valid number beyond `limit`, so a longer `valid` means too many. Also stops after more than
 * twice `limit` different spellings with a `+`, because the library takes 20 µs for each and a body has room for
 * 100,000.
 */
export function parseRecipients(input: string, limit = Number.POSITIVE_INFINITY): ParsedRecipients {
  const valid = new Set<string>();
  const invalid: string[] = [];
  let duplicatesRemoved = 0;
  const foreign = new ForeignNumbers();
  for (const element of input.split(',')) {
    const raw = trimSpaces(element);
    if (raw === '') continue;
    // A repeated number does not reach the library.
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

  /** Number of different spellings. */
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

/** `String.trim` would also remove tabs and line breaks, which are invalid in a number. */
function trimSpaces(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && text.charCodeAt(start) === SPACE) start++;
  while (end > start && text.charCodeAt(end - 1) === SPACE) end--;
  return text.slice(start, end);
}

/**
 * The number masked for a log (`+25670•••456`): at most its first five and last three digits, with at least four
 * digits hidden.
 */
export function maskMsisdn(msisdn: string): string {
  const tail = 3;
  const hidden = 4;
  const head = Math.min(6, msisdn.length - tail - hidden);
  return head <= 0 ? '•••' : `${msisdn.slice(0, head)}•••${msisdn.slice(-tail)}`;
}
