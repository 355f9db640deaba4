import { Arg, Ctx, Field, FieldResolver, Float, Int, ObjectType, Query, Resolver, Root } from 'type-graphql';
import type { Environment } from '../domain/caller.ts';
import type { Channel, MessageStatus } from '../domain/messages/message.ts';
import { fromMinor } from '../domain/money/money.ts';
import type { UsageGroup, UsageInterval, UsageRow } from '../domain/usage/usage.ts';
import { ApiKeyType } from './api-key.graphql.ts';
import type { GraphqlContext } from './context.ts';
import {
  ChannelEnum,
  EnvironmentEnum,
  MessageStatusEnum,
  UsageGroupEnum,
  UsageIntervalEnum,
} from './enums.ts';
import { DateTime } from './scalars.ts';

type ShownUsage = UsageRow & { readonly currency: string };

@ObjectType({ description: 'Messages accepted in an interval, as they stand now.', simpleResolvers: true })
class UsageBucket {
  @Field(() => DateTime, { description: 'Start of the hour, day or month, in UTC.' })
  at!: Date;

  @Field(() => ChannelEnum, { nullable: true, description: 'The channel, when grouped by it.' })
  channel!: Channel | null;

  @Field(() => MessageStatusEnum, { nullable: true, description: 'The status, when grouped by it.' })
  status!: MessageStatus | null;

  @Field(() => String, {
    nullable: true,
    description: 'The key, when grouped by it; null for what people sent.',
  })
  apiKeyId!: string | null;

  @Field(() => Int, { description: 'Number of messages.' })
  messages!: number;

  @Field(() => String, { description: 'Currency of the cost, ISO 4217.' })
  currency!: string;
}

@Resolver(() => UsageBucket)
export class UsageResolver {
  @Query(() => [UsageBucket], {
    nullable: true,
    description:
      'How much the account sends; everything committed is in it. Intervals without messages are left out.',
  })
  async usage(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('from', () => DateTime, { description: 'From the hour of this time on.' }) from: Date,
    @Arg('to', () => DateTime, { description: 'Up to this time.' }) to: Date,
    @Arg('interval', () => UsageIntervalEnum, { description: 'What to count by.' }) interval: UsageInterval,
    @Arg('groupBy', () => [UsageGroupEnum], {
      nullable: true,
      description: 'What to tell apart; nothing when absent.',
    })
    groupBy?: UsageGroup[] | null,
    @Arg('environment', () => EnvironmentEnum, {
      nullable: true,
      description: 'Only this one; both when absent.',
    })
    environment?: Environment | null,
  ): Promise<ShownUsage[]> {
    const query = { from, to, interval, groupBy: groupBy ?? [], environment: environment ?? undefined };
    const rows = await run(operations.usage.query, query);
    const { currency } = await run(operations.accounts.find, {});
    return rows.map((row) => ({ ...row, currency }));
  }

  @FieldResolver(() => Float, {
    description: 'What they cost when they were accepted; refunds are in the ledger.',
  })
  cost(@Root() row: ShownUsage): number {
    return fromMinor(row.costMinor, row.currency);
  }

  @FieldResolver(() => ApiKeyType, { nullable: true, description: 'The key, when grouped by it.' })
  apiKey(@Root() row: ShownUsage, @Ctx() { loaders }: GraphqlContext) {
    return row.apiKeyId === null ? null : loaders.apiKey.load(row.apiKeyId);
  }
}
