/** Suppressions of erased people are stored under a hash of the address (R492). */
import type { AccountEnvironment } from '../caller.ts';
import type { AddressHashes } from '../ports/address-hashes.ts';
import type { SuppressionStore } from '../ports/suppression-store.ts';
import { HASHED_PREFIX, type SuppressedAddress, type SuppressedChannel } from './suppression.ts';

/** Returns the texts under which a suppression of the address may be stored: the address, and its hash (R492). */
export async function storedForms(
  hashes: AddressHashes,
  accountId: string,
  address: string,
): Promise<readonly string[]> {
  const hash = await hashes.known(accountId);
  return hash ? [address, HASHED_PREFIX + hash(address)] : [address];
}

/**
 * Returns the suppressed addresses among those given, also of erased people. `kind` is what `SuppressionStore.any`
 * returned: hashes are only made for an account that has some.
 */
export async function findSuppressed(
  store: Pick<SuppressionStore, 'among'>,
  hashes: AddressHashes,
  kind: 'plain' | 'hashed',
  owner: AccountEnvironment,
  channel: SuppressedChannel,
  addresses: readonly string[],
): Promise<readonly SuppressedAddress[]> {
  if (kind === 'plain') return store.among(owner, channel, addresses);
  const hash = await hashes.known(owner.accountId);
  const byHash = new Map(hash ? addresses.map((address) => [HASHED_PREFIX + hash(address), address]) : []);
  const found = await store.among(owner, channel, [...addresses, ...byHash.keys()]);
  return found.map(({ address, scope }) => ({ address: byHash.get(address) ?? address, scope }));
}
