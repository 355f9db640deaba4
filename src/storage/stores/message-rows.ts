import type { Environment } from '../../domain/caller.ts';
import type {
  Channel,
  Message,
  MessageStatus,
  Recipient,
  StatusReason,
} from '../../domain/messages/message.ts';
import type { MovedRecipient, StatusCounts } from '../../domain/ports/message-stores.ts';

export interface MessageRow {
  id: string;
  account_id: string;
  seq: number;
  channel: Channel;
  environment: Environment;
  status: MessageStatus;
  status_reason: StatusReason | null;
  sender: string;
  to: string[];
  sid: string | null;
  reached: number;
  delivered: number;
  failed: number;
  unregistered: number;
  read_at: Date | null;
  content: string;
  payload: Record<string, unknown> | null;
  cost_minor: number;
  unit_price_minor: number;
  currency: string;
  invalid_skipped: number;
  duplicates_removed: number;
  api_key_id: string | null;
  user_id: string | null;
  created_at: Date;
  scheduled_for: Date | null;
  expires_at: Date;
}

/** The message in a row of `MESSAGE_COLUMNS` with `WITH_RECIPIENTS`. */
export function mapMessage(row: MessageRow): Message {
  return {
    id: row.id,
    accountId: row.account_id,
    seq: row.seq,
    channel: row.channel,
    environment: row.environment,
    status: row.status,
    statusReason: row.status_reason,
    from: row.sender,
    to: row.to,
    sid: row.sid,
    tally: {
      reached: row.reached,
      failed: row.failed,
      unregistered: row.unregistered,
      readAt: row.read_at,
    },
    content: row.content,
    payload: row.payload,
    costMinor: row.cost_minor,
    unitPriceMinor: row.unit_price_minor,
    currency: row.currency,
    invalidSkipped: row.invalid_skipped,
    duplicatesRemoved: row.duplicates_removed,
    apiKeyId: row.api_key_id,
    userId: row.user_id,
    createdAt: row.created_at,
    scheduledFor: row.scheduled_for,
    expiresAt: row.expires_at,
  };
}

/** Number of the message's recipients in each status. */
export function countsOf({ to, reached, delivered, failed }: MessageRow): StatusCounts {
  return { pending: to.length - reached - failed, sent: reached - delivered, delivered, failed };
}

export interface RecipientRow {
  message_id: string;
  position: number;
  address: string;
  status: MessageStatus;
  cost_minor: number;
  provider: string | null;
  sid: string | null;
  error_code: string | null;
  error_message: string | null;
  sent_at: Date | null;
  delivered_at: Date | null;
  failed_at: Date | null;
  read_at: Date | null;
  claimed: boolean;
  refund_due_at: Date | null;
  attempts: number | null;
}

/** The recipient in a row of `RECIPIENT_COLUMNS`. */
export function mapRecipient(row: RecipientRow): Recipient {
  return {
    messageId: row.message_id,
    position: row.position,
    address: row.address,
    status: row.status,
    costMinor: row.cost_minor,
    provider: row.provider,
    sid: row.sid,
    error: row.error_code === null ? null : { code: row.error_code, message: row.error_message ?? '' },
    sentAt: row.sent_at,
    deliveredAt: row.delivered_at,
    failedAt: row.failed_at,
    readAt: row.read_at,
    isClaimed: row.claimed,
    refundDueAt: row.refund_due_at,
    attempts: row.attempts ?? 0,
  };
}

/** The recipient that a move returns. */
export function mapMoved(
  row: Pick<RecipientRow, 'message_id' | 'position' | 'address' | 'cost_minor' | 'sid'>,
): MovedRecipient {
  return {
    messageId: row.message_id,
    position: row.position,
    address: row.address,
    costMinor: row.cost_minor,
    sid: row.sid,
  };
}

/** Columns of `messages m`. */
export const MESSAGE_COLUMNS = `m.id, m.account_id, m.seq, m.channel, m.environment, m.status_reason, m.sender, m.content, m.payload, m.cost_minor, m.unit_price_minor, m.currency, m.invalid_skipped, m.duplicates_removed, m.api_key_id,
  m.user_id, m.created_at, m.scheduled_for, m.expires_at`;
/**
 * `messageStatus` (src/domain/messages/status.ts) in SQL, over rows of `recipients`. The status of a message is not
 * stored: its row is written once, and has no later versions.
 */
const STATUS = `CASE WHEN bool_or(status = 'pending') THEN 'pending' WHEN bool_or(status = 'sent') THEN 'sent'
      WHEN bool_or(status = 'delivered') THEN 'delivered' ELSE 'failed' END`;
/** The status of `messages m`, for conditions. */
export const STATUS_OF_MESSAGE = `(SELECT ${STATUS} FROM recipients WHERE message_id = m.id)`;
/** What a message shows of its recipients. */
const OF_RECIPIENTS = `${STATUS} AS status, array_agg(address ORDER BY position) AS "to",
      (array_agg(sid ORDER BY position) FILTER (WHERE sid IS NOT NULL))[1] AS sid,
      count(*) FILTER (WHERE status IN ('sent', 'delivered')) AS reached,
      count(*) FILTER (WHERE status = 'delivered') AS delivered,
      count(*) FILTER (WHERE status = 'failed') AS failed,
      count(*) FILTER (WHERE error_code = 'unregistered') AS unregistered, min(read_at) AS read_at`;
/** Joins the recipients to `messages m`. */
export const WITH_RECIPIENTS = `CROSS JOIN LATERAL (
    SELECT ${OF_RECIPIENTS}
    FROM recipients WHERE message_id = m.id) r`;
/** The messages with these ids, in any order. Recipients are scanned once, not for each message. */
export const MESSAGES_BY_IDS = `SELECT ${MESSAGE_COLUMNS},
    r.status, r."to", r.sid, r.reached, r.delivered, r.failed, r.unregistered, r.read_at
  FROM (
    SELECT message_id, ${OF_RECIPIENTS}
    FROM recipients WHERE message_id = ANY($1::uuid[]) GROUP BY message_id) r
  CROSS JOIN LATERAL (SELECT * FROM messages WHERE id = r.message_id OFFSET 0) m`;
export const RECIPIENT_COLUMNS = `message_id, position, address, status, cost_minor, provider, sid, error_code,
  error_message, sent_at, delivered_at, failed_at, read_at, claimed, attempts,
  (SELECT due_at FROM deferred_refunds d
   WHERE d.message_id = recipients.message_id AND d.position = recipients.position) AS refund_due_at`;
