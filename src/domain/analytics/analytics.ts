/**
 * **Analytics**: figures of messages and recipients by the time of acceptance and by their present status. A **bucket**
 * is one interval of one group. The figures are sums over quarter hours, which a background job updates. They are about
 * ten seconds late.
 */
import type { Environment } from '../caller.ts';
import type { Channel, MessageStatus } from '../messages/message.ts';

export const ANALYTICS_INTERVALS = ['hour', 'day', 'week', 'month'] as const;
export type AnalyticsInterval = (typeof ANALYTICS_INTERVALS)[number];

export const ANALYTICS_GROUPS = [
  'channel',
  'status',
  'api_key',
  'sender',
  'country',
  'error_code',
  'provider',
  'environment',
] as const;
export type AnalyticsGroup = (typeof ANALYTICS_GROUPS)[number];
/** Groups that only recipients have. Messages cannot be counted by them. */
export const RECIPIENT_GROUPS: readonly AnalyticsGroup[] = ['country', 'error_code', 'provider'];

export const ANALYTICS_ORDERS = ['time', 'messages', 'recipients', 'failed', 'cost'] as const;
export type AnalyticsOrder = (typeof ANALYTICS_ORDERS)[number];

/**
 * The values by which a bucket is grouped. A value is null if the query does not group by it, or if the messages have
 * none.
 */
export interface AnalyticsValues {
  readonly channel: Channel | null;
  readonly status: MessageStatus | null;
  readonly apiKeyId: string | null;
  readonly sender: string | null;
  readonly country: string | null;
  readonly errorCode: string | null;
  readonly provider: string | null;
  readonly environment: Environment | null;
}
/** The counts and amounts of a bucket. Amounts are in minor units. */
export interface AnalyticsFigures {
  readonly messages: number;
  readonly recipients: number;
  readonly delivered: number;
  readonly failed: number;
  readonly costMinor: number;
  readonly refundMinor: number;
}
/**
 * A row as the store counts it: for each beginning of phone numbers. The country of a row follows from that beginning.
 */
export interface AnalyticsRow extends AnalyticsFigures {
  readonly values: Omit<AnalyticsValues, 'country'> & { readonly prefix: string | null };
}

export const NO_FIGURES: AnalyticsFigures = {
  messages: 0,
  recipients: 0,
  delivered: 0,
  failed: 0,
  costMinor: 0,
  refundMinor: 0,
};

export function sumOf(left: AnalyticsFigures, right: AnalyticsFigures): AnalyticsFigures {
  return {
    messages: left.messages + right.messages,
    recipients: left.recipients + right.recipients,
    delivered: left.delivered + right.delivered,
    failed: left.failed + right.failed,
    costMinor: left.costMinor + right.costMinor,
    refundMinor: left.refundMinor + right.refundMinor,
  };
}
