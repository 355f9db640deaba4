import { GraphQLJSONObject } from 'graphql-scalars';
import {
  Arg,
  Args,
  Ctx,
  Field,
  FieldResolver,
  ID,
  InputType,
  Int,
  Mutation,
  ObjectType,
  Query,
  Resolver,
  Root,
} from 'type-graphql';
import type { Environment } from '../domain/caller.ts';
import type { Message } from '../domain/messages/message.ts';
import type { DeliveryStatus, EventType, Webhook, WebhookDelivery } from '../domain/webhooks/webhook.ts';
import { connection, connectionOf } from './connection.ts';
import type { GraphqlContext } from './context.ts';
import { DeliveryStatusEnum, EnvironmentEnum } from './enums.ts';
import { given } from './given.ts';
import { MessageType } from './message.graphql.ts';
import { DateTime } from './scalars.ts';
import { SliceArgs } from './slice-args.ts';
import { WebhookType } from './webhook.graphql.ts';

@ObjectType('DeliveryAttempt', { description: 'One POST to an endpoint.', simpleResolvers: true })
class DeliveryAttemptType {
  @Field(() => DateTime, { description: 'When it was made.' })
  at!: Date;

  @Field(() => Int, { nullable: true, description: 'Status of the answer; null when there was none.' })
  httpStatus!: number | null;

  @Field(() => Int, { description: 'How long it took, in milliseconds.' })
  durationMs!: number;

  @Field(() => String, { nullable: true, description: 'What went wrong.' })
  errorMessage!: string | null;
}

@ObjectType('WebhookDelivery', { description: 'One event owed to one endpoint.', simpleResolvers: true })
export class WebhookDeliveryType {
  @Field(() => ID, { description: 'Identifier, the same on every attempt.' })
  id!: string;

  @Field(() => EnvironmentEnum, { description: 'Where its event and its endpoint belong.' })
  environment!: Environment;

  @Field(() => String, { description: 'Event type.' })
  event!: EventType;

  @Field(() => ID, { nullable: true, description: 'The message concerned; null for `webhook.test`.' })
  messageId!: string | null;

  @Field(() => DeliveryStatusEnum, { description: 'How it stands.' })
  status!: DeliveryStatus;

  @Field(() => Int, { nullable: true, description: 'Status of the last answer.' })
  httpStatus!: number | null;

  @Field(() => Int, { description: 'Attempts made.' })
  attempts!: number;

  @Field(() => String, { nullable: true, description: 'The last answer, its first 10 kB.' })
  responseBody!: string | null;

  @Field(() => String, { nullable: true, description: 'What went wrong last.' })
  errorMessage!: string | null;

  @Field(() => DateTime, { nullable: true, description: 'When the next attempt is due.' })
  nextRetryAt!: Date | null;

  @Field(() => DateTime, { description: 'When it was recorded.' })
  createdAt!: Date;
}

@InputType({ description: 'Which deliveries to show; every member given must hold.' })
class WebhookDeliveryFilter {
  @Field(() => ID, { nullable: true, description: 'To this endpoint.' })
  webhookId?: string | null;

  @Field(() => DeliveryStatusEnum, { nullable: true, description: 'In this status.' })
  status?: DeliveryStatus | null;

  @Field(() => String, { nullable: true, description: 'Of this event type.' })
  event?: EventType | null;

  @Field(() => ID, { nullable: true, description: 'About this message.' })
  messageId?: string | null;

  @Field(() => EnvironmentEnum, {
    nullable: true,
    description: 'To endpoints of this environment; both when absent.',
  })
  environment?: Environment | null;
}

const DeliveryConnection = connectionOf('WebhookDelivery', () => WebhookDeliveryType);

@Resolver(() => WebhookType)
export class WebhookDeliveriesResolver {
  @FieldResolver(() => DeliveryConnection, { description: 'What it was and is owed, the newest first.' })
  async deliveries(
    @Root() webhook: Webhook,
    @Ctx() { loaders }: GraphqlContext,
    @Args(() => SliceArgs) slice: SliceArgs,
  ) {
    return connection(await loaders.deliveriesTo.load({ of: webhook, slice }));
  }
}

@Resolver(() => WebhookDeliveryType)
export class WebhookDeliveryResolver {
  @Mutation(() => WebhookDeliveryType, {
    description: 'Sends a `webhook.test` event, in one attempt made now.',
  })
  async sendTestEvent(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('webhookId', () => ID, { description: 'The endpoint.' }) id: string,
  ) {
    return (await run(operations.webhooks.test, { id })).delivery;
  }

  @Mutation(() => WebhookDeliveryType, { description: 'Makes a delivery due now, under the same id.' })
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
    description: 'Deliveries to all endpoints, the newest first.',
  })
  async webhookDeliveries(
    @Ctx() { run, operations }: GraphqlContext,
    @Args(() => SliceArgs) slice: SliceArgs,
    @Arg('filter', () => WebhookDeliveryFilter, {
      nullable: true,
      description: 'Which ones; all when absent.',
    })
    filter?: WebhookDeliveryFilter | null,
  ) {
    return connection(await run(operations.deliveries.list, { ...slice, filter: given(filter) }));
  }

  @FieldResolver(() => WebhookType, {
    nullable: true,
    description: 'The endpoint; null when it was deleted.',
  })
  webhook(@Root() delivery: WebhookDelivery, @Ctx() { loaders }: GraphqlContext) {
    return loaders.webhook.load(delivery.webhookId);
  }

  @FieldResolver(() => MessageType, { nullable: true, description: 'The message concerned.' })
  message(@Root() delivery: WebhookDelivery, @Ctx() { loaders }: GraphqlContext) {
    return delivery.messageId === null ? null : loaders.message.load(delivery.messageId);
  }

  @FieldResolver(() => GraphQLJSONObject, {
    nullable: true,
    description: 'The envelope that is posted; null when it is no longer kept.',
  })
  async payload(@Root() delivery: WebhookDelivery, @Ctx() { loaders }: GraphqlContext) {
    const event = await loaders.event.load(delivery.eventSeq);
    return event && JSON.parse(event.body);
  }

  @FieldResolver(() => [DeliveryAttemptType], { description: 'The attempts made, in their order.' })
  attemptLog(@Root() delivery: WebhookDelivery, @Ctx() { loaders }: GraphqlContext) {
    return loaders.attempts.load(delivery.id);
  }
}

@Resolver(() => MessageType)
export class MessageDeliveriesResolver {
  @FieldResolver(() => [WebhookDeliveryType], { description: 'What endpoints were told of it.' })
  deliveries(@Root() message: Message, @Ctx() { loaders }: GraphqlContext) {
    return loaders.deliveriesOf.load(message);
  }
}
