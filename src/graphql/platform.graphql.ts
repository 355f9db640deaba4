import { Ctx, Float, ID, Int, ObjectType, Resolver, Root } from 'type-graphql';
import type { AnalyticsInterval } from '../domain/analytics/analytics.ts';
import type { Environment } from '../domain/caller.ts';
import type { Channel, MessageStatus } from '../domain/messages/message.ts';
import type { AccountTrouble, TroubledAccount } from '../domain/platform/account-troubles.ts';
import { countsMessagesBy, type PlatformGroup } from '../domain/platform/platform-analytics.ts';
import type { PlatformBucket } from '../domain/platform/platform-operations.ts';
import {
  AnalyticsNumbers,
  AnalyticsTimesType,
  numbersOf,
  POINTS_A_DAY,
  TIMES_COST,
} from './analytics.graphql.ts';
import { SPAN_DAYS_MAX, SPAN_END } from './analytics-span.ts';
import type { GraphqlContext } from './context.ts';
import { daysIn, type FieldCost } from './cost.ts';
import {
  AccountTroubleEnum,
  AnalyticsIntervalEnum,
  ChannelEnum,
  EnvironmentEnum,
  MessageStatusEnum,
  PlatformGroupEnum,
} from './enums.ts';
import { Money, moneyOf } from './money.graphql.ts';
import { Currency, DateTime } from './scalars.ts';
import { Arg, Field, FieldResolver, Query } from './typed.ts';

const TROUBLES = 20;
/** The points of a query. It reads the slots of all accounts, so it costs more than the same query of one account. */
const COST: FieldCost = {
  each: ({ from, to, interval }) =>
    100 + 5 * POINTS_A_DAY[(interval ?? 'month') as AnalyticsInterval] * daysIn(from, to, SPAN_DAYS_MAX),
};
/** It reads figures and times. */
const CARRIERS_COST: FieldCost = { each: (args) => 2 * (COST.each?.(args) ?? 0) };
const TROUBLES_COST: FieldCost = { each: () => 200 };

@ObjectType('PlatformBucket', {
  description: 'Figures of one group of all accounts in one interval and one currency.',
  simpleResolvers: true,
})
class PlatformBucketType {
  @Field(() => DateTime, { description: 'Start of the interval; without an interval, of the span.' })
  at!: Date;

  @Field(() => Currency, { description: 'Currency of the costs.' })
  currency!: string;

  @Field(() => ID, { nullable: true, description: 'The account, if grouped by ACCOUNT.' })
  accountId!: string | null;

  @Field(() => String, { nullable: true, description: 'Name of the account, if grouped by ACCOUNT.' })
  accountName!: string | null;

  @Field(() => String, {
    nullable: true,
    description: 'Email address of the account, if grouped by ACCOUNT.',
  })
  accountEmail!: string | null;

  @Field(() => ChannelEnum, { nullable: true, description: 'The channel, if grouped by CHANNEL.' })
  channel!: Channel | null;

  @Field(() => MessageStatusEnum, { nullable: true, description: 'The status, if grouped by STATUS.' })
  status!: MessageStatus | null;

  @Field(() => String, {
    nullable: true,
    description: 'The country (ISO 3166), if grouped by COUNTRY. Null for email and push.',
  })
  country!: string | null;

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

  @Field(() => AnalyticsNumbers, { description: 'The figures.' })
  figures!: AnalyticsNumbers;
}

/** A bucket with its times. They are read only if the query asks for them. */
type ShownBucket = PlatformBucketType & Pick<PlatformBucket, 'times'>;

@ObjectType('TroubledAccount', {
  description: 'An account that an operator should look at.',
  simpleResolvers: true,
})
class TroubledAccountType {
  @Field(() => ID, { description: 'The account.' })
  id!: string;

  @Field(() => String, { description: 'Name of the account.' })
  name!: string;

  @Field(() => String, { description: 'Email address of the account.' })
  email!: string;

  @Field(() => [AccountTroubleEnum], { description: 'What is wrong, the worst first.' })
  troubles!: readonly AccountTrouble[];

  @Field(() => Money, { description: 'The balance.' })
  balance!: Money;

  @Field(() => Float, {
    nullable: true,
    description:
      'Days that the balance lasts at the cost of the last seven. Null if nothing was charged in them.',
  })
  daysLeft!: number | null;

  @Field(() => Float, { description: 'Production messages of the last 30 days.' })
  messages!: number;

  @Field(() => Float, {
    nullable: true,
    description: 'Delivered part of the messages of today that are finished, from 0 to 1.',
  })
  deliveryRateToday!: number | null;

  @Field(() => Float, { nullable: true, description: 'The same of the 30 days before today.' })
  deliveryRateBefore!: number | null;

  @Field(() => Int, { description: 'Production webhooks that fail, or that failures switched off.' })
  failingWebhooks!: number;
}

@ObjectType('CarrierBucket', {
  description: 'What a carrier or provider did with production messages of all accounts in one interval.',
  simpleResolvers: true,
})
class CarrierBucketType {
  @Field(() => DateTime, { description: 'Start of the interval, in UTC; without an interval, of the span.' })
  at!: Date;

  @Field(() => ChannelEnum, { description: 'Channel that it carries.' })
  channel!: Channel;

  @Field(() => String, { description: 'Name of the carrier or provider.' })
  name!: string;

  @Field(() => Float, { description: 'Recipients that it accepted, or that failed at it.' })
  recipients!: number;

  @Field(() => Float, { description: 'Recipients that are delivered by now.' })
  delivered!: number;

  @Field(() => Float, { description: 'Recipients that have failed by now.' })
  failed!: number;

  @Field(() => Float, {
    nullable: true,
    description: 'Delivered part of the recipients that are finished, from 0 to 1. Null if none is.',
  })
  deliveryRate!: number | null;

  @Field(() => AnalyticsTimesType, { description: 'Times of its recipients.' })
  times!: AnalyticsTimesType;

  @Field(() => Float, { description: 'Seconds in which it was UP or DEGRADED, added up over the processes.' })
  upSeconds!: number;

  @Field(() => Float, {
    description: 'Seconds in which it was DOWN or STARTING, added up over the processes.',
  })
  downSeconds!: number;
}

@Resolver(() => PlatformBucketType)
export class PlatformResolver {
  @Query(() => [PlatformBucketType], {
    nullable: true,
    description: 'The figures of `analytics` over all accounts, by time. For operators.',
    cost: COST,
  })
  async platformAnalytics(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('from', () => DateTime, { description: 'Start of the span.' }) from: Date,
    @Arg('to', () => DateTime, { description: SPAN_END }) to: Date,
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
    @Arg('groupBy', () => [PlatformGroupEnum], {
      nullable: true,
      description: 'Properties to group by. Default: none. Each currency has its own buckets.',
    })
    groupBy?: readonly PlatformGroup[] | null,
    @Arg('environment', () => EnvironmentEnum, {
      nullable: true,
      description: 'The environment. Default: both.',
    })
    environment?: Environment | null,
  ): Promise<readonly ShownBucket[]> {
    const groups = groupBy ?? [];
    const buckets = await run(operations.platform.analytics, {
      from,
      to,
      timeZone: timeZone ?? 'UTC',
      interval: interval ?? undefined,
      groupBy: groups,
      environment: environment ?? undefined,
    });
    const countsMessages = countsMessagesBy(groups);
    return buckets.map((bucket) => ({
      ...bucket,
      figures: numbersOf(bucket, bucket.currency, countsMessages),
    }));
  }

  @FieldResolver(() => AnalyticsTimesType, {
    nullable: true,
    description:
      'Times of the production recipients. They are counted only if you ask for them. Null if grouped by STATUS.',
    cost: { each: () => TIMES_COST },
  })
  times(@Root() { times }: ShownBucket): Promise<AnalyticsTimesType> | null {
    return times?.() ?? null;
  }

  @Query(() => [TroubledAccountType], {
    nullable: true,
    description:
      'Accounts that an operator should look at, the worst first, among the 5,000 that sent last. For operators.',
    cost: TROUBLES_COST,
  })
  async troubledAccounts(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('limit', () => Int, {
      nullable: true,
      description: `Number of accounts, 1 to 100. Default: ${TROUBLES}.`,
    })
    limit?: number | null,
  ): Promise<readonly TroubledAccountType[]> {
    const accounts = await run(operations.platform.troubles, { limit: limit ?? TROUBLES });
    return accounts.map(shownTroubles);
  }

  @Query(() => [CarrierBucketType], {
    nullable: true,
    description:
      'What carriers and providers did with production messages, and how long they were up, by time. For operators.',
    cost: CARRIERS_COST,
  })
  async carrierHistory(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('from', () => DateTime, { description: 'Start of the span.' }) from: Date,
    @Arg('to', () => DateTime, { description: SPAN_END }) to: Date,
    @Arg('interval', () => AnalyticsIntervalEnum, {
      nullable: true,
      description: 'Length of a bucket, in UTC. Default: one bucket for the whole span.',
    })
    interval?: AnalyticsInterval | null,
  ): Promise<readonly CarrierBucketType[]> {
    const buckets = await run(operations.platform.carriers, { from, to, interval: interval ?? undefined });
    return buckets.map((bucket) => {
      const finished = bucket.delivered + bucket.failed;
      return { ...bucket, deliveryRate: finished === 0 ? null : bucket.delivered / finished };
    });
  }
}

function shownTroubles({ balanceMinor, currency, ...account }: TroubledAccount): TroubledAccountType {
  return { ...account, balance: moneyOf(balanceMinor, currency) };
}
