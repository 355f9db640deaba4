/**
 * A **person** signs in with email and password, and belongs to one account; an operator belongs to none. Somebody in two
 * accounts is two persons, who may have the same email: the password says which of them signs in. An operator adds the
 * owner of an account, and other operators; of these no two have the same email. Everybody else is **invited** by their
 * account, and the **invitation** is **pending** until the one-time password is changed, which accepts it. It keeps its
 * email from nobody but another invitation of the account, and after 7 days there is nothing left of it.
 */
import type { Role } from '../caller.ts';

export interface User {
  readonly id: string;
  readonly accountId: string | null;
  readonly email: string;
  readonly role: Role;
  readonly mustChangePassword: boolean;
  readonly createdAt: Date;
  /** Null for those whom an operator added. */
  readonly invitedAt: Date | null;
  /** Null while the invitation is pending. */
  readonly acceptedAt: Date | null;
}

/** How long an invitation can be accepted. */
export const INVITATION_DAYS = 7;
/** Invitations of an account that are pending at once. */
export const INVITATIONS_MAX = 100;

/** When a pending invitation ends; null for everybody else. */
export function invitationExpiresAt({ invitedAt, acceptedAt }: User): Date | null {
  if (invitedAt === null || acceptedAt !== null) return null;
  return new Date(invitedAt.getTime() + INVITATION_DAYS * 24 * 3_600_000);
}

/** Shortest password accepted, in characters; the longest keeps hashing bounded. */
export const PASSWORD_MIN_LENGTH = 12;
export const PASSWORD_MAX_LENGTH = 256;
