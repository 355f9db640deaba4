import type { Dependencies } from '../dependencies.ts';
import { validationError } from '../errors.ts';
import { parseEmailAddress } from '../messages/email-address.ts';
import type { Tx } from '../ports/stores.ts';
import type { User } from './user.ts';

/** A person with a one-time password, which is shown only in this answer. */
export interface NewUser {
  readonly user: User;
  readonly password: string;
}

/** Builds a person or an invitation with a random one-time password. Stores nothing. */
export async function newUser(
  deps: Pick<Dependencies, 'ids' | 'clock' | 'passwords' | 'stores'>,
  { email, role, accountId }: Pick<User, 'email' | 'role' | 'accountId'>,
  isInvited: boolean,
): Promise<NewUser & { readonly hash: string }> {
  const now = deps.clock.now();
  const dates = { createdAt: now, invitedAt: isInvited ? now : null, acceptedAt: isInvited ? null : now };
  const user = {
    id: deps.ids.uuid(),
    accountId,
    email,
    role,
    mustChangePassword: true,
    passwordSetAt: now,
    emailProvedAt: null,
    removedAt: null,
    ...dates,
  };
  return { user, ...(await oneTimePassword(deps, email)) };
}

/**
 * Returns a random one-time password and its hash. The hash uses the same salt as other hashes for the email address.
 * So a sign-in computes one hash, and takes the same time however many people have the email address.
 */
export async function oneTimePassword(
  { ids, passwords, stores }: Pick<Dependencies, 'ids' | 'passwords' | 'stores'>,
  email: string,
): Promise<{ readonly password: string; readonly hash: string }> {
  const password = ids.random(18).toString('base64url');
  const [like] = await stores.users.saltsOf(email);
  return { password, hash: await passwords.hash(password, like) };
}

/**
 * Stores a person. Throws `validation_error` if another person of the account has the email address. For a person whom
 * an operator adds, also throws it if any other person whom an operator added has the email address.
 */
export async function addUser(tx: Tx, { user, hash }: { user: User; hash: string }): Promise<void> {
  if (await tx.users.insert(user, hash)) return;
  if (user.invitedAt === null) throw takenEmail();
  const message = 'is already in use by a member of this account, or by a person invited to it';
  throw validationError([{ path: 'email', message }]);
}

/** Throws `validation_error` if the email address is invalid or belongs to a person whom an operator added. */
export async function refuseTakenEmail(
  { stores }: Pick<Dependencies, 'stores'>,
  email: string,
): Promise<void> {
  checkEmail(email);
  const known = await stores.users.withEmail(email);
  if (known.some(({ invitedAt }) => invitedAt === null)) throw takenEmail();
}

/** Throws `validation_error` for an invalid email address. */
export function checkEmail(email: string): void {
  // Refuse an email address that parsing changes, such as one with an international domain. Otherwise the stored form
  // would differ from the form that the person types at sign-in.
  if (parseEmailAddress(email)?.toLowerCase() !== email.toLowerCase()) {
    const message =
      'must be an email address such as name@example.com: its domain has a dot, and other letters in their xn-- form';
    throw validationError([{ path: 'email', message }]);
  }
}

function takenEmail() {
  return validationError([{ path: 'email', message: 'is already in use' }]);
}
