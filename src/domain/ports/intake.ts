/**
 * Intake turns a prepared message into an accepted one. The claim on the idempotency key, the charge with its ledger
 * entry, the message with its recipients, the jobs and the stored answer commit together or not at all (R17).
 */
import type { Environment } from '../caller.ts';
import type { IdempotencyClaim, PreparedMessage } from '../messages/message.ts';

/** The answer to a send. A repeat of the idempotency key gets the same one (R19). */
export interface SendAnswer {
  readonly messageId: string;
  /** The message resource as JSON text; the same bytes for every repeat. */
  readonly body: string;
  readonly isReplay: boolean;
}

export interface Intake {
  /**
   * Accepts a message, or replays the answer that its idempotency key already has.
   *
   * Throws `insufficient_balance`; `service_unavailable`, before anything is accepted, when the queue of waiting
   * messages is full; and `outcome_unknown` with the message's id when the answer to the COMMIT was lost (R217).
   */
  accept(prepared: PreparedMessage): Promise<SendAnswer>;
  /** The answer that a claim has, if it is still kept: 24 hours by PostgreSQL's clock. */
  replay(
    accountId: string,
    environment: Environment,
    claim: IdempotencyClaim,
  ): Promise<SendAnswer | undefined>;
  /** Resolves when no message waits. */
  drain(): Promise<void>;
}
