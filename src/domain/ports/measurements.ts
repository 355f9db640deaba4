/**
 * Counts what happens, for `/metrics`. Labels have few values: no account, key or message ever is one. The methods never
 * throw and do no I/O.
 */
import type { Environment } from '../caller.ts';
import type { Channel, MessageStatus } from '../messages/message.ts';
import type { DeliveryReport, ProviderBalance, SubmitOutcome } from './provider.ts';

/** A change of one recipient's status. */
export interface MeasuredMove {
  readonly channel: Channel;
  /** Name of the provider that has or had the recipient. Null if no provider has answered yet. */
  readonly provider: string | null;
  readonly status: MessageStatus;
  /** Code of the error, for a failure. */
  readonly reason: string | null;
  /** For a report on a submitted recipient: the time from its submission to the report, in seconds. */
  readonly reportSeconds: number | null;
}

/** What an attempt at a webhook led to: `2xx` and so on by the status of the answer. */
export type AttemptClass = '2xx' | '3xx' | '4xx' | '5xx' | 'no_answer';

/** The measurements that count when a transaction has committed. */
export interface CommittedMeasurements {
  moved(moves: readonly MeasuredMove[]): void;
  refunded(recipients: number): void;
}

export interface Measurements extends CommittedMeasurements {
  accepted(channel: Channel, environment: Environment, recipients: number): void;
  /** An answer of a provider to one submission. `provider` is its label in health and metrics. */
  submitted(provider: string, outcome: SubmitOutcome['kind'], seconds: number): void;
  reported(provider: string, status: DeliveryReport['status']): void;
  attempted(result: AttemptClass, seconds: number): void;
  /** Undefined if the provider does not tell its balance now. */
  balanceOf(provider: string, balance: ProviderBalance | undefined): void;
}

const nothing = () => undefined;

/** Counts nothing: for dry runs and for parts that are used alone. */
export const UNMEASURED: Measurements = {
  moved: nothing,
  refunded: nothing,
  accepted: nothing,
  submitted: nothing,
  reported: nothing,
  attempted: nothing,
  balanceOf: nothing,
};
