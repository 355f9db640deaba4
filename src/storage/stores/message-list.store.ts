import { CHANNELS, type Channel, type Message, type Recipient } from '../../domain/messages/message.ts';
import type {
  ChannelCounter,
  MessageKey,
  MessageListFilter,
  MessageListStore,
} from '../../domain/ports/list-stores.ts';
import { countMatching, findBefore, type KeyRow, type SeqFilter } from '../message-index/index.ts';
import { containing } from '../postgres/like.ts';
import { type Sql, statement } from '../postgres/sql.ts';
import {
  MESSAGE_COLUMNS,
  type MessageRow,
  mapMessage,
  mapRecipient,
  RECIPIENT_COLUMNS,
  type RecipientRow,
  STATUS_OF_MESSAGE,
  WITH_RECIPIENTS,
} from './message-rows.ts';

const COUNTERS = statement(
  'list-message-counters',
  `SELECT c.channel, c.last, c.last - coalesce(r.removed_seq, 0) AS kept FROM accounts a
   CROSS JOIN LATERAL (VALUES ('sms', a.sms_seq), ('email', a.email_seq), ('push', a.push_seq),
     ('whatsapp', a.whatsapp_seq)) AS c (channel, last)
   LEFT JOIN message_retention r ON r.account_id = a.id AND r.channel = c.channel WHERE a.id = $1`,
);
const MATCHES = `m.account_id = $1 AND ($2::text IS NULL OR ${STATUS_OF_MESSAGE} = $2)
  AND ($3::text IS NULL OR m.environment = $3) AND ($4::timestamptz IS NULL OR m.created_at >= $4)
  AND ($5::timestamptz IS NULL OR m.created_at <= $5) AND ($6::text IS NULL OR m.api_key_id = $6)
  AND ($7::text IS NULL OR m.content ILIKE $7 OR m.sender ILIKE $7
    OR EXISTS (SELECT FROM recipients r WHERE r.message_id = m.id AND r.address ILIKE $7))`;
const NEWEST_KEYS = statement(
  'list-newest-keys',
  `SELECT f.* FROM unnest($2::text[], $3::bigint[]) AS c (channel, before) CROSS JOIN LATERAL (
     SELECT m.id, m.channel, m.seq, m.created_at FROM messages m
     WHERE m.account_id = $1 AND m.channel = c.channel AND m.seq < c.before ORDER BY m.seq DESC LIMIT $4
   ) f ORDER BY f.channel, f.seq DESC`,
);
const SNAPSHOT = statement('list-snapshot', 'SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY');
const NOTES = statement(
  'list-timeline-notes',
  `SELECT message_id, position, at, status, detail FROM timeline_notes
   WHERE account_id = $1 AND message_id = ANY($2::uuid[]) ORDER BY at, id`,
);
const FIND_MANY = statement(
  'list-messages',
  `SELECT ${MESSAGE_COLUMNS}, r.* FROM messages m ${WITH_RECIPIENTS}
   WHERE ${MATCHES} AND m.id = ANY($8::uuid[]) ORDER BY m.id`,
);
const RECIPIENTS = statement(
  'list-recipients',
  `SELECT ${RECIPIENT_COLUMNS} FROM recipients WHERE account_id = $1 AND message_id = ANY($2::uuid[])
   ORDER BY message_id, position`,
);
/** Lists of messages, and of the things that belong to many messages. */
export class PgMessageListStore implements MessageListStore {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async counters(accountId: string): Promise<ReadonlyMap<Channel, ChannelCounter>> {
    const rows = await this.#sql.queryOnDisk<ChannelCounter & { channel: Channel }>(COUNTERS, [accountId]);
    const counters = new Map(rows.map(({ channel, last, kept }) => [channel, { last, kept }]));
    return new Map(CHANNELS.map((channel) => [channel, counters.get(channel) ?? { last: 0, kept: 0 }]));
  }

  async keys(
    accountId: string,
    filter: MessageListFilter,
    before: ReadonlyMap<Channel, number>,
    limit: number,
  ): Promise<readonly MessageKey[]> {
    const { channel: _channel, ...narrowing } = filter;
    const isFiltered = Object.values(narrowing).some((value) => value !== undefined);
    const rows = isFiltered
      ? await this.#matchingKeys(accountId, filter, before, limit)
      : await this.#sql.query<KeyRow>(NEWEST_KEYS, [
          accountId,
          [...before.keys()],
          [...before.values()],
          limit,
        ]);
    return rows.map((row) => ({ id: row.id, channel: row.channel, seq: row.seq, createdAt: row.created_at }));
  }

  async #matchingKeys(
    accountId: string,
    filter: MessageListFilter,
    before: ReadonlyMap<Channel, number>,
    limit: number,
  ): Promise<readonly KeyRow[]> {
    const found = await this.#ofEach([...before], (sql, [channel, end]) =>
      findBefore(sql, accountId, channel, seqFilter(filter), end, limit),
    );
    return found.flat();
  }

  async count(accountId: string, filter: MessageListFilter): Promise<number> {
    const channels = filter.channel === undefined ? CHANNELS : [filter.channel];
    const counts = await this.#ofEach(channels, (sql, channel) =>
      countMatching(sql, accountId, channel, seqFilter(filter)),
    );
    return counts.reduce((total, count) => total + count, 0);
  }

  /** Reads all channels in one snapshot, with the statements sent together. */
  #ofEach<Asked, Found>(
    asked: readonly Asked[],
    read: (sql: Sql, asked: Asked) => Promise<Found>,
  ): Promise<Found[]> {
    return this.#sql.transaction(async (sql) => {
      await sql.execute(SNAPSHOT, []);
      return Promise.all(asked.map((one) => read(sql, one)));
    });
  }

  async findMany(
    accountId: string,
    ids: readonly string[],
    filter: MessageListFilter = {},
  ): Promise<readonly Message[]> {
    if (ids.length === 0) return [];
    const values = [...messageMatch(accountId, filter), ids];
    return (await this.#sql.queryOnDisk<MessageRow>(FIND_MANY, values)).map(mapMessage);
  }

  async recipients(accountId: string, messageIds: readonly string[]): Promise<readonly Recipient[]> {
    return (await this.#sql.queryOnDisk<RecipientRow>(RECIPIENTS, [accountId, messageIds])).map(mapRecipient);
  }

  async timelineNotes(accountId: string, messageIds: readonly string[]) {
    const rows = await this.#sql.queryOnDisk<{
      message_id: string;
      position: number;
      at: Date;
      status: string;
      detail: string;
    }>(NOTES, [accountId, messageIds]);
    return rows.map(({ message_id, ...note }) => ({ ...note, messageId: message_id }));
  }
}

function messageMatch(accountId: string, filter: MessageListFilter): unknown[] {
  return [
    accountId,
    filter.status ?? null,
    filter.environment ?? null,
    filter.from ?? null,
    filter.to ?? null,
    filter.apiKeyId ?? null,
    filter.search ? containing(filter.search) : null,
  ];
}

function seqFilter({ status, environment, apiKeyId, search, from, to }: MessageListFilter): SeqFilter {
  return { status, environment, apiKeyId, search: search || undefined, from, until: to };
}
