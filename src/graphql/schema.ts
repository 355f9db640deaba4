import 'reflect-metadata';
import { type GraphQLSchema, lexicographicSortSchema, printSchema } from 'graphql';
import { buildSchemaSync, type PubSub } from 'type-graphql';
import { AccountResolver, LedgerResolver } from './account.graphql.ts';
import { makeAccountRoot } from './account-root.ts';
import {
  ApiKeyActorResolver,
  AuditActorResolver,
  ContactImportActorResolver,
  LedgerActorResolver,
  MessageActorResolver,
} from './actor.graphql.ts';
import { AlertResolver } from './alert.graphql.ts';
import { AnalyticsResolver } from './analytics.graphql.ts';
import { ApiKeyResolver } from './api-key.graphql.ts';
import { ApiKeyAdminResolver } from './api-key-admin.graphql.ts';
import { nameArguments } from './argument-paths.ts';
import { AuditResolver, AuditTargetResolver } from './audit.graphql.ts';
import { ContactResolver } from './contact.graphql.ts';
import { ContactImportErrorResolver, ContactImportResolver } from './contact-import.graphql.ts';
import { countCosts } from './cost.ts';
import { DeviceResolver } from './device.graphql.ts';
import { beginDryRuns } from './dry-run.ts';
import { ErasureResolver } from './erasure.graphql.ts';
import { EventFeedResolver } from './event-feed.graphql.ts';
import { ExplanationResolver } from './explanation.graphql.ts';
import { ExportResolver } from './export.graphql.ts';
import { HeldResolver, HeldReviewResolver } from './held.graphql.ts';
import { HoldResolver } from './hold.graphql.ts';
import { LimitsResolver } from './limits.graphql.ts';
import { boundLists } from './list-bound.ts';
import { LiveResolver, LiveUpdatesResolver, UsageTickResolver } from './live.graphql.ts';
import { withLiveDirective } from './live-query.ts';
import { LookUpResolver } from './look-up.graphql.ts';
import { MemberResolver } from './member.graphql.ts';
import { MessageEventResolver, MessageResolver } from './message.graphql.ts';
import { printErrors, withErrorsDirective } from './mutation-errors.ts';
import { NodeResolver } from './node.graphql.ts';
import { OperatorResetResolver } from './operator-reset.graphql.ts';
import { PersonResolver } from './person.graphql.ts';
import { PlanResolver } from './plan.graphql.ts';
import { PlatformResolver } from './platform.graphql.ts';
import { PriceResolver } from './price.graphql.ts';
import { ProviderResolver } from './provider.graphql.ts';
import { RecipientResolver } from './recipient.graphql.ts';
import { RecipientListResolver } from './recipient-list.graphql.ts';
import { MessageRequestResolver, RequestResolver } from './request.graphql.ts';
import { SearchResolver } from './search.graphql.ts';
import { SendResolver } from './send.graphql.ts';
import { SendLimitsResolver } from './send-limits.graphql.ts';
import { SenderResolver } from './sender.graphql.ts';
import { SingleSignOnResolver } from './single-sign-on.graphql.ts';
import { StatementResolver } from './statement.graphql.ts';
import { SuppressionResolver } from './suppression.graphql.ts';
import { UsageResolver } from './usage.graphql.ts';
import { WebhookResolver } from './webhook.graphql.ts';
import { WebhookAnalyticsResolver } from './webhook-analytics.graphql.ts';
import {
  MessageDeliveriesResolver,
  WebhookDeliveriesResolver,
  WebhookDeliveryResolver,
} from './webhook-delivery.graphql.ts';
import { WhatsAppWindowResolver } from './whatsapp-window.graphql.ts';

/** type-graphql requires a PubSub. It is never used, because every subscription has its own source of events. */
const NO_PUB_SUB: PubSub = {
  publish: () => undefined,
  subscribe: () => {
    throw new Error('subscriptions have sources of their own');
  },
};

let made: GraphQLSchema | undefined;

/** Returns the executable schema of the GraphQL API. It is built once in a process. */
export function createSchema(): GraphQLSchema {
  made ??= buildSchema();
  return made;
}

function buildSchema(): GraphQLSchema {
  const schema = buildSchemaSync({
    resolvers: [
      AccountResolver,
      LedgerResolver,
      MemberResolver,
      PersonResolver,
      OperatorResetResolver,
      SingleSignOnResolver,
      ApiKeyResolver,
      ApiKeyAdminResolver,
      MessageResolver,
      ExplanationResolver,
      RecipientResolver,
      RecipientListResolver,
      ExportResolver,
      MessageEventResolver,
      SendResolver,
      SendLimitsResolver,
      WebhookResolver,
      WebhookAnalyticsResolver,
      WebhookDeliveriesResolver,
      WebhookDeliveryResolver,
      MessageDeliveriesResolver,
      SenderResolver,
      SuppressionResolver,
      ErasureResolver,
      RequestResolver,
      MessageRequestResolver,
      StatementResolver,
      UsageResolver,
      AlertResolver,
      AnalyticsResolver,
      PlatformResolver,
      LookUpResolver,
      PlanResolver,
      PriceResolver,
      ProviderResolver,
      HeldResolver,
      HeldReviewResolver,
      HoldResolver,
      AuditResolver,
      AuditTargetResolver,
      NodeResolver,
      SearchResolver,
      ApiKeyActorResolver,
      MessageActorResolver,
      ContactImportActorResolver,
      AuditActorResolver,
      LedgerActorResolver,
      ContactResolver,
      ContactImportResolver,
      ContactImportErrorResolver,
      DeviceResolver,
      EventFeedResolver,
      WhatsAppWindowResolver,
      LimitsResolver,
      LiveResolver,
      LiveUpdatesResolver,
      UsageTickResolver,
    ],
    pubSub: NO_PUB_SUB,
    validate: false,
    // Skip the check, which introspects the whole schema at each start. A test compares the schema with the file in
    // schema/, so the check would find nothing new.
    skipCheck: true,
  });
  const directed = withLiveDirective(withErrorsDirective(schema));
  return countCosts(nameArguments(beginDryRuns(makeAccountRoot(boundLists(directed)))));
}

/** Returns the sorted schema as text. It is committed as schema/schema.graphql. */
export function schemaText(): string {
  const schema = createSchema();
  return `${printErrors(schema, printSchema(lexicographicSortSchema(schema)))}\n`;
}
