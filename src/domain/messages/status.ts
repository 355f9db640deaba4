/**
 * The states of a message and of its recipients (R13, R86–R89).
 *
 * Invariant. `MOVES` lists every allowed change of a recipient's status. All of them go forward, and no other code
 * assigns the status. The status of a message is computed from its recipients.
 */
import type { MessageStatus } from './message.ts';

/**
 * The statuses that may follow each status.
 *
 * There is no `pending → delivered`. If a delivery report arrives before the answer to the submit, the report waits for
 * that answer (R15). The recipient goes `pending → sent → delivered`, so that `sms.sent` is recorded, too.
 */
const MOVES: Readonly<Record<MessageStatus, readonly MessageStatus[]>> = {
  pending: ['sent', 'failed'],
  sent: ['delivered', 'failed'],
  delivered: [],
  failed: [],
};

/**
 * True if `MOVES` allows this change of status (R13). A late or repeated report asks for a change that it does not
 * allow.
 */
export function canMove(from: MessageStatus, to: MessageStatus): boolean {
  return MOVES[from].includes(to);
}

/**
 * Computes the status of a message from the number of its recipients in each status (R13). Any recipient pending:
 * `pending`. Otherwise any sent: `sent`. Otherwise any delivered: `delivered`. All failed: `failed`. Throws RangeError
 * if there are no recipients.
 */
export function messageStatus(recipients: Readonly<Partial<Record<MessageStatus, number>>>): MessageStatus {
  const { pending = 0, sent = 0, delivered = 0, failed = 0 } = recipients;
  if (pending > 0) return 'pending';
  if (sent > 0) return 'sent';
  if (delivered > 0) return 'delivered';
  if (failed > 0) return 'failed';
  throw new RangeError('A message has at least one recipient');
}
