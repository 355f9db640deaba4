import { Metadata } from 'libphonenumber-js/max';
import metadata from 'libphonenumber-js/max/metadata';

/** Calling codes of satellite and international networks. Messages to their numbers are expensive. */
const SATELLITE = ['870', '881', '882', '883', '979'];
/** Calling code of international numbers whose costs the recipient shares. The library has no type for them. */
const INTERNATIONAL_SHARED_COST = '808';
/** Calling code of Uganda. Its numbers are not checked, because any nine digits are accepted (R34). */
const UGANDA = '256';

export type RestrictedRange = 'premium-rate' | 'shared-cost' | 'satellite';

/** A part of the library's numbering plan that is missing in its types. */
interface PlanWithTypes {
  type(name: string): { pattern?(): string } | undefined;
}

interface Ranges {
  readonly premium: RegExp | undefined;
  readonly sharedCost: RegExp | undefined;
}

const countries: Readonly<Record<string, readonly string[] | undefined>> = metadata.country_calling_codes;
const plans = new Metadata();
const ranges = new Map<string, Ranges>();

/**
 * Returns the kind of expensive number that `number` (E.164) is (R374). Undefined if it is none. It matches the
 * library's patterns itself, because the library's `getType` takes 50 µs longer for each number.
 */
export function restrictedRange(number: string): RestrictedRange | undefined {
  for (let length = 1; length <= 3; length++) {
    const callingCode = number.slice(1, 1 + length);
    if (callingCode === UGANDA) return undefined;
    if (SATELLITE.includes(callingCode)) return 'satellite';
    if (callingCode === INTERNATIONAL_SHARED_COST) return 'shared-cost';
    if (countries[callingCode] === undefined) continue;
    const { premium, sharedCost } = rangesOf(callingCode);
    const national = number.slice(1 + length);
    if (premium?.test(national)) return 'premium-rate';
    return sharedCost?.test(national) ? 'shared-cost' : undefined;
  }
  return undefined;
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

function anyOf(callingCode: string, type: string): RegExp | undefined {
  const patterns = (countries[callingCode] ?? []).flatMap((country) => {
    plans.selectNumberingPlan(country as Parameters<Metadata['selectNumberingPlan']>[0]);
    const pattern = (plans.numberingPlan as unknown as PlanWithTypes | undefined)?.type(type)?.pattern?.();
    return pattern === undefined ? [] : [`(?:${pattern})`];
  });
  return patterns.length === 0 ? undefined : new RegExp(`^(?:${patterns.join('|')})$`);
}
