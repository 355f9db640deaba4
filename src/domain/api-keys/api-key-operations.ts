import { accountIdOf, namedAccountId } from '../accounts/account-operations.ts';
import { recordChange } from '../audit/record-change.ts';
import { ACCOUNT_ROLES, type Access, actorOf, type Caller } from '../caller.ts';
import type { Dependencies } from '../dependencies.ts';
import { forbidden, notFound, validationError } from '../errors.ts';
import { operation } from '../operation.ts';
import type { PageRequest } from '../ports/page.ts';
import type { Tx } from '../ports/stores.ts';
import type { ApiKey } from './api-key.ts';
import {
  checkEnvironment,
  checkExpiry,
  checkIpAllowlist,
  checkKeyName,
  checkOverlap,
  checkRateLimit,
  checkScopes,
} from './api-key-rules.ts';
import { formatKey, hashSecret, isKeyId } from './key-format.ts';

export interface CreateApiKeyInput {
  /** Named by operators and the system; the others have their own and can name no other. */
  readonly accountId?: string | null | undefined;
  readonly name: string;
  readonly scopes: readonly string[];
  readonly environment: string;
  readonly enableHmac?: boolean | undefined;
  readonly ipAllowlist?: readonly string[] | undefined;
  readonly expiresAt?: string | null | undefined;
  /** For operators and the system. */
  readonly rateLimit?: ApiKey['rateLimit'] | undefined;
}
/** What changes; what is absent stays. */
export interface UpdateApiKeyInput {
  readonly keyId: string;
  readonly name?: string | undefined;
  readonly scopes?: readonly string[] | undefined;
  readonly environment?: string | undefined;
  readonly ipAllowlist?: readonly string[] | undefined;
  /** Null takes the end away. */
  readonly expiresAt?: string | null | undefined;
}
/** A new key; `key` and `signingSecret` are shown this once. */
export interface NewApiKey {
  readonly apiKey: ApiKey;
  readonly key: string;
  readonly signingSecret: string | null;
}

/** Keys are managed with FULL_ACCESS, by members who may, and by operators (decision 7; members' roles). */
const MANAGE: Access = { scopes: [], roles: ['OWNER', 'ADMIN', 'DEVELOPER'], operator: true };
const DEVELOPER_LIMIT = 'A DEVELOPER manages the keys they made themselves, and none with FULL_ACCESS.';

/** API keys and what they may do. */
export function apiKeyOperations(deps: Dependencies) {
  const { stores, uow, clock, ids, secrets } = deps;

  /** Stores a key with fresh secrets. */
  async function issue(
    tx: Tx,
    caller: Caller,
    action: string,
    properties: Omit<ApiKey, 'keyId'>,
  ): Promise<NewApiKey> {
    const apiKey: ApiKey = { ...properties, keyId: ids.random(8).toString('hex') };
    const secret = ids.random(20).toString('hex');
    const signingSecret = apiKey.enableHmac ? `sigsec_${ids.random(32).toString('base64url')}` : null;
    const sealed = signingSecret === null ? null : secrets.seal(signingSecret);
    await tx.apiKeys.insert(apiKey, hashSecret(secret), sealed);
    await recordChange(tx, deps, caller, {
      accountId: apiKey.accountId,
      action,
      target: apiKey.keyId,
      after: auditView(apiKey),
    });
    return { apiKey, key: formatKey(apiKey.keyId, secret), signingSecret };
  }

  /** The key, locked until the transaction ends; another account's is `not_found`. */
  async function lockKey(tx: Tx, caller: Caller, keyId: string): Promise<ApiKey> {
    const isAbove = caller.kind === 'operator' || caller.kind === 'system';
    const apiKey = isKeyId(keyId)
      ? await tx.apiKeys.lock(keyId, isAbove ? undefined : accountIdOf(caller))
      : undefined;
    if (!apiKey) throw notFound('API key');
    if (isDeveloper(caller) && apiKey.createdBy !== actorOf(caller)) throw forbidden(DEVELOPER_LIMIT);
    return apiKey;
  }

  /** Changes a locked key; every process hears of it with the commit (decision 9). */
  async function change(
    tx: Tx,
    caller: Caller,
    action: string,
    before: ApiKey,
    patch: Parameters<Tx['apiKeys']['update']>[1],
  ): Promise<ApiKey> {
    const after = await tx.apiKeys.update(before.keyId, patch);
    tx.announce('api-key', before.keyId);
    await recordChange(tx, deps, caller, {
      accountId: before.accountId,
      action,
      target: before.keyId,
      before: auditView(before),
      after: auditView(after),
    });
    return after;
  }

  return {
    /** The account's keys, newest first, revoked and expired ones too. */
    list: operation(
      'apiKey.list',
      { scopes: [], roles: ACCOUNT_ROLES },
      (caller, input: { readonly page: PageRequest }) => stores.apiKeys.page(accountIdOf(caller), input.page),
    ),

    create: operation(
      'apiKey.create',
      MANAGE,
      async (caller, input: CreateApiKeyInput): Promise<NewApiKey> => {
        const isAbove = caller.kind === 'operator' || caller.kind === 'system';
        const account = await stores.accounts.find(namedAccountId(caller, input.accountId));
        if (!account) throw notFound('Account');
        if (input.rateLimit && !isAbove)
          throw forbidden('Rate limits of a key are set by platform operators.');
        const now = clock.now();
        const properties = {
          accountId: account.id,
          name: checkKeyName(input.name),
          scopes: checkScopes(input.scopes),
          environment: checkEnvironment(input.environment),
          enableHmac: input.enableHmac ?? false,
          ipAllowlist: checkIpAllowlist(input.ipAllowlist ?? []),
          rateLimit: checkRateLimit(input.rateLimit ?? { perMinute: null, perSecond: null }),
          createdAt: now,
          createdBy: actorOf(caller),
          expiresAt: checkExpiry(input.expiresAt ?? null, now),
          lastUsedAt: null,
          revokedAt: null,
        };
        refuseFullAccess(caller, properties);
        return uow.run((tx) => issue(tx, caller, 'apiKey.create', properties));
      },
    ),

    /** Changes what is named of a key, with effect from the next request. */
    update: operation('apiKey.update', MANAGE, async (caller, input: UpdateApiKeyInput) => {
      const { keyId, name, scopes, environment, ipAllowlist, expiresAt } = input;
      const patch = {
        ...(name === undefined ? {} : { name: checkKeyName(name) }),
        ...(scopes === undefined ? {} : { scopes: checkScopes(scopes) }),
        ...(environment === undefined ? {} : { environment: checkEnvironment(environment) }),
        ...(ipAllowlist === undefined ? {} : { ipAllowlist: checkIpAllowlist(ipAllowlist) }),
        ...(expiresAt === undefined ? {} : { expiresAt: checkExpiry(expiresAt, clock.now()) }),
      };
      return uow.run(async (tx) => {
        const before = await lockKey(tx, caller, keyId);
        refuseFullAccess(caller, { ...before, ...patch });
        if (Object.keys(patch).length === 0) return before;
        return change(tx, caller, 'apiKey.update', before, patch);
      });
    }),

    /**
     * Issues a key with the same properties and fresh secrets; the old one expires after `overlapSeconds`, at once
     * by default (decision 7). A revoked key stays the end of its line: `validation_error`.
     */
    rotate: operation(
      'apiKey.rotate',
      MANAGE,
      async (caller, input: { readonly keyId: string; readonly overlapSeconds?: number | undefined }) => {
        const overlapSeconds = checkOverlap(input.overlapSeconds ?? 0);
        return uow.run(async (tx) => {
          const before = await lockKey(tx, caller, input.keyId);
          refuseFullAccess(caller, before);
          const now = clock.now();
          if (before.revokedAt || (before.expiresAt && before.expiresAt <= now)) {
            const why = before.revokedAt ? 'was revoked' : 'has expired';
            throw validationError([{ path: 'keyId', message: `is of a key that ${why}; create a new one` }]);
          }
          const end = new Date(now.getTime() + overlapSeconds * 1000);
          const isSooner = !before.expiresAt || end < before.expiresAt;
          if (isSooner) await change(tx, caller, 'apiKey.rotate', before, { expiresAt: end });
          const { keyId: _, ...properties } = before;
          return issue(tx, caller, 'apiKey.create', { ...properties, createdAt: now, lastUsedAt: null });
        });
      },
    ),

    /** Revokes a key at once and for good. Revoking it again changes nothing. */
    revoke: operation('apiKey.revoke', MANAGE, (caller, input: { readonly keyId: string }) =>
      uow.run(async (tx) => {
        const before = await lockKey(tx, caller, input.keyId);
        if (before.revokedAt) return before;
        return change(tx, caller, 'apiKey.revoke', before, { revokedAt: clock.now() });
      }),
    ),

    /** Sets or, with nulls, clears a key's own limits (decision 12). */
    setRateLimit: operation(
      'apiKey.setRateLimit',
      { operator: true },
      (caller, input: { readonly keyId: string } & ApiKey['rateLimit']) => {
        const { keyId, perMinute, perSecond } = input;
        const rateLimit = checkRateLimit({ perMinute, perSecond });
        return uow.run(async (tx) => {
          const before = await lockKey(tx, caller, keyId);
          return change(tx, caller, 'apiKey.setRateLimit', before, { rateLimit });
        });
      },
    ),
  };
}

function isDeveloper(caller: Caller): boolean {
  return caller.kind === 'member' && caller.role === 'DEVELOPER';
}

/** A DEVELOPER never comes by a key with FULL_ACCESS. */
function refuseFullAccess(caller: Caller, result: Pick<ApiKey, 'scopes'>): void {
  if (isDeveloper(caller) && result.scopes.includes('FULL_ACCESS')) throw forbidden(DEVELOPER_LIMIT);
}

/** What the audit log keeps of a key: everything that can be changed, and no secret. */
function auditView(key: ApiKey) {
  const { name, scopes, environment, enableHmac, ipAllowlist, rateLimit, expiresAt, revokedAt } = key;
  return { name, scopes, environment, enableHmac, ipAllowlist, rateLimit, expiresAt, revokedAt };
}
