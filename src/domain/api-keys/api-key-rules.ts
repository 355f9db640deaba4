/** Checks the properties of an API key (R5, R7, R67, R120), and the limits on what a key can grant (R202). */
import type { Plan } from '../accounts/account.ts';
import { ENVIRONMENTS, type Environment, SCOPES, type Scope } from '../caller.ts';
import { checkAll, DomainError, forbidden, validationError } from '../errors.ts';
import { holdsIpNetwork, type IpNetwork, parseIpNetwork } from '../ip-network.ts';
import { parseIsoTime } from '../iso-time.ts';
import { quote, truncate } from '../text.ts';
import type { ApiKey } from './api-key.ts';

export const KEY_NAME_MAX_LENGTH = 100;
/** Largest number of keys of an account that have not ended (R565). */
export const LIVING_KEYS_MAX = 1_000;
export const IP_ALLOWLIST_MAX = 100;
export const OVERLAP_MAX_SECONDS = 30 * 24 * 3600;
/** Largest rate limit of a key or a plan, in requests per minute or per second. */
export const RATE_LIMIT_MAX = 1_000_000;

/** Length of the part of a value that an error message quotes, in UTF-16 code units. */
const QUOTED_MAX_LENGTH = 100;

export type KeyLimits = Pick<ApiKey, 'scopes' | 'environment' | 'ipAllowlist' | 'expiresAt' | 'rateLimit'>;

/** The rate limits of a plan. They apply to keys without their own rate limit. */
export type PlannedRate = Pick<Plan, 'perMinute' | 'perSecond'>;

const refuse = (path: string, message: string) => validationError([{ path, message }]);

/**
 * Checks scopes and returns each of them once. Throws `invalid_scope` for an unknown scope, and `validation_error` for
 * an empty list.
 */
export function checkScopes(scopes: readonly string[]): Scope[] {
  if (scopes.length === 0) throw refuse('scopes', 'must name at least one scope');
  const known: readonly string[] = SCOPES;
  const faults = scopes.flatMap((scope, index) =>
    known.includes(scope)
      ? []
      : [
          {
            path: `scopes.${index}`,
            message: `Unknown scope ${quote(scope)}. Known: ${SCOPES.join(', ')}`,
            value: truncate(scope),
          },
        ],
  );
  const [first] = faults;
  if (first) {
    const details = { field: 'scopes', value: first.value };
    throw new DomainError('invalid_scope', first.message, details, undefined, { faults });
  }
  return [...new Set(scopes)] as Scope[];
}

export function checkEnvironment(environment: string): Environment {
  const found = ENVIRONMENTS.find((known) => known === environment);
  if (!found) throw refuse('environment', `must be ${ENVIRONMENTS.join(' or ')}`);
  return found;
}

export function checkKeyName(name: string): string {
  if (name.length === 0 || name.length > KEY_NAME_MAX_LENGTH) {
    throw refuse('name', `must have 1 to ${KEY_NAME_MAX_LENGTH} characters`);
  }
  return name;
}

/**
 * Parses an expiry, which must be in the future. Returns null for a key that never expires. Throws `validation_error`.
 */
export function checkExpiry(expiresAt: string | null, now: Date): Date | null {
  if (expiresAt === null) return null;
  const time = parseIsoTime(expiresAt);
  if (!time) throw refuse('expiresAt', 'must be an ISO 8601 time with Z or an offset');
  if (time <= now) throw refuse('expiresAt', 'must be in the future');
  return time;
}

/** Accepts IPv4 and IPv6 networks in CIDR notation, and single IP addresses. Throws `validation_error`. */
export function checkIpAllowlist(cidrs: readonly string[]): readonly string[] {
  if (cidrs.length > IP_ALLOWLIST_MAX)
    throw refuse('ipAllowlist', `may have ${IP_ALLOWLIST_MAX} entries at most`);
  const faults = cidrs.flatMap((cidr, index) =>
    parseIpNetwork(cidr)
      ? []
      : [{ path: `ipAllowlist.${index}`, message: 'must be a CIDR such as 203.0.113.0/24 or 2001:db8::/32' }],
  );
  if (faults.length > 0) throw validationError(faults);
  return cidrs;
}

/**
 * Checks the rate limit of a key. Null means the plan's limit. In `perSecond`, 0 means unlimited (R12). Throws
 * `validation_error`.
 */
export function checkRateLimit(rateLimit: ApiKey['rateLimit']): ApiKey['rateLimit'] {
  checkAll({
    perMinute: () => checkLimit('perMinute', rateLimit.perMinute, 1),
    perSecond: () => checkLimit('perSecond', rateLimit.perSecond, 0),
  });
  return rateLimit;
}

/** Accepts null, or a whole number from `least` to `RATE_LIMIT_MAX`. Throws `validation_error`. */
export function checkLimit(path: string, value: number | null, least: number): void {
  if (value !== null && !(Number.isInteger(value) && value >= least && value <= RATE_LIMIT_MAX)) {
    throw refuse(path, `must be a whole number from ${least} to ${RATE_LIMIT_MAX}`);
  }
}

export function checkOverlap(overlapSeconds: number): number {
  if (!Number.isInteger(overlapSeconds) || overlapSeconds < 0 || overlapSeconds > OVERLAP_MAX_SECONDS) {
    throw refuse('overlapSeconds', `must be a whole number from 0 to ${OVERLAP_MAX_SECONDS}`);
  }
  return overlapSeconds;
}

/**
 * Throws `forbidden` if a key with the limits `own` may not grant the limits `given`, because they exceed its own. The
 * text names the exceeded limit. A key without its own rate limit may grant any rate limit. If `given` has no rate
 * limit, the limit of `plan` is compared.
 */
export function refuseGrantBeyond(own: KeyLimits, given: KeyLimits, plan: PlannedRate): void {
  const beyond = (limit: string, value: string, rule: string) =>
    forbidden(`Your key has the ${limit} ${value.slice(0, QUOTED_MAX_LENGTH)}, and can grant ${rule}.`);
  if (!own.scopes.includes('FULL_ACCESS') && given.scopes.some((scope) => !own.scopes.includes(scope))) {
    throw beyond('scopes', own.scopes.join(', '), 'no other scopes');
  }
  if (own.environment === 'sandbox' && given.environment !== 'sandbox') {
    throw beyond('environment', own.environment, 'no other environment');
  }
  if (!isWithinAllowlist(own.ipAllowlist, given.ipAllowlist)) {
    throw beyond(
      'ipAllowlist',
      own.ipAllowlist.join(', '),
      'only an ipAllowlist whose networks lie inside it',
    );
  }
  if (own.expiresAt && (!given.expiresAt || given.expiresAt > own.expiresAt)) {
    throw beyond('expiresAt', own.expiresAt.toISOString(), 'no later expiresAt');
  }
  for (const name of ['perMinute', 'perSecond'] as const) {
    const most = own.rateLimit[name];
    if (!isWithinRate(most, given.rateLimit[name] ?? plan[name]))
      throw beyond(`rateLimit.${name}`, `${most}`, 'no higher one');
  }
}

/** True if each network of `given` is inside a network of `own`. An empty allowlist allows every IP address. */
function isWithinAllowlist(own: readonly string[], given: readonly string[]): boolean {
  if (own.length === 0) return true;
  const outer = networksOf(own);
  const isInside = (inner: IpNetwork) => outer.some((network) => holdsIpNetwork(network, inner));
  return given.length > 0 && networksOf(given).every(isInside);
}

function networksOf(cidrs: readonly string[]): readonly IpNetwork[] {
  return cidrs.flatMap((cidr) => parseIpNetwork(cidr) ?? []);
}

/** True if a rate limit `given` does not exceed `most`. A rate limit of 0 is unlimited (R12). */
function isWithinRate(most: number | null, given: number): boolean {
  return most === null || most === 0 || (given !== 0 && given <= most);
}
