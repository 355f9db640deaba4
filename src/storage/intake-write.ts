import { isNativeError } from 'node:util/types';
import { type AccountShare, type PlacedMessage, placeBatch } from '../domain/messages/batch-decision.ts';
import { acceptedMessage, CHANNELS, type Channel, type PreparedMessage } from '../domain/messages/message.ts';
import { messageResource } from '../domain/messages/message-resource.ts';
import type { IntakeAnswer } from '../domain/ports/intake.ts';
import { BLOCK_OF_SEQ, PLACES_OF_SEQ } from './message-blocks.ts';
import { type Sql, statement } from './sql.ts';

/** What PostgreSQL says of words that are read as a number. */
const NOT_A_NUMBER = '22P02';
/** Ends the statement, with words for PostgreSQL's log that name nothing but an account: they are no number. */
const refuse = (why: string, account: string) => `('account ' || ${account} || ': ${why}')::int`;

/**
 * Adds a batch to its accounts, whatever they have come to. It refuses to where a balance does not cover it or a key has
 * an answer that is still kept. All messages of an account are accepted at one time, which never goes back along its
 * numbers; a stored answer names that time. Rows are written in the order of their numbers: out of it, pages of their
 * indexes would be left half empty.
 */
const WRITE = statement(
  'intake-write',
  `WITH account AS (
     UPDATE accounts a SET balance_minor = CASE WHEN a.balance_minor >= n.cost THEN a.balance_minor - n.cost
         ELSE ${refuse('the balance does not cover a batch', 'a.id')} END, ledger_seq = a.ledger_seq + n.entries,
       sms_seq = a.sms_seq + n.sms, email_seq = a.email_seq + n.email, push_seq = a.push_seq + n.push,
       whatsapp_seq = a.whatsapp_seq + n.whatsapp, last_accepted_at = greatest(a.last_accepted_at, n.asked)
     FROM unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[],
       $8::timestamptz[]) AS n (id, cost, entries, sms, email, push, whatsapp, asked)
     WHERE a.id = n.id
     RETURNING a.id, a.balance_minor + n.cost AS balance, a.ledger_seq - n.entries AS ledger, a.sms_seq - n.sms AS sms,
       a.email_seq - n.email AS email, a.push_seq - n.push AS push, a.whatsapp_seq - n.whatsapp AS whatsapp,
       a.last_accepted_at AS accepted, n.asked
   ), message AS (
     INSERT INTO messages (id, account_id, seq, cost_minor, unit_price_minor, created_at, expires_at, scheduled_for,
       invalid_skipped, duplicates_removed, channel, environment, currency, api_key_id, user_id, sender, content,
       payload, bulk)
     SELECT n.id, a.id, n.place + CASE n.channel WHEN 'sms' THEN a.sms WHEN 'email' THEN a.email
         WHEN 'push' THEN a.push ELSE a.whatsapp END, n.cost, n.unit_price, a.accepted, n.expires_at, n.scheduled_for,
       n.invalid_skipped, n.duplicates_removed, n.channel, n.environment, n.currency, n.api_key_id, n.user_id, n.sender,
       n.content, n.payload, n.bulk
     FROM unnest($9::uuid[], $10::uuid[], $11::bigint[], $12::bigint[], $13::bigint[], $14::timestamptz[],
       $15::timestamptz[], $16::int[], $17::int[], $18::text[], $19::text[], $20::text[], $21::text[], $22::uuid[],
       $23::text[], $24::text[], $25::jsonb[], $26::jsonb[])
       AS n (id, account_id, place, cost, unit_price, expires_at, scheduled_for, invalid_skipped, duplicates_removed,
         channel, environment, currency, api_key_id, user_id, sender, content, payload, bulk)
     JOIN account a ON a.id = n.account_id ORDER BY n.place
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
     SELECT message_id, account_id, position, address, cost_minor, status, CASE status WHEN 'sent'
       THEN (SELECT accepted FROM account WHERE id = account_id) END, claimed, status = 'sent'
     FROM unnest($27::uuid[], $28::uuid[], $29::smallint[], $30::text[], $31::bigint[], $32::text[], $33::boolean[])
       AS n (message_id, account_id, position, address, cost_minor, status, claimed)
   ), entry AS (
     INSERT INTO ledger_entries (account_id, seq, amount_minor, balance_after_minor, message_id, kind, created_at)
     SELECT a.id, a.ledger + n.place, -n.cost, a.balance - n.total, n.message_id, 'charge', a.accepted
     FROM unnest($34::uuid[], $35::bigint[], $36::bigint[], $37::bigint[], $38::uuid[])
       AS n (account_id, place, cost, total, message_id)
     JOIN account a ON a.id = n.account_id ORDER BY n.place
   ), answer AS (
     INSERT INTO idempotency_records (account_id, environment, route, key, message_id, status_code, body, expires_at)
     SELECT a.id, n.environment, n.route, n.key, n.message_id, n.status_code, CASE a.accepted WHEN a.asked THEN n.body
         ELSE overlay(n.body PLACING to_char(a.accepted AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
           FROM strpos(n.body, $46::text) + length($46::text) FOR 24) END, a.accepted + interval '24 hours'
     FROM unnest($39::uuid[], $40::text[], $41::text[], $42::text[], $43::uuid[], $44::int[], $45::text[])
       AS n (account_id, environment, route, key, message_id, status_code, body)
     JOIN account a ON a.id = n.account_id
     ON CONFLICT (account_id, environment, route, key) DO UPDATE SET message_id = excluded.message_id,
       status_code = CASE WHEN idempotency_records.expires_at <= excluded.expires_at - interval '24 hours'
         THEN excluded.status_code ELSE ${refuse('a key was used before', 'excluded.account_id')} END,
       body = excluded.body, expires_at = excluded.expires_at
   )
   SELECT id, sms, email, push, whatsapp, accepted FROM account`,
);

/** What comes before the time in an answer's text: nothing that a sender chooses stands before it without a backslash. */
const BEFORE_TIME = '"createdAt":"';
/** What the stored answer to an accepted message is sent with. */
export const ACCEPTED_STATUS = 200;

/** What an account had come to before a batch, and when it accepted it. */
type Before = { readonly id: string; readonly accepted: Date } & Readonly<Record<Channel, number>>;

/** The answers to a batch's messages, and how they are had when its transaction has committed. */
export type Answers = Map<PreparedMessage, IntakeAnswer>;
export type AnswersLater = () => Promise<Answers>;

/** A message with the answer to it, as it is unless its account's clock was ahead. */
interface Answered extends PlacedMessage {
  readonly body: string;
}

/**
 * Writes all that accepting a batch comes to, in the transaction of `sql`: balances and counters, messages with their
 * recipients, ledger entries, usage and the answers that repeats of a request are given. Nothing is waited for: the
 * answers, in the order of the batch, can be had when the transaction has committed.
 */
export function writeAccepted(sql: Sql, batch: readonly PreparedMessage[]): AnswersLater {
  const { placed, shares } = placeBatch(batch);
  const answered = placed.map((each): Answered => ({ ...each, body: bodyOf(each, each.share.askedAt) }));
  const written = sql.send<Before>(WRITE, valuesOf(answered, shares));
  return async () => {
    const before = new Map((await written).map((row) => [row.id, row]));
    return new Map(answered.map((each) => [each.prepared, answerTo(each, before.get(each.share.accountId))]));
  };
}

/** Whether `writeAccepted` refused a batch as a whole. */
export function isRefused(error: unknown): boolean {
  return isNativeError(error) && 'code' in error && error.code === NOT_A_NUMBER;
}

/** What is answered before it is known what the account had come to. */
function bodyOf({ prepared, place }: PlacedMessage, acceptedAt: Date): string {
  return JSON.stringify(messageResource(acceptedMessage(prepared, place, acceptedAt)));
}

function answerTo(each: Answered, before: Before | undefined): IntakeAnswer {
  const { prepared, share, place } = each;
  if (!before) throw new Error(`account ${share.accountId} is not there`);
  const { accepted } = before;
  return {
    kind: 'accepted',
    message: acceptedMessage(prepared, before[prepared.channel] + place, accepted),
    body: accepted.getTime() === share.askedAt.getTime() ? each.body : bodyOf(each, accepted),
  };
}

function valuesOf(answered: readonly Answered[], shares: readonly AccountShare[]): unknown[] {
  const messages = answered.map(({ prepared }) => prepared);
  const recipients = messages.flatMap((message) =>
    message.recipients.map((recipient, position) => ({ message, recipient, position })),
  );
  const charged = answered.flatMap(({ prepared, charge }) => (charge ? [{ prepared, charge }] : []));
  const claimed = answered.flatMap(({ prepared, body }) =>
    prepared.idempotency ? [{ message: prepared, claim: prepared.idempotency, body }] : [],
  );
  return [
    shares.map(({ accountId }) => accountId),
    shares.map(({ costMinor }) => costMinor),
    shares.map(({ entries }) => entries),
    ...CHANNELS.map((channel) => shares.map((share) => share.messages[channel])),
    shares.map(({ askedAt }) => askedAt),
    messages.map((message) => message.id),
    messages.map((message) => message.accountId),
    answered.map(({ place }) => place),
    messages.map((message) => message.costMinor),
    messages.map((message) => message.unitPriceMinor),
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
    messages.map((message) => (message.bulk === null ? null : JSON.stringify(message.bulk))),
    recipients.map(({ message }) => message.id),
    recipients.map(({ message }) => message.accountId),
    recipients.map(({ position }) => position),
    recipients.map(({ recipient }) => recipient.address),
    recipients.map(({ recipient }) => recipient.costMinor),
    recipients.map(({ message }) => (message.environment === 'sandbox' ? 'sent' : 'pending')),
    // What is due at once is claimed from birth, which saves its worker a write; the rest can be canceled.
    recipients.map(({ message }) => message.scheduledFor === null),
    charged.map(({ prepared }) => prepared.accountId),
    charged.map(({ charge }) => charge.place),
    charged.map(({ prepared }) => prepared.costMinor),
    charged.map(({ charge }) => charge.totalMinor),
    charged.map(({ prepared }) => prepared.id),
    claimed.map(({ message }) => message.accountId),
    claimed.map(({ message }) => message.environment),
    claimed.map(({ claim }) => claim.route),
    claimed.map(({ claim }) => claim.key),
    claimed.map(({ message }) => message.id),
    claimed.map(() => ACCEPTED_STATUS),
    claimed.map(({ body }) => body),
    BEFORE_TIME,
  ];
}
