import { recordChange } from '../audit/record-change.ts';
import type { Caller } from '../caller.ts';
import type { Dependencies } from '../dependencies.ts';
import type { ApiKeyPatch, Tx } from '../ports/stores.ts';
import type { ApiKey } from './api-key.ts';
import { hasEnded } from './key-end.ts';

type System = Pick<Dependencies, 'clock' | 'ids'>;

/** Changes a key of which the account is locked; every process hears of it with the commit (R9). */
export async function changeKey(
  tx: Tx,
  system: System,
  caller: Caller,
  action: string,
  before: ApiKey,
  patch: ApiKeyPatch,
): Promise<ApiKey> {
  const after = await tx.apiKeys.update(before.keyId, patch);
  tx.announce('api-key', before.keyId);
  await recordChange(tx, system, caller, {
    accountId: before.accountId,
    action,
    target: before.keyId,
    before: auditView(before),
    after: auditView(after),
  });
  return after;
}

/** Revokes those of the keys that still work, each with its own audit entry, and returns them. */
export async function revokeLiving(
  tx: Tx,
  system: System,
  caller: Caller,
  keys: readonly ApiKey[],
): Promise<readonly ApiKey[]> {
  const now = system.clock.now();
  const revoked: ApiKey[] = [];
  for (const key of keys) {
    if (hasEnded(key, now)) continue;
    revoked.push(await changeKey(tx, system, caller, 'apiKey.revoke', key, { revokedAt: now }));
  }
  return revoked;
}

/** What the audit log keeps of a key: everything that can be changed, and no secret. */
export function auditView(key: ApiKey) {
  const { name, scopes, environment, enableHmac, ipAllowlist, rateLimit, expiresAt, rotatedAt, revokedAt } =
    key;
  return { name, scopes, environment, enableHmac, ipAllowlist, rateLimit, expiresAt, rotatedAt, revokedAt };
}
