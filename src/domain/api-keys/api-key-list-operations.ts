import { ACCOUNT_ROLES, accountIdOf, type Caller } from '../caller.ts';
import type { Dependencies } from '../dependencies.ts';
import { notFound } from '../errors.ts';
import { operation } from '../operation.ts';
import type { ApiKey, ScopeUse } from './api-key.ts';

const READ = { roles: ACCOUNT_ROLES } as const;
const READ_ANY = { roles: ACCOUNT_ROLES, operator: true } as const;

/** Looking up keys by id. */
export function apiKeyListOperations({ stores }: Pick<Dependencies, 'stores'>) {
  const accountOf = (caller: Caller) => (caller.kind === 'operator' ? undefined : accountIdOf(caller));
  return {
    /** One of the account's keys. Throws `not_found` for another account's key. */
    find: operation(
      'apiKey.find',
      READ,
      async (caller, input: { readonly keyId: string }): Promise<ApiKey> => {
        const [key] = await stores.apiKeys.findMany(accountIdOf(caller), [input.keyId]);
        if (!key) throw notFound('API key');
        return key;
      },
    ),

    /** Leaves out keys of other accounts. */
    findMany: operation(
      'apiKey.findMany',
      READ,
      (caller, input: { readonly keyIds: readonly string[] }): Promise<readonly ApiKey[]> =>
        stores.apiKeys.findMany(accountIdOf(caller), input.keyIds),
    ),

    /** The last use of each scope of the keys. Leaves out keys of other accounts. */
    scopeUses: operation(
      'apiKey.scopeUses',
      READ_ANY,
      (
        caller,
        input: { readonly keyIds: readonly string[] },
      ): Promise<ReadonlyMap<string, readonly ScopeUse[]>> =>
        stores.apiKeys.scopeUses(input.keyIds, accountOf(caller)),
    ),

    /** The descendants of each key (R204), ended ones too, oldest first. */
    descendantsOf: operation(
      'apiKey.descendantsOf',
      READ_ANY,
      (caller, input: { readonly keyIds: readonly string[]; readonly limit: number }) =>
        stores.apiKeys.findDescendants({
          issuers: input.keyIds.map((keyId) => `key:${keyId}`),
          accountId: accountOf(caller),
          includesRotatedByOthers: true,
          limit: input.limit,
        }),
    ),

    /**
     * The keys of each person (R204), ended ones too, oldest first: those whose secret the person was given, and
     * their descendants.
     */
    heldBy: operation(
      'apiKey.heldBy',
      READ_ANY,
      (caller, input: { readonly userIds: readonly string[]; readonly limit: number }) =>
        stores.apiKeys.findDescendants({
          issuers: input.userIds.map((userId) => `user:${userId}`),
          accountId: accountOf(caller),
          includesRotatedByOthers: false,
          limit: input.limit,
        }),
    ),
  };
}
