import type { InboundMessage, InboundStore } from '../domain/ports/inbound-store.ts';
import { type Sql, statement } from './sql.ts';

const LAST_FROM = statement(
  'inbound-last-from',
  `SELECT sent_at FROM inbound_messages WHERE channel = $1 AND sender = $2 ORDER BY sent_at DESC LIMIT 1`,
);

/** Messages received on the gateway's own number. */
export class PgInboundStore implements InboundStore {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async add(messages: readonly (InboundMessage & { id: string; receivedAt: Date })[]): Promise<void> {
    if (messages.length === 0) return;
    await this.#sql
      .table('inbound_messages')
      .insert(
        messages.map((message) => ({
          id: message.id,
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
  }

  async lastFrom(channel: 'whatsapp', sender: string): Promise<Date | undefined> {
    const [row] = await this.#sql.query<{ sent_at: Date }>(LAST_FROM, [channel, sender]);
    return row?.sent_at;
  }
}
