/**
 * A **person** signs in with email and password and belongs to one account; an operator belongs to none. Somebody in
 * two accounts is two persons with the same email; the password selects one (R206).
 *
 * An operator adds the owner of an account and other operators; their emails are unique. All others are **invited**
 * by their account. An **invitation** is **pending** until its one-time password is changed. It reserves the email
 * only within its account and expires after 72 hours, as does every one-time password (R252).
 */
import type { Role } from '../caller.ts';

export interface User {
  readonly id: string;
  readonly accountId: string | null;
  readonly email: string;
  readonly role: Role;
  /** Whether the password is a one-time password. */
  readonly mustChangePassword: boolean;
  readonly passwordSetAt: Date;
  readonly createdAt: Date;
  /** Null for people that an operator added. */
  readonly invitedAt: Date | null;
  /** Null while the invitation is pending. */
  readonly acceptedAt: Date | null;
  /** When the person was removed, or the invitation ended; null for present people. */
  readonly removedAt: Date | null;
}

/** Hours until an invitation and a one-time password expire. */
export const ONE_TIME_HOURS = 72;
/** Pending invitations of an account. */
export const INVITATIONS_MAX = 100;

/** The expiry of a pending invitation; otherwise null. */
export function invitationExpiresAt({ invitedAt, acceptedAt }: User): Date | null {
  if (invitedAt === null || acceptedAt !== null) return null;
  return new Date(invitedAt.getTime() + ONE_TIME_MS);
}

const ONE_TIME_MS = ONE_TIME_HOURS * 3_600_000;

/** Whether the password of a person is a one-time password that has expired (R252). */
export function hasExpiredPassword({ mustChangePassword, passwordSetAt }: User, now: Date): boolean {
  return mustChangePassword && now.getTime() - passwordSetAt.getTime() >= ONE_TIME_MS;
}
