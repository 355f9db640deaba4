import { Ctx, Float, ID, InputType, Int, ObjectType, Resolver, Root } from 'type-graphql';
import type { Environment } from '../domain/caller.ts';
import type { ItemError } from '../domain/errors.ts';
import { SELECTION_MAX } from '../domain/webhooks/delivery-operations.ts';
import type { EventChannel } from '../domain/webhooks/event-catalog.ts';
import type { Webhook } from '../domain/webhooks/webhook.ts';
import type { GraphqlContext } from './context.ts';
import { EnvironmentEnum, EventChannelEnum } from './enums.ts';
import { given } from './given.ts';
import { Node } from './node.graphql.ts';
import { DateTime, JsonObject } from './scalars.ts';
import { Arg, Field, FieldResolver, InputField, Mutation, Query } from './typed.ts';
import { UserErrorType } from './user-error.ts';

const ALL_WEBHOOKS = { page: 1, limit: 100 };

@ObjectType({ description: 'Number of deliveries to a webhook, by result.', simpleResolvers: true })
class WebhookStats {
  @Field(() => Float, { description: 'Deliveries that succeeded.' })
  succeeded!: number;

  @Field(() => Float, { description: 'Deliveries of which every attempt failed.' })
  failed!: number;

  @Field(() => Float, { description: 'Deliveries that wait for their first or next attempt.' })
  pending!: number;
}

@ObjectType('Webhook', {
  implements: Node,
  description: 'An endpoint of yours that receives events.',
  simpleResolvers: true,
})
export class WebhookType {
  @Field(() => ID, { description: 'Identifier of the webhook.' })
  id!: string;

  @Field(() => EnvironmentEnum, {
    description: 'Environment of the events that it receives. In the sandbox there is only `webhook.test`.',
  })
  environment!: Environment;

  @Field(() => String, {
    description:
      'URL that events are posted to. Values in its query are shown as `***` in lists, and to people who may not change it.',
  })
  url!: string;

  @Field(() => [String], { description: 'Event types that it receives.' })
  events!: readonly string[];

  @Field(() => String, { nullable: true, description: 'Your description of the webhook.' })
  description!: string | null;

  @Field(() => Boolean, { description: 'Whether it receives events now.' })
  isActive!: boolean;

  @Field(() => String, {
    nullable: true,
    description: 'Why the gateway switched it off. Null if it did not.',
  })
  disabledReason!: string | null;

  @Field(() => Int, { description: 'Retries after the first attempt, 0 to 5.' })
  maxRetries!: number;

  @Field(() => DateTime, {
    nullable: true,
    description:
      'Until when the secret before the last rotation signs too. Null if it ended with the rotation.',
  })
  previousSecretEndsAt!: Date | null;

  @Field(() => DateTime, { description: 'When it was registered.' })
  createdAt!: Date;
}

@ObjectType({ description: 'A webhook with its secret.', simpleResolvers: true })
class WebhookWithSecret {
  @Field(() => WebhookType, { description: 'The webhook.' })
  webhook!: Webhook;

  @Field(() => String, { description: 'Secret that signs deliveries, shown only here.' })
  secret!: string;
}

@ObjectType({ description: 'Result of a redelivery.', simpleResolvers: true })
class Redelivery {
  @Field(() => Float, { description: 'Number of deliveries queued.' })
  queued!: number;
}

@ObjectType({ description: 'Result of the redelivery of a selection.', simpleResolvers: true })
class RedeliveredSelection {
  @Field(() => Float, { description: 'Number of deliveries queued.' })
  queued!: number;

  @Field(() => [UserErrorType], {
    description: 'The deliveries that were left as they are, in the order of `deliveryIds`.',
  })
  userErrors!: readonly ItemError[];
}

@ObjectType({ description: 'An event type that webhooks can receive.', simpleResolvers: true })
class EventTypeInfo {
  @Field(() => String, { description: 'Name, such as `sms.sent`.' })
  event!: string;

  @Field(() => EventChannelEnum, { description: 'Channel of the event type.' })
  channel!: EventChannel;

  @Field(() => String, { description: 'When it fires.' })
  description!: string;

  @Field(() => JsonObject, { description: 'A sample of the envelope.' })
  sample!: Readonly<Record<string, unknown>>;
}

@ObjectType({ description: 'Names of the headers of deliveries.', simpleResolvers: true })
class WebhookHeaders {
  @Field(() => String, { description: 'Header that holds `t=<unix seconds>,v1=<hex HMAC-SHA-256>`.' })
  signature!: string;

  @Field(() => String, {
    description: 'The same by the secret before the last rotation, while both sign.',
  })
  previousSignature!: string;

  @Field(() => String, { description: 'Header that holds the event type.' })
  event!: string;

  @Field(() => String, {
    description: 'Header that holds the id of the delivery, the same on every attempt.',
  })
  delivery!: string;
}

@InputType({ description: 'A new webhook.' })
class RegisterWebhookInput {
  @InputField(() => String, { description: 'URL that events are posted to: HTTPS, at a public address.' })
  url!: string;

  @InputField(() => [String], { description: 'Event types, at least one.' })
  events!: readonly string[];

  @InputField(() => String, { nullable: true, description: 'Your description of the webhook.' })
  description?: string | null;

  @InputField(() => Int, {
    nullable: true,
    description: 'Retries after the first attempt, 0 to 5. Default: 3.',
  })
  maxRetries?: number | null;

  @InputField(() => EnvironmentEnum, {
    nullable: true,
    description: 'Environment. Default: PRODUCTION.',
  })
  environment?: Environment | null;
}

@InputType({ description: 'Changes of a webhook. Absent fields stay as they are.' })
class UpdateWebhookInput {
  @InputField(() => String, { nullable: true, description: 'URL that events are posted to.' })
  url?: string | null;

  @InputField(() => [String], { nullable: true, description: 'Event types, at least one.' })
  events?: readonly string[] | null;

  @InputField(() => String, {
    nullable: true,
    description: 'Your description of the webhook. Null clears it.',
  })
  description?: string | null;

  @InputField(() => Boolean, { nullable: true, description: 'Whether it receives events.' })
  isActive?: boolean | null;

  @InputField(() => Int, { nullable: true, description: 'Retries after the first attempt, 0 to 5.' })
  maxRetries?: number | null;
}

@Resolver(() => WebhookType)
export class WebhookResolver {
  @Query(() => [WebhookType], { nullable: true, description: "The account's webhooks, newest first." })
  async webhooks(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('environment', () => EnvironmentEnum, {
      nullable: true,
      description: 'Only this environment. Default: both.',
    })
    environment?: Environment | null,
  ) {
    const asked = { ...ALL_WEBHOOKS, environment: environment ?? undefined };
    return (await run(operations.webhooks.list, asked)).rows;
  }

  @Query(() => WebhookType, { nullable: true, description: 'One webhook.' })
  webhook(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('id', () => ID, { description: 'The webhook.' }) id: string,
  ) {
    return run(operations.webhooks.get, { id });
  }

  @Query(() => [EventTypeInfo], { nullable: true, description: 'All event types, each with a sample.' })
  eventTypes(@Ctx() { run, operations }: GraphqlContext) {
    return run(operations.events.types, undefined);
  }

  @Query(() => WebhookHeaders, {
    nullable: true,
    description: 'Names of the headers of deliveries.',
  })
  webhookHeaders(@Ctx() { run, operations }: GraphqlContext) {
    return run(operations.webhooks.headers, undefined);
  }

  @Query(() => String, {
    nullable: true,
    description:
      'URL of a webhook receiver that the gateway simulates, to register while you have none of your own. It answers 200 and keeps nothing. Null in production.',
  })
  simulatorReceiverUrl(@Ctx() { run, operations }: GraphqlContext) {
    return run(operations.events.simulatorUrl, {});
  }

  @Mutation(() => WebhookWithSecret, {
    description: 'Registers a webhook.',
    errors: ['invalid_event_type', 'invalid_webhook_url', 'webhook_limit'],
  })
  registerWebhook(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('input', () => RegisterWebhookInput, { description: 'The webhook.' }) input: RegisterWebhookInput,
  ) {
    const { url, events } = input;
    return run(operations.webhooks.register, { ...given(input), url, events });
  }

  @Mutation(() => WebhookType, {
    description: 'Changes a webhook. The next attempt uses the change.',
    errors: ['not_found', 'invalid_event_type', 'invalid_webhook_url'],
  })
  updateWebhook(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('id', () => ID, { description: 'The webhook.' }) id: string,
    @Arg('input', () => UpdateWebhookInput, { description: 'The changes.' }) input: UpdateWebhookInput,
  ) {
    return run(operations.webhooks.update, { ...given(input), id, description: input.description });
  }

  @Mutation(() => Boolean, {
    description: 'Deletes a webhook and cancels its pending deliveries.',
    canDryRun: true,
    errors: ['not_found'],
  })
  async deleteWebhook(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('id', () => ID, { description: 'The webhook.' }) id: string,
  ) {
    await run(operations.webhooks.remove, { id });
    return true;
  }

  @Mutation(() => WebhookWithSecret, {
    description: 'Replaces the secret. The old one ends at once, or signs too for `overlapSeconds`.',
    errors: ['not_found'],
  })
  rotateWebhookSecret(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('id', () => ID, { description: 'The webhook.' }) id: string,
    @Arg('overlapSeconds', () => Int, {
      nullable: true,
      description: 'Seconds for which the old secret signs too, at most 7 days. Default: 0.',
    })
    overlapSeconds?: number | null,
  ) {
    return run(operations.webhooks.rotateSecret, { id, overlapSeconds: overlapSeconds ?? undefined });
  }

  @Mutation(() => Redelivery, {
    description: 'Queues failed deliveries, and events that were recorded while the webhook was inactive.',
    canDryRun: true,
    errors: ['not_found'],
  })
  redeliverFailed(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('webhookId', () => ID, { description: 'The webhook.' }) id: string,
    @Arg('since', () => DateTime, { description: 'Earliest time of the events, inclusive.' }) since: Date,
  ) {
    return run(operations.webhooks.recover, { id, since: since.toISOString() });
  }

  @Mutation(() => RedeliveredSelection, {
    description:
      'Retries a selection of deliveries now, with the same ids. Each is queued or told in `userErrors`. It costs a point for each id.',
    canDryRun: true,
    errors: ['not_found'],
    cost: { each: ({ deliveryIds }) => (Array.isArray(deliveryIds) ? deliveryIds.length : 0) },
  })
  redeliverMany(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('webhookId', () => ID, { description: 'The webhook.' }) id: string,
    @Arg('deliveryIds', () => [ID], {
      description: `Deliveries to this webhook, 1 to ${SELECTION_MAX}. An id that is there twice counts once.`,
    })
    deliveryIds: readonly string[],
  ) {
    return run(operations.webhooks.retryMany, { id, deliveryIds });
  }

  @FieldResolver(() => WebhookStats, { description: 'Number of deliveries, by result.' })
  stats(@Root() webhook: Webhook, @Ctx() { loaders }: GraphqlContext) {
    return loaders.deliveryCounts.load(webhook.id);
  }
}
