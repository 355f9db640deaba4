import type { Role } from '../caller.ts';

/** A person who signs in with email and password; an operator belongs to no account. */
export interface User {
  readonly id: string;
  readonly accountId: string | null;
  readonly email: string;
  readonly role: Role;
  readonly mustChangePassword: boolean;
  readonly createdAt: Date;
}

/** Shortest password accepted, in characters; the longest keeps hashing bounded. */
export const PASSWORD_MIN_LENGTH = 12;
export const PASSWORD_MAX_LENGTH = 256;
