import { Ctx, Float, ObjectType, Resolver, Root } from 'type-graphql';
import type { AnalyticsInterval } from '../domain/analytics/analytics.ts';
import type { DeliveryBucket, DeliveryGroup } from '../domain/webhooks/delivery-analytics-operations.ts';
import type { Webhook } from '../domain/webhooks/webhook.ts';
import { SPAN_DAYS_MAX, SPAN_END } from './analytics-span.ts';
import type { GraphqlContext } from './context.ts';
import { daysIn, type FieldCost } from './cost.ts';
import { AnalyticsIntervalEnum, WebhookAnalyticsGroupEnum } from './enums.ts';
import { DateTime } from './scalars.ts';
import { Arg, Field, FieldResolver } from './typed.ts';
import { WebhookType } from './webhook.graphql.ts';

/** The points grow with the number of hours that the query reads. An hour has a row for each event type and status. */
const COST: FieldCost = { each: ({ from, to }) => 10 + 2 * daysIn(from, to, SPAN_DAYS_MAX) };

@ObjectType('WebhookAnalyticsBucket', {
  description: 'Deliveries to a webhook that were queued in an interval, by their present state.',
  simpleResolvers: true,
})
class WebhookAnalyticsBucketType {
  @Field(() => DateTime, { description: 'Start of the interval; without an interval, of the span.' })
  at!: Date;

  @Field(() => String, { nullable: true, description: 'The event type, if grouped by EVENT.' })
  event!: string | null;

  @Field(() => Float, { description: 'Deliveries that succeeded.' })
  succeeded!: number;

  @Field(() => Float, { description: 'Deliveries of which every attempt failed.' })
  failed!: number;

  @Field(() => Float, { description: 'Deliveries that wait for their first or next attempt.' })
  pending!: number;
}

/** Figures of the deliveries to a webhook. */
@Resolver(() => WebhookType)
export class WebhookAnalyticsResolver {
  @FieldResolver(() => [WebhookAnalyticsBucketType], {
    description:
      'Its deliveries by the time at which they were queued, the oldest first. Intervals without deliveries are left out. They are counted by whole hours of UTC, and the span is widened to these.',
    cost: COST,
  })
  analytics(
    @Root() { id }: Webhook,
    @Ctx() { loaders }: GraphqlContext,
    @Arg('from', () => DateTime, { description: 'Start of the span.' }) from: Date,
    @Arg('to', () => DateTime, { description: SPAN_END })
    to: Date,
    @Arg('timeZone', () => String, {
      nullable: true,
      description: 'Time zone of the intervals, such as `Africa/Kampala`. Default: `UTC`.',
    })
    timeZone?: string | null,
    @Arg('interval', () => AnalyticsIntervalEnum, {
      nullable: true,
      description: 'Length of a bucket. Default: one bucket for the whole span.',
    })
    interval?: AnalyticsInterval | null,
    @Arg('groupBy', () => [WebhookAnalyticsGroupEnum], {
      nullable: true,
      description: 'Properties to group by. Default: none.',
    })
    groupBy?: readonly DeliveryGroup[] | null,
  ): Promise<readonly DeliveryBucket[]> {
    const input = {
      from,
      to,
      timeZone: timeZone ?? 'UTC',
      interval: interval ?? undefined,
      groupBy: groupBy ?? [],
    };
    return loaders.deliveryAnalytics.load({ webhookId: id, input });
  }
}
