import { ACCOUNT_ROLES, accountIdOf, type Caller } from '../caller.ts';
import type { Dependencies } from '../dependencies.ts';
import { notFound } from '../errors.ts';
import { operation } from '../operation.ts';
import type { ApiKey, ScopeUse } from './api-key.ts';

const READ = { roles: ACCOUNT_ROLES } as const;
const READ_ANY = { roles: ACCOUNT_ROLES, operator: true } as const;

/** Looking at keys by their ids. */
export function apiKeyListOperations({ stores }: Pick<Dependencies, 'stores'>) {
  const accountOf = (caller: Caller) => (caller.kind === 'operator' ? undefined : accountIdOf(caller));
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
      READ_ANY,
      (
        caller,
        input: { readonly keyIds: readonly string[] },
      ): Promise<ReadonlyMap<string, readonly ScopeUse[]>> =>
        stores.apiKeys.scopeUses(input.keyIds, accountOf(caller)),
    ),

    /** The descendants of each key, ended ones too, the oldest first (see `revokeWithDescendants`). */
    descendantsOf: operation(
      'apiKey.descendantsOf',
      READ_ANY,
      (caller, input: { readonly keyIds: readonly string[]; readonly limit: number }) =>
        stores.apiKeys.madeBy({
          makers: input.keyIds.map((keyId) => `key:${keyId}`),
          accountId: accountOf(caller),
          isRotatedByOthersToo: true,
          limit: input.limit,
        }),
    ),

    /**
     * The keys of each person, ended ones too, the oldest first: those whose secret they were given, and what these
     * keys created or rotated in turn.
     */
    heldBy: operation(
      'apiKey.heldBy',
      READ_ANY,
      (caller, input: { readonly userIds: readonly string[]; readonly limit: number }) =>
        stores.apiKeys.madeBy({
          makers: input.userIds.map((userId) => `user:${userId}`),
          accountId: accountOf(caller),
          isRotatedByOthersToo: false,
          limit: input.limit,
        }),
    ),
  };
}
