import type { AcceptDecision, AccountState } from '../domain/messages/batch-decision.ts';
import { CHANNELS, type PreparedMessage } from '../domain/messages/message.ts';
import { BLOCK_OF_SEQ, PLACES_OF_SEQ } from './message-blocks.ts';
import { type Sql, statement } from './sql.ts';

const WRITE = statement(
  'intake-write',
  `WITH account AS (
     UPDATE accounts a SET balance_minor = n.balance, ledger_seq = n.ledger, sms_seq = n.sms,
       email_seq = n.email, push_seq = n.push, whatsapp_seq = n.whatsapp, last_accepted_at = n.accepted
     FROM unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[],
       $47::timestamptz[]) AS n (id, balance, ledger, sms, email, push, whatsapp, accepted)
     WHERE a.id = n.id
   ), message AS (
     INSERT INTO messages (id, account_id, seq, cost_minor, unit_price_minor, created_at, expires_at, scheduled_for,
       invalid_skipped, duplicates_removed, channel, environment, currency, api_key_id, user_id, sender, content,
       payload, bulk)
     SELECT * FROM unnest($8::uuid[], $9::uuid[], $10::bigint[], $11::bigint[], $12::bigint[], $13::timestamptz[],
       $14::timestamptz[], $15::timestamptz[], $16::int[], $17::int[], $18::text[], $19::text[],
       $20::text[], $21::text[], $22::uuid[], $23::text[], $24::text[], $25::jsonb[],
       $49::jsonb[])
     RETURNING account_id, seq, created_at, channel, environment, api_key_id, cost_minor
   ), usage AS (
     INSERT INTO usage_deltas (account_id, hour, channel, environment, status, api_key_id, block, places, messages,
       cost_minor)
     SELECT account_id, date_trunc('hour', created_at, 'UTC'), channel, environment,
       CASE environment WHEN 'sandbox' THEN 'sent' ELSE 'pending' END, coalesce(api_key_id, ''), ${BLOCK_OF_SEQ},
       ${PLACES_OF_SEQ}, count(*), sum(cost_minor)
     FROM message GROUP BY 1, 2, 3, 4, 5, 6, 7
   ), recipient AS (
     INSERT INTO recipients (message_id, account_id, position, address, cost_minor, status, sent_at, claimed, settled)
     SELECT *, status = 'sent' FROM unnest($26::uuid[], $27::uuid[], $28::smallint[], $29::text[], $30::bigint[],
       $31::text[], $32::timestamptz[], $48::boolean[])
       AS n (message_id, account_id, position, address, cost_minor, status, sent_at, claimed)
   ), entry AS (
     INSERT INTO ledger_entries (account_id, seq, amount_minor, balance_after_minor, message_id, kind, created_at)
     SELECT *, 'charge', $38::timestamptz FROM unnest($33::uuid[], $34::bigint[], $35::bigint[], $36::bigint[], $37::uuid[])
   )
   INSERT INTO idempotency_records (account_id, environment, route, key, message_id, status_code, body, expires_at)
   SELECT * FROM unnest($39::uuid[], $40::text[], $41::text[], $42::text[], $43::uuid[], $44::int[], $45::text[],
     $46::timestamptz[])
   ON CONFLICT (account_id, environment, route, key) DO UPDATE SET message_id = excluded.message_id,
     status_code = excluded.status_code, body = excluded.body, expires_at = excluded.expires_at`,
);

const IDEMPOTENCY_RETENTION_MS = 24 * 3_600_000;
/** What the stored answer to an accepted message is sent with. */
export const ACCEPTED_STATUS = 200;

/** An accepted message and the answer to it. */
export interface AcceptedWithBody {
  readonly decision: AcceptDecision;
  readonly body: string;
}

/**
 * Writes all that accepting a batch comes to, in the transaction of `sql`: balances and counters, messages with their
 * recipients, ledger entries, usage and the answers that repeats of a request are given.
 */
export async function writeAccepted(
  sql: Sql,
  accepted: readonly AcceptedWithBody[],
  after: ReadonlyMap<string, AccountState>,
): Promise<void> {
  await sql.execute(WRITE, valuesOf(accepted, after));
}

function valuesOf(
  accepted: readonly AcceptedWithBody[],
  after: ReadonlyMap<string, AccountState>,
): unknown[] {
  const accounts = [...after];
  const messages = accepted.map(({ decision }) => decision.prepared);
  const recipients = messages.flatMap((message) =>
    message.recipients.map((recipient, position) => ({ message, recipient, position })),
  );
  const charged = accepted.flatMap(({ decision }) =>
    decision.ledger ? [{ prepared: decision.prepared, ledger: decision.ledger }] : [],
  );
  const claimed = accepted.flatMap(({ decision: { prepared }, body }) =>
    prepared.idempotency ? [{ message: prepared, claim: prepared.idempotency, body }] : [],
  );
  const isSandbox = (message: PreparedMessage) => message.environment === 'sandbox';
  return [
    accounts.map(([id]) => id),
    accounts.map(([, state]) => state.balanceMinor),
    accounts.map(([, state]) => state.ledgerSeq),
    ...CHANNELS.map((channel) => accounts.map(([, state]) => state.seq[channel])),
    messages.map((message) => message.id),
    messages.map((message) => message.accountId),
    accepted.map(({ decision }) => decision.seq),
    messages.map((message) => message.costMinor),
    messages.map((message) => message.unitPriceMinor),
    messages.map((message) => message.createdAt),
    messages.map((message) => message.expiresAt),
    messages.map((message) => message.scheduledFor),
    messages.map((message) => message.invalidSkipped),
    messages.map((message) => message.duplicatesRemoved),
    messages.map((message) => message.channel),
    messages.map((message) => message.environment),
    messages.map((message) => message.currency),
    messages.map((message) => message.apiKeyId),
    messages.map((message) => message.userId),
    messages.map((message) => message.from),
    messages.map((message) => message.content),
    messages.map((message) => (message.payload === null ? null : JSON.stringify(message.payload))),
    recipients.map(({ message }) => message.id),
    recipients.map(({ message }) => message.accountId),
    recipients.map(({ position }) => position),
    recipients.map(({ recipient }) => recipient.address),
    recipients.map(({ recipient }) => recipient.costMinor),
    recipients.map(({ message }) => (isSandbox(message) ? 'sent' : 'pending')),
    recipients.map(({ message }) => (isSandbox(message) ? message.createdAt : null)),
    charged.map(({ prepared }) => prepared.accountId),
    charged.map(({ ledger }) => ledger.seq),
    charged.map(({ prepared }) => -prepared.costMinor),
    charged.map(({ ledger }) => ledger.balanceAfterMinor),
    charged.map(({ prepared }) => prepared.id),
    messages[0]?.createdAt,
    claimed.map(({ message }) => message.accountId),
    claimed.map(({ message }) => message.environment),
    claimed.map(({ claim }) => claim.route),
    claimed.map(({ claim }) => claim.key),
    claimed.map(({ message }) => message.id),
    claimed.map(() => ACCEPTED_STATUS),
    claimed.map(({ body }) => body),
    claimed.map(({ message }) => new Date(message.createdAt.getTime() + IDEMPOTENCY_RETENTION_MS)),
    accounts.map(([, state]) => state.lastAcceptedAt),
    // What is due at once is claimed from birth, which saves its worker a write; the rest can be canceled.
    recipients.map(({ message }) => message.scheduledFor === null),
    messages.map((message) => (message.bulk === null ? null : JSON.stringify(message.bulk))),
  ];
}
