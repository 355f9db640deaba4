import type { Dependencies } from '../dependencies.ts';
import { validationError } from '../errors.ts';
import { parseEmailAddress } from '../messages/email-address.ts';
import type { Tx } from '../ports/stores.ts';
import type { User } from './user.ts';

/** A person with the one-time password made for them, which is shown this once. */
export interface NewUser {
  readonly user: User;
  readonly password: string;
}

/** Makes a person with a random one-time password, or an invitation; nothing is stored yet. */
export async function newUser(
  deps: Pick<Dependencies, 'ids' | 'clock' | 'passwords' | 'stores'>,
  { email, role, accountId }: Pick<User, 'email' | 'role' | 'accountId'>,
  isInvited: boolean,
): Promise<NewUser & { readonly hash: string }> {
  const now = deps.clock.now();
  const dates = { createdAt: now, invitedAt: isInvited ? now : null, acceptedAt: isInvited ? null : now };
  const user = { id: deps.ids.uuid(), accountId, email, role, mustChangePassword: true, ...dates };
  return { user, ...(await oneTimePassword(deps, email)) };
}

/**
 * A random password that a person is to change, with what is stored of it: salted as the passwords of others with the
 * email are, so that a sign-in takes one computation, and the same time, however many there are.
 */
export async function oneTimePassword(
  { ids, passwords, stores }: Pick<Dependencies, 'ids' | 'passwords' | 'stores'>,
  email: string,
): Promise<{ readonly password: string; readonly hash: string }> {
  const password = ids.random(18).toString('base64url');
  const [like] = await stores.users.saltsOf(email);
  return { password, hash: await passwords.hash(password, like) };
}

/** Stores a person. Throws `validation_error` when the email is taken: in the account, or by whom an operator added. */
export async function addUser(tx: Tx, { user, hash }: { user: User; hash: string }): Promise<void> {
  if (await tx.users.insert(user, hash)) return;
  if (user.invitedAt === null) throw takenEmail();
  const message = 'is already the email of a member of this account, or of somebody invited to it';
  throw validationError([{ path: 'email', message }]);
}

/** Throws `validation_error` for what is no email address, or is that of somebody whom an operator added. */
export async function refuseTakenEmail(
  { stores }: Pick<Dependencies, 'stores'>,
  email: string,
): Promise<void> {
  checkEmail(email);
  const known = await stores.users.withEmail(email);
  if (known.some(({ invitedAt }) => invitedAt === null)) throw takenEmail();
}

/** Throws `validation_error` for what is no email address. */
export function checkEmail(email: string): void {
  // As it is typed at sign-in: what reading would change, such as an international domain, nobody could sign in with.
  if (parseEmailAddress(email)?.toLowerCase() !== email.toLowerCase()) {
    const message =
      'must be an email address such as name@example.com: its domain has a dot, and other letters in their xn-- form';
    throw validationError([{ path: 'email', message }]);
  }
}

function takenEmail() {
  return validationError([{ path: 'email', message: 'is already the sign-in of somebody' }]);
}
