/**
 * What a move of an account does with each table. A test compares the lists with the schema, so that a new table cannot
 * be forgotten (R508).
 */

/** How the rows of an account are found: by `account_id`, or by a parent that has it. */
type Owner =
  | 'account'
  | {
      readonly column: string;
      readonly parent: string;
      readonly key: string;
    };

export interface MovedTable {
  readonly name: string;
  /** Default: `account`. */
  readonly owner?: Owner;
  /**
   * `early`: large; copied while the account works, and its changes again in the pause. `late`: copied in the pause.
   */
  readonly when: 'early' | 'late';
  /**
   * Changes of these rows that must not be lost are refused in the pause. `except` lists columns whose change may be
   * lost. False: the rows may change, because only what is copied counts (counts that are folded, notes of uses).
   */
  readonly fence: boolean | { readonly except: readonly string[] };
  /** True if rows are never deleted: the cell that the account leaves keeps them. */
  readonly stays?: true;
  /**
   * True if a row that stayed in the other cell is deleted when the account comes back without such a row. Default: rows
   * that stay are never deleted.
   */
  readonly endsOnReturn?: true;
  /** True if rows are never changed. */
  readonly isFixed?: true;
}

const ofUser = { column: 'user_id', parent: 'users', key: 'id' };
const ofKey = { column: 'key_id', parent: 'api_keys', key: 'key_id' };
const ofMessage = { column: 'message_id', parent: 'messages', key: 'id' };
const ofWebhook = { column: 'webhook_id', parent: 'webhooks', key: 'id' };
const ofLimit = { column: 'limit_id', parent: 'send_limits', key: 'id' };
const ofErasure = { column: 'erasure_id', parent: 'erasures', key: 'id' };
const ofImport = { column: 'import_id', parent: 'contact_imports', key: 'id' };

/**
 * Tables with one row for each number, of the account that wrote last to it. Both cells may have a row for a number: the
 * later one counts.
 */
export const WRITERS: readonly string[] = ['whatsapp_writers', 'past_whatsapp_writers', 'sms_writers'];

/** In an order in which each table refers only to tables before it. */
export const MOVED_TABLES: readonly MovedTable[] = [
  { name: 'accounts', owner: { column: 'id', parent: '', key: '' }, when: 'late', fence: true, stays: true },
  { name: 'messages', when: 'early', fence: true },
  { name: 'recipients', when: 'early', fence: true },
  { name: 'ledger_entries', when: 'early', fence: true, stays: true, isFixed: true },
  { name: 'events', when: 'early', fence: true },
  { name: 'webhook_deliveries', when: 'early', fence: true },
  { name: 'webhook_attempts', when: 'early', fence: true },
  { name: 'idempotency_records', when: 'early', fence: true },
  { name: 'message_blocks', when: 'early', fence: false },
  { name: 'failed_messages', when: 'early', fence: false },
  { name: 'messages_with_failures', when: 'early', fence: false },
  { name: 'usage_hours', when: 'early', fence: false },
  { name: 'usage_days', when: 'early', fence: false },
  { name: 'analytics_slots', when: 'early', fence: false },
  { name: 'analytics_latencies', when: 'early', fence: false },
  { name: 'api_requests', when: 'early', fence: false },
  { name: 'users', when: 'late', fence: true, stays: true },
  { name: 'access_tokens', owner: ofUser, when: 'late', fence: { except: ['last_used_at'] } },
  { name: 'second_factors', owner: ofUser, when: 'late', fence: true },
  { name: 'recovery_codes', owner: ofUser, when: 'late', fence: true },
  { name: 'single_sign_on', when: 'late', fence: true },
  { name: 'single_sign_on_identities', when: 'late', fence: true },
  { name: 'api_keys', when: 'late', fence: { except: ['last_used_at'] }, stays: true },
  { name: 'api_key_requests', owner: ofKey, when: 'late', fence: false },
  { name: 'api_key_scope_uses', owner: ofKey, when: 'late', fence: false },
  { name: 'spent_signatures', owner: ofKey, when: 'late', fence: true },
  { name: 'alert_rules', when: 'late', fence: true },
  { name: 'alerts', when: 'late', fence: true },
  { name: 'contacts', when: 'late', fence: true },
  { name: 'contact_imports', when: 'late', fence: true },
  { name: 'contact_import_faults', owner: ofImport, when: 'late', fence: true },
  { name: 'devices', when: 'late', fence: true },
  { name: 'senders', when: 'late', fence: true },
  { name: 'suppressions', when: 'late', fence: true },
  // A key that is sealed anew stays the same key.
  { name: 'account_hash_keys', when: 'late', fence: { except: ['sealed'] } },
  { name: 'erasures', when: 'late', fence: true },
  { name: 'erasure_messages', owner: ofErasure, when: 'late', fence: true },
  { name: 'inbound_messages', when: 'late', fence: true },
  { name: 'whatsapp_writers', when: 'late', fence: true },
  { name: 'past_whatsapp_writers', when: 'late', fence: true },
  { name: 'sms_writers', when: 'late', fence: true },
  { name: 'send_limits', when: 'late', fence: true },
  { name: 'send_limit_keys', owner: ofLimit, when: 'late', fence: true },
  { name: 'send_limit_numbers', owner: ofLimit, when: 'late', fence: true },
  { name: 'held_reviews', when: 'late', fence: true },
  { name: 'trusted_blocks', when: 'late', fence: true },
  { name: 'pumping_numbers', when: 'late', fence: false },
  { name: 'webhooks', when: 'late', fence: true, stays: true },
  { name: 'delivery_hours', owner: ofWebhook, when: 'late', fence: false },
  { name: 'delivery_deltas', owner: ofWebhook, when: 'late', fence: false },
  { name: 'event_feeds', when: 'late', fence: true },
  { name: 'provider_sids', owner: ofMessage, when: 'early', fence: false },
  { name: 'deferred_refunds', when: 'late', fence: true },
  { name: 'timeline_notes', when: 'late', fence: true },
  { name: 'message_retention', when: 'late', fence: false },
  { name: 'retention_waiting', owner: ofMessage, when: 'late', fence: false },
  { name: 'request_logging', when: 'late', fence: true },
  { name: 'usage_deltas', when: 'late', fence: false },
  { name: 'analytics_deltas', when: 'late', fence: false },
  // If they were gone, the cell that the account left would count its messages again. If they outlived a return, messages
  // that the other cell had not counted yet would never be counted.
  { name: 'analytics_marks', when: 'late', fence: false, stays: true, endsOnReturn: true },
];

/** Tables that a move leaves alone, each with the reason. */
export const UNMOVED_TABLES: Readonly<Record<string, string>> = {
  account_moves: 'is about moves',
  address_hash_key: 'belongs to the cell: before it leaves, the account gets it as its own (R492)',
  account_move_jobs: 'holds the jobs of a move, which go into job_leases of the other cell',
  api_request_days: 'counts of the whole cell',
  audit_entries: 'one hash chain for the whole cell: the entries of an account stay where they were written',
  audit_head: 'the end of that chain',
  data_copy: 'is about the database',
  heartbeats: 'is about processes',
  job_leases: 'jobs are parked and moved one by one',
  known_devices: 'a cookie of the host, and the host changes',
  ledger_check: 'progress of a check of the whole cell',
  ledger_mismatches: 'the check of the other cell finds them again',
  list_counts: 'triggers count the rows again in the other cell',
  mail_links: 'links lead to the host, and the host changes',
  operator_resets: 'is about operators, who have no account',
  passkey_challenges: 'a few minutes of a sign-in at the host',
  plans:
    'belong to the cell: the plan of the account is created in the other cell if it has none of that name',
  price_references: 'prices belong to the cell',
  prices: 'belong to the cell',
  provider_days: 'is about carriers of the cell',
  provider_health: 'is about processes',
  query_points: 'a budget of a minute',
  rate_limits: 'windows of a minute',
  report_spools: 'is about files of processes',
  sessions: 'belong to the host, and the host changes: people sign in again',
  schema_migrations: 'is about the database',
  schema_migrations_lock: 'is about the database',
  sign_in_countries: 'notes of sign-ins at the host, and the host changes: the next sign-in is the first one',
  sign_in_challenges: 'a few minutes of a sign-in at the host',
  sign_in_failures: 'counts of a few minutes',
  single_sign_on_requests: 'a few minutes of a sign-in at the host',
  sweep_marks: 'progress through the whole cell',
  unmatched_reports: 'belong to no message',
};

/** SQL for the rows of an account in a table with the alias `t`. `accountId` must be a UUID. */
export function rowsOf({ name, owner = 'account' }: MovedTable, accountId: string): string {
  const id = `'${accountId}'::uuid`;
  if (name === 'accounts') return `t.id = ${id}`;
  // Recipients and attempts have no index on the account. Their parents have one.
  if (name === 'recipients') return `t.message_id IN (SELECT id FROM messages WHERE account_id = ${id})`;
  if (name === 'webhook_attempts')
    return `t.delivery_id IN (SELECT id FROM webhook_deliveries WHERE account_id = ${id})`;
  if (owner === 'account') return `t.account_id = ${id}`;
  return `t.${owner.column} IN (SELECT ${owner.key} FROM ${owner.parent} WHERE account_id = ${id})`;
}
