import { Metadata, parsePhoneNumberFromString } from 'libphonenumber-js/max';
import metadata from 'libphonenumber-js/max/metadata';

/** Calling codes of satellite and international networks. Messages to their numbers are expensive. */
const SATELLITE = ['870', '881', '882', '883', '979'];
/** Calling code of international numbers whose costs the recipient shares. The library has no type for them. */
const INTERNATIONAL_SHARED_COST = '808';
/** Calling code of Uganda. Its numbers always have nine digits (R34), so that a range is matched exactly. */
const UGANDA = '256';

export type RestrictedRange = 'premium-rate' | 'shared-cost' | 'satellite';

/** A part of the library's numbering plan that is missing in its types. */
interface PlanWithTypes {
  type(name: string): { pattern?(): string } | undefined;
}

interface Range {
  /** Matches the numbers of the range. */
  readonly whole: RegExp;
  /** Matches also longer digits that begin with such a number. */
  readonly begin: RegExp;
}

interface Ranges {
  readonly premium: Range | undefined;
  readonly sharedCost: Range | undefined;
}

const countries: Readonly<Record<string, readonly string[] | undefined>> = metadata.country_calling_codes;
const plans = new Metadata();
const ranges = new Map<string, Ranges>();

/**
 * Returns the kind of expensive number that `number` (E.164) is (R374). Undefined if it is none. A number with a few
 * digits too many or too few counts as well, because carriers route by prefix and may bill it. It matches the library's
 * patterns itself, because the library's `getType` takes 50 µs longer for each number.
 */
export function restrictedRange(number: string): RestrictedRange | undefined {
  for (let length = 1; length <= 3; length++) {
    const callingCode = number.slice(1, 1 + length);
    if (SATELLITE.includes(callingCode)) return 'satellite';
    if (callingCode === INTERNATIONAL_SHARED_COST) return 'shared-cost';
    if (countries[callingCode] === undefined) continue;
    const national = number.slice(1 + length);
    const { premium, sharedCost } = rangesOf(callingCode);
    if (callingCode === UGANDA) return premium?.whole.test(national) ? 'premium-rate' : undefined;
    if (begins(premium, national)) return kindOf('premium-rate', premium, number, national);
    if (begins(sharedCost, national)) return kindOf('shared-cost', sharedCost, number, national);
    return undefined;
  }
  return undefined;
}

/** True if the digits begin with a whole number of the range, or lack at most two digits of one. */
function begins(range: Range | undefined, national: string): range is Range {
  if (range === undefined) return false;
  const { begin, whole } = range;
  return begin.test(national) || whole.test(`${national}0`) || whole.test(`${national}00`);
}

/** Returns `kind` unless the number has another length than the range has, and is a valid number of another kind. */
function kindOf(
  kind: RestrictedRange,
  { whole }: Range,
  number: string,
  national: string,
): RestrictedRange | undefined {
  if (whole.test(national)) return kind;
  return parsePhoneNumberFromString(number)?.isValid() ? undefined : kind;
}

/** Returns the ranges of all countries that share a calling code. */
function rangesOf(callingCode: string): Ranges {
  const known = ranges.get(callingCode);
  if (known) return known;
  const made = {
    premium: anyOf(callingCode, 'PREMIUM_RATE'),
    sharedCost: anyOf(callingCode, 'SHARED_COST'),
  };
  ranges.set(callingCode, made);
  return made;
}

function anyOf(callingCode: string, type: string): Range | undefined {
  const patterns = (countries[callingCode] ?? []).flatMap((country) => {
    plans.selectNumberingPlan(country as Parameters<Metadata['selectNumberingPlan']>[0]);
    const pattern = (plans.numberingPlan as unknown as PlanWithTypes | undefined)?.type(type)?.pattern?.();
    return pattern === undefined ? [] : [`(?:${pattern})`];
  });
  const any = `^(?:${patterns.join('|')})`;
  return patterns.length === 0 ? undefined : { whole: new RegExp(`${any}$`), begin: new RegExp(any) };
}
