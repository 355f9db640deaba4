import { type FieldFault, validationError } from '../errors.ts';
import { COMMON_PASSWORDS } from './common-passwords.ts';

/** Shortest and longest password, in UTF-16 code units. The maximum limits the cost of hashing. */
const PASSWORD_MIN_LENGTH = 12;
export const PASSWORD_MAX_LENGTH = 256;
/**
 * Shortest part of an email address that a password must not contain, in UTF-16 code units. A shorter part may occur in
 * other words by chance.
 */
const NAME_MIN_LENGTH = 5;

/** Throws `validation_error` with the field `path` if a person may not choose this password (R301). */
export function checkNewPassword(password: string, email: string, path: string): void {
  const message = faultOf(password, email);
  if (message !== undefined) throw validationError([{ path, message } satisfies FieldFault]);
}

function faultOf(password: string, email: string): string | undefined {
  if (password.length < PASSWORD_MIN_LENGTH || password.length > PASSWORD_MAX_LENGTH)
    return `must have ${PASSWORD_MIN_LENGTH} to ${PASSWORD_MAX_LENGTH} characters`;
  const lower = password.toLowerCase();
  const name = email.slice(0, email.lastIndexOf('@')).toLowerCase();
  if (name.length >= NAME_MIN_LENGTH && lower.includes(name))
    return 'must not contain the name of your email';
  if (COMMON_PASSWORDS.has(lower)) return 'is one of the most common passwords; choose another';
  return undefined;
}
