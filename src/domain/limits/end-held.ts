import { transitionRecipients } from '../messages/transition-recipients.ts';
import type { HeldMessage } from '../ports/held-store.ts';
import type { RecipientMove } from '../ports/message-stores.ts';
import type { Tx } from '../ports/stores.ts';
import type { Ids } from '../ports/system.ts';
import { REVIEW_MS } from './held.ts';

const HELD = 'held_for_review';
const FAILURES = {
  rejected: {
    code: 'review_rejected',
    message: 'It was held as possible SMS pumping, and rejected. It was not charged.',
  },
  expired: {
    code: 'expired',
    message: 'It was held as possible SMS pumping, and not reviewed within 72 hours. It was not charged.',
  },
} as const;

/** Locks the messages, and returns those that are still held. */
export async function lockHeld(tx: Tx, messageIds: readonly string[]): Promise<readonly HeldMessage[]> {
  if (messageIds.length === 0) return [];
  // The lock of the message decides between a review, a cancellation and the end of the 72 hours.
  const messages = await tx.messages.lock(messageIds);
  const waiting = [...messages.values()].filter(
    ({ status, statusReason }) => status === 'pending' && statusReason === HELD,
  );
  return tx.held.find(waiting.map(({ id }) => id));
}

/** Fails held messages, which the caller has locked. They were never charged, so nothing is refunded. */
export async function failHeld(
  tx: Tx,
  ids: Ids,
  held: readonly HeldMessage[],
  decision: keyof typeof FAILURES,
  now: Date,
): Promise<void> {
  if (held.length === 0) return;
  const messageIds = held.map(({ messageId }) => messageId);
  const recipients = await tx.messages.recipients(messageIds);
  const moves = recipients.map(({ messageId, position }): RecipientMove => {
    const error = FAILURES[decision];
    return { messageId, position, from: 'pending', to: 'failed', at: now, provider: null, sids: [], error };
  });
  await tx.held.decide(messageIds, decision, now);
  await transitionRecipients(tx, ids, messageIds, moves, now);
}

/** Fails up to `limit` messages that nobody has reviewed in time (R395). Returns how many were found. */
export async function expireHeld(tx: Tx, ids: Ids, limit: number, now: Date): Promise<number> {
  const due = await tx.held.heldBefore(new Date(now.getTime() - REVIEW_MS), limit);
  const held = await lockHeld(tx, due);
  await failHeld(tx, ids, held, 'expired', now);
  const open = new Set(held.map(({ messageId }) => messageId));
  // Retention may have removed the others, or a person has decided meanwhile.
  await tx.held.decide(
    due.filter((id) => !open.has(id)),
    'canceled',
    now,
  );
  return due.length;
}
