import type { Channel, Recipient } from '../../domain/messages/message.ts';
import {
  type ListedRecipient,
  type RecipientListFilter,
  type RecipientListStore,
  type RecipientPlace,
  SEARCH_REACH,
} from '../../domain/ports/list-stores.ts';
import { rangeOf, timesOf } from '../message-index/index.ts';
import { type Sql, type Statement, statement } from '../postgres/sql.ts';
import { mapRecipient, RECIPIENT_COLUMNS, type RecipientRow } from './message.store.ts';

interface ListedRow extends RecipientRow {
  channel: Channel;
  seq: number;
  created_at: Date;
  currency: string;
}

/**
 * SQL for a range of message numbers: above `above`, up to `up_to`. Parameters: $1 the account, $2 the channel, $3 the
 * time span, $4 the highest number. No index serves the status or provider of a recipient. So with `isBounded` the
 * range has only the newest `SEARCH_REACH` numbers.
 */
const messagesIn = (isBounded: boolean) => `WITH RECURSIVE ${rangeOf('$3')}, walked AS MATERIALIZED (
    SELECT least(up_to, $4::bigint) AS up_to,
      ${isBounded ? `greatest(above, least(up_to, $4::bigint) - ${SEARCH_REACH})` : 'above'} AS above
    FROM range)`;
/**
 * SQL for the range of message numbers from $4 on, in the same time span. It is not limited to `SEARCH_REACH` numbers.
 */
const MESSAGES_FROM = `WITH RECURSIVE ${rangeOf('$3')}, walked AS MATERIALIZED (
    SELECT up_to, greatest(above, $4::bigint - 1) AS above FROM range)`;
/** SQL for the conditions on the message. */
const OF_MESSAGE = `m.account_id = $1 AND m.channel = $2 AND m.seq > (SELECT above FROM walked)
  AND m.seq <= (SELECT up_to FROM walked) AND ($5::text IS NULL OR m.environment = $5)
  AND ($6::text IS NULL OR m.api_key_id = $6) AND ($7::text IS NULL OR m.sender = $7)`;
/** SQL for the conditions on the recipient. */
const OF_RECIPIENT = `($8::text[] IS NULL OR status = ANY ($8)) AND ($9::text IS NULL OR error_code = $9)
  AND ($10::text IS NULL OR provider = $10)`;
/** SQL for the recipients with the address $11. The expression must be the same as in the index recipients_to. */
const WITH_ADDRESS = `account_id = $1 AND address = $11 AND hashtextextended(address, uuid_hash_extended(account_id, 0))
  = hashtextextended($11, uuid_hash_extended($1::uuid, 0))`;

const recipients = (columns: string, where: string) =>
  `(SELECT ${columns} FROM recipients WHERE ${where} AND ${OF_RECIPIENT} OFFSET 0) r`;
/** SQL for the recipients, message by message. It must contain $11, so that both forms have the same parameters. */
const walked = (columns: string) => `FROM messages m CROSS JOIN LATERAL
    ${recipients(columns, 'recipients.message_id = m.id')} WHERE ${OF_MESSAGE} AND $11::text IS NULL`;
/** SQL for the recipients with one address. There are few of them, and an index finds them. */
const addressed = (columns: string) => `FROM ${recipients(columns, WITH_ADDRESS)}
  CROSS JOIN LATERAL (SELECT * FROM messages WHERE messages.id = r.message_id OFFSET 0) m WHERE ${OF_MESSAGE}`;

const SHOWN = 'r.*, m.channel, m.seq, m.created_at, m.currency';
/**
 * SQL for the end of the query for a page. The page has the recipients after position $12 of message number $4, and
 * then those of older messages.
 */
const PAGE = 'AND (m.seq < $4 OR r.position > $12::int) ORDER BY m.seq DESC, r.position LIMIT $13';
const WALK = statement(
  'recipient-walk',
  `${messagesIn(true)} SELECT ${SHOWN} ${walked(RECIPIENT_COLUMNS)} ${PAGE}`,
);
const ADDRESSED = statement(
  'recipient-addressed',
  `${messagesIn(false)} SELECT ${SHOWN} ${addressed(RECIPIENT_COLUMNS)} ${PAGE}`,
);
/**
 * SQL for a page that is read backward. It has the recipients before position $12 of the message $4, and then the
 * recipients of newer messages.
 */
const PAGE_BEFORE = 'AND (m.seq > $4 OR r.position < $12::int) ORDER BY m.seq, r.position DESC LIMIT $13';
const CLIMB = statement(
  'recipient-climb',
  `${MESSAGES_FROM} SELECT ${SHOWN} ${walked(RECIPIENT_COLUMNS)} ${PAGE_BEFORE}`,
);
const ADDRESSED_BEFORE = statement(
  'recipient-addressed-before',
  `${MESSAGES_FROM} SELECT ${SHOWN} ${addressed(RECIPIENT_COLUMNS)} ${PAGE_BEFORE}`,
);
const COUNTED = 'SELECT count(*) AS total';
const WALK_COUNT = statement('recipient-walk-count', `${messagesIn(true)} ${COUNTED} ${walked('1')}`);
const ADDRESSED_COUNT = statement(
  'recipient-addressed-count',
  `${messagesIn(false)} ${COUNTED} ${addressed('message_id')}`,
);

/** Lists the recipients of an account's messages. */
export class PgRecipientListStore implements RecipientListStore {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async list(
    accountId: string,
    filter: RecipientListFilter,
    after: ReadonlyMap<Channel, RecipientPlace>,
    limit: number,
  ): Promise<readonly ListedRecipient[]> {
    return this.#page(filter.address === undefined ? WALK : ADDRESSED, accountId, filter, after, limit);
  }

  async listBefore(
    accountId: string,
    filter: RecipientListFilter,
    before: ReadonlyMap<Channel, RecipientPlace>,
    limit: number,
  ): Promise<readonly ListedRecipient[]> {
    const page = filter.address === undefined ? CLIMB : ADDRESSED_BEFORE;
    return this.#page(page, accountId, filter, before, limit);
  }

  async #page(
    page: Statement,
    accountId: string,
    filter: RecipientListFilter,
    places: ReadonlyMap<Channel, RecipientPlace>,
    limit: number,
  ): Promise<readonly ListedRecipient[]> {
    const found = await this.#sql.snapshot((sql) =>
      Promise.all(
        [...places].map(([channel, { seq, position }]) =>
          sql.queryOnDisk<ListedRow>(page, [...asked(accountId, channel, filter, seq), position, limit]),
        ),
      ),
    );
    return found.flat().map(mapListed);
  }

  async count(accountId: string, filter: RecipientListFilter, channels: readonly Channel[]): Promise<number> {
    const count = filter.address === undefined ? WALK_COUNT : ADDRESSED_COUNT;
    const counts = await this.#sql.snapshot((sql) =>
      Promise.all(
        channels.map((channel) =>
          sql.queryOnDisk<{ total: number }>(count, asked(accountId, channel, filter, null)),
        ),
      ),
    );
    return counts.reduce((sum, [row]) => sum + (row?.total ?? 0), 0);
  }
}

/** Returns the parameters $1 to $11. */
function asked(
  accountId: string,
  channel: Channel,
  filter: RecipientListFilter,
  highest: number | null,
): unknown[] {
  return [
    accountId,
    channel,
    timesOf({ from: filter.from, until: filter.to }),
    highest,
    filter.environment ?? null,
    filter.apiKeyId ?? null,
    filter.sender ?? null,
    filter.status ?? null,
    filter.errorCode ?? null,
    filter.provider ?? null,
    filter.address ?? null,
  ];
}

function mapListed(row: ListedRow): ListedRecipient {
  const recipient: Recipient = mapRecipient(row);
  const { channel, seq, currency, created_at: createdAt } = row;
  return { ...recipient, id: row.message_id, channel, seq, createdAt, currency };
}
