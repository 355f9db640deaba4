import { replacePassword } from '../accounts/replace-password.ts';
import { forgetFailedAttempts } from '../accounts/sign-in-attempts.ts';
import type { User } from '../accounts/user.ts';
import { recordChange } from '../audit/record-change.ts';
import type { Caller } from '../caller.ts';
import type { Dependencies } from '../dependencies.ts';
import { forbidden, notFound, validationError } from '../errors.ts';
import { operation } from '../operation.ts';
import type { Tx } from '../ports/stores.ts';
import {
  OPERATOR_RESET_MS,
  type OperatorReset,
  type OperatorResetKind,
  PASSWORD_PART_BYTES,
  type ShownReset,
} from './operator-reset.ts';
import { mailNotice, removeAllFactors } from './remove-factors.ts';
import { userIdOf } from './second-factor-operations.ts';

/** The part of the new password that one of the two operators sees. Null for a reset of second factors. */
interface PasswordPart {
  readonly passwordPart: string | null;
}

const COMMANDS: Readonly<Record<OperatorResetKind, (user: User) => string>> = {
  factors: ({ id }) => `npm run cli -- user reset-factors --user ${id}`,
  password: ({ email }) => `npm run cli -- user password --email ${email}`,
};
const ROLE_CHANGED = 'Your role has changed. Ask again.';
const REQUESTING = { operator: true, stepUp: true } as const;

/**
 * Operations for an operator who has lost the password or the second factors (R400). One other operator requests the
 * reset, and a second one confirms it. Every operator may refuse it, also the person whose sign-in is reset.
 */
export function operatorResetOperations(deps: Dependencies) {
  const { stores, uow, clock, ids, secrets, passwords, mailer } = deps;

  /** Returns the present operators by id. Leaves out operators with the role OPERATOR_READONLY. */
  async function actingOperators(tx: Tx): Promise<ReadonlyMap<string, User>> {
    const acting = (await tx.users.operators()).filter(({ role }) => role === 'OPERATOR');
    return new Map(acting.map((user) => [user.id, user]));
  }

  return {
    /** Lists the operators, sorted by email address. */
    operators: operation('operator.list', { operator: 'reading' }, (_caller, _input: Record<string, never>) =>
      stores.users.operators(),
    ),

    /** Lists the pending requests, oldest first. */
    list: operation(
      'operatorReset.list',
      { operator: 'reading' },
      async (_caller, _input: Record<string, never>): Promise<readonly ShownReset[]> =>
        withPeople(await stores.operatorResets.list(clock.now())),
    ),

    /**
     * Requests to reset the second factors or the password of another operator, and mails that operator. For a
     * password, returns its first part. Throws `forbidden` if no third operator could confirm the request. Throws
     * `validation_error` if the same reset is pending.
     */
    request: operation(
      'operatorReset.request',
      REQUESTING,
      async (
        caller,
        { userId, kind }: { readonly userId: string; readonly kind: OperatorResetKind },
      ): Promise<PasswordPart & { readonly reset: ShownReset }> => {
        const requestedBy = userIdOf(caller);
        const user = await operatorOf(userId);
        if (user.id === requestedBy)
          throw forbidden('Another operator must request this for you. A recovery code works, too.');
        const requestedAt = clock.now();
        const expiresAt = new Date(requestedAt.getTime() + OPERATOR_RESET_MS);
        const reset = { id: ids.uuid(), userId: user.id, kind, requestedBy, requestedAt, expiresAt };
        const passwordPart = kind === 'password' ? newPart() : null;
        await uow.run(async (tx) => {
          const operators = await actingOperators(tx);
          if (!operators.has(requestedBy)) throw forbidden(ROLE_CHANGED);
          if (![...operators.keys()].some((id) => id !== requestedBy && id !== user.id))
            throw forbidden(
              `No second operator can confirm this. Use the command line: ${COMMANDS[kind](user)}`,
            );
          if (!(await tx.operatorResets.insert(reset, passwordPart && secrets.seal(passwordPart)))) {
            const message = 'has such a request already; confirm it or refuse it first';
            throw validationError([{ path: 'userId', message }]);
          }
          await recordChange(tx, deps, caller, {
            accountId: null,
            action: 'operatorReset.request',
            target: user.id,
            after: { kind },
          });
          if (!mailer.isConfigured) return;
          const by = operators.get(requestedBy)?.email ?? '';
          const until = expiresAt.toISOString();
          const data = { kind: 'reset_requested', userId: user.id, of: kind, by, until } as const;
          await tx.jobs.enqueue([{ queue: 'person-mail', routeKey: 'person-mail', data }]);
        });
        const [shown] = await withPeople([reset]);
        if (!shown) throw notFound('Operator');
        return { reset: shown, passwordPart };
      },
    ),

    /**
     * Carries out the request of another operator. Ends the sessions of the person whose sign-in is reset, and mails
     * that person. For a password, returns its second part. Throws `not_found` if the request has ended. Throws
     * `forbidden` for the operator who made the request, and for the person whose sign-in is reset. Also throws it if
     * the requester is not an operator any more.
     */
    confirm: operation(
      'operatorReset.confirm',
      REQUESTING,
      async (caller, { id }: { readonly id: string }): Promise<PasswordPart & { readonly user: User }> => {
        const confirmedBy = userIdOf(caller);
        const { reset, partSealed } = await pending(id);
        const { userId, requestedBy } = reset;
        if (requestedBy === confirmedBy) throw forbidden('A second operator must confirm your request.');
        if (userId === confirmedBy) throw forbidden('Another operator must confirm what concerns you.');
        const found = await stores.users.find(userId);
        if (!found) throw notFound('Operator');
        const { user, passwordHash: knownHash } = found;
        const passwordPart = partSealed === null ? null : newPart();
        const password = partSealed === null ? undefined : `${secrets.open(partSealed)}${passwordPart}`;
        const hash = password === undefined ? undefined : await passwords.hash(password, knownHash);
        await uow.run(async (tx) => {
          // If two operators confirm at the same time, the second call waits here. Then it finds no request.
          await end(tx, reset);
          const operators = await actingOperators(tx);
          if (!operators.has(confirmedBy)) throw forbidden(ROLE_CHANGED);
          if (!operators.has(requestedBy))
            throw forbidden('The operator who requested this is not an operator any more. Refuse it.');
          if (hash === undefined) return removeAllFactors(tx, deps, caller, user, { requestedBy });
          if (!(await replacePassword(tx, deps, userId, { hash, isOneTime: true }, { knownHash })))
            throw notFound('Request');
          await forgetFailedAttempts(tx, user.email);
          await recordChange(tx, deps, caller, {
            accountId: null,
            action: 'member.resetPassword',
            target: userId,
            after: { requestedBy },
          });
          await mailNotice(tx, deps, 'password_reset', userId);
        });
        return { user: hash === undefined ? user : { ...user, mustChangePassword: true }, passwordPart };
      },
    ),

    /**
     * Ends a request without a change. Every operator may do this. An OPERATOR_READONLY may refuse only a reset of
     * their own sign-in. Throws `not_found` if the request has ended.
     */
    refuse: operation(
      'operatorReset.refuse',
      { operator: 'reading', stepUp: true },
      async (caller, { id }: { readonly id: string }): Promise<void> => {
        const { reset } = await pending(id);
        if (isReader(caller) && reset.userId !== userIdOf(caller))
          throw forbidden('Your role is OPERATOR_READONLY, which only reads.');
        await uow.run(async (tx) => {
          await end(tx, reset);
          await recordChange(tx, deps, caller, {
            accountId: null,
            action: 'operatorReset.refuse',
            target: reset.userId,
            after: { kind: reset.kind, requestedBy: reset.requestedBy },
          });
        });
      },
    ),
  };

  async function withPeople(resets: readonly OperatorReset[]): Promise<readonly ShownReset[]> {
    const ids = resets.flatMap(({ userId, requestedBy }) => [userId, requestedBy]);
    const people = new Map((await stores.users.findMany(ids, undefined)).map((user) => [user.id, user]));
    return resets.flatMap((reset) => {
      const [user, requester] = [people.get(reset.userId), people.get(reset.requestedBy)];
      return user && requester ? [{ ...reset, user, requester }] : [];
    });
  }

  function newPart(): string {
    return ids.random(PASSWORD_PART_BYTES).toString('base64url');
  }

  async function operatorOf(id: string): Promise<User> {
    const found = await stores.users.find(id);
    if (found?.user.accountId !== null) throw notFound('Operator');
    return found.user;
  }

  async function pending(id: string) {
    const found = await stores.operatorResets.find(id.toLowerCase(), clock.now());
    if (!found) throw notFound('Request');
    return found;
  }

  async function end(tx: Tx, { id }: OperatorReset): Promise<void> {
    if (!(await tx.operatorResets.remove(id, clock.now()))) throw notFound('Request');
  }
}

function isReader(caller: Caller): boolean {
  return caller.kind === 'operator' && caller.isReadOnly === true;
}
