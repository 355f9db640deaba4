import { Ctx, Float, ObjectType, Resolver, Root } from 'type-graphql';
import type { Environment } from '../domain/caller.ts';
import type { Channel, MessageStatus } from '../domain/messages/message.ts';
import { fromMinor } from '../domain/money/money.ts';
import type { PricedUsageRow, UsageGroup, UsageInterval } from '../domain/usage/usage.ts';
import { ApiKeyType } from './api-key.graphql.ts';
import type { GraphqlContext } from './context.ts';
import type { FieldCost } from './cost.ts';
import {
  ChannelEnum,
  EnvironmentEnum,
  MessageStatusEnum,
  UsageGroupEnum,
  UsageIntervalEnum,
} from './enums.ts';
import { Money, moneyOf } from './money.graphql.ts';
import { Currency, DateTime } from './scalars.ts';
import { Arg, Field, FieldResolver, Query } from './typed.ts';

const HOUR_MS = 3_600_000;
/**
 * Usage has a row for each hour and each combination of groups. So the points grow with the number of hours and of
 * groups.
 */
const COST: FieldCost = {
  each: ({ from, to, groupBy }) => {
    const hours = Math.max(0, Number(to) - Number(from)) / HOUR_MS;
    const groups = Array.isArray(groupBy) ? groupBy.length : 0;
    return 10 + Math.ceil((hours / 10) * (1 + groups));
  },
};

@ObjectType({
  description: 'Messages accepted in one interval, by their current state.',
  simpleResolvers: true,
})
class UsageBucket {
  @Field(() => DateTime, { description: 'Start of the interval, in UTC.' })
  at!: Date;

  @Field(() => ChannelEnum, { nullable: true, description: 'The channel, if grouped by CHANNEL.' })
  channel!: Channel | null;

  @Field(() => MessageStatusEnum, { nullable: true, description: 'The status, if grouped by STATUS.' })
  status!: MessageStatus | null;

  @Field(() => String, {
    nullable: true,
    description: 'The `keyId`, if grouped by API_KEY. Null for messages that people sent.',
  })
  apiKeyId!: string | null;

  @Field(() => Float, { description: 'Number of messages.' })
  messages!: number;

  @Field(() => Currency, { description: 'Currency of the cost.' })
  currency!: string;
}

@Resolver(() => UsageBucket)
export class UsageResolver {
  @Query(() => [UsageBucket], {
    nullable: true,
    description:
      'Messages and their cost by interval. Every committed message is counted. Intervals without messages are left out.',
    cost: COST,
  })
  async usage(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('from', () => DateTime, { description: 'Start; rounded down to the hour.' }) from: Date,
    @Arg('to', () => DateTime, { description: 'End, exclusive.' }) to: Date,
    @Arg('interval', () => UsageIntervalEnum, { description: 'Length of a bucket.' }) interval: UsageInterval,
    @Arg('groupBy', () => [UsageGroupEnum], {
      nullable: true,
      description: 'Properties to group by. Default: none.',
    })
    groupBy?: readonly UsageGroup[] | null,
    @Arg('environment', () => EnvironmentEnum, {
      nullable: true,
      description: 'Only this environment. Default: both.',
    })
    environment?: Environment | null,
  ): Promise<PricedUsageRow[]> {
    const query = { from, to, interval, groupBy: groupBy ?? [], environment: environment ?? undefined };
    const rows = await run(operations.usage.query, query);
    return [...rows];
  }

  @FieldResolver(() => Float, {
    description: 'Their cost at acceptance. Refunds are in the ledger.',
  })
  cost(@Root() row: PricedUsageRow): number {
    return fromMinor(row.costMinor, row.currency);
  }

  @FieldResolver(() => Money, { description: 'The same cost, exact.' })
  costMoney(@Root() row: PricedUsageRow): Money {
    return moneyOf(row.costMinor, row.currency);
  }

  @FieldResolver(() => ApiKeyType, { nullable: true, description: 'The key, if grouped by API_KEY.' })
  apiKey(@Root() row: PricedUsageRow, @Ctx() { loaders }: GraphqlContext) {
    return row.apiKeyId === null ? null : loaders.apiKey.load(row.apiKeyId);
  }
}
