import { namedAccountId } from '../accounts/account-operations.ts';
import { refuseStaleRole } from '../accounts/refuse-stale-role.ts';
import { recordChange } from '../audit/record-change.ts';
import {
  ACCOUNT_ROLES,
  type Access,
  accountIdOf,
  actorOf,
  type Caller,
  refusal,
  requireStepUp,
} from '../caller.ts';
import { newKeyId } from '../cells/slots.ts';
import type { Dependencies } from '../dependencies.ts';
import { checkAll, type DomainError, forbidden, notFound, unauthorized, validationError } from '../errors.ts';
import { operation } from '../operation.ts';
import type { PageRequest } from '../paging.ts';
import type { ApiKeyPatch } from '../ports/api-key-stores.ts';
import type { Tx } from '../ports/stores.ts';
import type { ApiKey } from './api-key.ts';
import { hasEnded, refuseEnded, refuseLaterEnd, refuseRotated } from './api-key.ts';
import {
  checkEnvironment,
  checkExpiry,
  checkIpAllowlist,
  checkKeyName,
  checkOverlap,
  checkRateLimit,
  checkScopes,
  type KeyLimits,
  LIVING_KEYS_MAX,
  type PlannedRate,
  refuseGrantBeyond,
} from './api-key-rules.ts';
import { formatKey, hashSecret, isKeyId } from './key-format.ts';

export interface CreateApiKeyInput {
  /**
   * The account of the new key. Operators and the system must name an account. Other callers may name only their own
   * account.
   */
  readonly accountId?: string | null | undefined;
  readonly name: string;
  readonly scopes: readonly string[];
  readonly environment: string;
  readonly enableHmac?: boolean | undefined;
  readonly ipAllowlist?: readonly string[] | undefined;
  readonly expiresAt?: string | null | undefined;
  /** The rate limit of the new key. Only operators and the system may set it. */
  readonly rateLimit?: ApiKey['rateLimit'] | undefined;
}
/** A change of a key. A member that is absent leaves that property unchanged. */
export interface UpdateApiKeyInput {
  readonly keyId: string;
  readonly name?: string | undefined;
  readonly scopes?: readonly string[] | undefined;
  readonly environment?: string | undefined;
  readonly ipAllowlist?: readonly string[] | undefined;
  /** When the key expires, in ISO 8601. Null removes the expiry. */
  readonly expiresAt?: string | null | undefined;
}
/** A new key. `key` and `signingSecret` are shown only in this answer. */
export interface NewApiKey {
  readonly apiKey: ApiKey;
  readonly key: string;
  readonly signingSecret: string | null;
}
/** A revoked key and its descendants. */
export interface RevokedTree {
  readonly apiKey: ApiKey;
  /** The keys that this call revoked. Keys that had ended before are not included. */
  readonly revokedKeys: readonly ApiKey[];
}
/** The caller of a change, read again in the transaction, with the limits of what it may grant. */
interface Granter {
  readonly caller: Caller;
  /**
   * Set if the caller is an API key. `key` is that key. `plan` has the rate limits that apply to keys without their
   * own.
   */
  readonly own?: { readonly key: ApiKey; readonly plan: PlannedRate };
}

/** Who may manage keys (R7): keys with FULL_ACCESS, members except viewers, and operators. */
export const MANAGE_KEYS: Access = { scopes: [], roles: ['OWNER', 'ADMIN', 'DEVELOPER'], operator: true };
const DEVELOPER_LIMIT = 'A DEVELOPER manages the keys they made themselves, and none with FULL_ACCESS.';

/** Operations that manage API keys. */
export function apiKeyOperations(deps: Dependencies) {
  const { stores, uow, clock, ids, secrets, settings } = deps;

  /** Stores a key with new secrets. Returns the secrets with the key. */
  async function issue(
    tx: Tx,
    { caller }: Granter,
    properties: Omit<ApiKey, 'keyId' | 'issuedBy' | 'rotatedAt' | 'lastUsedAt' | 'revokedAt' | 'replaces'>,
    replaces: string | null = null,
  ): Promise<NewApiKey> {
    const apiKey: ApiKey = {
      ...properties,
      replaces,
      keyId: newKeyId(properties.accountId, settings.slots, (bytes) => ids.random(bytes)),
      issuedBy: actorOf(caller),
      rotatedAt: null,
      lastUsedAt: null,
      revokedAt: null,
    };
    const secret = ids.random(20).toString('hex');
    const signingSecret = apiKey.enableHmac ? `sigsec_${ids.random(32).toString('base64url')}` : null;
    const sealed = signingSecret === null ? null : secrets.seal(signingSecret);
    if ((await tx.apiKeys.countLiving(apiKey.accountId, clock.now())) >= LIVING_KEYS_MAX) throw tooManyKeys();
    await tx.apiKeys.insert(apiKey, hashSecret(secret), sealed);
    await shareLimits(tx, caller, apiKey);
    await recordChange(tx, deps, caller, {
      accountId: apiKey.accountId,
      action: 'apiKey.create',
      target: apiKey.keyId,
      after: auditView(apiKey),
    });
    return { apiKey, key: formatKey(apiKey.keyId, secret), signingSecret };
  }

  /** Revokes one key. A key that is already revoked stays unchanged. */
  async function revokeOne(tx: Tx, caller: Caller, before: ApiKey): Promise<ApiKey> {
    if (before.revokedAt) return before;
    return changeKey(tx, deps, caller, 'apiKey.revoke', before, { revokedAt: clock.now() });
  }

  return {
    /** Lists the account's keys, newest first. Includes keys that have ended. A sandbox key sees only sandbox keys. */
    list: operation(
      'apiKey.list',
      { scopes: [], roles: ACCOUNT_ROLES },
      (caller, input: { readonly page: PageRequest }) => {
        const isSandbox = caller.kind === 'api-key' && caller.environment === 'sandbox';
        return stores.apiKeys.page(accountIdOf(caller), input.page, isSandbox ? 'sandbox' : undefined);
      },
    ),

    /**
     * Creates a key within the caller's own limits (R202). If the caller is a key with its own rate limit, the new key
     * gets the same rate limit. Throws `forbidden` with a text that names the exceeded limit, and `validation_error` if
     * the account has too many keys (R565).
     */
    create: operation(
      'apiKey.create',
      MANAGE_KEYS,
      async (caller, input: CreateApiKeyInput): Promise<NewApiKey> => {
        const account = await stores.accounts.find(namedAccountId(caller, input.accountId));
        if (!account) throw notFound('Account');
        if (input.rateLimit && !isAboveAccounts(caller))
          throw forbidden('Rate limits of a key are set by platform operators.');
        const now = clock.now();
        const properties = {
          accountId: account.id,
          ...checkAll({
            name: () => checkKeyName(input.name),
            scopes: () => checkScopes(input.scopes),
            environment: () => checkEnvironment(input.environment),
            ipAllowlist: () => checkIpAllowlist(input.ipAllowlist ?? []),
            rateLimit: () => checkRateLimit(input.rateLimit ?? { perMinute: null, perSecond: null }),
            expiresAt: () => checkExpiry(input.expiresAt ?? null, now),
          }),
          enableHmac: input.enableHmac ?? false,
          createdAt: now,
          createdBy: actorOf(caller),
        };
        if (properties.scopes.includes('FULL_ACCESS')) requireStepUp(caller);
        return uow.run(async (tx) => {
          const granter = await lockAndReadCaller(tx, deps, caller, account.id);
          const given = { ...properties, rateLimit: granter.own?.key.rateLimit ?? properties.rateLimit };
          refuseGrant(granter, given);
          return issue(tx, granter, given);
        });
      },
    ),

    /**
     * Changes the given properties of a key, with effect from the next request. Throws `forbidden` if the result
     * exceeds the caller's own limits (R202). Throws `key_ended` for an ended key, and if a rotated key would end later
     * (R203).
     */
    update: operation('apiKey.update', MANAGE_KEYS, async (caller, input: UpdateApiKeyInput) => {
      const { keyId, name, scopes, environment, ipAllowlist, expiresAt } = input;
      const patch: ApiKeyPatch = checkAll({
        ...(name === undefined ? {} : { name: () => checkKeyName(name) }),
        ...(scopes === undefined ? {} : { scopes: () => checkScopes(scopes) }),
        ...(environment === undefined ? {} : { environment: () => checkEnvironment(environment) }),
        ...(ipAllowlist === undefined ? {} : { ipAllowlist: () => checkIpAllowlist(ipAllowlist) }),
        ...(expiresAt === undefined ? {} : { expiresAt: () => checkExpiry(expiresAt, clock.now()) }),
      });
      return uow.run(async (tx) => {
        const { apiKey: before, granter } = await lockKey(tx, deps, caller, keyId);
        refuseEnded(before, clock.now());
        if (patch.expiresAt !== undefined) refuseLaterEnd(before, patch.expiresAt);
        refuseGrant(granter, { ...before, ...patch });
        if (Object.keys(patch).length === 0) return before;
        const opensProduction = patch.environment === 'production' && before.environment !== 'production';
        const opensAll = patch.scopes?.includes('FULL_ACCESS') && !before.scopes.includes('FULL_ACCESS');
        if (opensProduction || opensAll) requireStepUp(caller);
        return changeKey(tx, deps, caller, 'apiKey.update', before, patch);
      });
    }),

    /**
     * Replaces a key by a new key with the same properties and new secrets. The old key ends after `overlapSeconds`, by
     * default at once (R7). Throws `key_ended` for an ended or already rotated key. Throws `forbidden` if the key
     * exceeds the caller's own limits, because the caller receives the new secrets.
     */
    rotate: operation(
      'apiKey.rotate',
      MANAGE_KEYS,
      async (caller, input: { readonly keyId: string; readonly overlapSeconds?: number | undefined }) => {
        const overlapSeconds = checkOverlap(input.overlapSeconds ?? 0);
        return uow.run(async (tx) => {
          const { apiKey: before, granter } = await lockKey(tx, deps, caller, input.keyId);
          const now = clock.now();
          refuseEnded(before, now);
          refuseRotated(before);
          refuseGrant(granter, before);
          if (before.scopes.includes('FULL_ACCESS')) requireStepUp(caller);
          const end = new Date(now.getTime() + overlapSeconds * 1000);
          const isSooner = !before.expiresAt || end < before.expiresAt;
          const patch = { rotatedAt: now, ...(isSooner ? { expiresAt: end } : {}) };
          await changeKey(tx, deps, caller, 'apiKey.rotate', before, patch);
          return issue(tx, granter, { ...before, createdAt: now }, before.keyId);
        });
      },
    ),

    /** Revokes a key at once and permanently. Revoking it again changes nothing. */
    revoke: operation('apiKey.revoke', MANAGE_KEYS, (caller, input: { readonly keyId: string }) =>
      uow.run(async (tx) => {
        const { apiKey } = await lockKey(tx, deps, caller, input.keyId);
        return revokeOne(tx, caller, apiKey);
      }),
    ),

    /**
     * Revokes a key and its descendants (R204): the keys that it created or rotated, the keys that those created or
     * rotated, and so on. The successor of a key is its descendant even if somebody else rotated it. A sandbox key
     * cannot revoke production keys.
     */
    revokeWithDescendants: operation(
      'apiKey.revokeWithDescendants',
      MANAGE_KEYS,
      (caller, input: { readonly keyId: string }): Promise<RevokedTree> =>
        uow.run(async (tx) => {
          const { apiKey: before, granter } = await lockKey(tx, deps, caller, input.keyId);
          const { accountId, keyId } = before;
          const found = await tx.apiKeys.findDescendants({
            issuers: [`key:${keyId}`],
            accountId,
            includesRotatedByOthers: true,
          });
          const apiKey = await revokeOne(tx, caller, before);
          const descendants = found.map(({ key }) => key).filter((key) => isVisible(granter, key));
          const revoked = await revokeActive(tx, deps, caller, descendants);
          return { apiKey, revokedKeys: before.revokedAt ? revoked : [apiKey, ...revoked] };
        }),
    ),

    /** Sets the rate limit of a key. Nulls clear it (R12). Throws `key_ended` for an ended key. */
    setRateLimit: operation(
      'apiKey.setRateLimit',
      { operator: true },
      (caller, input: { readonly keyId: string } & ApiKey['rateLimit']) => {
        const { keyId, perMinute, perSecond } = input;
        const rateLimit = checkRateLimit({ perMinute, perSecond });
        return uow.run(async (tx) => {
          const { apiKey: before } = await lockKey(tx, deps, caller, keyId);
          refuseEnded(before, clock.now());
          return changeKey(tx, deps, caller, 'apiKey.setRateLimit', before, { rateLimit });
        });
      },
    ),
  };
}

function tooManyKeys(): DomainError {
  const message = `the account has ${LIVING_KEYS_MAX} keys that work, which is the most; revoke some first`;
  return validationError([{ path: '', message }]);
}

/** Makes a new key share the send limits of two keys: the key that created it, and the key that it replaces (R373). */
async function shareLimits(tx: Tx, caller: Caller, { keyId, accountId, replaces }: ApiKey): Promise<void> {
  const makers = new Set([
    ...(caller.kind === 'api-key' ? [caller.keyId] : []),
    ...(replaces ? [replaces] : []),
  ]);
  let isLimited = false;
  for (const maker of makers) isLimited = (await tx.sendLimits.share(maker, [keyId])) || isLimited;
  if (replaces !== null) await tx.sendLimits.handOver(replaces, keyId);
  if (isLimited) tx.announce('account', accountId);
}

type LockDependencies = Pick<Dependencies, 'clock' | 'settings'>;

/**
 * Locks the keys of the account until the transaction ends, and reads the caller again. Otherwise the caller could
 * grant rights that it has lost since the request arrived (R202). Throws `unauthorized` or `forbidden`.
 */
async function lockAndReadCaller(
  tx: Tx,
  { clock, settings }: LockDependencies,
  caller: Caller,
  accountId: string,
): Promise<Granter> {
  await tx.apiKeys.lockAccount(accountId);
  await refuseStaleRole(tx, caller);
  if (caller.kind !== 'api-key') return { caller };
  const key = await tx.apiKeys.find(caller.keyId, accountId);
  if (!key || hasEnded(key, clock.now())) throw unauthorized('The API key has ended.');
  const refused = refusal(MANAGE_KEYS, { ...caller, scopes: key.scopes });
  if (refused) throw refused;
  const account = await tx.accounts.find(accountId);
  return { caller, own: { key, plan: account?.plan ?? settings.keyRate } };
}

/**
 * Locks a key until the transaction ends. Throws `not_found` for another account's key. A sandbox key gets `not_found`
 * for production keys, too.
 */
export async function lockKey(
  tx: Tx,
  deps: LockDependencies,
  caller: Caller,
  keyId: string,
): Promise<{ apiKey: ApiKey; granter: Granter }> {
  const accountId = isAboveAccounts(caller) ? undefined : accountIdOf(caller);
  const known = isKeyId(keyId) ? await tx.apiKeys.find(keyId, accountId) : undefined;
  if (!known) throw notFound('API key');
  const granter = await lockAndReadCaller(tx, deps, caller, known.accountId);
  const apiKey = await tx.apiKeys.lock(keyId, known.accountId);
  if (!apiKey || !isVisible(granter, apiKey)) throw notFound('API key');
  if (isDeveloper(caller) && apiKey.createdBy !== actorOf(caller)) throw forbidden(DEVELOPER_LIMIT);
  return { apiKey, granter };
}

/** True for callers who may change every account: operators and the system. */
export function isAboveAccounts(caller: Caller): boolean {
  return caller.kind === 'operator' || caller.kind === 'system';
}

function isDeveloper(caller: Caller): boolean {
  return caller.kind === 'member' && caller.role === 'DEVELOPER';
}

/** True if the caller may see `key`. A sandbox key sees only sandbox keys. */
function isVisible({ own }: Granter, key: ApiKey): boolean {
  return own?.key.environment !== 'sandbox' || key.environment === 'sandbox';
}

/**
 * Throws `forbidden` if `result` exceeds what the caller may grant: nobody grants more than they have (R202). A member
 * with the role DEVELOPER never gets a key with FULL_ACCESS.
 */
export function refuseGrant({ caller, own }: Granter, result: KeyLimits): void {
  if (isDeveloper(caller) && result.scopes.includes('FULL_ACCESS')) throw forbidden(DEVELOPER_LIMIT);
  if (own) refuseGrantBeyond(own.key, result, own.plan);
}

/** The changes to a key that a person may make now. */
export interface KeyPermissions {
  readonly update: boolean;
  readonly rotate: boolean;
  readonly revoke: boolean;
  readonly setRateLimit: boolean;
}

/**
 * Returns the operations above that would accept this caller and key. It does not check whether a step-up is needed.
 */
export function keyPermissions(caller: Caller, key: ApiKey, now: Date): KeyPermissions {
  const isOwn = !isDeveloper(caller) || key.createdBy === actorOf(caller);
  const mayManage = refusal(MANAGE_KEYS, caller) === undefined && isOwn;
  const isActive = !hasEnded(key, now);
  const mayHold = !isDeveloper(caller) || !key.scopes.includes('FULL_ACCESS');
  return {
    update: mayManage && isActive,
    rotate: mayManage && isActive && key.rotatedAt === null && mayHold,
    revoke: mayManage && key.revokedAt === null,
    setRateLimit: caller.kind === 'operator' && isActive,
  };
}

type System = Pick<Dependencies, 'clock' | 'ids'>;

/**
 * Changes a key, with an audit entry. On commit, every process drops its cached copy (R9). The account's keys must be
 * locked.
 */
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

/** Revokes the keys that have not ended, each with its own audit entry. Returns the keys that it revoked. */
export async function revokeActive(
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

/** Returns what the audit log stores of a key: everything that can change, without secrets. */
function auditView(key: ApiKey) {
  const { name, scopes, environment, enableHmac, ipAllowlist, rateLimit, expiresAt, rotatedAt, revokedAt } =
    key;
  return { name, scopes, environment, enableHmac, ipAllowlist, rateLimit, expiresAt, rotatedAt, revokedAt };
}
