import type { ApiKey } from '../api-keys/api-key.ts';
import { revokeActive } from '../api-keys/api-key-operations.ts';
import type { AccountRole, Caller } from '../caller.ts';
import type { Dependencies } from '../dependencies.ts';
import type { Tx } from '../ports/stores.ts';
import type { User } from './user.ts';

/**
 * Revokes the keys of a person that allow more than the new role. If `role` is null, revokes all keys of the person.
 * R204 defines which keys belong to a person. Lock the account's keys before you call this.
 */
export async function revokeBeyondRole(
  tx: Tx,
  deps: Pick<Dependencies, 'clock' | 'ids'>,
  caller: Caller,
  { id }: User,
  accountId: string,
  role: AccountRole | null,
): Promise<void> {
  const held = await tx.apiKeys.findDescendants({
    issuers: [`user:${id}`],
    accountId,
    includesRotatedByOthers: false,
  });
  const beyond = held.map(({ key }) => key).filter((key) => goesBeyondRole(key, role));
  await revokeActive(tx, deps, caller, beyond);
}

/** True if a key exceeds a role. A VIEWER and SUPPORT may have no keys, and a DEVELOPER none with FULL_ACCESS. */
function goesBeyondRole({ scopes }: ApiKey, role: AccountRole | null): boolean {
  if (role === 'DEVELOPER') return scopes.includes('FULL_ACCESS');
  return role === null || role === 'VIEWER' || role === 'SUPPORT';
}
