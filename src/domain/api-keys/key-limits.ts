/**
 * **Limits** of a key: its scopes, environment, allowlist, end and own rate limit. Nobody gives a key more than they
 * have: what a key makes, changes or rotates lies within the limits of that key.
 */
import type { Plan } from '../accounts/account.ts';
import { forbidden } from '../errors.ts';
import { holdsIpNetwork, type IpNetwork, parseIpNetwork } from '../ip-network.ts';
import type { ApiKey } from './api-key.ts';

export type KeyLimits = Pick<ApiKey, 'scopes' | 'environment' | 'ipAllowlist' | 'expiresAt' | 'rateLimit'>;

const QUOTED_LENGTH = 100;

/** Requests of a key that has no rate limit of its own. */
export type PlannedRate = Pick<Plan, 'perMinute' | 'perSecond'>;

/**
 * Throws `forbidden`, which names the limit, when a key with the limits `own` would give the limits `given`. A key
 * without a rate limit of its own gives any; a key that is given none has the rate of `plan`.
 */
export function refuseBeyond(own: KeyLimits, given: KeyLimits, plan: PlannedRate): void {
  const beyond = (limit: string, value: string, rule: string) =>
    forbidden(`Your key has the ${limit} ${value.slice(0, QUOTED_LENGTH)}, and can give ${rule}.`);
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

/** Each network lies inside one of `own`; an empty allowlist stands for every address. */
function isWithinAllowlist(own: readonly string[], given: readonly string[]): boolean {
  if (own.length === 0) return true;
  const outer = networksOf(own);
  const isInside = (inner: IpNetwork) => outer.some((network) => holdsIpNetwork(network, inner));
  return given.length > 0 && networksOf(given).every(isInside);
}

function networksOf(cidrs: readonly string[]): readonly IpNetwork[] {
  return cidrs.flatMap((cidr) => parseIpNetwork(cidr) ?? []);
}

/** A rate of 0 is no limit (R12). */
function isWithinRate(most: number | null, given: number): boolean {
  return most === null || most === 0 || (given !== 0 && given <= most);
}
