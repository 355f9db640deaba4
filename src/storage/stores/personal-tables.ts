/**
 * What erasures and exports do with each table. A test compares the lists with the schema, so that a new table cannot be
 * forgotten (R495).
 */

export interface PersonalTable {
  /** How an erasure removes the person from it (R491), or why it does not. */
  readonly erased: string;
  /** Where an export shows it (R493), or why it does not. */
  readonly exported: string;
}

/** Tables that may have an address or a text of a person, or what a carrier said about one. */
export const PERSONAL_TABLES: Readonly<Record<string, PersonalTable>> = {
  messages: { erased: 'text, payload and bulk', exported: 'messages' },
  recipients: { erased: 'address, sid and error text', exported: 'messages.recipients' },
  timeline_notes: { erased: 'detail', exported: 'messages.timeline' },
  provider_sids: { erased: 'deleted', exported: 'messages.recipients.sid' },
  unmatched_reports: { erased: 'deleted by sid', exported: 'messages.lateReports' },
  held_reviews: {
    erased: 'the block, which is a number without three digits; a message is erased after the decision',
    exported: 'messages.review',
  },
  events: { erased: 'body', exported: 'messages.events' },
  webhook_deliveries: { erased: 'the answer of the endpoint', exported: 'messages.webhookDeliveries' },
  webhook_attempts: {
    erased: 'has times and statuses only',
    exported: 'messages.webhookDeliveries.attempts',
  },
  api_requests: { erased: 'whole bodies of all requests', exported: 'messages.request' },
  idempotency_records: {
    erased: 'the stored answer',
    exported: 'not shown: the answer says what the message says, and is deleted after 24 hours',
  },
  contacts: { erased: 'deleted', exported: 'contacts' },
  contact_imports: {
    erased: 'the file is deleted when the import ends, for which the erasure waits',
    exported: 'not shown: the file becomes contacts or faults within minutes',
  },
  contact_import_faults: { erased: 'value', exported: 'importFaults' },
  devices: { erased: 'deleted', exported: 'devices' },
  suppressions: { erased: 'address to hash, reason', exported: 'suppressions' },
  inbound_messages: { erased: 'deleted', exported: 'inboundMessages' },
  whatsapp_writers: { erased: 'deleted', exported: 'numbers.whatsAppAt' },
  past_whatsapp_writers: { erased: 'deleted', exported: 'numbers.whatsAppAt' },
  sms_writers: { erased: 'deleted', exported: 'numbers.smsBefore' },
  send_limit_numbers: { erased: 'deleted when the hour is over', exported: 'numbers.limited' },
  pumping_numbers: { erased: 'deleted', exported: 'numbers.countedAt' },
  trusted_blocks: {
    erased: 'a block is 1,000 numbers; forgotten after a day',
    exported: 'not shown: it is about a block, not a person',
  },
  erasures: { erased: 'targets, when it is done', exported: 'erasures' },
  erasure_messages: { erased: 'deleted when it is done', exported: 'erasures' },
};

const ACCOUNT = 'is about the account and the people who work for it';
const COUNTS = 'has sums and counts, whose smallest key is the first digits of numbers';
const KEYS = 'has ids, keys and secrets of the gateway';
const MONEY = 'has amounts of messages by id, and never changes';
const OPERATION = 'is about the operation of the gateway';
const TEAM = 'is about people who sign in to the console';

/** Tables that have nothing of recipients, each with the reason. */
export const IMPERSONAL_TABLES: Readonly<Record<string, string>> = {
  access_tokens: TEAM,
  account_hash_keys: KEYS,
  account_move_jobs: 'has ids of messages',
  account_moves: OPERATION,
  accounts: ACCOUNT,
  address_hash_key: KEYS,
  alert_rules: ACCOUNT,
  alerts: ACCOUNT,
  analytics_deltas: COUNTS,
  analytics_latencies: COUNTS,
  analytics_marks: COUNTS,
  analytics_slots: COUNTS,
  api_key_requests: COUNTS,
  api_key_scope_uses: COUNTS,
  api_keys: ACCOUNT,
  api_request_days: COUNTS,
  audit_entries: 'has no address of a recipient, and never changes (R490)',
  audit_head: KEYS,
  data_copy: OPERATION,
  deferred_refunds: MONEY,
  delivery_deltas: COUNTS,
  delivery_hours: COUNTS,
  event_feeds: COUNTS,
  failed_messages: 'has numbers of messages',
  heartbeats: OPERATION,
  job_leases: 'has ids of messages',
  known_devices: TEAM,
  ledger_check: MONEY,
  ledger_entries: MONEY,
  ledger_mismatches: MONEY,
  list_counts: COUNTS,
  mail_links: TEAM,
  message_blocks: COUNTS,
  message_retention: COUNTS,
  messages_with_failures: 'has numbers of messages',
  operator_resets: TEAM,
  passkey_challenges: TEAM,
  plans: ACCOUNT,
  price_references: MONEY,
  prices: MONEY,
  provider_days: OPERATION,
  provider_health: OPERATION,
  query_points: COUNTS,
  rate_limits: COUNTS,
  recovery_codes: TEAM,
  report_spools: OPERATION,
  request_logging: ACCOUNT,
  retention_waiting: 'has ids of messages',
  schema_migrations: OPERATION,
  schema_migrations_lock: OPERATION,
  second_factors: TEAM,
  send_limit_keys: ACCOUNT,
  send_limits: ACCOUNT,
  senders: ACCOUNT,
  sessions: TEAM,
  sign_in_challenges: TEAM,
  sign_in_countries: TEAM,
  sign_in_failures: TEAM,
  single_sign_on: ACCOUNT,
  single_sign_on_identities: TEAM,
  single_sign_on_requests: TEAM,
  spent_signatures: KEYS,
  sweep_marks: OPERATION,
  usage_days: COUNTS,
  usage_deltas: COUNTS,
  usage_hours: COUNTS,
  users: TEAM,
  webhooks: ACCOUNT,
};
