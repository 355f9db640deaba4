/**
 * A **person** signs in with email and password and belongs to one account; an operator belongs to none. Somebody in
 * two accounts is two persons with the same email; the password selects one (R206).
 *
 * An operator adds the owner of an account and other operators; their emails are unique. All others are **invited**
 * by their account. An **invitation** is **pending** until its one-time password is changed. It reserves the email
 * only within its account and expires after 7 days.
 */
import type { Role } from '../caller.ts';

export interface User {
  readonly id: string;
  readonly accountId: string | null;
  readonly email: string;
  readonly role: Role;
  readonly mustChangePassword: boolean;
  readonly createdAt: Date;
  /** Null for people that an operator added. */
  readonly invitedAt: Date | null;
  /** Null while the invitation is pending. */
  readonly acceptedAt: Date | null;
  /** When the person was removed, or the invitation ended; null for present people. */
  readonly removedAt: Date | null;
}

/** Days until an invitation expires. */
export const INVITATION_DAYS = 7;
/** Pending invitations of an account. */
export const INVITATIONS_MAX = 100;

/** The expiry of a pending invitation; otherwise null. */
export function invitationExpiresAt({ invitedAt, acceptedAt }: User): Date | null {
  if (invitedAt === null || acceptedAt !== null) return null;
  return new Date(invitedAt.getTime() + INVITATION_DAYS * 24 * 3_600_000);
}

/** Characters. The maximum bounds the cost of hashing. */
export const PASSWORD_MIN_LENGTH = 12;
export const PASSWORD_MAX_LENGTH = 256;
