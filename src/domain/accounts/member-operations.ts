import { recordChange } from '../audit/record-change.ts';
import { ACCOUNT_ROLES, type AccountRole, accountIdOf, type Caller } from '../caller.ts';
import type { Dependencies } from '../dependencies.ts';
import { checkAll, DomainError, forbidden, notFound, unauthorized, validationError } from '../errors.ts';
import { operation } from '../operation.ts';
import { checkNewPassword } from '../people/password-rules.ts';
import { ALL_IDS } from '../ports/changes.ts';
import type { Tx } from '../ports/stores.ts';
import { revokeBeyondRole } from './keys-beyond-role.ts';
import { addUser, checkEmail, type NewUser, newUser, oneTimePassword } from './new-user.ts';
import { refuseStaleRole } from './refuse-stale-role.ts';
import { replacePassword } from './replace-password.ts';
import { selectPerson } from './select-person.ts';
import type { Client, Sessions } from './sessions.ts';
import { forgetFailedAttempts } from './sign-in-attempts.ts';
import { INVITATIONS_MAX, invitationExpiresAt, ONE_TIME_HOURS, type User } from './user.ts';

export interface ChangePasswordInput {
  readonly current: string;
  readonly new: string;
  /** The session of the request. It stays, and all other sessions of the person end. */
  readonly sessionHash: Buffer;
  readonly client: Client;
}

/** Says whether a person's API keys keep working when the person's role changes. */
interface KeepKeys {
  /** If true, keys that exceed the new role keep working. By default they are revoked (R204). */
  readonly keepKeys?: boolean | undefined;
}

const MANAGE = { roles: ['OWNER', 'ADMIN'] } as const;
const EVERYBODY = {
  roles: ACCOUNT_ROLES,
  operator: 'reading',
  whileRestricted: ['change_password', 'add_second_factor'],
} as const;

/** Operations on the people of an account. An account always has an owner. Only owners add or remove owners. */
export function memberOperations(deps: Dependencies, sessions: Sessions) {
  const { stores, uow, clock, passwords, mailer } = deps;

  async function memberOf(members: readonly User[], id: string): Promise<User> {
    const member = members.find((candidate) => candidate.id === id);
    if (!member) throw notFound('Member');
    return member;
  }

  /**
   * Locks people and keys in the same order as changes of keys do, so that there is no deadlock. Call this before any
   * other statement of the change.
   */
  async function lockPeopleAndKeys(tx: Tx, caller: Caller, accountId: string): Promise<readonly User[]> {
    const members = await tx.users.lockMembers(accountId);
    await refuseStaleRole(tx, caller);
    await tx.apiKeys.lockAccount(accountId);
    return members;
  }

  return {
    /** Returns the person who is signed in. */
    viewer: operation('member.viewer', EVERYBODY, async (caller, _input: Record<string, never>) => {
      const found = await stores.users.find(userIdOf(caller));
      if (!found) throw unauthorized('Sign in again.');
      return found.user;
    }),

    list: operation('member.list', { roles: ACCOUNT_ROLES }, (caller, _input: Record<string, never>) =>
      stores.users.members(accountIdOf(caller)),
    ),

    /**
     * Sets a new password if the current password is right. Ends the person's other sessions, and accepts a pending
     * invitation.
     */
    changePassword: operation(
      'member.changePassword',
      EVERYBODY,
      async (caller, input: ChangePasswordInput) => {
        const found = await stores.users.find(userIdOf(caller));
        if (!found) throw unauthorized('Sign in again.');
        checkNewPassword(input.new, found.user.email, 'new');
        if (input.new === input.current) {
          throw validationError([{ path: 'new', message: 'must differ from the current one' }]);
        }
        const notCurrent = () =>
          validationError([{ path: 'current', message: 'is not the current password' }]);
        const { id, email } = found.user;
        const known = await sessions.checkPassword(email, input.current, input.client, id);
        if (!known) throw notCurrent();
        const hash = await passwords.hash(input.new, known.passwordHash);
        await uow.run(async (tx) => {
          const isChanged = await replacePassword(
            tx,
            deps,
            found.user.id,
            { hash, isOneTime: false },
            { knownHash: known.passwordHash, keptSession: input.sessionHash },
          );
          if (!isChanged) throw notCurrent();
          await recordChange(tx, deps, caller, {
            accountId: found.user.accountId,
            action: 'member.changePassword',
            target: found.user.id,
          });
          if (found.user.acceptedAt !== null) return;
          await tx.users.accept(found.user.id, clock.now());
          await recordChange(tx, deps, caller, {
            accountId: found.user.accountId,
            action: 'member.accept',
            target: found.user.id,
          });
        });
      },
    ),

    /**
     * Gives a person a one-time password, which is shown only in this answer. Ends the person's sessions and deletes
     * the failed sign-ins. Throws `not_found` for an unknown email address. Throws `validation_error` if several people
     * have the email address and `accountId` does not select one.
     */
    resetPassword: operation(
      'member.resetPassword',
      { operator: true, stepUp: true },
      async (
        caller,
        input: { readonly email: string; readonly accountId?: string | null | undefined },
      ): Promise<NewUser> => {
        const found = selectPerson(await stores.users.withEmail(input.email), input.accountId);
        if (caller.kind === 'operator' && found.accountId === null && found.id !== caller.userId) {
          throw forbidden(
            'Two operators reset the password of another one: call requestOperatorReset. Or use the command line: npm run cli -- user password.',
          );
        }
        const { password, hash } = await oneTimePassword(deps, found.email);
        const user: User = { ...found, mustChangePassword: true, passwordSetAt: clock.now() };
        await uow.run(async (tx) => {
          await replacePassword(tx, deps, user.id, { hash, isOneTime: true });
          await forgetFailedAttempts(tx, user.email);
          await recordChange(tx, deps, caller, {
            accountId: user.accountId,
            action: 'member.resetPassword',
            target: user.id,
          });
        });
        return { user, password };
      },
    ),

    /**
     * Invites a person. The answer holds a one-time password, which is shown only once. If a mail server is configured,
     * the person also gets a mail with a link (`mailed`). The invitation is pending until the person chooses a
     * password, for at most 72 hours (R206). The answer does not reveal whether other accounts know the email address.
     */
    invite: operation(
      'member.invite',
      { ...MANAGE, stepUp: true },
      async (
        caller,
        input: { readonly email: string; readonly role: string },
      ): Promise<NewUser & { readonly mailed: boolean }> => {
        const accountId = accountIdOf(caller);
        const { role } = checkAll({
          role: () => checkRole(input.role),
          email: () => checkEmail(input.email),
        });
        if (role === 'OWNER') onlyOwners(caller);
        const invited = await newUser(deps, { email: input.email, role, accountId }, true);
        await uow.run(async (tx) => {
          await tx.users.forgetExpired(accountId);
          keepInvitationsFew(await tx.users.lockMembers(accountId));
          await refuseStaleRole(tx, caller);
          await addUser(tx, invited);
          await recordChange(tx, deps, caller, {
            accountId,
            action: 'member.invite',
            target: invited.user.id,
            after: { email: input.email, role },
          });
          const until = invitationExpiresAt(invited.user)?.toISOString();
          if (!mailer.isConfigured || until === undefined) return;
          const data = { kind: 'link', userId: invited.user.id, address: 'unknown', until } as const;
          await tx.jobs.enqueue([{ queue: 'person-mail', routeKey: 'person-mail', data }]);
        });
        return { user: invited.user, password: invited.password, mailed: mailer.isConfigured };
      },
    ),

    /** Gives a person another role. Revokes the person's keys that exceed it, unless `keepKeys` is true (R204). */
    setRole: operation(
      'member.setRole',
      { ...MANAGE, stepUp: true },
      async (caller, input: { readonly userId: string; readonly role: string } & KeepKeys): Promise<User> => {
        const accountId = accountIdOf(caller);
        const role = checkRole(input.role);
        return uow.run(async (tx) => {
          const members = await lockPeopleAndKeys(tx, caller, accountId);
          const member = await memberOf(members, input.userId);
          if (role === 'OWNER' || member.role === 'OWNER') onlyOwners(caller);
          if (role !== 'OWNER') {
            keepAnOwner(members, member);
            await keepBreakGlass(tx, member);
          }
          await tx.users.setRole(member.id, role);
          tx.announce('session', ALL_IDS);
          await recordChange(tx, deps, caller, {
            accountId,
            action: 'member.setRole',
            target: member.id,
            before: { role: member.role },
            after: { role },
          });
          if (!input.keepKeys) await revokeBeyondRole(tx, deps, caller, member, accountId, role);
          return { ...member, role };
        });
      },
    ),

    /**
     * Removes a person or an invitation. Ends the person's sessions, and revokes the person's keys unless `keepKeys` is
     * true. The audit log keeps the person's actions.
     */
    remove: operation(
      'member.remove',
      MANAGE,
      async (caller, input: { readonly userId: string } & KeepKeys): Promise<User> => {
        const accountId = accountIdOf(caller);
        return uow.run(async (tx) => {
          const members = await lockPeopleAndKeys(tx, caller, accountId);
          const member = await memberOf(members, input.userId);
          if (member.role === 'OWNER') onlyOwners(caller);
          keepAnOwner(members, member);
          await keepBreakGlass(tx, member);
          await tx.users.remove(member.id, clock.now());
          await tx.sessions.removeOf(member.id);
          tx.announce('session', ALL_IDS);
          await recordChange(tx, deps, caller, {
            accountId,
            action: 'member.remove',
            target: member.id,
            before: { email: member.email, role: member.role },
          });
          if (!input.keepKeys) await revokeBeyondRole(tx, deps, caller, member, accountId, null);
          return member;
        });
      },
    ),
  };
}

function userIdOf(caller: Caller): string {
  if (caller.kind === 'member' || caller.kind === 'operator') return caller.userId;
  throw new DomainError('forbidden', 'Only a person who is signed in can do this.');
}

function checkRole(role: string): AccountRole {
  const found = ACCOUNT_ROLES.find((known) => known === role);
  if (!found)
    throw validationError([{ path: 'role', message: `must be one of ${ACCOUNT_ROLES.join(', ')}` }]);
  return found;
}

function onlyOwners(caller: Caller): void {
  if (caller.kind === 'member' && caller.role !== 'OWNER') {
    throw forbidden(`Your role is ${caller.role}. Only an OWNER can make, change or remove an OWNER.`);
  }
}

function keepAnOwner(members: readonly User[], leaving: User): void {
  // An invitation that is pending may never be accepted. So the invited person does not count as an owner yet.
  const stays = members.some(
    ({ id, role, acceptedAt }) => role === 'OWNER' && id !== leaving.id && acceptedAt !== null,
  );
  if (!stays) {
    throw validationError([
      { path: 'userId', message: 'is the only OWNER; make somebody else an OWNER first' },
    ]);
  }
}

/** Throws if the person is the owner who may still sign in with a password while single sign-on is required (R356). */
async function keepBreakGlass(tx: Tx, { id, accountId }: User): Promise<void> {
  const settings = accountId === null ? undefined : await tx.singleSignOn.find(accountId);
  if (!settings?.required || settings.breakGlassUserId !== id) return;
  const message =
    'is the owner who can sign in if the single sign-on fails; another owner must set `required` of it to false first';
  throw validationError([{ path: 'userId', message }]);
}

function keepInvitationsFew(members: readonly User[]): void {
  if (members.filter(({ acceptedAt }) => acceptedAt === null).length < INVITATIONS_MAX) return;
  const message = `${INVITATIONS_MAX} invitations are pending already; withdraw some, or wait: each ends after ${ONE_TIME_HOURS} hours`;
  throw validationError([{ path: 'email', message }]);
}
