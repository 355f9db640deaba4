/**
 * Counts what keys were used for (R276): requests by key, day, operation and IP address. The counts are kept for 30
 * days.
 */
import { type Access, refusal } from '../caller.ts';
import { holdsIpAddress, parseForwardedAddress, parseIpNetwork } from '../ip-network.ts';
import type { ApiKey } from './api-key.ts';

export const KEY_REQUESTS_DAYS = 30;
/**
 * Number of pairs of operation and IP address that are counted for one key on a day, and in memory between two writes.
 * Requests of further pairs are counted without their IP address.
 */
export const KEY_REQUESTS_MAX = 200;

/** Number of requests of a key for one operation from one IP address. */
export interface KeyRequests {
  readonly keyId: string;
  readonly operation: string;
  /** The IP address. Empty if it was not recorded, because the key had too many different ones. */
  readonly address: string;
  readonly requests: number;
}
/** The sum of `KeyRequests` over several days. */
export interface PastKeyRequests extends KeyRequests {
  /** The last day with such a request, as `2026-03-01`. */
  readonly lastDay: string;
}

/** Number of requests of a key for one operation on one day, from all IP addresses. */
export interface KeyUsage {
  readonly keyId: string;
  /** The day in UTC, as `2026-03-01`. */
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
 * Returns the past requests that the limits `after` refuse and the limits `before` allow, most frequent first.
 * `accessOf` returns undefined for an operation that no longer exists.
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

/** Counts requests in memory until the next write. */
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

  /** Returns the counts since the last call, and starts again from zero. */
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
