/**
 * The states of a message and of each of its recipients (R13, R86–R89).
 *
 * Invariant. A recipient moves only as `MOVES` says, always forward, and nothing else assigns its status.
 * A message's status is never assigned: it follows from its recipients', and so moves only forward too.
 */
import type { MessageStatus } from './message.ts';

/**
 * There is no `pending → delivered`: a delivery report that comes before the submit answer waits for it
 * (R15), and the recipient then goes `pending → sent → delivered`, so `sms.sent` is not skipped.
 */
const MOVES: Readonly<Record<MessageStatus, readonly MessageStatus[]>> = {
  pending: ['sent', 'failed'],
  sent: ['delivered', 'failed'],
  delivered: [],
  failed: [],
};

/**
 * Whether a recipient may go from one status to the other (R13). False for the same status again
 * and for every step back: a late or repeated report changes nothing.
 */
export function canMove(from: MessageStatus, to: MessageStatus): boolean {
  return MOVES[from].includes(to);
}

/**
 * The status of a message from how many of its recipients stand where (R13): any pending →
 * `pending`; all failed → `failed`; all that did not fail delivered → `delivered`; otherwise `sent`.
 * Throws RangeError for a message without recipients, which does not exist.
 */
export function messageStatus(recipients: Readonly<Partial<Record<MessageStatus, number>>>): MessageStatus {
  const { pending = 0, sent = 0, delivered = 0, failed = 0 } = recipients;
  if (pending > 0) return 'pending';
  if (sent > 0) return 'sent';
  if (delivered > 0) return 'delivered';
  if (failed > 0) return 'failed';
  throw new RangeError('A message has at least one recipient');
}
