import { cacheKey } from '../accounts/sessions.ts';
import { recordChange } from '../audit/record-change.ts';
import { ACCOUNT_ROLES, type Caller } from '../caller.ts';
import type { Dependencies } from '../dependencies.ts';
import { type FieldFault, notFound, validationError } from '../errors.ts';
import { parseIsoTime } from '../iso-time.ts';
import { type Operation, operation, refusalOf } from '../operation.ts';
import { isUuid } from '../uuid.ts';
import {
  ACCESS_TOKEN_MAX_DAYS,
  ACCESS_TOKEN_PREFIX,
  ACCESS_TOKENS_MAX,
  type AccessToken,
  hashToken,
  TOKEN_NAME_MAX_LENGTH,
} from './access-token.ts';
import { userIdOf } from './second-factor-operations.ts';

export interface CreateAccessTokenInput {
  readonly name: string;
  /** Names of operations, as the operation `permission.list` returns them. */
  readonly permissions: readonly string[];
  /** Time in ISO 8601, at most a year ahead. */
  readonly expiresAt: string;
}

const PEOPLE = { roles: ACCOUNT_ROLES, operator: 'reading' } as const;
const DAY_MS = 24 * 3_600_000;
/**
 * Operations that a session may run and an access token may not. A token must not create or change what people sign in
 * with.
 */
const OF_SESSIONS = /^(session|secondFactor|accessToken)\.|^member\.changePassword$/;

/** Operations on the caller's access tokens (R254). `all` are the operations that a token may be allowed. */
export function accessTokenOperations(deps: Dependencies, all: readonly Operation<never, unknown>[]) {
  const { stores, uow, clock, ids } = deps;

  function check(caller: Caller, input: CreateAccessTokenInput): { permissions: string[]; expiresAt: Date } {
    const faults: FieldFault[] = [];
    const name = input.name.trim();
    if (name === '' || name.length > TOKEN_NAME_MAX_LENGTH)
      faults.push({ path: 'name', message: `must have 1 to ${TOKEN_NAME_MAX_LENGTH} characters` });
    const permissions = [...new Set(input.permissions)].sort();
    if (permissions.length === 0) faults.push({ path: 'permissions', message: 'choose at least one' });
    const own = new Set(
      all
        .filter(({ name, access }) => !access.stepUp && !OF_SESSIONS.test(name))
        .filter((known) => refusalOf(known, caller) === undefined)
        .map((known) => known.name),
    );
    input.permissions.forEach((permission, index) => {
      if (!own.has(permission))
        faults.push({
          path: `permissions.${index}`,
          message: 'is not a permission that you can give a token',
        });
    });
    const expiresAt = parseIsoTime(input.expiresAt);
    const now = clock.now().getTime();
    const aheadMs = expiresAt ? expiresAt.getTime() - now : 0;
    if (!expiresAt || aheadMs <= 0 || aheadMs > ACCESS_TOKEN_MAX_DAYS * DAY_MS) {
      const message = `must be an ISO 8601 time in the future, at most ${ACCESS_TOKEN_MAX_DAYS} days ahead`;
      faults.push({ path: 'expiresAt', message });
    }
    if (faults.length > 0 || !expiresAt) throw validationError(faults);
    return { permissions, expiresAt };
  }

  return {
    list: operation('accessToken.list', PEOPLE, (caller, _input: Record<string, never>) =>
      stores.accessTokens.list(userIdOf(caller)),
    ),

    /**
     * Creates a token with some of the person's permissions. `token` is shown only in this answer. Throws
     * `validation_error` with all faults.
     */
    create: operation(
      'accessToken.create',
      { ...PEOPLE, stepUp: true },
      async (
        caller,
        input: CreateAccessTokenInput,
      ): Promise<{ readonly token: string; readonly accessToken: AccessToken }> => {
        const userId = userIdOf(caller);
        const { permissions, expiresAt } = check(caller, input);
        const token = `${ACCESS_TOKEN_PREFIX}${ids.random(32).toString('base64url')}`;
        const accessToken: AccessToken = {
          id: ids.uuid(),
          userId,
          name: input.name.trim(),
          permissions,
          createdAt: clock.now(),
          expiresAt,
          lastUsedAt: null,
          revokedAt: null,
        };
        await uow.run(async (tx) => {
          // Lock the person's row, so that concurrent calls cannot exceed the limit.
          await tx.secondFactors.lock(userId);
          const living = (await tx.accessTokens.list(userId)).filter(
            (known) => known.revokedAt === null && known.expiresAt > accessToken.createdAt,
          );
          if (living.length >= ACCESS_TOKENS_MAX)
            throw validationError([
              { path: '', message: `at most ${ACCESS_TOKENS_MAX} tokens; revoke one first` },
            ]);
          await tx.accessTokens.insert(accessToken, hashToken(token));
          await recordChange(tx, deps, caller, {
            accountId: accountOf(caller),
            action: 'accessToken.create',
            target: accessToken.id,
            after: { name: accessToken.name, permissions, expiresAt: expiresAt.toISOString() },
          });
        });
        return { token, accessToken };
      },
    ),

    /** Revokes a token of the person at once. A token that has ended stays unchanged. Throws `not_found`. */
    revoke: operation(
      'accessToken.revoke',
      PEOPLE,
      async (caller, { id }: { readonly id: string }): Promise<AccessToken> => {
        return uow.run(async (tx) => {
          const revoked = isUuid(id)
            ? await tx.accessTokens.revoke(id, userIdOf(caller), clock.now())
            : undefined;
          if (!revoked) throw notFound('Access token');
          tx.announce('session', cacheKey(revoked.tokenHash, true));
          await recordChange(tx, deps, caller, {
            accountId: accountOf(caller),
            action: 'accessToken.revoke',
            target: revoked.token.id,
          });
          return revoked.token;
        });
      },
    ),
  };
}

function accountOf(caller: Caller): string | null {
  return caller.kind === 'member' ? caller.accountId : null;
}
