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

/** Makes a person with a random one-time password; nothing is stored yet. */
export async function newUser(
  { ids, clock, passwords }: Pick<Dependencies, 'ids' | 'clock' | 'passwords'>,
  email: string,
  role: User['role'],
  accountId: string | null,
): Promise<NewUser & { readonly hash: string }> {
  const user = { id: ids.uuid(), accountId, email, role, mustChangePassword: true, createdAt: clock.now() };
  return { user, ...(await oneTimePassword({ ids, passwords })) };
}

/** A random password that a person is to change, with what is stored of it. */
export async function oneTimePassword({
  ids,
  passwords,
}: Pick<Dependencies, 'ids' | 'passwords'>): Promise<{ readonly password: string; readonly hash: string }> {
  const password = ids.random(18).toString('base64url');
  return { password, hash: await passwords.hash(password) };
}

/** Stores a person. Throws `validation_error` when the email has become somebody's sign-in in the meantime. */
export async function addUser(tx: Tx, { user, hash }: { user: User; hash: string }): Promise<void> {
  if (!(await tx.users.insert(user, hash))) throw takenEmail();
}

/** Throws `validation_error` for what is no email address, or is somebody's sign-in already. */
export async function refuseTakenEmail(
  { stores }: Pick<Dependencies, 'stores'>,
  email: string,
): Promise<void> {
  // As it is typed at sign-in: what reading would change, such as an international domain, nobody could sign in with.
  if (parseEmailAddress(email)?.toLowerCase() !== email.toLowerCase()) {
    const message =
      'must be an email address such as name@example.com: its domain has a dot, and other letters in their xn-- form';
    throw validationError([{ path: 'email', message }]);
  }
  if (await stores.users.findByEmail(email)) throw takenEmail();
}

function takenEmail() {
  return validationError([{ path: 'email', message: 'is already the sign-in of somebody' }]);
}
