/**
 * Intake turns a prepared message into an accepted one: idempotency claim, charge, ledger entry, message,
 * recipients, jobs and the stored response commit together or not at all (R17). Requests that arrive
 * while a batch is committing form the next batch; each message of a batch is accepted or refused on its own.
 */
import type { Environment } from '../caller.ts';
import type { IdempotencyClaim, PreparedMessage } from '../messages/message.ts';

/** What a send with an idempotency key was answered with. */
export interface StoredAnswer {
  readonly messageId: string;
  readonly statusCode: number;
  readonly body: string;
}

export type IntakeAnswer =
  /** `seq` is its number among its account's messages of its channel. */
  | {
      readonly kind: 'accepted';
      readonly messageId: string;
      readonly seq: number;
      readonly body: string;
    }
  /** The idempotency key was used before: what was answered then. */
  | ({ readonly kind: 'replayed' } & StoredAnswer)
  | { readonly kind: 'insufficient'; readonly balanceMinor: number };

export interface Intake {
  /**
   * Throws `service_unavailable` when more messages wait than it can hold, before anything is accepted, and
   * `outcome_unknown` with the message's id where nobody can tell whether it was accepted.
   */
  accept(prepared: PreparedMessage): Promise<IntakeAnswer>;
  /** What a claim was answered with, if its answer is still kept (24 hours, by the store's own clock). */
  replay(
    accountId: string,
    environment: Environment,
    claim: IdempotencyClaim,
  ): Promise<StoredAnswer | undefined>;
  /** Resolves when nothing waits any more. */
  drain(): Promise<void>;
}
