/**
 * An **operator reset** replaces the password of an operator, or removes the operator's second factors. One operator
 * **requests** it, and a second one confirms it, so that no operator alone takes over another's sign-in (R400). A
 * request is pending for 24 hours.
 *
 * The new password has two **parts**. Each of the two operators sees one. Only the person, who gets both, knows the
 * password.
 */
import type { User } from '../accounts/user.ts';

export const OPERATOR_RESET_KINDS = ['factors', 'password'] as const;
export type OperatorResetKind = (typeof OPERATOR_RESET_KINDS)[number];

/** A pending request with its people. */
export interface ShownReset extends OperatorReset {
  readonly user: User;
  readonly requester: User;
}

export interface OperatorReset {
  readonly id: string;
  /** The operator who gets another password, or loses the second factors. */
  readonly userId: string;
  readonly kind: OperatorResetKind;
  readonly requestedBy: string;
  readonly requestedAt: Date;
  readonly expiresAt: Date;
}

export const OPERATOR_RESET_MS = 24 * 3_600_000;
/** Random bytes of a part. One part alone leaves 96 bits to be guessed. */
export const PASSWORD_PART_BYTES = 12;
