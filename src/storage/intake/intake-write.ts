import { isNativeError } from 'node:util/types';
import {
  type AccountShare,
  type PlacedMessage,
  placeBatch,
  type Shortage,
} from '../../domain/messages/batch-decision.ts';
import {
  acceptedMessage,
  CHANNELS,
  type Channel,
  type PreparedMessage,
} from '../../domain/messages/message.ts';
import { messageResource } from '../../domain/messages/message-resource.ts';
import type { SendAnswer } from '../../domain/ports/intake.ts';
import { BITMAP_OF_SEQ, BLOCK_OF_SEQ } from '../message-index/index.ts';
import { type Sql, statement } from '../postgres/sql.ts';
import { EARLIEST, LATEST } from './future-times.ts';
import { writeHolds } from './held-recipients.ts';
import { writeReviews } from './held-reviews.ts';
import { countMessages } from './limit-counts.ts';

/** The SQLSTATE that the SQL function `refuse_batch` raises (see migrations). */
const REFUSED = 'MG001';
/** SQL that makes the statement fail with REFUSED. PostgreSQL logs the reason, so it names only the account. */
const refuse = (reason: string, account: string) => `refuse_batch('account ' || ${account} || ': ${reason}')`;

/**
 * SQL for the columns that many messages of a batch share (key, environment, …), called their origin. Each origin is
 * sent once, and row `n` has only its number.
 */
const origin = {
  accountId: '($9::uuid[])[n.origin]',
  environment: '($10::text[])[n.origin]',
  currency: '($11::text[])[n.origin]',
  apiKeyId: '($12::text[])[n.origin]',
  userId: '($13::uuid[])[n.origin]',
  purpose: '($46::text[])[n.origin]',
};
/**
 * Separates the stored answers in one text parameter. JSON never contains this control character, so no answer needs
 * escaping.
 */
const BETWEEN_BODIES = '\u001e';
const BETWEEN_BODIES_SQL = `chr(${BETWEEN_BODIES.charCodeAt(0)})`;
/** SQL for the id of the message to which row `n` belongs. */
const MESSAGE_ID = '($14::uuid[])[n.message]';

/**
 * Accepts and charges a batch: `account` subtracts the cost from each balance, and `entry` writes the charges into the
 * ledger. `placeBatch` has added up the costs of each account. The statement is sent without knowing balances and
 * counters. It fails with REFUSED in these cases: a balance does not cover the batch, an idempotency key already has
 * an answer, the last message of an account has a time in the future, or the account moves to another cell. PostgreSQL's clock decides whether an answer
 * has expired. All messages of an account in the batch get the same acceptance time. This time never decreases while
 * message numbers grow. A stored answer contains it. Rows are inserted in the order of their numbers. In another
 * order, index pages would stay half empty.
 */
const WRITE = statement(
  'intake-write',
  `WITH account AS (
     UPDATE accounts a SET balance_minor = CASE
         WHEN a.moving IS NOT NULL THEN ${refuse('it moves to another cell', 'a.id')}
         WHEN a.balance_minor < n.cost THEN ${refuse('the balance does not cover a batch', 'a.id')}
         WHEN a.last_accepted_at > ${LATEST} THEN ${refuse('its last message is dated in the future', 'a.id')}
         ELSE a.balance_minor - n.cost END, ledger_seq = a.ledger_seq + n.entries,
       sms_seq = a.sms_seq + n.sms, email_seq = a.email_seq + n.email, push_seq = a.push_seq + n.push,
       whatsapp_seq = a.whatsapp_seq + n.whatsapp, last_accepted_at = greatest(a.last_accepted_at, ${EARLIEST}, least(n.asked, ${LATEST}))
     FROM unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[],
       $8::timestamptz[]) AS n (id, cost, entries, sms, email, push, whatsapp, asked)
     WHERE a.id = n.id
     RETURNING a.id, a.balance_minor + n.cost AS balance, a.ledger_seq - n.entries AS ledger, a.sms_seq - n.sms AS sms,
       a.email_seq - n.email AS email, a.push_seq - n.push AS push, a.whatsapp_seq - n.whatsapp AS whatsapp,
       a.last_accepted_at AS accepted, n.asked
   ), message AS (
     INSERT INTO messages (id, account_id, seq, cost_minor, unit_price_minor, created_at, expires_at, scheduled_for,
       invalid_skipped, duplicates_removed, suppressed_skipped, purpose, channel, environment, currency, api_key_id, user_id, sender, content,
       payload, bulk)
     SELECT n.id, a.id, n.place + CASE n.channel WHEN 'sms' THEN a.sms WHEN 'email' THEN a.email
         WHEN 'push' THEN a.push ELSE a.whatsapp END, n.cost, n.unit_price, a.accepted, n.expires_at, n.scheduled_for,
       n.invalid_skipped, n.duplicates_removed, n.suppressed_skipped, ${origin.purpose}, n.channel, ${origin.environment}, ${origin.currency},
       ${origin.apiKeyId}, ${origin.userId}, n.sender, n.content, n.payload, n.bulk
     FROM unnest($14::uuid[], $15::int[], $16::bigint[], $17::bigint[], $18::bigint[], $19::timestamptz[],
       $20::timestamptz[], $21::int[], $22::int[], $23::text[], $24::text[], $25::text[], $26::jsonb[], $27::jsonb[], $47::int[])
       AS n (id, origin, place, cost, unit_price, expires_at, scheduled_for, invalid_skipped, duplicates_removed,
         channel, sender, content, payload, bulk, suppressed_skipped)
     JOIN account a ON a.id = ${origin.accountId} ORDER BY n.place
     RETURNING account_id, seq, created_at, channel, environment, api_key_id, cost_minor
   ), usage AS (
     INSERT INTO usage_deltas (account_id, hour, channel, environment, status, api_key_id, block, bitmap, messages,
       cost_minor)
     SELECT account_id, date_trunc('hour', created_at, 'UTC'), channel, environment,
       CASE environment WHEN 'sandbox' THEN 'sent' ELSE 'pending' END, coalesce(api_key_id, ''), ${BLOCK_OF_SEQ},
       ${BITMAP_OF_SEQ}, count(*), sum(cost_minor)
     FROM message GROUP BY 1, 2, 3, 4, 5, 6, 7
   ), recipient AS (
     INSERT INTO recipients (message_id, account_id, position, address, cost_minor, status, sent_at, claimed)
     SELECT ${MESSAGE_ID}, ${origin.accountId}, position, address, cost, CASE WHEN is_sandbox THEN 'sent' ELSE 'pending' END,
       CASE WHEN is_sandbox THEN (SELECT accepted FROM account WHERE id = ${origin.accountId}) END, claimed
     FROM (
       SELECT *, ${origin.environment} = 'sandbox' AS is_sandbox
       FROM unnest($28::int[], $29::int[], $30::smallint[], $31::text[], $32::bigint[], $33::boolean[])
         AS n (message, origin, position, address, cost, claimed)
     ) AS n
   ), entry AS (
     INSERT INTO ledger_entries (account_id, seq, amount_minor, balance_after_minor, message_id, kind, created_at)
     SELECT a.id, a.ledger + n.place, -n.cost, a.balance - n.total, ${MESSAGE_ID}, 'charge', a.accepted
     FROM unnest($34::int[], $35::int[], $36::bigint[], $37::bigint[], $38::bigint[])
       AS n (message, origin, place, cost, total)
     JOIN account a ON a.id = ${origin.accountId} ORDER BY n.place
   ), answer AS (
     INSERT INTO idempotency_records (account_id, environment, route, key, message_id, status_code, body, expires_at)
     SELECT a.id, ${origin.environment}, n.route, n.key, ${MESSAGE_ID}, $44::int, CASE a.accepted WHEN a.asked THEN n.body
         ELSE overlay(n.body PLACING to_char(a.accepted AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
           FROM strpos(n.body, $45::text) + length($45::text) FOR 24) END, a.accepted + interval '24 hours'
     FROM unnest($39::int[], $40::int[], $41::text[], $42::text[], string_to_array($43::text, ${BETWEEN_BODIES_SQL}))
       AS n (message, origin, route, key, body)
     JOIN account a ON a.id = ${origin.accountId}
     ON CONFLICT (account_id, environment, route, key) DO UPDATE SET message_id = excluded.message_id,
       status_code = CASE WHEN idempotency_records.expires_at <= now()
         THEN excluded.status_code ELSE ${refuse('a key was used before', 'excluded.account_id')} END,
       body = excluded.body, expires_at = excluded.expires_at
   )
   SELECT id, sms, email, push, whatsapp, accepted FROM account`,
);

/**
 * The text that precedes the time in a stored answer. A sender's own text cannot contain it, because JSON puts a
 * backslash before each quote.
 */
const BEFORE_TIME = '"createdAt":"';
/** HTTP status of the stored answer to an accepted message. */
const ACCEPTED_STATUS = 200;

/** The counters of an account before the batch, and the acceptance time of the batch. */
type Before = { readonly id: string; readonly accepted: Date } & Readonly<Record<Channel, number>>;

/** The answer to a message that this batch accepted. */
export interface NewAnswer extends SendAnswer {
  readonly isReplay: false;
  /** Number of the message within its account and channel. */
  readonly seq: number;
}
/**
 * The decision about a message: accepted now, answered earlier (a repeated idempotency key), or refused for lack of
 * balance, by a limit, or because the account moves.
 */
export type Decision = NewAnswer | SendAnswer | Shortage | Moving;

/** The account is being moved to another cell (R503), or another cell has it (R507). */
export interface Moving {
  readonly moving: 'closed' | 'moved';
}

/** The decision about each message of a batch. */
export type Answers = Map<PreparedMessage, Decision>;
export type AnswersLater = () => Promise<Answers>;

/** A message with the body of its answer. The body changes only if the statement sets another acceptance time. */
interface Answered extends PlacedMessage {
  readonly body: string;
}

/**
 * Writes an accepted batch in the transaction of `sql`: balances, counters, messages, recipients, ledger entries,
 * usage, stored answers and the counts of limits. It only sends the statements and does not wait for the result. Call
 * the returned function after the commit to get the answers, in the order of the batch.
 */
export function writeAccepted(sql: Sql, batch: readonly PreparedMessage[]): AnswersLater {
  const { placed, shares } = placeBatch(batch);
  const answered = placed.map((each): Answered => ({ ...each, body: bodyOf(each, each.share.askedAt) }));
  const written = sql.send<Before>(WRITE, valuesOf(answered, shares));
  writeHolds(sql, batch);
  writeReviews(sql, batch);
  countMessages(sql, batch);
  return async () => {
    const before = new Map((await written).map((row) => [row.id, row]));
    return new Map(answered.map((each) => [each.prepared, answerTo(each, before.get(each.share.accountId))]));
  };
}

/** True if PostgreSQL refused a whole batch of `writeAccepted`. Nothing is written then. */
export function isRefused(error: unknown): boolean {
  return isNativeError(error) && 'code' in error && error.code === REFUSED;
}

/** Returns the body of the answer, before the numbers of the account are known. */
function bodyOf({ prepared, place }: PlacedMessage, acceptedAt: Date): string {
  return JSON.stringify(messageResource(acceptedMessage(prepared, place, acceptedAt)));
}

function answerTo(each: Answered, before: Before | undefined): NewAnswer {
  const { prepared, share, place } = each;
  if (!before) throw new Error(`account ${share.accountId} is not there`);
  const { accepted } = before;
  return {
    messageId: prepared.id,
    seq: before[prepared.channel] + place,
    body: accepted.getTime() === share.askedAt.getTime() ? each.body : bodyOf(each, accepted),
    isReplay: false,
  };
}

/**
 * Returns the parameters of WRITE. A value that many rows share is sent only once, because PostgreSQL parses each
 * character that it gets.
 */
function valuesOf(answered: readonly Answered[], shares: readonly AccountShare[]): unknown[] {
  const messages = answered.map(({ prepared }) => prepared);
  const { origins, originOf } = originsOf(messages);
  const numbered = answered.map((each, index) => {
    return { ...each, message: index + 1, origin: originOf[index] as number };
  });
  const recipients = numbered.flatMap(({ prepared, message, origin }) =>
    // A claimed recipient is submitted by a worker and cannot be canceled. A message that is due at once is claimed
    // here, which saves the worker an update. A recipient that waits for its time or for a review is claimed later.
    prepared.recipients.map(({ address, costMinor, heldUntil }, position) => {
      const isClaimed = prepared.scheduledFor === null && heldUntil === null && prepared.review === null;
      return { message, origin, position, address, costMinor, isClaimed };
    }),
  );
  const charged = numbered.flatMap(({ prepared, charge, message, origin }) =>
    charge ? [{ message, origin, costMinor: prepared.costMinor, ...charge }] : [],
  );
  const claimed = numbered.flatMap(({ prepared, body, message, origin }) =>
    prepared.idempotency ? [{ message, origin, body, ...prepared.idempotency }] : [],
  );
  return [
    shares.map(({ accountId }) => accountId),
    shares.map(({ costMinor }) => costMinor),
    shares.map(({ entries }) => entries),
    ...CHANNELS.map((channel) => shares.map((share) => share.messages[channel])),
    shares.map(({ askedAt }) => askedAt),
    origins.map(({ accountId }) => accountId),
    origins.map(({ environment }) => environment),
    origins.map(({ currency }) => currency),
    origins.map(({ apiKeyId }) => apiKeyId),
    origins.map(({ userId }) => userId),
    messages.map((message) => message.id),
    originOf,
    answered.map(({ place }) => place),
    messages.map((message) => message.costMinor),
    messages.map((message) => message.unitPriceMinor),
    messages.map((message) => message.expiresAt),
    messages.map((message) => message.scheduledFor),
    messages.map((message) => message.invalidSkipped),
    messages.map((message) => message.duplicatesRemoved),
    messages.map((message) => message.channel),
    messages.map((message) => message.from),
    messages.map((message) => message.content),
    messages.map((message) => (message.payload === null ? null : JSON.stringify(message.payload))),
    messages.map((message) => (message.bulk === null ? null : JSON.stringify(message.bulk))),
    recipients.map(({ message }) => message),
    recipients.map(({ origin }) => origin),
    recipients.map(({ position }) => position),
    recipients.map(({ address }) => address),
    recipients.map(({ costMinor }) => costMinor),
    recipients.map(({ isClaimed }) => isClaimed),
    charged.map(({ message }) => message),
    charged.map(({ origin }) => origin),
    charged.map(({ place }) => place),
    charged.map(({ costMinor }) => costMinor),
    charged.map(({ totalMinor }) => totalMinor),
    claimed.map(({ message }) => message),
    claimed.map(({ origin }) => origin),
    claimed.map(({ route }) => route),
    claimed.map(({ key }) => key),
    claimed.map(({ body }) => body).join(BETWEEN_BODIES),
    ACCEPTED_STATUS,
    BEFORE_TIME,
    origins.map(({ purpose }) => purpose),
    messages.map((message) => message.suppressedSkipped),
  ];
}

/** Returns the distinct origins of a batch, and for each message the number of its origin, counted from 1. */
function originsOf(messages: readonly PreparedMessage[]) {
  const numbers = new Map<string, number>();
  const origins: PreparedMessage[] = [];
  const originOf = messages.map((message) => {
    const { accountId, environment, currency, apiKeyId, userId, purpose } = message;
    const key = `${accountId} ${environment} ${currency} ${apiKeyId} ${userId} ${purpose}`;
    const known = numbers.get(key);
    if (known !== undefined) return known;
    numbers.set(key, origins.push(message));
    return origins.length;
  });
  return { origins, originOf };
}
