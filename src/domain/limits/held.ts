/**
 * A **held message** looks like SMS pumping and waits for a person's decision (R393). It is accepted and `pending`, costs
 * nothing, and has no job. A **review** releases or rejects all held messages of a block. Without one, the message
 * fails.
 */
import type { PreparedMessage } from '../messages/message.ts';

export const REVIEW_DECISIONS = ['release', 'reject'] as const;
export type ReviewDecision = (typeof REVIEW_DECISIONS)[number];

/** A held message fails if nobody decides within this time, in ms (R395). */
export const REVIEW_MS = 72 * 3_600_000;

/** Returns the message as it is accepted when it is held because of `block`. */
export function heldForReview(prepared: PreparedMessage, block: string): PreparedMessage {
  const { recipients, costMinor, createdAt } = prepared;
  return {
    ...prepared,
    costMinor: 0,
    recipients: recipients.map((recipient) => ({ ...recipient, costMinor: 0 })),
    expiresAt: new Date(createdAt.getTime() + REVIEW_MS),
    review: { block, costMinor, costs: recipients.map((recipient) => recipient.costMinor) },
  };
}
