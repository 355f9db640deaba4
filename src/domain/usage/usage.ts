/** **Usage**: counts of messages by the hour in which they were accepted and by their present status. */
import type { Environment } from '../caller.ts';
import type { Channel, MessageStatus } from '../messages/message.ts';

export const USAGE_INTERVALS = ['hour', 'day', 'month'] as const;
export type UsageInterval = (typeof USAGE_INTERVALS)[number];

export const USAGE_GROUPS = ['channel', 'status', 'api_key'] as const;
export type UsageGroup = (typeof USAGE_GROUPS)[number];

/** One count. A member is null if the query does not group by it. */
export interface UsageRow {
  /** Start of the hour, day or month, in UTC. */
  readonly at: Date;
  readonly channel: Channel | null;
  readonly status: MessageStatus | null;
  readonly apiKeyId: string | null;
  readonly messages: number;
  /** Cost when the messages were accepted, in minor units. Refunds are not subtracted. They are in the ledger. */
  readonly costMinor: number;
}

/** A row with the currency of its cost. */
export interface PricedUsageRow extends UsageRow {
  readonly currency: string;
}

export interface UsageQuery {
  readonly from: Date;
  readonly to: Date;
  readonly interval: UsageInterval;
  readonly groupBy: readonly UsageGroup[];
  readonly environment: Environment | undefined;
}
