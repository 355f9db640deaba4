import { PREFIX_LENGTH } from '../../domain/messages/country.ts';
import type {
  DeferredRefund,
  LateAcceptance,
  RecipientKey,
  RefundStore,
} from '../../domain/ports/message-stores.ts';
import { type Sql, statement } from '../postgres/sql.ts';

const DEFER = statement(
  'refunds-defer',
  `INSERT INTO deferred_refunds (message_id, position, account_id, amount_minor, due_at)
   SELECT n.*, now() + $5 * interval '1 millisecond'
   FROM unnest($1::uuid[], $2::smallint[], $3::uuid[], $4::bigint[]) AS n (message_id, position, account_id, amount)`,
);
const TAKE_DUE = statement(
  'refunds-take-due',
  `DELETE FROM deferred_refunds WHERE (message_id, position) IN (
     SELECT message_id, position FROM deferred_refunds WHERE due_at <= now() ORDER BY due_at LIMIT $1
     FOR UPDATE SKIP LOCKED)
   RETURNING message_id, position, account_id, amount_minor`,
);
// Cancels deferred refunds of recipients that were accepted after all. The recipient stays `failed`, because a status
// never goes back. Its `sent_at` shows that it was accepted, so it is not refunded. Analytics count it with its
// provider.
const CANCEL = statement(
  'refunds-cancel',
  `WITH canceled AS (
     DELETE FROM deferred_refunds d
     USING unnest($1::uuid[], $2::smallint[], $3::timestamptz[], $4::text[], $5::text[])
       AS n (message_id, position, at, provider, sid)
     WHERE d.message_id = n.message_id AND d.position = n.position
     RETURNING d.message_id, d.position, n.at, n.provider, n.sid
   ), before AS (
     SELECT r.message_id, r.position, r.provider FROM canceled c
     JOIN recipients r ON r.message_id = c.message_id AND r.position = c.position
   ), accepted AS (
     UPDATE recipients r SET sent_at = c.at, provider = coalesce(c.provider, r.provider), sid = coalesce(c.sid, r.sid)
     FROM canceled c WHERE r.message_id = c.message_id AND r.position = c.position
     RETURNING r.message_id, r.position, r.address, r.status, r.error_code, r.cost_minor, r.provider
   ), counted AS (
     INSERT INTO analytics_deltas (account_id, slot, channel, environment, api_key_id, sender, status, prefix, provider,
       error_code, messages, recipients, cost_minor, refund_minor)
     SELECT m.account_id, date_bin('15 minutes', m.created_at, '2000-01-01T00:00Z'), m.channel, m.environment,
       coalesce(m.api_key_id, ''), m.sender, a.status,
       CASE WHEN m.channel IN ('sms', 'whatsapp') THEN left(a.address, ${PREFIX_LENGTH}) ELSE '' END, coalesce(state.provider, ''),
       coalesce(a.error_code, ''), 0, state.sign, state.sign * a.cost_minor, 0
     FROM accepted a JOIN before b USING (message_id, position) JOIN messages m ON m.id = a.message_id
     CROSS JOIN LATERAL (VALUES (b.provider, -1), (a.provider, 1)) AS state (provider, sign)
     WHERE b.provider IS DISTINCT FROM a.provider
   )
   SELECT message_id, position FROM accepted`,
);
const WITH_DEFERRED = statement(
  'refunds-of',
  'SELECT DISTINCT message_id FROM deferred_refunds WHERE message_id = ANY($1::uuid[])',
);

interface KeyRow {
  message_id: string;
  position: number;
}
interface RefundRow extends KeyRow {
  account_id: string;
  amount_minor: number;
}

/** Stores refunds that wait for 72 hours. A report that the carrier accepted the message cancels them (R218). */
export class PgRefundStore implements RefundStore {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async defer(refunds: readonly DeferredRefund[], delayMs: number): Promise<void> {
    if (refunds.length === 0) return;
    await this.#sql.execute(DEFER, [
      refunds.map((refund) => refund.messageId),
      refunds.map((refund) => refund.position),
      refunds.map((refund) => refund.accountId),
      refunds.map((refund) => refund.amountMinor),
      delayMs,
    ]);
  }

  async takeDue(limit: number): Promise<readonly DeferredRefund[]> {
    const rows = await this.#sql.query<RefundRow>(TAKE_DUE, [limit]);
    return rows.map((row) => ({
      ...keyOf(row),
      accountId: row.account_id,
      amountMinor: row.amount_minor,
    }));
  }

  async cancel(accepted: readonly LateAcceptance[]): Promise<readonly RecipientKey[]> {
    if (accepted.length === 0) return [];
    const rows = await this.#sql.query<KeyRow>(CANCEL, [
      accepted.map((each) => each.messageId),
      accepted.map((each) => each.position),
      accepted.map((each) => each.at),
      accepted.map((each) => each.provider),
      accepted.map((each) => each.sid),
    ]);
    return rows.map(keyOf);
  }

  async withDeferred(messageIds: readonly string[]): Promise<ReadonlySet<string>> {
    const rows = await this.#sql.query<KeyRow>(WITH_DEFERRED, [messageIds]);
    return new Set(rows.map((row) => row.message_id));
  }
}

const keyOf = (row: KeyRow): RecipientKey => ({ messageId: row.message_id, position: row.position });
