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
import type { DeliveryStatus, EventType, Webhook, WebhookDelivery } from '../domain/webhooks/webhook.ts';
import { connection, connectionOf } from './connection.ts';
import type { GraphqlContext } from './context.ts';
import { DeliveryStatusEnum } from './enums.ts';
import { given } from './given.ts';
import { MessageType } from './message.graphql.ts';
import { DateTime } from './scalars.ts';
import { SliceArgs } from './slice-args.ts';

const ALL_WEBHOOKS = { page: 1, limit: 100 };

@ObjectType({ description: "How an endpoint's deliveries stand, all of them.", simpleResolvers: true })
class WebhookStats {
  @Field(() => Int, { description: 'Deliveries that succeeded.' })
  succeeded!: number;

  @Field(() => Int, { description: 'Deliveries of which every attempt failed.' })
  failed!: number;

  @Field(() => Int, { description: 'Deliveries that wait for their first or next attempt.' })
  pending!: number;
}

@ObjectType('Webhook', { description: 'An endpoint that is told of events.', simpleResolvers: true })
class WebhookType {
  @Field(() => ID, { description: 'Identifier of the endpoint.' })
  id!: string;

  @Field(() => String, { description: 'Where events are posted to.' })
  url!: string;

  @Field(() => [String], { description: 'Event types it is told of.' })
  events!: readonly string[];

  @Field(() => String, { nullable: true, description: 'What it is for.' })
  description!: string | null;

  @Field(() => Boolean, { description: 'Whether it is told of events now.' })
  isActive!: boolean;

  @Field(() => String, { nullable: true, description: 'Why the gateway switched it off, where it did.' })
  disabledReason!: string | null;

  @Field(() => Int, { description: 'Retries after the first attempt, 0 to 5.' })
  maxRetries!: number;

  @Field(() => DateTime, { description: 'When it was registered.' })
  createdAt!: Date;
}

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
class WebhookDeliveryType {
  @Field(() => ID, { description: 'Identifier, the same on every attempt.' })
  id!: string;

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

@ObjectType({ description: 'An endpoint with its secret.', simpleResolvers: true })
class WebhookWithSecretType {
  @Field(() => WebhookType, { description: 'The endpoint.' })
  webhook!: Webhook;

  @Field(() => String, { description: 'What deliveries are signed with; shown this once.' })
  secret!: string;
}

@ObjectType({ description: 'How many deliveries were queued.', simpleResolvers: true })
class Redelivery {
  @Field(() => Int, { description: 'Deliveries queued.' })
  queued!: number;
}

@ObjectType({ description: 'An event type that endpoints can be told of.', simpleResolvers: true })
class EventTypeInfo {
  @Field(() => String, { description: 'Its name, such as `sms.sent`.' })
  event!: string;

  @Field(() => String, { description: 'Channel it speaks of, or `system`.' })
  channel!: string;

  @Field(() => String, { description: 'When it fires.' })
  description!: string;

  @Field(() => GraphQLJSONObject, { description: 'An envelope as it would be delivered.' })
  sample!: Readonly<Record<string, unknown>>;
}

@InputType({ description: 'A new endpoint.' })
class RegisterWebhookInput {
  @Field(() => String, { description: 'Where events are posted to; HTTPS, at a public address.' })
  url!: string;

  @Field(() => [String], { description: 'Event types, at least one.' })
  events!: string[];

  @Field(() => String, { nullable: true, description: 'What it is for.' })
  description?: string | null;

  @Field(() => Int, {
    nullable: true,
    description: 'Retries after the first attempt, 0 to 5; 3 when absent.',
  })
  maxRetries?: number | null;
}

@InputType({ description: 'What to change of an endpoint; what is absent stays.' })
class UpdateWebhookInput {
  @Field(() => String, { nullable: true, description: 'Where events are posted to.' })
  url?: string | null;

  @Field(() => [String], { nullable: true, description: 'Event types, at least one.' })
  events?: string[] | null;

  @Field(() => String, { nullable: true, description: 'What it is for; null for nothing.' })
  description?: string | null;

  @Field(() => Boolean, { nullable: true, description: 'Whether it is told of events.' })
  isActive?: boolean | null;

  @Field(() => Int, { nullable: true, description: 'Retries after the first attempt, 0 to 5.' })
  maxRetries?: number | null;
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
}

const DeliveryConnection = connectionOf('WebhookDelivery', () => WebhookDeliveryType);

@Resolver(() => WebhookType)
export class WebhookResolver {
  @Query(() => [WebhookType], { nullable: true, description: "The account's endpoints, the newest first." })
  async webhooks(@Ctx() { run, operations }: GraphqlContext) {
    return (await run(operations.webhooks.list, ALL_WEBHOOKS)).rows;
  }

  @Query(() => WebhookType, { nullable: true, description: 'One endpoint of the account.' })
  webhook(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('id', () => ID, { description: 'The endpoint.' }) id: string,
  ) {
    return run(operations.webhooks.get, { id });
  }

  @Query(() => [EventTypeInfo], { nullable: true, description: 'Every event type, with a sample.' })
  eventTypes(@Ctx() { run, operations }: GraphqlContext) {
    return run(operations.events.types, undefined);
  }

  @Mutation(() => WebhookWithSecretType, { description: 'Registers an endpoint.' })
  registerWebhook(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('input', () => RegisterWebhookInput, { description: 'The endpoint.' }) input: RegisterWebhookInput,
  ) {
    const { url, events } = input;
    return run(operations.webhooks.register, { ...given(input), url, events });
  }

  @Mutation(() => WebhookType, { description: 'Changes an endpoint, from the next attempt on.' })
  updateWebhook(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('id', () => ID, { description: 'The endpoint.' }) id: string,
    @Arg('input', () => UpdateWebhookInput, { description: 'What changes.' }) input: UpdateWebhookInput,
  ) {
    return run(operations.webhooks.update, { ...given(input), id, description: input.description });
  }

  @Mutation(() => Boolean, { description: 'Deletes an endpoint and cancels what is still owed to it.' })
  async deleteWebhook(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('id', () => ID, { description: 'The endpoint.' }) id: string,
  ) {
    await run(operations.webhooks.remove, { id });
    return true;
  }

  @Mutation(() => WebhookWithSecretType, { description: 'Issues a new secret; the old one ends at once.' })
  rotateWebhookSecret(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('id', () => ID, { description: 'The endpoint.' }) id: string,
  ) {
    return run(operations.webhooks.rotateSecret, { id });
  }

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

  @Mutation(() => Redelivery, {
    description: 'Queues what an endpoint missed: failed deliveries, and events while it was inactive.',
  })
  redeliverFailed(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('webhookId', () => ID, { description: 'The endpoint.' }) id: string,
    @Arg('since', () => DateTime, { description: 'From when on.' }) since: Date,
  ) {
    return run(operations.webhooks.recover, { id, since: since.toISOString() });
  }

  @FieldResolver(() => DeliveryConnection, { description: 'What it was and is owed, the newest first.' })
  async deliveries(
    @Root() webhook: Webhook,
    @Ctx() { run, operations }: GraphqlContext,
    @Args(() => SliceArgs) slice: SliceArgs,
  ) {
    return connection(await run(operations.deliveries.list, { ...slice, filter: { webhookId: webhook.id } }));
  }

  @FieldResolver(() => WebhookStats, { description: 'How its deliveries stand.' })
  stats(@Root() webhook: Webhook, @Ctx() { loaders }: GraphqlContext) {
    return loaders.deliveryCounts.load(webhook.id);
  }
}

@Resolver(() => WebhookDeliveryType)
export class WebhookDeliveryResolver {
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
  deliveries(@Root() message: MessageType, @Ctx() { loaders }: GraphqlContext) {
    return loaders.deliveriesOf.load(message as never);
  }
}
