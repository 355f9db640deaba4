import { GraphQLError } from 'graphql';
import { Float, ID, ObjectType, Resolver, Root, Subscription } from 'type-graphql';
import type { Alert } from '../domain/alerts/alert.ts';
import type { AuditEntry } from '../domain/audit/audit-entry.ts';
import type { Environment } from '../domain/caller.ts';
import type { ContactImport } from '../domain/contacts/contact-import.ts';
import type { UsageTick } from '../domain/live/live-operations.ts';
import { REFETCH, type Shown } from '../domain/live/watch.ts';
import type { Message, MessageStatus } from '../domain/messages/message.ts';
import { fromMinor } from '../domain/money/money.ts';
import type { PublishedStatus } from '../domain/ports/routing.ts';
import type { WebhookDelivery } from '../domain/webhooks/webhook.ts';
import { AlertType } from './alert.graphql.ts';
import { AuditEntryType } from './audit.graphql.ts';
import { ContactImportType } from './contact-import.graphql.ts';
import type { GraphqlContext } from './context.ts';
import { EnvironmentEnum, MessageStatusEnum } from './enums.ts';
import { given } from './given.ts';
import { MessageFilter, MessageType } from './message.graphql.ts';
import { Money, moneyOf } from './money.graphql.ts';
import { ProviderHealth } from './provider.graphql.ts';
import { Currency, DateTime } from './scalars.ts';
import { Arg, Field, FieldResolver, type Tagged, unionOf } from './typed.ts';
import { WebhookDeliveryType } from './webhook-delivery.graphql.ts';

const DELIVERY_OF_EVENTS =
  'Served as an event stream (graphql-sse). An object that changes faster than you read is sent once, in its latest ' +
  'state. An event that is null, with the error code `REFETCH`, means that changes were missed: run your query again. ' +
  'The stream goes on.';

const MISSED_BY_UNION = 'When changes were missed, the event is a `Refetch`: run your query again.';

/** The arguments and the context of a subscription. */
interface Asked<Args> {
  readonly args: Args;
  readonly context: GraphqlContext;
}

/** For each subscription, a function that returns its changes. */
const SOURCES = {
  messages: ({ args, context }: Asked<{ id?: string | null; filter?: MessageFilter | null }>) =>
    context.run(context.operations.live.messages, {
      id: args.id ?? undefined,
      filter: given(args.filter),
      signal: context.ended,
    }),
  deliveries: ({ args, context }: Asked<{ webhookId?: string | null }>) =>
    context.run(context.operations.live.deliveries, {
      webhookId: args.webhookId ?? undefined,
      signal: context.ended,
    }),
  imports: ({ args, context }: Asked<{ id?: string | null }>) =>
    context.run(context.operations.live.imports, { id: args.id ?? undefined, signal: context.ended }),
  audit: ({ context }: Asked<object>) =>
    context.run(context.operations.live.audit, { signal: context.ended }),
};

@ObjectType({
  description: 'Changes were missed: run your query again. The stream goes on.',
  simpleResolvers: true,
})
class Refetch {
  @Field(() => String, { description: 'Why, in words.' })
  reason!: string;
}
const MISSED = 'Changes were missed. Run your query again.';

type Update<Value, Name extends string> = Tagged<Value, Name> | Tagged<Refetch, 'Refetch'>;

const MessageUpdate = unionOf<Update<Message, 'Message'>>(
  'MessageUpdate',
  'A new or changed message in its current state, or that changes were missed.',
  () => [MessageType, Refetch],
);
const DeliveryUpdate = unionOf<Update<WebhookDelivery, 'WebhookDelivery'>>(
  'DeliveryUpdate',
  'A new or changed delivery in its current state, or that changes were missed.',
  () => [WebhookDeliveryType, Refetch],
);
const ContactImportUpdate = unionOf<Update<ContactImport, 'ContactImport'>>(
  'ContactImportUpdate',
  'A new or changed import in its current state, or that changes were missed.',
  () => [ContactImportType, Refetch],
);
const AuditUpdate = unionOf<Update<AuditEntry, 'AuditEntry'>>(
  'AuditUpdate',
  'A new entry of the audit log, or that entries were missed.',
  () => [AuditEntryType, Refetch],
);
const AlertUpdate = unionOf<Update<Alert, 'Alert'>>(
  'AlertUpdate',
  'An alert that was opened or resolved, or that changes were missed.',
  () => [AlertType, Refetch],
);
const ProviderHealthUpdate = unionOf<Update<PublishedStatus, 'ProviderHealth'>>(
  'ProviderHealthUpdate',
  'A new or changed report about a provider, or that reports were missed or are gone.',
  () => [ProviderHealth, Refetch],
);

@ObjectType({ description: 'Number of messages in one status.', simpleResolvers: true })
class StatusCount {
  @Field(() => MessageStatusEnum, { description: 'The current status.' })
  status!: MessageStatus;

  @Field(() => Float, { description: 'Number of messages.' })
  messages!: number;
}

@ObjectType('UsageTick', {
  description: "The account's messages of today (UTC) and its balance.",
  simpleResolvers: true,
})
class UsageTickType {
  @Field(() => DateTime, { description: 'When it was counted.' })
  at!: Date;

  @Field(() => DateTime, { description: 'Start of the day, in UTC.' })
  day!: Date;

  @Field(() => [StatusCount], {
    description: 'Messages accepted today, by status. Statuses without messages are left out.',
  })
  counts!: readonly StatusCount[];

  @Field(() => Currency, { description: 'Currency of the amounts.' })
  currency!: string;
}

@Resolver(() => UsageTickType)
export class UsageTickResolver {
  @FieldResolver(() => Float, { description: 'Messages accepted today, in any status.' })
  messages(@Root() { counts }: UsageTick): number {
    return counts.reduce((sum, { messages }) => sum + messages, 0);
  }

  @FieldResolver(() => Float, {
    description: 'Their cost at acceptance. Refunds are in the ledger.',
  })
  cost(@Root() tick: UsageTick): number {
    return fromMinor(costMinorOf(tick), tick.currency);
  }

  @FieldResolver(() => Money, { description: 'The same cost, exact.' })
  costMoney(@Root() tick: UsageTick): Money {
    return moneyOf(costMinorOf(tick), tick.currency);
  }

  @FieldResolver(() => Float, { description: "The account's balance." })
  balance(@Root() { balanceMinor, currency }: UsageTick): number {
    return fromMinor(balanceMinor, currency);
  }

  @FieldResolver(() => Money, { description: 'The same balance, exact.' })
  balanceMoney(@Root() { balanceMinor, currency }: UsageTick): Money {
    return moneyOf(balanceMinor, currency);
  }
}

function costMinorOf({ counts }: UsageTick): number {
  return counts.reduce((sum, { costMinor }) => sum + costMinor, 0);
}

@Resolver()
export class LiveResolver {
  @Subscription(() => MessageType, {
    nullable: true,
    description: `New and changed messages, in their current state. ${DELIVERY_OF_EVENTS}`,
    subscribe: SOURCES.messages,
  })
  messageUpdated(
    @Root() message: Shown<Message>,
    @Arg('id', () => ID, { nullable: true, description: 'Only this message.' }) _id?: string | null,
    @Arg('filter', () => MessageFilter, {
      nullable: true,
      description: 'Only messages that match in their current state.',
    })
    _filter?: MessageFilter | null,
  ) {
    return shown(message);
  }

  @Subscription(() => WebhookDeliveryType, {
    nullable: true,
    description: `New and changed deliveries, in their current state. ${DELIVERY_OF_EVENTS}`,
    subscribe: SOURCES.deliveries,
  })
  deliveryUpdated(
    @Root() delivery: Shown<WebhookDelivery>,
    @Arg('webhookId', () => ID, { nullable: true, description: 'Only deliveries to this webhook.' })
    _webhookId?: string | null,
  ) {
    return shown(delivery);
  }

  @Subscription(() => ContactImportType, {
    nullable: true,
    description: `New imports of contacts and their progress. ${DELIVERY_OF_EVENTS}`,
    subscribe: SOURCES.imports,
  })
  contactImportUpdated(
    @Root() one: Shown<ContactImport>,
    @Arg('id', () => ID, { nullable: true, description: 'Only this import.' }) _id?: string | null,
  ) {
    return shown(one);
  }

  @Subscription(() => AuditEntryType, {
    nullable: true,
    description: `New entries of the account's audit log. ${DELIVERY_OF_EVENTS}`,
    subscribe: SOURCES.audit,
  })
  auditEntryAdded(@Root() entry: Shown<AuditEntry>) {
    return shown(entry);
  }

  @Subscription(() => UsageTickType, {
    nullable: true,
    description:
      "The day's counts and the balance whenever one of them changes, at most once a second. Served as an event " +
      'stream (graphql-sse).',
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
      description: 'Only this environment. Default: both.',
    })
    _environment?: Environment | null,
  ): UsageTick {
    return tick;
  }
}

/**
 * The subscriptions of `LiveResolver` with a union as type (R336). A subscriber that missed changes gets a `Refetch`
 * here, and an error there.
 */
@Resolver()
export class LiveUpdatesResolver {
  @Subscription(() => MessageUpdate, {
    description: `As \`messageUpdated\`. ${MISSED_BY_UNION}`,
    subscribe: SOURCES.messages,
  })
  messageUpdates(
    @Root() message: Shown<Message>,
    @Arg('id', () => ID, { nullable: true, description: 'Only this message.' }) _id?: string | null,
    @Arg('filter', () => MessageFilter, {
      nullable: true,
      description: 'Only messages that match in their current state.',
    })
    _filter?: MessageFilter | null,
  ) {
    return update(message, 'Message');
  }

  @Subscription(() => DeliveryUpdate, {
    description: `As \`deliveryUpdated\`. ${MISSED_BY_UNION}`,
    subscribe: SOURCES.deliveries,
  })
  deliveryUpdates(
    @Root() delivery: Shown<WebhookDelivery>,
    @Arg('webhookId', () => ID, { nullable: true, description: 'Only deliveries to this webhook.' })
    _webhookId?: string | null,
  ) {
    return update(delivery, 'WebhookDelivery');
  }

  @Subscription(() => ContactImportUpdate, {
    description: `As \`contactImportUpdated\`. ${MISSED_BY_UNION}`,
    subscribe: SOURCES.imports,
  })
  contactImportUpdates(
    @Root() one: Shown<ContactImport>,
    @Arg('id', () => ID, { nullable: true, description: 'Only this import.' }) _id?: string | null,
  ) {
    return update(one, 'ContactImport');
  }

  @Subscription(() => AuditUpdate, {
    description: `As \`auditEntryAdded\`. ${MISSED_BY_UNION}`,
    subscribe: SOURCES.audit,
  })
  auditUpdates(@Root() entry: Shown<AuditEntry>) {
    return update(entry, 'AuditEntry');
  }

  @Subscription(() => AlertUpdate, {
    description:
      'Alerts of your account that were opened or resolved. For operators, those that concern all accounts. Served as ' +
      `an event stream (graphql-sse). ${MISSED_BY_UNION}`,
    subscribe: ({ context }: Asked<object>) =>
      context.run(context.operations.live.alerts, { signal: context.ended }),
  })
  alertUpdates(@Root() alert: Shown<Alert>) {
    return update(alert, 'Alert');
  }

  @Subscription(() => ProviderHealthUpdate, {
    description:
      'What worker processes report about carriers and providers, when it says something new, at most once a second. ' +
      `For operators. A report that is gone is a \`Refetch\` too. ${MISSED_BY_UNION}`,
    subscribe: ({ context }: Asked<object>) =>
      context.run(context.operations.live.providers, { signal: context.ended }),
  })
  providerHealthUpdates(@Root() report: Shown<PublishedStatus>) {
    return update(report, 'ProviderHealth');
  }
}

function update<T extends object, Name extends string>(object: Shown<T>, __typename: Name): Update<T, Name> {
  if (object === REFETCH) return { __typename: 'Refetch', reason: MISSED };
  return { ...(object as T), __typename };
}

function shown<T>(object: Shown<T>): T {
  if (object !== REFETCH) return object as T;
  throw new GraphQLError(MISSED, { extensions: { code: 'REFETCH' } });
}
