import type { Knex } from 'knex';
import * as foundation from './20261121000000_foundation.ts';
import * as rateLimits from './20261121000100_rate_limits.ts';
import * as peopleAndUsage from './20261121000200_people_and_usage.ts';
import * as claimsAndFilters from './20261121000300_claims_and_filters.ts';
import * as contacts from './20261121000400_contacts.ts';
import * as spentSignatures from './20261121000500_spent_signatures.ts';
import * as leanStorage from './20261121000600_lean_storage.ts';
import * as devices from './20261121000700_devices.ts';
import * as inboundMessages from './20261121000800_inbound_messages.ts';
import * as messageBulk from './20261121000900_message_bulk.ts';
import * as retention from './20261121001000_retention.ts';
import * as auditChain from './20261121001100_audit_chain.ts';
import * as scopeUses from './20261121001200_scope_uses.ts';
import * as messagesWrittenOnce from './20261121001300_messages_written_once.ts';
import * as contactImports from './20261121001400_contact_imports.ts';
import * as listCounts from './20261121001500_list_counts.ts';
import * as listIndexes from './20261121001600_list_indexes.ts';
import * as providerHealth from './20261121001700_provider_health.ts';
import * as vacuum from './20261121001800_vacuum.ts';
import * as contactTags from './20261121001900_contact_tags.ts';
import * as usageDays from './20261121002000_usage_days.ts';
import * as settledRecipients from './20261121002100_settled_recipients.ts';
import * as messageBlocks from './20261121002200_message_blocks.ts';
import * as fullPages from './20261121002300_full_pages.ts';
import * as referencesWithoutChecks from './20261121002400_references_without_checks.ts';
import * as messagePlaces from './20261121002500_message_places.ts';
import * as rareDeliveries from './20261121002600_rare_deliveries.ts';
import * as heldJobs from './20261121002700_held_jobs.ts';
import * as deliveriesWithoutChecks from './20261121002800_deliveries_without_checks.ts';
import * as searchTerms from './20261121002900_search_terms.ts';
import * as leftJobs from './20261121003000_left_jobs.ts';
import * as postponedRecipients from './20261121003100_postponed_recipients.ts';
import * as recoveredRetries from './20261121003200_recovered_retries.ts';
import * as sessionBudgets from './20261124000100_session_budgets.ts';
import * as environments from './20261124000200_environments.ts';
import * as keyMakers from './20261124000300_key_makers.ts';
import * as whatsappWriters from './20261124000400_whatsapp_writers.ts';
import * as invitations from './20261124000401_invitations.ts';
import * as heartbeats from './20261124000700_heartbeats.ts';
import * as deferredRefunds from './20261124001000_deferred_refunds.ts';
import * as refusedByTheDatabase from './20261124002000_refused_by_the_database.ts';

/** One step of the schema. A step never changes once released; later ones stand below earlier ones. */
export interface Migration {
  readonly name: string;
  readonly up: (knex: Knex) => Promise<void>;
  readonly down: (knex: Knex) => Promise<void>;
  /** Steps that build indexes while others write are in no transaction, and can be taken up again. */
  readonly config?: { readonly transaction: boolean };
}

export const migrations: readonly Migration[] = [
  { name: '20261121000000_foundation', ...foundation },
  { name: '20261121000100_rate_limits', ...rateLimits },
  { name: '20261121000200_people_and_usage', ...peopleAndUsage },
  { name: '20261121000300_claims_and_filters', ...claimsAndFilters },
  { name: '20261121000400_contacts', ...contacts },
  { name: '20261121000500_spent_signatures', ...spentSignatures },
  { name: '20261121000600_lean_storage', ...leanStorage },
  { name: '20261121000700_devices', ...devices },
  { name: '20261121000800_inbound_messages', ...inboundMessages },
  { name: '20261121000900_message_bulk', ...messageBulk },
  { name: '20261121001000_retention', ...retention },
  { name: '20261121001100_audit_chain', ...auditChain },
  { name: '20261121001200_scope_uses', ...scopeUses },
  { name: '20261121001300_messages_written_once', ...messagesWrittenOnce },
  { name: '20261121001400_contact_imports', ...contactImports },
  { name: '20261121001500_list_counts', ...listCounts },
  { name: '20261121001600_list_indexes', ...listIndexes },
  { name: '20261121001700_provider_health', ...providerHealth },
  { name: '20261121001800_vacuum', ...vacuum },
  { name: '20261121001900_contact_tags', ...contactTags },
  { name: '20261121002000_usage_days', ...usageDays },
  { name: '20261121002100_settled_recipients', ...settledRecipients },
  { name: '20261121002200_message_blocks', ...messageBlocks },
  { name: '20261121002300_full_pages', ...fullPages },
  { name: '20261121002400_references_without_checks', ...referencesWithoutChecks },
  { name: '20261121002500_message_places', ...messagePlaces },
  { name: '20261121002600_rare_deliveries', ...rareDeliveries },
  { name: '20261121002700_held_jobs', ...heldJobs },
  { name: '20261121002800_deliveries_without_checks', ...deliveriesWithoutChecks },
  { name: '20261121002900_search_terms', ...searchTerms },
  { name: '20261121003000_left_jobs', ...leftJobs },
  { name: '20261121003100_postponed_recipients', ...postponedRecipients },
  { name: '20261121003200_recovered_retries', ...recoveredRetries },
  { name: '20261124000100_session_budgets', ...sessionBudgets },
  { name: '20261124000200_environments', ...environments },
  { name: '20261124000300_key_makers', ...keyMakers },
  { name: '20261124000400_whatsapp_writers', ...whatsappWriters },
  { name: '20261124000401_invitations', ...invitations },
  { name: '20261124000700_heartbeats', ...heartbeats },
  { name: '20261124001000_deferred_refunds', ...deferredRefunds },
  { name: '20261124002000_refused_by_the_database', ...refusedByTheDatabase },
];
