import type {
  InboundChannel,
  InboundStore,
  OwnedInboundMessage,
  StoredInbound,
  WhatsAppWrite,
} from '../../domain/ports/whatsapp.ts';
import { type Sql, statement } from '../postgres/sql.ts';

/** SQL for the hash under which a number stays after the retention deleted its messages (R533, R559). */
export const hashOfNumber = (number: string) => `sha256(convert_to(${number}, 'UTF8'))`;

const LAST_FROM = statement(
  'inbound-last-from',
  `SELECT sent_at FROM inbound_messages WHERE sender = $3 AND account_id = $1 AND channel = 'whatsapp' AND provider = $2
   ORDER BY sent_at DESC LIMIT 1`,
);
const TEXTS_AFTER = statement(
  'inbound-texts-after',
  `SELECT content FROM inbound_messages WHERE sender = $3 AND account_id = $1 AND channel = $2 
     AND (sent_at, id) > ($4::timestamptz, $5::uuid)
   ORDER BY sent_at DESC, id DESC LIMIT 50`,
);
const STORED = statement(
  'inbound-stored',
  'SELECT id, sid, account_id, sent_at FROM inbound_messages WHERE provider = $1 AND sid = ANY ($2::text[])',
);
// Looks into the index recipients_to once for each account. Only an index over all recipients, or a write with each
// SMS, could find the account sooner, and both would slow down sends. Replies such as STOP are rare. Confirmations of replies,
// which have neither key nor person, do not count.
const SMS_OWNER = statement(
  'inbound-sms-owner',
  `SELECT account_id FROM (
   SELECT m.account_id, m.sender, r.sent_at AS wrote_at FROM accounts a
   CROSS JOIN LATERAL (
     SELECT message_id, sent_at FROM recipients r
     WHERE hashtextextended(r.address, uuid_hash_extended(r.account_id, 0))
         = hashtextextended($1, uuid_hash_extended(a.id, 0))
       AND r.account_id = a.id AND r.address = $1 AND r.sent_at IS NOT NULL
     OFFSET 0
   ) r
   JOIN messages m ON m.id = r.message_id AND m.channel = 'sms' AND m.environment = 'production'
     AND (m.api_key_id IS NOT NULL OR m.user_id IS NOT NULL)
   WHERE a.moving IS DISTINCT FROM 'moved'
   UNION ALL SELECT account_id, sender, wrote_at FROM sms_writers WHERE number_hash = ${hashOfNumber('$1')}
   ) w ORDER BY sender = $2 DESC, wrote_at DESC LIMIT 1`,
);
// Writes rows in the order of numbers, so that two transactions with the same numbers do not deadlock.
const NOTE_WRITES = statement(
  'whatsapp-note-writes',
  `INSERT INTO whatsapp_writers AS w (number, account_id, message_id, wrote_at)
   SELECT DISTINCT ON (number) number, account_id, message_id, wrote_at
   FROM unnest($1::text[], $2::uuid[], $3::uuid[], $4::timestamptz[]) AS n (number, account_id, message_id, wrote_at)
   ORDER BY number, wrote_at DESC
   ON CONFLICT (number) DO UPDATE SET account_id = excluded.account_id, message_id = excluded.message_id,
     wrote_at = excluded.wrote_at
   WHERE w.wrote_at <= excluded.wrote_at`,
);
const LAST_WRITERS = statement(
  'whatsapp-last-writers',
  `SELECT n.number, w.account_id FROM (SELECT DISTINCT unnest($1::text[]) AS number) n
   CROSS JOIN LATERAL (
     SELECT account_id, wrote_at FROM whatsapp_writers WHERE number = n.number
     UNION ALL SELECT account_id, wrote_at FROM past_whatsapp_writers WHERE number_hash = ${hashOfNumber('n.number')}
     ORDER BY wrote_at DESC LIMIT 1) w`,
);

/**
 * Stores inbound messages. Also stores which account last wrote to a number, because a reply belongs to that account
 * (R205). The owner of an inbound SMS is found in the recipients (R380).
 */
export class PgInboundStore implements InboundStore {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async add(messages: readonly OwnedInboundMessage[]): Promise<ReadonlyMap<string, StoredInbound>> {
    const [first] = messages;
    if (first === undefined) return new Map();
    await this.#sql
      .table('inbound_messages')
      .insert(
        messages.map((message) => ({
          id: message.id,
          account_id: message.accountId,
          sent_at: message.sentAt,
          received_at: message.receivedAt,
          channel: message.channel,
          provider: message.provider,
          sid: message.sid,
          sender: message.sender,
          type: message.type,
          content: message.content,
        })),
      )
      .onConflict(['provider', 'sid'])
      .ignore();
    const rows = await this.#sql.query<{
      id: string;
      sid: string;
      account_id: string | null;
      sent_at: Date;
    }>(STORED, [first.provider, messages.map(({ sid }) => sid)]);
    return new Map(
      rows.map(({ id, sid, account_id, sent_at }) => [sid, { id, accountId: account_id, sentAt: sent_at }]),
    );
  }

  async smsOwner(number: string, from: string): Promise<string | undefined> {
    const [row] = await this.#sql.query<{ account_id: string }>(SMS_OWNER, [number, from]);
    return row?.account_id;
  }

  async lastFrom(accountId: string, provider: string, sender: string): Promise<Date | undefined> {
    const [row] = await this.#sql.query<{ sent_at: Date }>(LAST_FROM, [accountId, provider, sender]);
    return row?.sent_at;
  }

  async textsAfter(
    accountId: string,
    channel: InboundChannel,
    sender: string,
    { id, sentAt }: Pick<StoredInbound, 'id' | 'sentAt'>,
  ): Promise<readonly (string | null)[]> {
    const rows = await this.#sql.query<{ content: string | null }>(TEXTS_AFTER, [
      accountId,
      channel,
      sender,
      sentAt,
      id,
    ]);
    return rows.map(({ content }) => content);
  }

  async noteWrites(writes: readonly WhatsAppWrite[]): Promise<void> {
    if (writes.length === 0) return;
    await this.#sql.execute(NOTE_WRITES, [
      writes.map((write) => write.number),
      writes.map((write) => write.accountId),
      writes.map((write) => write.messageId),
      writes.map((write) => write.at),
    ]);
  }

  async lastWriters(numbers: readonly string[]): Promise<ReadonlyMap<string, string>> {
    if (numbers.length === 0) return new Map();
    const rows = await this.#sql.query<{ number: string; account_id: string }>(LAST_WRITERS, [numbers]);
    return new Map(rows.map((row) => [row.number, row.account_id]));
  }
}
