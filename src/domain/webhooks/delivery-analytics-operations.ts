import type { AnalyticsInput } from '../analytics/analytics-operations.ts';
import { checkedSpan, intervalsOf } from '../analytics/analytics-operations.ts';
import { ACCOUNT_ROLES, accountIdOf } from '../caller.ts';
import type { Dependencies } from '../dependencies.ts';
import { operation } from '../operation.ts';
import type { DeliveryCounts } from '../ports/list-stores.ts';

const HOUR_MS = 3_600_000;
/** Properties by which deliveries can be grouped. */
export const DELIVERY_GROUPS = ['event'] as const;
export type DeliveryGroup = (typeof DELIVERY_GROUPS)[number];

export interface DeliveryAnalyticsInput
  extends Pick<AnalyticsInput, 'from' | 'to' | 'timeZone' | 'interval'> {
  readonly webhookIds: readonly string[];
  readonly groupBy: readonly DeliveryGroup[];
}
/** Counts of the deliveries to an endpoint in an interval. */
export interface DeliveryBucket extends DeliveryCounts {
  /** The start of the interval. Without an interval, the start of the span. */
  readonly at: Date;
  /** The event type. Null if the query does not group by event. */
  readonly event: string | null;
}

/** Operations that return figures of webhook deliveries. */
export function deliveryAnalyticsOperations({ stores }: Pick<Dependencies, 'stores'>) {
  return {
    /**
     * Returns figures of the deliveries to each endpoint, the oldest interval first (R335). A delivery is counted at
     * the time when it was queued. Endpoints of other accounts and intervals without deliveries are left out. The
     * counts are for whole hours of UTC, so the span is widened to whole hours. Throws `validation_error` as
     * `analytics.query` does.
     */
    deliveryAnalytics: operation(
      'delivery.analytics',
      { roles: ACCOUNT_ROLES },
      async (
        caller,
        input: DeliveryAnalyticsInput,
      ): Promise<ReadonlyMap<string, readonly DeliveryBucket[]>> => {
        const checked = checkedSpan(input);
        const span = {
          from: new Date(Math.floor(checked.from.getTime() / HOUR_MS) * HOUR_MS),
          to: new Date(Math.ceil(checked.to.getTime() / HOUR_MS) * HOUR_MS),
        };
        const intervals = await intervalsOf({ stores }, span, input);
        const rows = await stores.deliveryLists.countsByTime(accountIdOf(caller), input.webhookIds, {
          starts: intervals.map(({ from }) => from),
          to: span.to,
          byEvent: input.groupBy.includes('event'),
        });
        const buckets = rows.flatMap(({ interval, ...row }) => {
          const at = intervals[interval]?.at;
          return at ? [{ ...row, at }] : [];
        });
        return Map.groupBy(buckets, ({ webhookId }) => webhookId);
      },
    ),
  };
}
