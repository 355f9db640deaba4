import { recordChange } from '../audit/record-change.ts';
import { ACCOUNT_ROLES, type AccountRole, type Caller } from '../caller.ts';
import type { Dependencies } from '../dependencies.ts';
import { DomainError, forbidden, notFound, unauthorized, validationError } from '../errors.ts';
import { operation } from '../operation.ts';
import { ALL_IDS } from '../ports/changes.ts';
import { accountIdOf } from './account-operations.ts';
import { addUser, type NewUser, newUser, oneTimePassword, refuseTakenEmail } from './new-user.ts';
import type { Sessions } from './sessions.ts';
import { forgiveAttempts } from './sign-in-attempts.ts';
import { PASSWORD_MAX_LENGTH, PASSWORD_MIN_LENGTH, type User } from './user.ts';

export interface ChangePasswordInput {
  readonly current: string;
  readonly new: string;
  /** The session that asks; every other one of the person ends. */
  readonly sessionHash: Buffer;
  readonly address: string;
}

const MANAGE = { roles: ['OWNER', 'ADMIN'] } as const;
const EVERYBODY = { roles: ACCOUNT_ROLES, operator: true } as const;

/** The people of an account. An account always keeps an owner, and only owners make or unmake owners. */
export function memberOperations(deps: Dependencies, sessions: Sessions) {
  const { stores, uow, clock, passwords } = deps;

  async function memberOf(members: readonly User[], id: string): Promise<User> {
    const member = members.find((candidate) => candidate.id === id);
    if (!member) throw notFound('Member');
    return member;
  }

  return {
    /** The person who is signed in. */
    viewer: operation('member.viewer', EVERYBODY, async (caller, _input: Record<string, never>) => {
      const found = await stores.users.find(userIdOf(caller));
      if (!found) throw unauthorized('Sign in again.');
      return found.user;
    }),

    list: operation('member.list', { roles: ACCOUNT_ROLES }, (caller, _input: Record<string, never>) =>
      stores.users.members(accountIdOf(caller)),
    ),

    /** Sets a new password for the right current one, and ends the person's other sessions. */
    changePassword: operation(
      'member.changePassword',
      EVERYBODY,
      async (caller, input: ChangePasswordInput) => {
        const found = await stores.users.find(userIdOf(caller));
        if (!found) throw unauthorized('Sign in again.');
        if (input.new.length < PASSWORD_MIN_LENGTH || input.new.length > PASSWORD_MAX_LENGTH) {
          const message = `must have ${PASSWORD_MIN_LENGTH} to ${PASSWORD_MAX_LENGTH} characters`;
          throw validationError([{ path: 'new', message }]);
        }
        if (input.new === input.current) {
          throw validationError([{ path: 'new', message: 'must differ from the current one' }]);
        }
        const notCurrent = () =>
          validationError([{ path: 'current', message: 'is not the current password' }]);
        const known = await sessions.checkPassword(found.user.email, input.current, input.address);
        if (!known) throw notCurrent();
        const hash = await passwords.hash(input.new);
        await uow.run(async (tx) => {
          // Replaced since it was checked, perhaps because others know it: what they ask for must not win.
          const isChanged = await tx.users.setPassword(found.user.id, hash, false, known.passwordHash);
          if (!isChanged) throw notCurrent();
          await tx.sessions.removeOf(found.user.id, input.sessionHash);
          tx.announce('session', ALL_IDS);
          await recordChange(tx, deps, caller, {
            accountId: found.user.accountId,
            action: 'member.changePassword',
            target: found.user.id,
          });
        });
      },
    ),

    /**
     * Gives a person who has lost their password a one-time one, which is shown this once, and ends their sessions;
     * their sign-ins that failed count no more. Throws `not_found` when nobody signs in with the email.
     */
    resetPassword: operation(
      'member.resetPassword',
      { operator: true },
      async (caller, input: { readonly email: string }): Promise<NewUser> => {
        const found = await stores.users.findByEmail(input.email);
        if (!found) throw notFound('User');
        const { password, hash } = await oneTimePassword(deps);
        const user: User = { ...found.user, mustChangePassword: true };
        await uow.run(async (tx) => {
          await tx.users.setPassword(user.id, hash, user.mustChangePassword);
          await tx.sessions.removeOf(user.id);
          tx.announce('session', ALL_IDS);
          await forgiveAttempts(tx, user.email);
          await recordChange(tx, deps, caller, {
            accountId: user.accountId,
            action: 'member.resetPassword',
            target: user.id,
          });
        });
        return { user, password };
      },
    ),

    /** Adds a person with a one-time password, which is shown this once. */
    invite: operation(
      'member.invite',
      MANAGE,
      async (caller, input: { readonly email: string; readonly role: string }): Promise<NewUser> => {
        const accountId = accountIdOf(caller);
        const role = checkRole(input.role);
        if (role === 'OWNER') onlyOwners(caller);
        await refuseTakenEmail(deps, input.email);
        const invited = await newUser(deps, input.email, role, accountId);
        await uow.run(async (tx) => {
          await addUser(tx, invited);
          await recordChange(tx, deps, caller, {
            accountId,
            action: 'member.invite',
            target: invited.user.id,
            after: { email: input.email, role },
          });
        });
        return { user: invited.user, password: invited.password };
      },
    ),

    setRole: operation(
      'member.setRole',
      MANAGE,
      async (caller, input: { readonly userId: string; readonly role: string }): Promise<User> => {
        const accountId = accountIdOf(caller);
        const role = checkRole(input.role);
        return uow.run(async (tx) => {
          const members = await tx.users.lockMembers(accountId);
          const member = await memberOf(members, input.userId);
          if (role === 'OWNER' || member.role === 'OWNER') onlyOwners(caller);
          if (role !== 'OWNER') keepAnOwner(members, member);
          await tx.users.setRole(member.id, role);
          tx.announce('session', ALL_IDS);
          await recordChange(tx, deps, caller, {
            accountId,
            action: 'member.setRole',
            target: member.id,
            before: { role: member.role },
            after: { role },
          });
          return { ...member, role };
        });
      },
    ),

    /** Takes a person out of the account and ends their sessions. What they did stays in the audit log. */
    remove: operation(
      'member.remove',
      MANAGE,
      async (caller, input: { readonly userId: string }): Promise<User> => {
        const accountId = accountIdOf(caller);
        return uow.run(async (tx) => {
          const members = await tx.users.lockMembers(accountId);
          const member = await memberOf(members, input.userId);
          if (member.role === 'OWNER') onlyOwners(caller);
          keepAnOwner(members, member);
          await tx.users.remove(member.id, clock.now());
          await tx.sessions.removeOf(member.id);
          tx.announce('session', ALL_IDS);
          await recordChange(tx, deps, caller, {
            accountId,
            action: 'member.remove',
            target: member.id,
            before: { email: member.email, role: member.role },
          });
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
  const stays = members.some((member) => member.role === 'OWNER' && member.id !== leaving.id);
  if (!stays) {
    throw validationError([
      { path: 'userId', message: 'is the only OWNER; make somebody else an OWNER first' },
    ]);
  }
}
