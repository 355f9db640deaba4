import { accountIdOf } from '../accounts/account-operations.ts';
import { ACCOUNT_ROLES } from '../caller.ts';
import type { Dependencies } from '../dependencies.ts';
import { notFound } from '../errors.ts';
import { operation } from '../operation.ts';
import type { ApiKey, ScopeUse } from './api-key.ts';

const READ = { roles: ACCOUNT_ROLES } as const;

/** Looking at keys by their ids. */
export function apiKeyListOperations({ stores }: Pick<Dependencies, 'stores'>) {
  return {
    /** One of the account's keys. Another account's is `not_found`. */
    find: operation(
      'apiKey.find',
      READ,
      async (caller, input: { readonly keyId: string }): Promise<ApiKey> => {
        const [key] = await stores.apiKeys.findMany(accountIdOf(caller), [input.keyId]);
        if (!key) throw notFound('API key');
        return key;
      },
    ),

    /** Those of the keys that are the account's. */
    findMany: operation(
      'apiKey.findMany',
      READ,
      (caller, input: { readonly keyIds: readonly string[] }): Promise<readonly ApiKey[]> =>
        stores.apiKeys.findMany(accountIdOf(caller), input.keyIds),
    ),

    /** Which scopes of the keys were used, and when last; those of another account's keys are left out. */
    scopeUses: operation(
      'apiKey.scopeUses',
      { roles: ACCOUNT_ROLES, operator: true },
      (
        caller,
        input: { readonly keyIds: readonly string[] },
      ): Promise<ReadonlyMap<string, readonly ScopeUse[]>> =>
        stores.apiKeys.scopeUses(input.keyIds, caller.kind === 'operator' ? undefined : accountIdOf(caller)),
    ),
  };
}
