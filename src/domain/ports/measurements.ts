/**
 * Counts events for `/metrics` and traces. A label of a metric has few values, so it is never an account, a key or a
 * message. The methods never throw and do no I/O.
 */
import type { Environment } from '../caller.ts';
import type { Channel, MessageStatus } from '../messages/message.ts';
import type { DeliveryReport, ProviderBalance, Submission, SubmitOutcome } from './provider.ts';
import type { ReturnedOutcome } from './return-paths.ts';

/** A change of one recipient's status. */
export interface MeasuredMove {
  readonly messageId: string;
  readonly position: number;
  readonly at: Date;
  readonly channel: Channel;
  /** Name of the provider of the recipient. Null if no provider has answered yet. */
  readonly provider: string | null;
  readonly status: MessageStatus;
  /** Error code of a failure. Null for other statuses. */
  readonly reason: string | null;
  /** Time in seconds from the submission to the report. Null if this is not a report on a submitted recipient. */
  readonly reportSeconds: number | null;
}

export interface AcceptedMessage {
  readonly id: string;
  readonly channel: Channel;
  readonly environment: Environment;
  readonly recipients: readonly unknown[];
  /** When the message was prepared, just before it joined a batch. */
  readonly createdAt: Date;
}

/** The result of an attempt to deliver an event: the class of the HTTP status, or no answer. */
export type AttemptClass = '2xx' | '3xx' | '4xx' | '5xx' | 'no_answer';

/** An attempt to deliver an event to a webhook. */
export interface MeasuredAttempt {
  /** Id of the event's message. Null for an event without a message. */
  readonly messageId: string | null;
  readonly deliveryId: string;
  /** Number of attempts of the delivery before this one. */
  readonly attemptsBefore: number;
  readonly result: AttemptClass;
  readonly seconds: number;
}

/** An answer of a provider. `provider` is its label in health and metrics. */
export interface MeasuredSubmission {
  readonly provider: string;
  readonly submission: Pick<Submission, 'messageId' | 'position' | 'attempt'>;
  readonly outcome: SubmitOutcome;
  readonly seconds: number;
}

/**
 * What happened to a mail that came back (R497), besides what it changed. `ignored`: it is no bounce and no complaint.
 * `deferred`: the mail server tries again. `refused`: it is for another address or too large.
 */
export type MeasuredReturn = ReturnedOutcome | 'ignored' | 'deferred' | 'refused';

/** Measurements inside a transaction. They count when the transaction has committed. */
export interface CommittedMeasurements {
  moved(moves: readonly MeasuredMove[]): void;
  refunded(recipients: number): void;
}

export interface Measurements extends CommittedMeasurements {
  accepted(message: AcceptedMessage): void;
  submitted(answered: MeasuredSubmission): void;
  reported(provider: string, status: DeliveryReport['status']): void;
  attempted(attempt: MeasuredAttempt): void;
  returned(outcome: MeasuredReturn): void;
  /** Returns the header `traceparent` for an attempt. Undefined if the message is not traced. */
  traceparentOf(
    attempt: Pick<MeasuredAttempt, 'messageId' | 'deliveryId' | 'attemptsBefore'>,
  ): string | undefined;
  /** Records a provider's balance. `balance` is undefined if it is unknown now. */
  balanceOf(provider: string, balance: ProviderBalance | undefined): void;
}

const nothing = () => undefined;

/** Measurements that count nothing. For dry runs, and for parts that are used alone. */
export const UNMEASURED: Measurements = {
  moved: nothing,
  refunded: nothing,
  accepted: nothing,
  submitted: nothing,
  reported: nothing,
  attempted: nothing,
  returned: nothing,
  traceparentOf: nothing,
  balanceOf: nothing,
};

/** Passes each measurement to both. The header `traceparent` comes from the second. */
export function measureWithBoth(first: Measurements, second: Measurements): Measurements {
  return {
    moved(moves) {
      first.moved(moves);
      second.moved(moves);
    },
    refunded(recipients) {
      first.refunded(recipients);
      second.refunded(recipients);
    },
    accepted(message) {
      first.accepted(message);
      second.accepted(message);
    },
    submitted(answered) {
      first.submitted(answered);
      second.submitted(answered);
    },
    reported(provider, status) {
      first.reported(provider, status);
      second.reported(provider, status);
    },
    attempted(attempt) {
      first.attempted(attempt);
      second.attempted(attempt);
    },
    returned(outcome) {
      first.returned(outcome);
      second.returned(outcome);
    },
    traceparentOf: (attempt) => second.traceparentOf(attempt),
    balanceOf(provider, balance) {
      first.balanceOf(provider, balance);
      second.balanceOf(provider, balance);
    },
  };
}
