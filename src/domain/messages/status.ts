/**
 * The states of a message and of its recipients (R13, R86–R89).
 *
 * Invariant. A recipient moves only along `MOVES`, always forward, and no other code assigns its status. The status
 * of a message is computed from its recipients.
 */
import type { MessageStatus } from './message.ts';

/**
 * There is no `pending → delivered`. A delivery report that arrives before the answer to the submit waits for it
 * (R15); the recipient then goes `pending → sent → delivered`, and `sms.sent` fires.
 */
const MOVES: Readonly<Record<MessageStatus, readonly MessageStatus[]>> = {
  pending: ['sent', 'failed'],
  sent: ['delivered', 'failed'],
  delivered: [],
  failed: [],
};

/** Whether the table allows a move (R13). A late or repeated report asks for a move that it does not allow. */
export function canMove(from: MessageStatus, to: MessageStatus): boolean {
  return MOVES[from].includes(to);
}

/**
 * The status of a message from the number of its recipients in each status (R13): any pending → `pending`; all
 * failed → `failed`; all not failed are delivered → `delivered`; otherwise `sent`. Throws RangeError without
 * recipients.
 */
export function messageStatus(recipients: Readonly<Partial<Record<MessageStatus, number>>>): MessageStatus {
  const { pending = 0, sent = 0, delivered = 0, failed = 0 } = recipients;
  if (pending > 0) return 'pending';
  if (sent > 0) return 'sent';
  if (delivered > 0) return 'delivered';
  if (failed > 0) return 'failed';
  throw new RangeError('A message has at least one recipient');
}
