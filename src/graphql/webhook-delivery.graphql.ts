import { Args, Ctx, ID, InputType, Int, ObjectType, Resolver, Root } from 'type-graphql';
import type { Environment } from '../domain/caller.ts';
import type { Message } from '../domain/messages/message.ts';
import type { DeliveryStatus, EventType, Webhook, WebhookDelivery } from '../domain/webhooks/webhook.ts';
import { connection, connectionOf } from './connection.ts';
import type { GraphqlContext } from './context.ts';
import { weighingFilter } from './cost.ts';
import { DeliveryStatusEnum, EnvironmentEnum } from './enums.ts';
import { given } from './given.ts';
import { MessageType } from './message.graphql.ts';
import { Node } from './node.graphql.ts';
import { DateTime, JsonObject } from './scalars.ts';
import { TwoWaySliceArgs } from './slice-args.ts';
import { Arg, Field, FieldResolver, InputField, Mutation, Query } from './typed.ts';
import { WebhookType } from './webhook.graphql.ts';

@ObjectType('DeliveryAttempt', { description: 'One attempt to deliver an event.', simpleResolvers: true })
class DeliveryAttemptType {
  @Field(() => DateTime, { description: 'When it was made.' })
  at!: Date;

  @Field(() => Int, { nullable: true, description: 'HTTP status of the answer. Null if there was none.' })
  httpStatus!: number | null;

  @Field(() => Int, { description: 'Duration in milliseconds.' })
  durationMs!: number;

  @Field(() => String, { nullable: true, description: 'Why the attempt failed.' })
  errorMessage!: string | null;
}

@ObjectType('DeliveryHeader', {
  description: 'A header that the gateway sets on the attempts of a delivery.',
  simpleResolvers: true,
})
class DeliveryHeaderType {
  @Field(() => String, { description: 'Name.' })
  name!: string;

  @Field(() => String, {
    nullable: true,
    description: 'The value on every attempt. Null if each attempt has one of its own.',
  })
  value!: string | null;

  @Field(() => Boolean, { description: 'Whether every attempt has it.' })
  isAlwaysSent!: boolean;

  @Field(() => String, {
    nullable: true,
    description: 'Why `value` is null, and when the header is sent. Null for a header with a value.',
  })
  note!: string | null;
}

@ObjectType('WebhookDelivery', {
  implements: Node,
  description: 'The delivery of one event to one webhook.',
  simpleResolvers: true,
})
export class WebhookDeliveryType {
  @Field(() => ID, { description: 'Identifier; the same on every attempt.' })
  id!: string;

  @Field(() => EnvironmentEnum, { description: 'Environment of the event and the webhook.' })
  environment!: Environment;

  @Field(() => String, { description: 'Event type.' })
  event!: EventType;

  @Field(() => ID, { nullable: true, description: 'The message. Null if the event is not about one.' })
  messageId!: string | null;

  @Field(() => DeliveryStatusEnum, { description: 'Status of the delivery.' })
  status!: DeliveryStatus;

  @Field(() => Int, { nullable: true, description: 'HTTP status of the last answer.' })
  httpStatus!: number | null;

  @Field(() => Int, { description: 'Number of attempts made.' })
  attempts!: number;

  @Field(() => String, { nullable: true, description: 'Body of the last answer, its first 10 kB.' })
  responseBody!: string | null;

  @Field(() => String, { nullable: true, description: 'Why the last attempt failed.' })
  errorMessage!: string | null;

  @Field(() => DateTime, { nullable: true, description: 'When the next attempt is due.' })
  nextRetryAt!: Date | null;

  @Field(() => DateTime, { description: 'When the event was recorded.' })
  createdAt!: Date;
}

@InputType({ description: 'Conditions on deliveries. All that are given must hold.' })
class WebhookDeliveryFilter {
  @InputField(() => ID, { nullable: true, description: 'The webhook.' })
  webhookId?: string | null;

  @InputField(() => DeliveryStatusEnum, { nullable: true, description: 'The status.' })
  status?: DeliveryStatus | null;

  @InputField(() => String, { nullable: true, description: 'The event type.' })
  event?: string | null;

  @InputField(() => ID, { nullable: true, description: 'The message.' })
  messageId?: string | null;

  @InputField(() => EnvironmentEnum, {
    nullable: true,
    description: 'The environment. Default: both.',
  })
  environment?: Environment | null;

  @InputField(() => DateTime, {
    nullable: true,
    description: 'Earliest time at which the delivery was queued first, inclusive.',
  })
  since?: Date | null;

  @InputField(() => DateTime, {
    nullable: true,
    description: 'Latest time at which the delivery was queued first, exclusive.',
  })
  until?: Date | null;
}

const DeliveryConnection = connectionOf('WebhookDelivery', () => WebhookDeliveryType);

@Resolver(() => WebhookType)
export class WebhookDeliveriesResolver {
  @FieldResolver(() => DeliveryConnection, { description: 'Deliveries to the webhook, newest first.' })
  async deliveries(
    @Root() webhook: Webhook,
    @Ctx() { loaders }: GraphqlContext,
    @Args(() => TwoWaySliceArgs) slice: TwoWaySliceArgs,
  ) {
    return connection(await loaders.deliveriesTo.load({ of: webhook, slice }));
  }
}

@Resolver(() => WebhookDeliveryType)
export class WebhookDeliveryResolver {
  @Mutation(() => WebhookDeliveryType, {
    description: 'Sends a `webhook.test` event in one attempt, now.',
    errors: ['not_found'],
  })
  async sendTestEvent(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('webhookId', () => ID, { description: 'The webhook.' }) id: string,
  ) {
    return (await run(operations.webhooks.test, { id })).delivery;
  }

  @Mutation(() => WebhookDeliveryType, {
    description: 'Retries a delivery now, with the same id.',
    errors: ['not_found'],
  })
  async redeliver(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('deliveryId', () => ID, { description: 'The delivery.' }) id: string,
  ) {
    return (await run(operations.webhooks.retry, { id })).delivery;
  }

  @Query(() => WebhookDeliveryType, {
    nullable: true,
    description: 'One delivery.',
  })
  webhookDelivery(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('id', () => ID, { description: 'The delivery.' }) id: string,
  ) {
    return run(operations.deliveries.find, { id });
  }

  @Query(() => DeliveryConnection, {
    nullable: true,
    description: 'Deliveries to all webhooks, newest first.',
    cost: {
      each: weighingFilter(['event'], 20, 0),
      total: weighingFilter(['event', 'status', 'since', 'until'], 50, 10),
    },
  })
  async webhookDeliveries(
    @Ctx() { run, operations }: GraphqlContext,
    @Args(() => TwoWaySliceArgs) slice: TwoWaySliceArgs,
    @Arg('filter', () => WebhookDeliveryFilter, {
      nullable: true,
      description: 'Default: all.',
    })
    filter?: WebhookDeliveryFilter | null,
  ) {
    return connection(await run(operations.deliveries.list, { ...slice, filter: given(filter) }));
  }

  @FieldResolver(() => WebhookType, {
    nullable: true,
    description: 'The webhook. Null if it was deleted.',
  })
  webhook(@Root() delivery: WebhookDelivery, @Ctx() { loaders }: GraphqlContext) {
    return loaders.webhook.load(delivery.webhookId);
  }

  @FieldResolver(() => MessageType, {
    nullable: true,
    description: 'The message. Null if the event is not about one, and if the message is no longer kept.',
  })
  message(@Root() delivery: WebhookDelivery, @Ctx() { loaders }: GraphqlContext) {
    return delivery.messageId === null ? null : loaders.message.load(delivery.messageId);
  }

  @FieldResolver(() => JsonObject, {
    nullable: true,
    description: 'The envelope that is posted. Null if it is no longer kept.',
  })
  async payload(@Root() delivery: WebhookDelivery, @Ctx() { loaders }: GraphqlContext) {
    const event = await loaders.event.load(delivery.eventSeq);
    return event && JSON.parse(event.body);
  }

  @FieldResolver(() => [DeliveryHeaderType], {
    description:
      'The headers that the gateway sets on each attempt. HTTP itself adds others, such as `Host` and `Content-Length`.',
  })
  requestHeaders(@Root() delivery: WebhookDelivery, @Ctx() { run, operations }: GraphqlContext) {
    return run(operations.deliveries.headersOf, delivery);
  }

  @FieldResolver(() => [DeliveryAttemptType], { description: 'The attempts, in order.' })
  attemptLog(@Root() delivery: WebhookDelivery, @Ctx() { loaders }: GraphqlContext) {
    return loaders.attempts.load(delivery.id);
  }
}

@Resolver(() => MessageType)
export class MessageDeliveriesResolver {
  @FieldResolver(() => [WebhookDeliveryType], { description: 'Deliveries of its events to webhooks.' })
  deliveries(@Root() message: Message, @Ctx() { loaders }: GraphqlContext) {
    return loaders.deliveriesOf.load(message);
  }
}
