import { notFound, validationError } from '../errors.ts';
import type { User } from './user.ts';

/**
 * Returns the person in the account. Without `accountId`, returns the only person of `people`, who all have one email
 * address. A pending invitation counts only if no person has accepted an invitation. Throws `not_found` if there is
 * none, and `validation_error` if there are several.
 */
export function selectPerson(people: readonly User[], accountId: string | null | undefined): User {
  const account = accountId?.toLowerCase();
  const named = people.filter((person) => account === undefined || person.accountId === account);
  const accepted = named.filter(({ acceptedAt }) => acceptedAt !== null);
  const [found, ...others] = accepted.length > 0 ? accepted : named;
  if (!found) throw notFound('User');
  if (others.length === 0) return found;
  const accounts = [found, ...others].map((person) => person.accountId ?? 'none, an operator');
  const message = `several people sign in with the email; name the account of one: ${accounts.join('; ')}`;
  throw validationError([{ path: 'accountId', message }]);
}
