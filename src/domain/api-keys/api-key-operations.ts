import { actorOf, ENVIRONMENTS, type Environment, SCOPES, type Scope } from '../caller.ts';
import { recordChange } from '../audit/record-change.ts';
import type { Dependencies } from '../dependencies.ts';
import { DomainError, notFound, validationError } from '../errors.ts';
import { parseIsoTime } from '../iso-time.ts';
import { operation } from '../operation.ts';
import type { ApiKey } from './api-key.ts';
import { formatKey, hashSecret } from './key-format.ts';

export const KEY_NAME_MAX_LENGTH = 100;
export const IP_ALLOWLIST_MAX = 100;

export interface CreateApiKeyInput {
  readonly accountId: string;
  readonly name: string;
  readonly scopes: readonly string[];
  readonly environment: string;
  readonly enableHmac?: boolean | undefined;
  readonly ipAllowlist?: readonly string[] | undefined;
  readonly expiresAt?: string | undefined;
  readonly rateLimit?: { readonly perMinute: number | null; readonly perSecond: number | null } | undefined;
}
/** A new key; `key` and `signingSecret` are shown this once. */
export interface NewApiKey {
  readonly apiKey: ApiKey;
  readonly key: string;
  readonly signingSecret: string | null;
}

/** API keys and what they may do. */
export function apiKeyOperations(deps: Dependencies) {
  const { stores, uow, clock, ids, secrets } = deps;

  return {
    create: operation('apiKey.create', {}, async (caller, input: CreateApiKeyInput): Promise<NewApiKey> => {
      const account = await stores.accounts.find(input.accountId);
      if (!account) throw notFound('Account');
      const scopes = checkScopes(input.scopes);
      const keyId = ids.random(8).toString('hex');
      const secret = ids.random(20).toString('hex');
      const signingSecret = input.enableHmac ? `sigsec_${ids.random(32).toString('base64url')}` : null;
      const apiKey: ApiKey = {
        keyId,
        accountId: account.id,
        name: checkName(input.name),
        scopes,
        environment: checkEnvironment(input.environment),
        enableHmac: signingSecret !== null,
        ipAllowlist: input.ipAllowlist ?? [],
        rateLimit: input.rateLimit ?? { perMinute: null, perSecond: null },
        createdAt: clock.now(),
        createdBy: actorOf(caller),
        expiresAt: checkExpiry(input.expiresAt, clock.now()),
        lastUsedAt: null,
        revokedAt: null,
      };
      await uow.run(async (tx) => {
        const sealed = signingSecret === null ? null : secrets.seal(signingSecret);
        await tx.apiKeys.insert(apiKey, hashSecret(secret), sealed);
        await recordChange(tx, deps, caller, {
          accountId: account.id,
          action: 'apiKey.create',
          target: keyId,
          after: { name: apiKey.name, scopes, environment: apiKey.environment },
        });
      });
      return { apiKey, key: formatKey(keyId, secret), signingSecret };
    }),

    /** Revokes a key at once and for good. Revoking it again changes nothing. */
    revoke: operation('apiKey.revoke', {}, async (caller, input: { readonly keyId: string }) => {
      const apiKey = await stores.apiKeys.find(input.keyId);
      if (!apiKey) throw notFound('API key');
      if (apiKey.revokedAt) return apiKey;
      return uow.run(async (tx) => {
        const revoked = await tx.apiKeys.update(apiKey.keyId, { revokedAt: clock.now() });
        tx.announce('api-key', apiKey.keyId);
        await recordChange(tx, deps, caller, {
          accountId: apiKey.accountId,
          action: 'apiKey.revoke',
          target: apiKey.keyId,
        });
        return revoked;
      });
    }),
  };
}

function checkScopes(scopes: readonly string[]): Scope[] {
  if (scopes.length === 0) throw validationError([{ path: 'scopes', message: 'must name at least one scope' }]);
  const known: readonly string[] = SCOPES;
  const unknown = scopes.find((scope) => !known.includes(scope));
  if (unknown !== undefined) {
    throw new DomainError('invalid_scope', `Unknown scope ${unknown.slice(0, 40)}. Known: ${SCOPES.join(', ')}`, {
      field: 'scopes',
      value: unknown.slice(0, 40),
    });
  }
  return [...new Set(scopes)] as Scope[];
}

function checkEnvironment(environment: string): Environment {
  const found = ENVIRONMENTS.find((known) => known === environment);
  if (!found) throw validationError([{ path: 'environment', message: `must be ${ENVIRONMENTS.join(' or ')}` }]);
  return found;
}

function checkName(name: string): string {
  if (name.length === 0 || name.length > KEY_NAME_MAX_LENGTH) {
    throw validationError([{ path: 'name', message: `must have 1 to ${KEY_NAME_MAX_LENGTH} characters` }]);
  }
  return name;
}

function checkExpiry(expiresAt: string | undefined, now: Date): Date | null {
  if (expiresAt === undefined) return null;
  const time = parseIsoTime(expiresAt);
  if (!time) throw validationError([{ path: 'expiresAt', message: 'must be an ISO 8601 time with Z or an offset' }]);
  if (time <= now) throw validationError([{ path: 'expiresAt', message: 'must be in the future' }]);
  return time;
}
