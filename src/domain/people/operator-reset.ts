/**
 * An **operator reset** replaces the password of an operator, or removes the operator's second factors. One operator
 * **requests** it, and a second operator confirms it. So no operator can take over the sign-in of another one alone
 * (R400). A request is pending for 24 hours.
 *
 * The new password has two **parts**. Each of the two operators sees one part and gives it to the person. Only the
 * person knows both parts.
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
  /** The operator whose password is replaced, or whose second factors are removed. */
  readonly userId: string;
  readonly kind: OperatorResetKind;
  readonly requestedBy: string;
  readonly requestedAt: Date;
  readonly expiresAt: Date;
}

export const OPERATOR_RESET_MS = 24 * 3_600_000;
/** Number of random bytes in a part. An operator who knows one part cannot guess the 96 bits of the other. */
export const PASSWORD_PART_BYTES = 12;
