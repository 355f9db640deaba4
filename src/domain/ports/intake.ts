/**
 * Intake turns a prepared message into an accepted one. It commits all of these changes together, or none of them
 * (R17):
 *
 * - the claim on the idempotency key
 * - the charge with its ledger entry
 * - the message with its recipients
 * - the jobs, and the stored answer
 */
import type { Environment } from '../caller.ts';
import type { IdempotencyClaim, PreparedMessage } from '../messages/message.ts';

/** The answer to a send. A repeated request with the same idempotency key gets the same answer (R19). */
export interface SendAnswer {
  readonly messageId: string;
  /** The message resource as JSON text. Every repeated request gets exactly the same bytes. */
  readonly body: string;
  readonly isReplay: boolean;
}

export interface Intake {
  /**
   * Accepts a message. If its idempotency key was used before, returns the stored answer instead.
   *
   * Throws `insufficient_balance`, and `spend_limit_reached` or `rate_limit_exceeded` for a send limit (R370). Throws
   * `service_unavailable` before anything is accepted if too many messages wait. Throws `outcome_unknown` with the
   * message's id if the answer to the COMMIT was lost (R217).
   */
  accept(prepared: PreparedMessage): Promise<SendAnswer>;
  /** Returns the stored answer for an idempotency key. Answers are stored for 24 hours by PostgreSQL's clock. */
  replay(
    accountId: string,
    environment: Environment,
    claim: IdempotencyClaim,
  ): Promise<SendAnswer | undefined>;
  /** Resolves when no message is waiting to be accepted. */
  drain(): Promise<void>;
}
