/** Figures over all accounts, for operators (R510). */
import type { AnalyticsFigures } from '../analytics/analytics.ts';
import type { Environment } from '../caller.ts';
import type { Channel, MessageStatus } from '../messages/message.ts';

export const PLATFORM_GROUPS = [
  'account',
  'channel',
  'status',
  'country',
  'provider',
  'environment',
] as const;
export type PlatformGroup = (typeof PLATFORM_GROUPS)[number];
/** Groups that only recipients have. Messages cannot be counted by them. */
const RECIPIENT_GROUPS: readonly PlatformGroup[] = ['country', 'provider'];

/**
 * The values by which a bucket is grouped. A value is null if the query does not group by it, or if the messages have
 * none. Amounts of different currencies cannot be added, so each bucket has one currency.
 */
export interface PlatformValues {
  readonly currency: string;
  readonly accountId: string | null;
  readonly accountName: string | null;
  readonly accountEmail: string | null;
  readonly channel: Channel | null;
  readonly status: MessageStatus | null;
  readonly country: string | null;
  readonly provider: string | null;
  readonly environment: Environment | null;
}
/** A row as the store counts it: for each beginning of phone numbers. */
export interface PlatformRow extends AnalyticsFigures {
  readonly values: Omit<PlatformValues, 'country'> & { readonly prefix: string | null };
}

/** True if messages can be counted by these groups. */
export const countsMessagesBy = (groups: readonly PlatformGroup[]): boolean =>
  !groups.some((group) => RECIPIENT_GROUPS.includes(group));
