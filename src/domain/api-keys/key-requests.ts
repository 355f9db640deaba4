/** What keys were used for (R276): counts per key, day, operation and address, kept for 30 days. */
import { type Access, refusal } from '../caller.ts';
import { holdsIpAddress, parseForwardedAddress, parseIpNetwork } from '../ip-network.ts';
import type { ApiKey } from './api-key.ts';

export const KEY_REQUESTS_DAYS = 30;
/** Different addresses and operations of a key that are told apart, in a day and between two writes. */
export const KEY_REQUESTS_MAX = 200;

/** Requests of a key for one operation from one address. */
export interface KeyRequests {
  readonly keyId: string;
  readonly operation: string;
  /** Empty where it was not recorded: the key had too many that day. */
  readonly address: string;
  readonly requests: number;
}
/** `KeyRequests` of some days. */
export interface PastKeyRequests extends KeyRequests {
  /** The last of these days, as `2026-03-01`. */
  readonly lastDay: string;
}

/** Requests of one day for one operation, from all addresses. */
export interface KeyUsage {
  readonly keyId: string;
  /** As `2026-03-01`, in UTC. */
  readonly day: string;
  readonly operation: string;
  readonly requests: number;
}

export const REFUSAL_REASONS = ['scope', 'address', 'unknown_address'] as const;

export interface RefusedRequests extends Omit<PastKeyRequests, 'keyId' | 'address'> {
  readonly address: string | null;
  readonly reason: (typeof REFUSAL_REASONS)[number];
}

type Limits = Pick<ApiKey, 'accountId' | 'keyId' | 'scopes' | 'environment' | 'ipAllowlist'>;

/**
 * Which past requests a key with the limits `after` would be refused and with `before` would not, the most first.
 * `accessOf` is undefined for an operation that is no more.
 */
export function refusedRequests(
  past: readonly PastKeyRequests[],
  before: Limits,
  after: Limits,
  accessOf: (operation: string) => Access | undefined,
): readonly RefusedRequests[] {
  const found = past.flatMap(({ keyId: _, address, ...rest }): RefusedRequests[] => {
    const access = accessOf(rest.operation);
    if (!access || reasonOf(before, access, address) !== undefined) return [];
    const reason = reasonOf(after, access, address);
    return reason === undefined ? [] : [{ ...rest, address: address || null, reason }];
  });
  return found.sort((left, right) => right.requests - left.requests);
}

function reasonOf(limits: Limits, access: Access, address: string): RefusedRequests['reason'] | undefined {
  if (refusal(access, { kind: 'api-key', ...limits })) return 'scope';
  if (limits.ipAllowlist.length === 0) return undefined;
  const parsed = parseForwardedAddress(address);
  if (parsed === undefined) return 'unknown_address';
  const networks = limits.ipAllowlist.flatMap((cidr) => parseIpNetwork(cidr) ?? []);
  return networks.some((network) => holdsIpAddress(network, parsed)) ? undefined : 'address';
}

/** Counts requests in memory until they are written. */
export class KeyRequestCounter {
  #counts = new Map<string, Map<string, number>>();

  note(keyId: string, operation: string, address: string): void {
    let ofKey = this.#counts.get(keyId);
    if (!ofKey) {
      ofKey = new Map();
      this.#counts.set(keyId, ofKey);
    }
    const name = `${operation} ${address}`;
    const count = ofKey.get(name);
    if (count !== undefined || ofKey.size < KEY_REQUESTS_MAX) ofKey.set(name, (count ?? 0) + 1);
    else ofKey.set(`${operation} `, (ofKey.get(`${operation} `) ?? 0) + 1);
  }

  /** The counts since the last call. */
  take(): readonly KeyRequests[] {
    const counts = this.#counts;
    this.#counts = new Map();
    return [...counts].flatMap(([keyId, ofKey]) =>
      [...ofKey].map(([name, requests]): KeyRequests => {
        const [operation = '', address = ''] = name.split(' ', 2);
        return { keyId, operation, address, requests };
      }),
    );
  }
}
