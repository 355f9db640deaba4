import { latencyBucket } from '../../domain/analytics/latency.ts';
import { PREFIX_LENGTH } from '../../domain/messages/country.ts';
import { dueAt, type Message, type MessageStatus } from '../../domain/messages/message.ts';
import type { CountedMove, CountedMoves, CountedRefund } from '../../domain/ports/analytics-store.ts';
import { type Sql, statement } from '../postgres/sql.ts';

const SLOT_MS = 15 * 60_000;
const ADD = statement(
  'analytics-add',
  `INSERT INTO analytics_deltas (account_id, slot, channel, environment, api_key_id, sender, status, prefix, provider,
     error_code, submit_bucket, report_bucket, messages, recipients, cost_minor, refund_minor)
   SELECT *, 0 FROM unnest($1::uuid[], $2::timestamptz[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[],
     $8::text[], $9::text[], $10::text[], $11::smallint[], $12::smallint[], $13::bigint[], $14::bigint[], $15::bigint[])`,
);
const REFUNDS = statement(
  'analytics-refunds',
  `INSERT INTO analytics_deltas (account_id, slot, channel, environment, api_key_id, sender, status, prefix, provider,
     error_code, messages, recipients, cost_minor, refund_minor)
   SELECT m.account_id, date_bin('15 minutes', m.created_at, '2000-01-01T00:00Z'), m.channel, m.environment,
     coalesce(m.api_key_id, ''), m.sender, r.status,
     CASE WHEN m.channel IN ('sms', 'whatsapp') THEN left(r.address, ${PREFIX_LENGTH}) ELSE '' END, coalesce(r.provider, ''),
     coalesce(r.error_code, ''), 0, 0, 0, sum(n.amount)
   FROM unnest($1::uuid[], $2::smallint[], $3::bigint[]) AS n (message_id, position, amount)
   JOIN messages m ON m.id = n.message_id
   JOIN recipients r ON r.message_id = n.message_id AND r.position = n.position
   GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10`,
);

interface Delta {
  readonly message: Message;
  readonly status: MessageStatus;
  readonly prefix: string;
  readonly provider: string;
  readonly errorCode: string;
  readonly submitBucket: number | null;
  readonly reportBucket: number | null;
  messages: number;
  recipients: number;
  costMinor: number;
}

/** Sums up status changes of messages and recipients, and stores the sums as deltas. */
export async function addMoves(sql: Sql, { statuses, moves }: CountedMoves): Promise<void> {
  if (moves.length === 0) return;
  const sums = new Map<string, Delta>();
  for (const { message, to } of statuses) {
    add(sums, { ...ofMessage(message), status: message.status, messages: -1 });
    add(sums, { ...ofMessage(message), status: to, messages: 1 });
  }
  for (const move of moves) {
    const [before, after] = statesOf(move);
    add(sums, before);
    add(sums, after);
  }
  const deltas = [...sums.values()];
  await sql.execute(ADD, [
    deltas.map(({ message }) => message.accountId),
    deltas.map(({ message }) => new Date(slotOf(message))),
    deltas.map(({ message }) => message.channel),
    deltas.map(({ message }) => message.environment),
    deltas.map(({ message }) => message.apiKeyId ?? ''),
    deltas.map(({ message }) => message.from),
    deltas.map(({ status }) => status),
    deltas.map(({ prefix }) => prefix),
    deltas.map(({ provider }) => provider),
    deltas.map(({ errorCode }) => errorCode),
    deltas.map(({ submitBucket }) => submitBucket),
    deltas.map(({ reportBucket }) => reportBucket),
    deltas.map(({ messages }) => messages),
    deltas.map(({ recipients }) => recipients),
    deltas.map(({ costMinor }) => costMinor),
  ]);
}

/** Stores refunds of recipients as deltas. */
export async function addRefunds(sql: Sql, refunds: readonly CountedRefund[]): Promise<void> {
  if (refunds.length === 0) return;
  await sql.execute(REFUNDS, [
    refunds.map(({ messageId }) => messageId),
    refunds.map(({ position }) => position),
    refunds.map(({ amountMinor }) => amountMinor),
  ]);
}

const slotOf = ({ createdAt }: Message) => Math.floor(createdAt.getTime() / SLOT_MS) * SLOT_MS;

function ofMessage(message: Message): Omit<Delta, 'status'> {
  const none = { prefix: '', provider: '', errorCode: '', submitBucket: null, reportBucket: null };
  return { message, ...none, messages: 0, recipients: 0, costMinor: 0 };
}

/**
 * Returns two deltas for a recipient's change of status. One subtracts what the recipient was counted as before, the
 * other adds what it counts as now.
 */
function statesOf({ message, move, moved }: CountedMove): [Delta, Delta] {
  const hasNumber = message.channel === 'sms' || message.channel === 'whatsapp';
  const of = { ...ofMessage(message), prefix: hasNumber ? moved.address.slice(0, PREFIX_LENGTH) : '' };
  const at = move.at.getTime();
  const due = Math.max(message.createdAt.getTime(), dueAt(message, moved).getTime());
  const isReport = move.from === 'sent' && moved.sentAt !== null;
  const submitBucket = move.to === 'sent' ? latencyBucket(at - due) : null;
  const reportBucket = isReport && moved.sentAt ? latencyBucket(at - moved.sentAt.getTime()) : null;
  const { costMinor } = moved;
  const provider = moved.provider ?? '';
  return [
    {
      ...of,
      status: move.from,
      provider: move.from === 'pending' ? '' : provider,
      recipients: -1,
      costMinor: -costMinor,
    },
    {
      ...of,
      status: move.to,
      provider,
      errorCode: move.error?.code ?? '',
      submitBucket,
      reportBucket,
      recipients: 1,
      costMinor,
    },
  ];
}

function add(sums: Map<string, Delta>, delta: Delta): void {
  const { message, status, prefix, provider, errorCode, submitBucket, reportBucket } = delta;
  const { accountId, channel, environment, apiKeyId, from } = message;
  const key = [
    accountId,
    slotOf(message),
    channel,
    environment,
    apiKeyId,
    status,
    prefix,
    provider,
    errorCode,
    submitBucket,
    reportBucket,
    from,
  ].join(' ');
  const sum = sums.get(key);
  if (!sum) {
    sums.set(key, delta);
    return;
  }
  sum.messages += delta.messages;
  sum.recipients += delta.recipients;
  sum.costMinor += delta.costMinor;
}
