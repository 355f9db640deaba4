/**
 * A **person** signs in with email address and password and belongs to one account. An operator is a person without an
 * account. A human in two accounts is two persons with the same email address. The password decides which of them signs
 * in (R206).
 *
 * An operator adds the owner of an account and other operators. Their email addresses are unique. All other people are
 * **invited** by their account. An **invitation** is **pending** until its one-time password is changed. It reserves
 * the email address only within its account. It expires after 72 hours, as every one-time password does (R252).
 */
import type { Role } from '../caller.ts';

export interface User {
  readonly id: string;
  readonly accountId: string | null;
  readonly email: string;
  readonly role: Role;
  /** True if the password is a one-time password. */
  readonly mustChangePassword: boolean;
  readonly passwordSetAt: Date;
  readonly createdAt: Date;
  /** When the person was invited. Null for people whom an operator added. */
  readonly invitedAt: Date | null;
  /** When the person accepted the invitation. Null while it is pending. */
  readonly acceptedAt: Date | null;
  /**
   * When the person showed that the email address is theirs: by a link of a mail, or by the identity provider of the
   * account. Null if they did not.
   */
  readonly emailProvedAt: Date | null;
  /** When the person was removed or the invitation ended. Null for other people. */
  readonly removedAt: Date | null;
}

/** A person with the facts that restrict what the person's sessions and access tokens may do. */
export interface PersonFacts {
  readonly user: User;
  /** True if the person has a confirmed second factor. */
  readonly hasFactor: boolean;
  /** True if the person's account requires a second factor. */
  readonly accountRequiresFactor: boolean;
  /** True if the person has signed in at an identity provider. */
  readonly hasIdentity: boolean;
}

/** Hours until an invitation or a one-time password expires. */
export const ONE_TIME_HOURS = 72;
/** Largest number of pending invitations of an account. */
export const INVITATIONS_MAX = 100;

/** Returns when a pending invitation expires. Null for other people. */
export function invitationExpiresAt({ invitedAt, acceptedAt }: User): Date | null {
  if (invitedAt === null || acceptedAt !== null) return null;
  return new Date(invitedAt.getTime() + ONE_TIME_MS);
}

const ONE_TIME_MS = ONE_TIME_HOURS * 3_600_000;

/** True if a person's password is a one-time password that has expired (R252). */
export function hasExpiredPassword({ mustChangePassword, passwordSetAt }: User, now: Date): boolean {
  return mustChangePassword && now.getTime() - passwordSetAt.getTime() >= ONE_TIME_MS;
}
