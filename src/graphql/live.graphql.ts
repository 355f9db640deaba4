import { GraphQLError } from 'graphql';
import {
  Arg,
  Field,
  FieldResolver,
  Float,
  ID,
  Int,
  ObjectType,
  Resolver,
  Root,
  Subscription,
} from 'type-graphql';
import type { Environment } from '../domain/caller.ts';
import type { UsageTick } from '../domain/live/live-operations.ts';
import { REFETCH, type Shown } from '../domain/live/watch.ts';
import type { Message, MessageStatus } from '../domain/messages/message.ts';
import { fromMinor } from '../domain/money/money.ts';
import type { WebhookDelivery } from '../domain/webhooks/webhook.ts';
import type { GraphqlContext } from './context.ts';
import { EnvironmentEnum, MessageStatusEnum } from './enums.ts';
import { given } from './given.ts';
import { MessageFilter, MessageType } from './message.graphql.ts';
import { DateTime } from './scalars.ts';
import { WebhookDeliveryType } from './webhook-delivery.graphql.ts';

const HOW_IT_FLOWS =
  'Served as an event stream (graphql-sse). An object that changes faster than it can be sent is sent as it is ' +
  'then, once. An event that is null with the error code `REFETCH` says that changes went by unseen: query again ' +
  'what is shown; the stream goes on.';

/** What is asked of a subscription; arguments are checked by the schema. */
interface Asked<Args> {
  readonly args: Args;
  readonly context: GraphqlContext;
}

@ObjectType({ description: 'Messages in one status.', simpleResolvers: true })
class StatusCount {
  @Field(() => MessageStatusEnum, { description: 'The status they have now.' })
  status!: MessageStatus;

  @Field(() => Int, { description: 'Number of messages.' })
  messages!: number;
}

@ObjectType('UsageTick', {
  description: 'What the account has sent today, in UTC, and what it has left.',
  simpleResolvers: true,
})
class UsageTickType {
  @Field(() => DateTime, { description: 'When it was counted.' })
  at!: Date;

  @Field(() => DateTime, { description: 'Start of the day that is counted.' })
  day!: Date;

  @Field(() => [StatusCount], { description: 'Messages accepted today; statuses without any are left out.' })
  counts!: readonly StatusCount[];

  @Field(() => String, { description: 'Currency of the amounts, ISO 4217.' })
  currency!: string;
}

@Resolver(() => UsageTickType)
export class UsageTickResolver {
  @FieldResolver(() => Int, { description: 'Messages accepted today, in any status.' })
  messages(@Root() { counts }: UsageTick): number {
    return counts.reduce((sum, { messages }) => sum + messages, 0);
  }

  @FieldResolver(() => Float, {
    description: 'What they cost when they were accepted; refunds are in the ledger.',
  })
  cost(@Root() { counts, currency }: UsageTick): number {
    return fromMinor(
      counts.reduce((sum, { costMinor }) => sum + costMinor, 0),
      currency,
    );
  }

  @FieldResolver(() => Float, { description: "The account's balance." })
  balance(@Root() { balanceMinor, currency }: UsageTick): number {
    return fromMinor(balanceMinor, currency);
  }
}

@Resolver()
export class LiveResolver {
  @Subscription(() => MessageType, {
    nullable: true,
    description: `Messages that are new or have changed, as they are now. ${HOW_IT_FLOWS}`,
    subscribe: ({ args, context }: Asked<{ id?: string | null; filter?: MessageFilter | null }>) =>
      context.run(context.operations.live.messages, {
        id: args.id ?? undefined,
        filter: given(args.filter),
        signal: context.ended,
      }),
  })
  messageUpdated(
    @Root() message: Shown<Message>,
    @Arg('id', () => ID, { nullable: true, description: 'Only this one.' }) _id?: string | null,
    @Arg('filter', () => MessageFilter, {
      nullable: true,
      description: 'Only those that match as they are now; one that matches no more is not told of.',
    })
    _filter?: MessageFilter | null,
  ) {
    return shown(message);
  }

  @Subscription(() => WebhookDeliveryType, {
    nullable: true,
    description: `Deliveries that are new or have changed, as they are now. ${HOW_IT_FLOWS}`,
    subscribe: ({ args, context }: Asked<{ webhookId?: string | null }>) =>
      context.run(context.operations.live.deliveries, {
        webhookId: args.webhookId ?? undefined,
        signal: context.ended,
      }),
  })
  deliveryUpdated(
    @Root() delivery: Shown<WebhookDelivery>,
    @Arg('webhookId', () => ID, { nullable: true, description: 'Only those to this endpoint.' })
    _webhookId?: string | null,
  ) {
    return shown(delivery);
  }

  @Subscription(() => UsageTickType, {
    nullable: true,
    description:
      "The day's counts and the balance whenever one of them has changed, at most once a second. Served as an " +
      'event stream (graphql-sse).',
    subscribe: ({ args, context }: Asked<{ environment?: Environment | null }>) =>
      context.run(context.operations.live.usage, {
        environment: args.environment ?? undefined,
        signal: context.ended,
      }),
  })
  usageTick(
    @Root() tick: UsageTick,
    @Arg('environment', () => EnvironmentEnum, {
      nullable: true,
      description: 'Only this one; both when absent.',
    })
    _environment?: Environment | null,
  ): UsageTick {
    return tick;
  }
}

function shown<T>(object: Shown<T>): T {
  if (object !== REFETCH) return object as T;
  throw new GraphQLError('Changes went by unseen. Query again what is shown.', {
    extensions: { code: 'REFETCH' },
  });
}
