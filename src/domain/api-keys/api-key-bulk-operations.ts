import {
  ACCOUNT_ROLES,
  type Access,
  accountIdOf,
  type Caller,
  requireStepUp,
  type Scope,
} from '../caller.ts';
import type { Dependencies } from '../dependencies.ts';
import { checkAll, DomainError, type ErrorCode, type ItemError, validationError } from '../errors.ts';
import { operation } from '../operation.ts';
import type { ApiKeyPatch } from '../ports/api-key-stores.ts';
import type { Tx } from '../ports/stores.ts';
import { type ApiKey, hasEnded, refuseEnded, refuseLaterEnd } from './api-key.ts';
import { changeKey, isAboveAccounts, lockKey, MANAGE_KEYS, refuseGrant } from './api-key-operations.ts';
import { checkExpiry, checkIpAllowlist, checkScopes } from './api-key-rules.ts';
import { KEY_REQUESTS_DAYS, type RefusedRequests, refusedRequests } from './key-requests.ts';
import { KEY_PRESETS, type KeyPreset, type ScopeInfo, scopeCatalog } from './scope-catalog.ts';

const KEYS_AT_ONCE = 100;
const ALL_KEYS = { page: 1, limit: 1000 };
const DAY_MS = 24 * 3_600_000;
/** Errors that abort the whole call. Any other error concerns one key only. */
const ENDS_ALL: ReadonlySet<ErrorCode> = new Set(['unauthorized', 'step_up_required']);

/** A change of several keys. A member that is absent leaves that property unchanged. */
export interface UpdateApiKeysInput {
  readonly keyIds: readonly string[];
  readonly addScopes?: readonly string[] | undefined;
  readonly removeScopes?: readonly string[] | undefined;
  readonly ipAllowlist?: readonly string[] | undefined;
  /** When the keys expire, in ISO 8601. Null removes the expiry. */
  readonly expiresAt?: string | null | undefined;
}
export interface ApiKeyChange {
  readonly before: ApiKey;
  readonly after: ApiKey;
  /** Past requests (of the last 30 days) that the changed key would refuse, although the unchanged key would not. */
  readonly refusedRequests: readonly RefusedRequests[];
}
export interface UpdatedApiKeys {
  readonly changes: readonly ApiKeyChange[];
  readonly userErrors: readonly ItemError[];
}
export interface UnusedScope {
  readonly key: ApiKey;
  readonly scope: Scope;
  readonly lastUsedAt: Date | null;
}

interface Named {
  readonly name: string;
  readonly access: Access;
}
type CheckedChange = ApiKeyPatch & { readonly add: readonly Scope[]; readonly remove: readonly Scope[] };

/** Operations that show the scopes and that change many keys. `all` are the operations that an API key can call. */
export function apiKeyBulkOperations(deps: Dependencies, all: readonly Named[]) {
  const { stores, uow, clock } = deps;
  const accesses = new Map(all.map(({ name, access }) => [name, access]));

  function check({
    keyIds,
    addScopes,
    removeScopes,
    ipAllowlist,
    expiresAt,
  }: UpdateApiKeysInput): CheckedChange {
    const scopesAt = (path: string, scopes: readonly string[] = []) => {
      if (scopes.length === 0) return [];
      try {
        return checkScopes(scopes);
      } catch (error) {
        throw validationError([{ path, message: (error as DomainError).message }]);
      }
    };
    const { add, remove, ...patch } = checkAll({
      keyIds: () => {
        if (keyIds.length >= 1 && keyIds.length <= KEYS_AT_ONCE) return;
        throw validationError([{ path: 'keyIds', message: `must name 1 to ${KEYS_AT_ONCE} keys` }]);
      },
      add: () => scopesAt('addScopes', addScopes),
      remove: () => scopesAt('removeScopes', removeScopes),
      ...(ipAllowlist === undefined ? {} : { ipAllowlist: () => checkIpAllowlist(ipAllowlist) }),
      ...(expiresAt === undefined ? {} : { expiresAt: () => checkExpiry(expiresAt, clock.now()) }),
    });
    const { keyIds: _, ...others } = patch;
    return { add, remove, ...others };
  }

  /** Changes one key. Throws before anything is written if the change is refused. */
  async function changeOne(
    tx: Tx,
    caller: Caller,
    keyId: string,
    { add, remove, ...change }: CheckedChange,
  ): Promise<ApiKeyChange> {
    const { apiKey: before, granter } = await lockKey(tx, deps, caller, keyId);
    refuseEnded(before, clock.now());
    if (change.expiresAt !== undefined) refuseLaterEnd(before, change.expiresAt);
    const scopes = [...new Set([...before.scopes, ...add])].filter((scope) => !remove.includes(scope));
    if (scopes.length === 0) {
      throw validationError([{ path: 'removeScopes', message: 'would leave the key without a scope' }]);
    }
    const patch: ApiKeyPatch = { ...change, ...(add.length + remove.length > 0 ? { scopes } : {}) };
    refuseGrant(granter, { ...before, ...patch });
    if (scopes.includes('FULL_ACCESS') && !before.scopes.includes('FULL_ACCESS')) requireStepUp(caller);
    const since = new Date(clock.now().getTime() - KEY_REQUESTS_DAYS * DAY_MS);
    const past = await tx.apiKeys.pastRequests(keyId, since);
    const after =
      Object.keys(patch).length === 0
        ? before
        : await changeKey(tx, deps, caller, 'apiKey.update', before, patch);
    const refused = refusedRequests(past, before, after, (name) => accesses.get(name));
    return { before, after, refusedRequests: refused };
  }

  /**
   * Sorts the ids of keys by account. An operator may name keys of several accounts, and a change locks all keys of its
   * account. Two calls that lock accounts in different orders could wait for each other (R277).
   */
  async function inOrderOfLocks(tx: Tx, caller: Caller, keyIds: readonly string[]): Promise<string[]> {
    const accountId = isAboveAccounts(caller) ? undefined : accountIdOf(caller);
    const known = await tx.apiKeys.findMany(accountId, keyIds);
    const places = known.map((key) => [key.keyId, `${key.accountId} ${key.keyId}`] as const);
    const placeOf = new Map(places);
    return keyIds.toSorted((left, right) =>
      (placeOf.get(left) ?? left) < (placeOf.get(right) ?? right) ? -1 : 1,
    );
  }

  return {
    /** Returns every scope with an explanation of what it allows (R275). */
    scopeCatalog: operation(
      'apiKey.scopeCatalog',
      { roles: ACCOUNT_ROLES, operator: 'reading' },
      async (_caller, _input: Record<string, never>): Promise<readonly ScopeInfo[]> => scopeCatalog(all),
    ),

    /** Returns templates for the scopes of new keys (R275). */
    presets: operation(
      'apiKey.presets',
      { roles: ACCOUNT_ROLES, operator: 'reading' },
      async (_caller, _input: Record<string, never>): Promise<readonly KeyPreset[]> => KEY_PRESETS,
    ),

    /**
     * Changes the given properties of each key, with an audit entry per key. If a key cannot be changed, it is reported
     * in `userErrors` and the other keys are changed. Throws `validation_error` if the change itself is invalid, and
     * `step_up_required`.
     */
    updateMany: operation(
      'apiKey.updateMany',
      MANAGE_KEYS,
      async (caller, input: UpdateApiKeysInput): Promise<UpdatedApiKeys> => {
        const change = check(input);
        const places = new Map(input.keyIds.map((keyId, index) => [keyId, index]));
        return uow.run(async (tx) => {
          const changes: ApiKeyChange[] = [];
          const userErrors: ItemError[] = [];
          for (const keyId of await inOrderOfLocks(tx, caller, [...places.keys()])) {
            try {
              changes.push(await changeOne(tx, caller, keyId, change));
            } catch (error) {
              if (!(error instanceof DomainError) || ENDS_ALL.has(error.code)) throw error;
              const { code, message } = error;
              const index = places.get(keyId) ?? 0;
              userErrors.push({ index, path: `keyIds.${index}`, code, message });
            }
          }
          changes.sort((left, right) => (left.after.keyId < right.after.keyId ? -1 : 1));
          userErrors.sort((left, right) => left.index - right.index);
          return { changes, userErrors };
        });
      },
    ),

    /**
     * Returns the scopes that keys of the account have not used for `days`. Keys that are younger than `days` or have
     * ended are left out.
     */
    unusedScopes: operation(
      'apiKey.unusedScopes',
      { roles: ACCOUNT_ROLES },
      async (caller, { days }: { readonly days: number }): Promise<readonly UnusedScope[]> => {
        if (!Number.isInteger(days) || days < 1 || days > 365) {
          throw validationError([{ path: 'days', message: 'must be a whole number from 1 to 365' }]);
        }
        const accountId = accountIdOf(caller);
        const now = clock.now();
        const since = new Date(now.getTime() - days * DAY_MS);
        const { rows } = await stores.apiKeys.page(accountId, ALL_KEYS);
        const keys = rows.filter((key) => !hasEnded(key, now) && key.createdAt <= since);
        const uses = await stores.apiKeys.scopeUses(
          keys.map(({ keyId }) => keyId),
          accountId,
        );
        return keys.flatMap((key) =>
          (uses.get(key.keyId) ?? [])
            .filter(({ lastUsedAt }) => lastUsedAt === null || lastUsedAt < since)
            .map((use) => ({ key, ...use })),
        );
      },
    ),
  };
}
