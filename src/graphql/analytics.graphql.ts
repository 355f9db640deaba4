import { Ctx, Float, ID, ObjectType, Resolver, Root } from 'type-graphql';
import {
  type AnalyticsFigures,
  type AnalyticsGroup,
  type AnalyticsInterval,
  type AnalyticsOrder,
  type AnalyticsValues,
  RECIPIENT_GROUPS,
} from '../domain/analytics/analytics.ts';
import type { AnalyticsBucket, AnalyticsTimes } from '../domain/analytics/analytics-operations.ts';
import type { Environment } from '../domain/caller.ts';
import type { Channel, MessageStatus } from '../domain/messages/message.ts';
import { SPAN_DAYS_MAX, SPAN_END } from './analytics-span.ts';
import { ApiKeyType } from './api-key.graphql.ts';
import type { GraphqlContext } from './context.ts';
import { daysIn, type FieldCost } from './cost.ts';
import {
  AnalyticsComparisonEnum,
  AnalyticsGroupEnum,
  AnalyticsIntervalEnum,
  AnalyticsOrderEnum,
  ChannelEnum,
  EnvironmentEnum,
  MessageStatusEnum,
} from './enums.ts';
import { Money, moneyOf } from './money.graphql.ts';
import { DateTime } from './scalars.ts';
import { Arg, Field, FieldResolver, Query } from './typed.ts';

const LIMIT = 1_000;
/**
 * Points for each day of the span, by interval. The points grow with the number of stored slots that the query reads.
 * An hour is one slot. A day in a local time zone needs several slots.
 */
export const POINTS_A_DAY: Readonly<Record<AnalyticsInterval, number>> = {
  hour: 24,
  day: 2,
  week: 1,
  month: 1,
};
/**
 * The points of a query. They grow with the number of slots that it reads. A slot has a row for each combination of the
 * groups.
 */
const COST: FieldCost = {
  each: ({ from, to, interval, compareWith }) => {
    const perDay = POINTS_A_DAY[(interval ?? 'month') as AnalyticsInterval];
    const spans = compareWith ? 2 : 1;
    return 20 + spans * perDay * daysIn(from, to, SPAN_DAYS_MAX);
  },
};
/** Points for the times of a bucket. The query reads them once for all buckets. */
export const TIMES_COST = 5;

@ObjectType({ description: 'Figures of a group in an interval.', simpleResolvers: true })
export class AnalyticsNumbers {
  @Field(() => Float, {
    nullable: true,
    description:
      'Accepted messages. Null if grouped by COUNTRY, ERROR_CODE or PROVIDER: a message may have several.',
  })
  messages!: number | null;

  @Field(() => Float, { description: 'Their recipients.' })
  recipients!: number;

  @Field(() => Float, { description: 'Recipients that are delivered by now.' })
  delivered!: number;

  @Field(() => Float, { description: 'Recipients that have failed by now.' })
  failed!: number;

  @Field(() => Float, {
    nullable: true,
    description: 'Delivered part of the recipients, from 0 to 1. Null without recipients.',
  })
  deliveryRate!: number | null;

  @Field(() => Money, { description: 'Cost at acceptance, without what was refunded.' })
  netCost!: Money;

  @Field(() => Money, { description: 'What was refunded of the cost at acceptance.' })
  refunds!: Money;
}

@ObjectType({
  description: 'Conditions as `MessageFilter` takes them; null where there is none.',
  simpleResolvers: true,
})
class AnalyticsFilter {
  @Field(() => DateTime, { description: 'Earliest time of acceptance, inclusive.' })
  from!: Date;

  @Field(() => DateTime, { description: 'Latest time of acceptance, inclusive.' })
  to!: Date;

  @Field(() => ChannelEnum, { nullable: true, description: 'The channel.' })
  channel!: Channel | null;

  @Field(() => MessageStatusEnum, { nullable: true, description: 'The status.' })
  status!: MessageStatus | null;

  @Field(() => EnvironmentEnum, { nullable: true, description: 'The environment.' })
  environment!: Environment | null;

  @Field(() => ID, { nullable: true, description: 'The `keyId` of the API key.' })
  apiKeyId!: string | null;

  @Field(() => String, { nullable: true, description: 'The sender.' })
  sender!: string | null;

  @Field(() => String, { nullable: true, description: 'The error of one of the recipients.' })
  errorCode!: string | null;

  @Field(() => String, { nullable: true, description: 'The provider that accepted one of the recipients.' })
  provider!: string | null;
}

@ObjectType('AnalyticsTimes', {
  description: 'Times in ms, of which half (p50) or 95 % (p95) are not longer. They are exact to 9 %.',
  simpleResolvers: true,
})
export class AnalyticsTimesType implements AnalyticsTimes {
  @Field(() => Float, {
    nullable: true,
    description: 'From the time of sending until the provider accepted; p50.',
  })
  submitP50Ms!: number | null;

  @Field(() => Float, {
    nullable: true,
    description: 'From the time of sending until the provider accepted; p95.',
  })
  submitP95Ms!: number | null;

  @Field(() => Float, {
    nullable: true,
    description: 'From there until the report of delivery or failure; p50.',
  })
  reportP50Ms!: number | null;

  @Field(() => Float, {
    nullable: true,
    description: 'From there until the report of delivery or failure; p95.',
  })
  reportP95Ms!: number | null;
}

@ObjectType('AnalyticsBucket', {
  description: 'Figures of one group in one interval.',
  simpleResolvers: true,
})
class AnalyticsBucketType {
  @Field(() => DateTime, { description: 'Start of the interval; without an interval, of the span.' })
  at!: Date;

  @Field(() => DateTime, { description: 'Start of what is counted of the interval.' })
  from!: Date;

  @Field(() => DateTime, { description: 'End of what is counted, exclusive.' })
  to!: Date;

  @Field(() => ChannelEnum, { nullable: true, description: 'The channel, if grouped by CHANNEL.' })
  channel!: Channel | null;

  @Field(() => MessageStatusEnum, { nullable: true, description: 'The status, if grouped by STATUS.' })
  status!: MessageStatus | null;

  @Field(() => ID, {
    nullable: true,
    description: 'The `keyId` of the API key, if grouped by API_KEY. Null for what people sent.',
  })
  apiKeyId!: string | null;

  @Field(() => String, { nullable: true, description: 'The sender, if grouped by SENDER.' })
  sender!: string | null;

  @Field(() => String, {
    nullable: true,
    description: 'The country (ISO 3166), if grouped by COUNTRY. Null for email and push.',
  })
  country!: string | null;

  @Field(() => String, {
    nullable: true,
    description: 'The reason of the failure, if grouped by ERROR_CODE.',
  })
  errorCode!: string | null;

  @Field(() => String, {
    nullable: true,
    description:
      'The carrier or provider, if grouped by PROVIDER. Null for recipients that none has accepted.',
  })
  provider!: string | null;

  @Field(() => EnvironmentEnum, {
    nullable: true,
    description: 'The environment, if grouped by ENVIRONMENT.',
  })
  environment!: Environment | null;

  @Field(() => Float, {
    nullable: true,
    description: 'Number of the last ledger entry that the figures contain. Null while they catch up.',
  })
  ledgerSeq!: number | null;

  @Field(() => AnalyticsNumbers, { description: 'The figures.' })
  figures!: AnalyticsNumbers;

  @Field(() => AnalyticsNumbers, { nullable: true, description: 'The figures before, with `compareWith`.' })
  previous!: AnalyticsNumbers | null;

  @Field(() => AnalyticsFilter, {
    nullable: true,
    description:
      'The filter of `messages` that lists the messages of the bucket. Null if it cannot name the group: COUNTRY, and what has no key, error or provider.',
  })
  filter!: AnalyticsFilter | null;
}

/** A bucket with its times. They are read only if the query asks for them. */
type ShownBucket = AnalyticsBucketType & Pick<AnalyticsBucket, 'times'>;

@Resolver(() => AnalyticsBucketType)
export class AnalyticsResolver {
  @Query(() => [AnalyticsBucketType], {
    nullable: true,
    description:
      'Figures of messages by the time of acceptance and by their present status. They lag by some ten seconds; deleted messages stay counted. The span is widened to quarter hours.',
    cost: COST,
  })
  async analytics(
    @Ctx() { run, operations }: GraphqlContext,
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
    @Arg('groupBy', () => [AnalyticsGroupEnum], {
      nullable: true,
      description: 'Properties to group by. Default: none.',
    })
    groupBy?: readonly AnalyticsGroup[] | null,
    @Arg('environment', () => EnvironmentEnum, {
      nullable: true,
      description: 'The environment. Default: both.',
    })
    environment?: Environment | null,
    @Arg('orderBy', () => AnalyticsOrderEnum, {
      nullable: true,
      description: 'Order of the buckets. Default: TIME.',
    })
    orderBy?: AnalyticsOrder | null,
    @Arg('limit', () => Float, {
      nullable: true,
      description: `Number of buckets, 1 to 10,000. Default: ${LIMIT.toLocaleString('en')}.`,
    })
    limit?: number | null,
    @Arg('fillGaps', () => Boolean, {
      nullable: true,
      description:
        'Whether each group has a bucket in each interval, also where nothing was sent. Default: false.',
    })
    fillGaps?: boolean | null,
    @Arg('compareWith', () => AnalyticsComparisonEnum, {
      nullable: true,
      description: 'What `previous` of the buckets shows. Default: nothing.',
    })
    compareWith?: 'previous_period' | null,
  ): Promise<readonly ShownBucket[]> {
    const groups = groupBy ?? [];
    const buckets = await run(operations.analytics.query, {
      from,
      to,
      timeZone: timeZone ?? 'UTC',
      interval: interval ?? undefined,
      groupBy: groups,
      environment: environment ?? undefined,
      orderBy: orderBy ?? 'time',
      limit: limit ?? LIMIT,
      fillGaps: fillGaps ?? false,
      comparesWithPrevious: compareWith === 'previous_period',
    });
    const countsMessages = !groups.some((group) => RECIPIENT_GROUPS.includes(group));
    return buckets.map((bucket) => {
      const numbers = (figures: AnalyticsFigures) => numbersOf(figures, bucket.currency, countsMessages);
      return {
        ...bucket,
        figures: numbers(bucket),
        previous: bucket.previous && numbers(bucket.previous),
        filter: filterOf(bucket, groups, environment ?? null),
      };
    });
  }

  @FieldResolver(() => AnalyticsTimesType, {
    nullable: true,
    description:
      'Times of the production recipients. They are counted only if you ask for them. Null if grouped by STATUS or ERROR_CODE.',
    cost: { each: () => TIMES_COST },
  })
  times(@Root() { times }: ShownBucket): Promise<AnalyticsTimesType> | null {
    return times?.() ?? null;
  }

  @FieldResolver(() => ApiKeyType, { nullable: true, description: 'The key, if grouped by API_KEY.' })
  apiKey(@Root() { apiKeyId }: ShownBucket, @Ctx() { loaders }: GraphqlContext) {
    return apiKeyId === null ? null : loaders.apiKey.load(apiKeyId);
  }
}

/**
 * For each group, returns the value with which a filter of messages selects the bucket. Null if no filter can select
 * the bucket by this group.
 */
const FILTERED: Readonly<Record<AnalyticsGroup, (values: AnalyticsValues) => string | null>> = {
  channel: ({ channel }) => channel,
  status: ({ status }) => status,
  environment: ({ environment }) => environment,
  api_key: ({ apiKeyId }) => apiKeyId,
  sender: ({ sender }) => sender,
  error_code: ({ errorCode }) => errorCode,
  provider: ({ provider }) => provider,
  country: () => null,
};

/**
 * Returns the filter that selects the messages of a bucket. Null if no filter can select one of its groups, such as
 * messages without a provider.
 */
function filterOf(
  bucket: AnalyticsValues & { readonly from: Date; readonly to: Date },
  groups: readonly AnalyticsGroup[],
  asked: Environment | null,
): AnalyticsFilter | null {
  if (groups.some((group) => FILTERED[group](bucket) === null)) return null;
  const { from, to, channel, status, apiKeyId, sender, errorCode, provider, environment } = bucket;
  const last = new Date(to.getTime() - 1);
  const both = { channel, status, apiKeyId, sender, errorCode, provider };
  return { ...both, from, to: last, environment: environment ?? asked };
}

/** Returns figures as GraphQL shows them. `countsMessages` is false if they are by groups that only recipients have. */
export function numbersOf(
  figures: AnalyticsFigures,
  currency: string,
  countsMessages: boolean,
): AnalyticsNumbers {
  const { messages, recipients, delivered, failed, costMinor, refundMinor } = figures;
  return {
    messages: countsMessages ? messages : null,
    recipients,
    delivered,
    failed,
    deliveryRate: recipients === 0 ? null : delivered / recipients,
    netCost: moneyOf(costMinor - refundMinor, currency),
    refunds: moneyOf(refundMinor, currency),
  };
}
