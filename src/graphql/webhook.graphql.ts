import { GraphQLJSONObject } from 'graphql-scalars';
import {
  Arg,
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
import type { Webhook } from '../domain/webhooks/webhook.ts';
import type { GraphqlContext } from './context.ts';
import { EnvironmentEnum } from './enums.ts';
import { given } from './given.ts';
import { DateTime } from './scalars.ts';

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
export class WebhookType {
  @Field(() => ID, { description: 'Identifier of the endpoint.' })
  id!: string;

  @Field(() => EnvironmentEnum, {
    description:
      'Where it belongs: it is told of events of this environment, in the sandbox of `webhook.test` only.',
  })
  environment!: Environment;

  @Field(() => String, {
    description:
      'Where events are posted to. Values in its query are shown as `***` in lists, and to who may not change it.',
  })
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

@ObjectType({ description: 'Names of the headers that deliveries come with.', simpleResolvers: true })
class WebhookHeaders {
  @Field(() => String, { description: 'Holds `t=<unix seconds>,v1=<hex HMAC-SHA-256>`.' })
  signature!: string;

  @Field(() => String, { description: 'Holds the event type.' })
  event!: string;

  @Field(() => String, { description: "Holds the delivery's id, the same on every attempt." })
  delivery!: string;
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

  @Field(() => EnvironmentEnum, {
    nullable: true,
    description: 'Where to register it; PRODUCTION when absent.',
  })
  environment?: Environment | null;
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

@Resolver(() => WebhookType)
export class WebhookResolver {
  @Query(() => [WebhookType], { nullable: true, description: "The account's endpoints, the newest first." })
  async webhooks(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('environment', () => EnvironmentEnum, {
      nullable: true,
      description: 'Only those of this one; both when absent.',
    })
    environment?: Environment | null,
  ) {
    const asked = { ...ALL_WEBHOOKS, environment: environment ?? undefined };
    return (await run(operations.webhooks.list, asked)).rows;
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

  @Query(() => WebhookHeaders, {
    nullable: true,
    description: 'Names of the headers that deliveries come with.',
  })
  webhookHeaders(@Ctx() { run, operations }: GraphqlContext) {
    return run(operations.webhooks.headers, undefined);
  }

  @Query(() => String, {
    nullable: true,
    description:
      'Address of a webhook receiver that the gateway simulates, to be registered by those who have none yet: it answers 200 and keeps nothing. Null in production.',
  })
  simulatorReceiverUrl(@Ctx() { run, operations }: GraphqlContext) {
    return run(operations.events.simulatorUrl, {});
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

  @FieldResolver(() => WebhookStats, { description: 'How its deliveries stand.' })
  stats(@Root() webhook: Webhook, @Ctx() { loaders }: GraphqlContext) {
    return loaders.deliveryCounts.load(webhook.id);
  }
}
