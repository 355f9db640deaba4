import { ACCOUNT_ROLES, accountIdOf, type Caller } from '../caller.ts';
import type { Dependencies } from '../dependencies.ts';
import { notFound, validationError } from '../errors.ts';
import { operation } from '../operation.ts';
import type { ApiKey, ScopeUse } from './api-key.ts';
import { type KeyPermissions, keyPermissions } from './api-key-operations.ts';
import type { KeyUsage } from './key-requests.ts';

const READ = { roles: ACCOUNT_ROLES } as const;
const READ_ANY = { roles: ACCOUNT_ROLES, operator: 'reading' } as const;

export interface KeyUsageInput {
  readonly keyIds: readonly string[];
  /** The first and the last day. Both are included. */
  readonly from: Date;
  readonly to: Date;
}

/** Operations that look up keys by id. */
export function apiKeyListOperations({ stores, clock }: Pick<Dependencies, 'stores' | 'clock'>) {
  const accountOf = (caller: Caller) => (caller.kind === 'operator' ? undefined : accountIdOf(caller));
  return {
    /** Returns one of the account's keys. Throws `not_found`, also for another account's key. */
    find: operation(
      'apiKey.find',
      READ,
      async (caller, input: { readonly keyId: string }): Promise<ApiKey> => {
        const [key] = await stores.apiKeys.findMany(accountIdOf(caller), [input.keyId]);
        if (!key) throw notFound('API key');
        return key;
      },
    ),

    /** Returns keys by id. It leaves out keys of other accounts. */
    findMany: operation(
      'apiKey.findMany',
      READ_ANY,
      (caller, input: { readonly keyIds: readonly string[] }): Promise<readonly ApiKey[]> =>
        stores.apiKeys.findMany(accountOf(caller), input.keyIds),
    ),

    /** Returns the last use of each scope of the keys. It leaves out keys of other accounts. */
    scopeUses: operation(
      'apiKey.scopeUses',
      READ_ANY,
      (
        caller,
        input: { readonly keyIds: readonly string[] },
      ): Promise<ReadonlyMap<string, readonly ScopeUse[]>> =>
        stores.apiKeys.scopeUses(input.keyIds, accountOf(caller)),
    ),

    /** Returns the keys that replaced the given keys by rotation. */
    successorsOf: operation(
      'apiKey.successorsOf',
      READ_ANY,
      (caller, input: { readonly keyIds: readonly string[] }): Promise<readonly ApiKey[]> =>
        stores.apiKeys.findSuccessors(accountOf(caller), input.keyIds),
    ),

    /**
     * Returns the numbers of requests of keys by day and operation, newest first (R276). Throws `validation_error` if
     * `to` is before `from`.
     */
    usage: operation(
      'apiKey.usage',
      READ_ANY,
      async (
        caller,
        { keyIds, from, to, limit }: KeyUsageInput & { readonly limit: number },
      ): Promise<readonly KeyUsage[]> => {
        if (to < from) throw validationError([{ path: 'to', message: 'must not be before from' }]);
        return stores.apiKeys.usage(accountOf(caller), keyIds, from, to, limit);
      },
    ),

    /** Returns the changes to each key that the caller's role and the state of the key allow, by key id. */
    permissionsOn: operation(
      'apiKey.permissionsOn',
      READ_ANY,
      async (
        caller,
        input: { readonly keys: readonly ApiKey[] },
      ): Promise<ReadonlyMap<string, KeyPermissions>> => {
        const now = clock.now();
        return new Map(input.keys.map((key) => [key.keyId, keyPermissions(caller, key, now)]));
      },
    ),

    /**
     * Returns the descendants of each key (R204), oldest first: keys that were created or rotated with it, directly or
     * through other keys. Ended keys are included.
     */
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
     * Returns the keys of each person (R204), oldest first: keys whose secret the person received, and their
     * descendants. Ended keys are included.
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
