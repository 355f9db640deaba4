import type { Environment, Visibility } from '../../domain/caller.ts';
import type { Channel } from '../../domain/messages/message.ts';
import type { KeyRange, Page, PageRequest } from '../../domain/paging.ts';
import type {
  ErasureStore,
  MessageErasure,
  PersonalMessage,
  PersonScope,
  StoredAnswer,
} from '../../domain/ports/erasure-store.ts';
import type { ErasableEvent } from '../../domain/ports/sweep-stores.ts';
import { ERASED } from '../../domain/recipients/erase-content.ts';
import {
  type ErasedCounts,
  type Erasure,
  type ErasureMark,
  type ErasureStep,
  type ErasureWork,
  NOTHING_ERASED,
} from '../../domain/recipients/erasure.ts';
import {
  type AddressKind,
  addressesOfKind,
  type TargetAddress,
} from '../../domain/recipients/personal-address.ts';
import { HASHED_PREFIX } from '../../domain/suppressions/suppression.ts';
import { STATUS_OF_MESSAGE } from '../message-index/index.ts';
import { type Sql, statement } from '../postgres/sql.ts';
import { whereVisible } from './account-rows.ts';
import { eraseEvents } from './event.store.ts';
import { hashOfNumber } from './inbound.store.ts';

export interface ErasureRow {
  id: string;
  account_id: string;
  created_at: Date;
  done_at: Date | null;
  audit_seq: number;
  done_audit_seq: number | null;
  environment: Environment | null;
  kind: AddressKind;
  address_hash: string;
  reason: string;
  requested_by: string;
  counts: Partial<ErasedCounts>;
}
interface WorkRow extends ErasureRow {
  step: ErasureStep;
  targets: TargetAddress[] | null;
  mark: ErasureMark | null;
}

export const ERASURE_COLUMNS = [
  'id',
  'account_id',
  'created_at',
  'done_at',
  'audit_seq',
  'done_audit_seq',
  'environment',
  'kind',
  'address_hash',
  'reason',
  'requested_by',
  'counts',
] as const;

export function erasureOf(row: ErasureRow): Erasure {
  return {
    id: row.id,
    accountId: row.account_id,
    environment: row.environment,
    kind: row.kind,
    addressHash: row.address_hash,
    reason: row.reason,
    requestedBy: row.requested_by,
    createdAt: row.created_at,
    doneAt: row.done_at,
    erased: { ...NOTHING_ERASED, ...row.counts },
    auditSequence: row.audit_seq,
    doneAuditSequence: row.done_audit_seq,
  };
}

const INSERT = statement(
  'erasure-insert',
  `INSERT INTO erasures (id, account_id, created_at, retry_at, audit_seq, environment, kind, address_hash, reason,
     requested_by, step, targets, mark)
   VALUES ($1, $2, $3, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
);
const FIND_OPEN = statement(
  'erasure-find-open',
  `SELECT ${ERASURE_COLUMNS.join(', ')} FROM erasures
   WHERE account_id = $1 AND environment IS NOT DISTINCT FROM $2 AND address_hash = $3 AND done_at IS NULL LIMIT 1`,
);
const DUE = statement(
  'erasure-due',
  `SELECT id, account_id FROM (
     SELECT e.id, e.account_id, e.retry_at, row_number() OVER (PARTITION BY e.account_id ORDER BY e.id) AS place
     FROM erasures e JOIN accounts a ON a.id = e.account_id
     WHERE e.done_at IS NULL AND e.retry_at <= $1 AND a.moving IS NULL) d
   ORDER BY place, retry_at, id LIMIT $2`,
);
const CLAIM = statement(
  'erasure-claim',
  `SELECT ${ERASURE_COLUMNS.join(', ')}, step, targets, mark FROM erasures
   WHERE id = $1 AND done_at IS NULL FOR UPDATE SKIP LOCKED`,
);
const SAVE = statement(
  'erasure-save',
  'UPDATE erasures SET step = $2, mark = $3, counts = $4, retry_at = $5 WHERE id = $1',
);
const POSTPONE = statement('erasure-postpone', 'UPDATE erasures SET retry_at = $2 WHERE id = $1');
const FINISH = statement(
  'erasure-finish',
  `UPDATE erasures SET step = 'done', mark = NULL, targets = NULL, done_at = $2, done_audit_seq = $3 WHERE id = $1`,
);

/** SQL that finds recipients by their exact address, with the index recipients_to. $1 is the account, $2 the addresses. */
const TO_THEM = `hashtextextended(r.address, uuid_hash_extended(r.account_id, 0)) = ANY (ARRAY(
     SELECT hashtextextended(a, uuid_hash_extended($1::uuid, 0)) FROM unnest($2::text[]) AS a))
   AND r.account_id = $1 AND r.address = ANY ($2::text[])`;
/** SQL that finds push messages by the users and devices $3 in their payload, with the index messages_push_to. */
const PUSHED_TO_THEM = `unnest($3::text[]) AS named (id)
   JOIN messages m ON (coalesce(m.payload -> 'userIds', '[]') || coalesce(m.payload -> 'deviceIds', '[]'))
       @> to_jsonb(named.id) AND m.account_id = $1 AND m.channel = 'push'`;
const IN_SCOPE = '($4::text IS NULL OR m.environment = $4) AND m.created_at <= $5';
const PENDING = statement(
  'erasure-pending',
  `SELECT count(*) AS count, coalesce((array_agg(id ORDER BY id))[1:$6], '{}') AS ids FROM (
     SELECT m.id FROM recipients r JOIN messages m ON m.id = r.message_id
     WHERE ${TO_THEM} AND r.status = 'pending' AND ${IN_SCOPE}
     UNION
     SELECT m.id FROM ${PUSHED_TO_THEM}
     WHERE ${IN_SCOPE} AND EXISTS (SELECT FROM recipients r WHERE r.message_id = m.id AND r.status = 'pending')) AS p`,
);
const MESSAGES_AFTER = statement(
  'erasure-messages-after',
  `SELECT id FROM (
     SELECT m.id FROM recipients r JOIN messages m ON m.id = r.message_id
     WHERE ${TO_THEM} AND r.message_id > $6 AND ${IN_SCOPE}
     UNION
     SELECT m.id FROM ${PUSHED_TO_THEM} WHERE m.id > $6 AND ${IN_SCOPE}) AS found
   ORDER BY id LIMIT $7`,
);
const EMAILS_AFTER = statement(
  'erasure-emails-after',
  `SELECT m.seq, CASE WHEN ($4::text IS NULL OR m.environment = $4) AND m.created_at <= $5 AND (
       EXISTS (SELECT FROM recipients r WHERE r.message_id = m.id AND lower(r.address) = ANY ($3::text[]))
       OR EXISTS (SELECT FROM jsonb_array_elements_text(
           coalesce(m.payload -> 'cc', '[]') || coalesce(m.payload -> 'bcc', '[]') || coalesce(m.payload -> 'replyTo', '[]'))
         AS copy (address) WHERE lower(copy.address) = ANY ($3::text[])))
     THEN m.id END AS id
   FROM messages m WHERE m.account_id = $1 AND m.channel = 'email' AND m.seq > $2 ORDER BY m.seq LIMIT $6`,
);
const LIST = statement(
  'erasure-list',
  'INSERT INTO erasure_messages (erasure_id, message_id) SELECT $1, * FROM unnest($2::uuid[]) ON CONFLICT DO NOTHING',
);
const MESSAGE_COLUMNS = `m.id, m.channel, m.content, m.payload, ${STATUS_OF_MESSAGE} AS status,
     m.seq <= coalesce((SELECT CASE m.channel WHEN 'sms' THEN a.sms_seq WHEN 'email' THEN a.email_seq
       WHEN 'push' THEN a.push_seq ELSE a.whatsapp_seq END FROM analytics_marks a WHERE a.account_id = m.account_id), 0)
       AS is_counted`;
const LISTED = statement(
  'erasure-listed',
  `SELECT ${MESSAGE_COLUMNS} FROM erasure_messages e JOIN messages m ON m.id = e.message_id
   WHERE e.erasure_id = $1 AND e.message_id > $2 ORDER BY e.message_id LIMIT $3 FOR NO KEY UPDATE OF m SKIP LOCKED`,
);
const READ_MESSAGES = statement(
  'erasure-read-messages',
  `SELECT ${MESSAGE_COLUMNS} FROM messages m WHERE m.account_id = $1 AND m.id = ANY ($2::uuid[]) ORDER BY m.id`,
);
const RECIPIENTS = statement(
  'erasure-recipients',
  `SELECT message_id, position, address FROM recipients WHERE message_id = ANY ($1::uuid[]) ORDER BY message_id, position`,
);
const UNLIST = statement(
  'erasure-unlist',
  'DELETE FROM erasure_messages WHERE erasure_id = $1 AND message_id = ANY ($2::uuid[])',
);
// A message that retention has deleted needs no erasure.
const COUNT_LISTED = statement(
  'erasure-count-listed',
  `WITH gone AS (
     DELETE FROM erasure_messages e WHERE e.erasure_id = $1
       AND NOT EXISTS (SELECT FROM messages m WHERE m.id = e.message_id)
   )
   SELECT count(*) AS count FROM erasure_messages e JOIN messages m ON m.id = e.message_id WHERE e.erasure_id = $1`,
);
const THEIRS = 'unnest($1::uuid[], $2::smallint[]) AS t (message_id, position)';
// The sids go, so that a report that comes now matches nothing. The reports that came before their sids go, too.
const ERASE_RECIPIENTS = statement(
  'erasure-recipients-erase',
  `WITH addressed AS (
     UPDATE recipients r SET address = '${ERASED}', sid = NULL, error_message = NULL FROM ${THEIRS}
     WHERE r.message_id = ANY ($1::uuid[]) AND r.message_id = t.message_id AND r.position = t.position
   ), noted AS (
     UPDATE timeline_notes n SET detail = '' FROM ${THEIRS}
     WHERE n.message_id = ANY ($1::uuid[]) AND n.message_id = t.message_id AND n.position = t.position
   ), sids AS (
     DELETE FROM provider_sids s USING ${THEIRS}
     WHERE s.message_id = ANY ($1::uuid[]) AND s.message_id = t.message_id AND s.position = t.position
     RETURNING s.sid_key
   ), reported AS (
     DELETE FROM unmatched_reports WHERE sid_keys && ARRAY(SELECT sid_key FROM sids) RETURNING 1
   )
   SELECT count(*) AS count FROM reported`,
);
// A block is a number without its last three digits (R392).
const ERASE_MESSAGES = statement(
  'erasure-messages-erase',
  `WITH reviewed AS (
     UPDATE held_reviews SET block = '' WHERE message_id = ANY ($1::uuid[]) AND decided_at IS NOT NULL
   )
   UPDATE messages m SET payload = n.payload, content = CASE WHEN n.is_whole THEN '' ELSE m.content END,
     bulk = CASE WHEN n.is_whole THEN NULL ELSE m.bulk END
   FROM unnest($1::uuid[], $2::jsonb[], $3::boolean[]) AS n (id, payload, is_whole)
   WHERE m.id = n.id`,
);
// Reads keys in their order, and the bodies of the few that match. There is no index by message: writing it would slow
// down each send.
const ANSWERS_AFTER = statement(
  'erasure-answers-after',
  `SELECT i.environment, i.route, i.key, CASE WHEN e.message_id IS NULL THEN NULL ELSE i.body END AS body
   FROM (
     SELECT environment, route, key, message_id, body FROM idempotency_records
     WHERE account_id = $2 AND (environment, route, key) > ($3, $4, $5)
     ORDER BY account_id, environment, route, key LIMIT $6
   ) AS i
   LEFT JOIN erasure_messages e ON e.erasure_id = $1 AND e.message_id = i.message_id
   ORDER BY i.environment, i.route, i.key`,
);
const REPLACE_ANSWERS = statement(
  'erasure-replace-answers',
  `UPDATE idempotency_records i SET body = n.body
   FROM unnest($2::text[], $3::text[], $4::text[], $5::text[]) AS n (environment, route, key, body)
   WHERE i.account_id = $1 AND i.environment = n.environment AND i.route = n.route AND i.key = n.key`,
);
const FORGET_REPLIES = statement(
  'erasure-forget-replies',
  `DELETE FROM idempotency_records i
   USING unnest($2::text[]) AS p (phone), unnest(ARRAY['stop', 'start', 'help']) AS w (word),
     unnest(ARRAY['sms-reply', 'whatsapp-reply']) AS c (route)
   WHERE i.account_id = $1 AND i.environment = 'production' AND i.route = c.route AND i.key = w.word || ' ' || p.phone`,
);
const REMOVE_INBOUND = statement(
  'erasure-remove-inbound',
  `WITH written AS (
     DELETE FROM whatsapp_writers WHERE number = ANY ($2::text[]) AND account_id = $1
   ), noted_whatsapp AS (
     DELETE FROM past_whatsapp_writers WHERE account_id = $1
       AND number_hash = ANY (ARRAY(SELECT ${hashOfNumber('p')} FROM unnest($2::text[]) AS p))
   ), noted AS (
     DELETE FROM sms_writers WHERE account_id = $1
       AND number_hash = ANY (ARRAY(SELECT ${hashOfNumber('p')} FROM unnest($2::text[]) AS p))
   )
   DELETE FROM inbound_messages WHERE id = ANY (ARRAY(
     SELECT id FROM inbound_messages WHERE sender = ANY ($2::text[]) AND account_id = $1 LIMIT $3 FOR UPDATE SKIP LOCKED))
   RETURNING 1`,
);
const REMOVE_DEVICES = statement(
  'erasure-remove-devices',
  `DELETE FROM devices WHERE id = ANY (ARRAY(
     SELECT id FROM devices WHERE account_id = $1 AND user_id = ANY ($2::text[])
       AND ($3::text IS NULL OR environment = $3) LIMIT $4)) RETURNING 1`,
);
// A hashed suppression of an earlier erasure takes over the wider scope.
const HASH_SUPPRESSIONS = statement(
  'erasure-hash-suppressions',
  `WITH plain AS (
     DELETE FROM suppressions WHERE account_id = $1 AND address = ANY ($2::text[])
       AND ($4::text IS NULL OR environment = $4) RETURNING *
   )
   INSERT INTO suppressions (id, account_id, created_at, environment, channel, scope, source, address, earlier_source)
   SELECT p.id, p.account_id, p.created_at, p.environment, p.channel, p.scope, p.source, '${HASHED_PREFIX}' || h.hash,
     p.earlier_source
   FROM plain p JOIN unnest($2::text[], $3::text[]) AS h (address, hash) ON h.address = p.address
   ON CONFLICT (account_id, environment, channel, address) DO UPDATE
     SET scope = CASE WHEN excluded.scope = 'all' THEN 'all' ELSE suppressions.scope END,
       source = CASE WHEN suppressions.source = 'stop' AND excluded.scope = 'all' THEN excluded.source
         ELSE suppressions.source END
   RETURNING 1`,
);
const FORGET_NUMBERS = statement(
  'erasure-forget-numbers',
  `WITH own AS (
     SELECT n.ctid, n.hour FROM send_limits l JOIN send_limit_numbers n ON n.limit_id = l.id
     WHERE l.account_id = $1 AND n.address = ANY ($2::text[])
   ), gone AS (
     DELETE FROM send_limit_numbers WHERE ctid = ANY (ARRAY(SELECT ctid FROM own WHERE hour < $3)) AND hour < $3
     RETURNING 1
   ), pumped AS (
     DELETE FROM pumping_numbers p USING unnest($2::text[]) AS n (address)
     WHERE p.account_id = $1 AND p.block = left(n.address, -3) AND p.ending = right(n.address, 3)
   )
   SELECT (SELECT count(*) FROM gone) AS forgotten, (SELECT count(*) FROM own WHERE hour >= $3) AS left`,
);
/**
 * Common table expressions: `own` are the cells of an account's imports, `lines` the rows among them that name the person.
 * Cells are compared by their last nine digits, because they are as the file had them.
 */
export const LINES_OF_PERSON = `own AS (
     SELECT f.* FROM contact_imports i JOIN contact_import_faults f ON f.import_id = i.id
     WHERE i.account_id = $1 AND ($2::text IS NULL OR i.environment = $2) AND f.value IS NOT NULL
   ), lines AS (
     SELECT DISTINCT import_id, line FROM own
     WHERE lower(btrim(value)) = ANY ($3::text[]) OR right(regexp_replace(value, '[^0-9]', '', 'g'), 9) = ANY ($4::text[])
   )`;
const ERASE_IMPORT_FAULTS = statement(
  'erasure-import-faults',
  `WITH ${LINES_OF_PERSON}
   UPDATE contact_import_faults f SET value = NULL FROM lines l
   WHERE f.import_id = l.import_id AND f.line = l.line AND f.value IS NOT NULL RETURNING 1`,
);
const ERASE_REQUEST_BODIES = statement(
  'erasure-request-bodies',
  `UPDATE api_requests SET full_request_body = NULL, full_response_body = NULL WHERE id = ANY (ARRAY(
     SELECT id FROM api_requests WHERE (full_request_body IS NOT NULL OR full_response_body IS NOT NULL)
       AND account_id = $1 AND ($2::text IS NULL OR environment = $2) AND at <= $3 LIMIT $4)) RETURNING 1`,
);
const UNFINISHED_IMPORTS = statement(
  'erasure-unfinished-imports',
  `SELECT count(*) AS count FROM contact_imports
   WHERE account_id = $1 AND ($2::text IS NULL OR environment = $2) AND finished_at IS NULL AND created_at <= $3`,
);
const HASH_KEY = statement(
  'address-hash-key',
  `SELECT sealed FROM (
     SELECT 1 AS place, sealed FROM account_hash_keys WHERE account_id = $1
     UNION ALL SELECT 2, sealed FROM address_hash_key) k ORDER BY place LIMIT 1`,
);
const ERASING = statement(
  'erasure-erasing',
  `SELECT e.account_id, coalesce(k.sealed, (SELECT sealed FROM address_hash_key)) AS sealed
   FROM (SELECT DISTINCT account_id FROM erasures WHERE environment IS DISTINCT FROM 'sandbox') e
   LEFT JOIN account_hash_keys k ON k.account_id = e.account_id
   WHERE k.sealed IS NOT NULL OR EXISTS (SELECT FROM address_hash_key)`,
);
const WHO_ERASED = statement(
  'erasure-who-erased',
  `SELECT DISTINCT e.account_id FROM erasures e
   JOIN unnest($1::uuid[], $2::text[]) AS n (account_id, hash) ON e.account_id = n.account_id AND e.address_hash = n.hash
   JOIN accounts a ON a.id = e.account_id AND a.moving IS NULL
   WHERE e.kind = 'phone' AND e.environment IS DISTINCT FROM 'sandbox'`,
);
const HASH_KEYS = statement(
  'address-hash-keys',
  'SELECT sealed FROM address_hash_key UNION SELECT sealed FROM account_hash_keys',
);
const ADD_HASH_KEY = statement(
  'address-hash-key-add',
  'INSERT INTO address_hash_key (sealed) VALUES ($1) ON CONFLICT DO NOTHING',
);
const REPLACE_HASH_KEY = statement(
  'address-hash-key-replace',
  `WITH brought AS (UPDATE account_hash_keys SET sealed = $2 WHERE sealed = $1)
   UPDATE address_hash_key SET sealed = $2 WHERE sealed = $1`,
);

/** Length of the end by which numbers in imported files are compared. A Ugandan number has nine national digits. */
const COMPARED_DIGITS = 9;

interface MessageRow {
  id: string;
  channel: Channel;
  content: string;
  payload: Record<string, unknown> | null;
  status: string;
  is_counted: boolean;
}
interface Counted {
  count: number;
}

/** Stores erasures, and erases the data of one person (R490, R491). */
export class PgErasureStore implements ErasureStore {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async insert(work: ErasureWork): Promise<void> {
    const { id, accountId, createdAt, auditSequence, environment, kind, addressHash, reason, requestedBy } =
      work;
    const { step, targets, mark } = work;
    const values = [
      id,
      accountId,
      createdAt,
      auditSequence,
      environment,
      kind,
      addressHash,
      reason,
      requestedBy,
    ];
    await this.#sql.execute(INSERT, [...values, step, JSON.stringify(targets), mark && JSON.stringify(mark)]);
  }

  async find(visibility: Visibility, id: string): Promise<Erasure | undefined> {
    const row: ErasureRow | undefined = await this.#visible(visibility)
      .where({ id })
      .first(...ERASURE_COLUMNS);
    return row && erasureOf(row);
  }

  async findOpen(accountId: string, environment: Environment | null, addressHash: string) {
    const [row] = await this.#sql.query<ErasureRow>(FIND_OPEN, [accountId, environment, addressHash]);
    return row && erasureOf(row);
  }

  async page(visibility: Visibility, { page, limit }: PageRequest): Promise<Page<Erasure>> {
    const rows: ErasureRow[] = await this.#visible(visibility)
      .select(...ERASURE_COLUMNS)
      .orderBy('id', 'desc')
      .limit(limit)
      .offset((page - 1) * limit);
    return { rows: rows.map(erasureOf), total: await this.count(visibility) };
  }

  async slice(visibility: Visibility, { limit, after }: KeyRange): Promise<readonly Erasure[]> {
    const matching = this.#visible(visibility).orderBy('id', 'desc').limit(limit);
    if (after !== undefined) matching.where('id', '<', after);
    const rows: ErasureRow[] = await matching.select(...ERASURE_COLUMNS);
    return rows.map(erasureOf);
  }

  count(visibility: Visibility): Promise<number> {
    return this.#sql.count(this.#visible(visibility));
  }

  async due(now: Date, limit: number) {
    const rows = await this.#sql.query<Pick<ErasureRow, 'id' | 'account_id'>>(DUE, [now, limit]);
    return rows.map(({ id, account_id: accountId }) => ({ id, accountId }));
  }

  async claim(id: string): Promise<ErasureWork | undefined> {
    const [row] = await this.#sql.query<WorkRow>(CLAIM, [id]);
    return row && { ...erasureOf(row), step: row.step, mark: row.mark, targets: row.targets ?? [] };
  }

  async save(
    { id, step, mark, erased }: Pick<ErasureWork, 'id' | 'step' | 'mark' | 'erased'>,
    at: Date,
  ): Promise<void> {
    await this.#sql.execute(SAVE, [id, step, mark && JSON.stringify(mark), JSON.stringify(erased), at]);
  }

  async postpone(id: string, until: Date): Promise<void> {
    await this.#sql.query(POSTPONE, [id, until]);
  }

  async finish(id: string, at: Date, auditSequence: number): Promise<void> {
    await this.#sql.execute(FINISH, [id, at, auditSequence]);
  }

  async pending(scope: PersonScope, limit: number) {
    const values = [...exactValues(scope), limit];
    const [row] = await this.#sql.query<Counted & { ids: string[] }>(PENDING, values);
    return row ?? { count: 0, ids: [] };
  }

  async messagesAfter(scope: PersonScope, afterId: string, limit: number): Promise<readonly string[]> {
    const values = [...exactValues(scope), afterId, limit];
    return (await this.#sql.query<{ id: string }>(MESSAGES_AFTER, values)).map(({ id }) => id);
  }

  async emailsAfter(scope: PersonScope, afterSeq: number, limit: number) {
    const emails = addressesOfKind(scope.targets, 'email');
    const values = [scope.accountId, afterSeq, emails, scope.environment, scope.until, limit];
    const rows = await this.#sql.query<{ seq: number; id: string | null }>(EMAILS_AFTER, values);
    const next = rows.length < limit ? undefined : rows.at(-1)?.seq;
    return { ids: rows.flatMap(({ id }) => id ?? []), next };
  }

  async listMessages(id: string, messageIds: readonly string[]): Promise<void> {
    if (messageIds.length > 0) await this.#sql.execute(LIST, [id, messageIds]);
  }

  async listed(id: string, afterId: string, limit: number): Promise<readonly PersonalMessage[]> {
    return this.#withRecipients(await this.#sql.query<MessageRow>(LISTED, [id, afterId, limit]));
  }

  async readMessages(accountId: string, ids: readonly string[]): Promise<readonly PersonalMessage[]> {
    return this.#withRecipients(await this.#sql.query<MessageRow>(READ_MESSAGES, [accountId, ids]));
  }

  async unlist(id: string, messageIds: readonly string[]): Promise<void> {
    if (messageIds.length > 0) await this.#sql.execute(UNLIST, [id, messageIds]);
  }

  async countListed(id: string): Promise<number> {
    const [row] = await this.#sql.query<Counted>(COUNT_LISTED, [id]);
    return row?.count ?? 0;
  }

  async eraseMessages(erasures: readonly MessageErasure[]): Promise<number> {
    await this.#sql.execute(ERASE_MESSAGES, [
      erasures.map(({ id }) => id),
      erasures.map(({ payload }) => payload && JSON.stringify(payload)),
      erasures.map(({ isWhole }) => isWhole),
    ]);
    const [row] = await this.#sql.query<Counted>(ERASE_RECIPIENTS, [
      erasures.flatMap(({ id, positions }) => positions.map(() => id)),
      erasures.flatMap(({ positions }) => positions),
    ]);
    return row?.count ?? 0;
  }

  async eraseEvents(events: readonly ErasableEvent[]): Promise<void> {
    await eraseEvents(this.#sql, events);
  }

  async answersAfter(id: string, accountId: string, mark: ErasureMark | null, limit: number) {
    const from = [mark?.environment ?? '', mark?.route ?? '', mark?.key ?? ''];
    const rows = await this.#sql.query<{
      environment: string;
      route: string;
      key: string;
      body: string | null;
    }>(ANSWERS_AFTER, [id, accountId, ...from, limit]);
    const last = rows.length < limit ? undefined : rows.at(-1);
    return {
      answers: rows.flatMap(({ body, ...key }) => (body === null ? [] : { ...key, body })),
      next: last && { environment: last.environment, route: last.route, key: last.key },
    };
  }

  async replaceAnswers(accountId: string, answers: readonly StoredAnswer[]): Promise<void> {
    if (answers.length === 0) return;
    await this.#sql.execute(REPLACE_ANSWERS, [
      accountId,
      answers.map(({ environment }) => environment),
      answers.map(({ route }) => route),
      answers.map(({ key }) => key),
      answers.map(({ body }) => body),
    ]);
  }

  async forgetReplies(accountId: string, phones: readonly string[]): Promise<void> {
    await this.#sql.execute(FORGET_REPLIES, [accountId, phones]);
  }

  async removeInbound(accountId: string, phones: readonly string[], limit: number): Promise<number> {
    return (await this.#sql.query(REMOVE_INBOUND, [accountId, phones, limit])).length;
  }

  async removeDevices({ accountId, environment, targets }: PersonScope, limit: number): Promise<number> {
    const values = [accountId, addressesOfKind(targets, 'user'), environment, limit];
    return (await this.#sql.query(REMOVE_DEVICES, values)).length;
  }

  async hashSuppressions(
    { accountId, environment }: PersonScope,
    hashes: ReadonlyMap<string, string>,
  ): Promise<number> {
    const values = [accountId, [...hashes.keys()], [...hashes.values()], environment];
    return (await this.#sql.query(HASH_SUPPRESSIONS, values)).length;
  }

  async forgetNumbers(accountId: string, phones: readonly string[], hour: Date) {
    const [row] = await this.#sql.query<{ forgotten: number; left: number }>(FORGET_NUMBERS, [
      accountId,
      phones,
      hour,
    ]);
    return { forgotten: row?.forgotten ?? 0, left: row?.left ?? 0 };
  }

  async eraseImportFaults(scope: PersonScope): Promise<number> {
    return (await this.#sql.query(ERASE_IMPORT_FAULTS, importCells(scope))).length;
  }

  async eraseRequestBodies({ accountId, environment, until }: PersonScope, limit: number): Promise<number> {
    const values = [accountId, environment, until, limit];
    return (await this.#sql.query(ERASE_REQUEST_BODIES, values)).length;
  }

  async countUnfinishedImports({ accountId, environment, until }: PersonScope): Promise<number> {
    const [row] = await this.#sql.query<Counted>(UNFINISHED_IMPORTS, [accountId, environment, until]);
    return row?.count ?? 0;
  }

  async hashKey(accountId: string): Promise<string | undefined> {
    const [row] = await this.#sql.query<{ sealed: string }>(HASH_KEY, [accountId]);
    return row?.sealed;
  }

  async erasing() {
    const rows = await this.#sql.query<{ account_id: string; sealed: string }>(ERASING, []);
    return rows.map(({ account_id: accountId, sealed }) => ({ accountId, sealed }));
  }

  async whoErased(hashes: ReadonlyMap<string, string>): Promise<readonly string[]> {
    const values = [[...hashes.keys()], [...hashes.values()]];
    return (await this.#sql.query<{ account_id: string }>(WHO_ERASED, values)).map((row) => row.account_id);
  }

  async hashKeys(): Promise<readonly string[]> {
    return (await this.#sql.query<{ sealed: string }>(HASH_KEYS, [])).map(({ sealed }) => sealed);
  }

  async addHashKey(sealed: string): Promise<void> {
    await this.#sql.query(ADD_HASH_KEY, [sealed]);
  }

  async replaceHashKey(before: string, sealed: string): Promise<void> {
    await this.#sql.query(REPLACE_HASH_KEY, [before, sealed]);
  }

  #visible(visibility: Visibility) {
    return this.#sql.table<ErasureRow>('erasures').where(whereVisible(visibility));
  }

  async #withRecipients(rows: readonly MessageRow[]): Promise<readonly PersonalMessage[]> {
    if (rows.length === 0) return [];
    const recipients = await this.#sql.query<{ message_id: string; position: number; address: string }>(
      RECIPIENTS,
      [rows.map(({ id }) => id)],
    );
    const of = Map.groupBy(recipients, ({ message_id: id }) => id);
    return rows.map((row) => ({
      id: row.id,
      channel: row.channel,
      content: row.content,
      payload: row.payload,
      isPending: row.status === 'pending',
      isCounted: row.is_counted,
      recipients: of.get(row.id) ?? [],
    }));
  }
}

/** Returns the values of a query by exact addresses. */
function exactValues({ accountId, targets, environment, until }: PersonScope): readonly unknown[] {
  const to = addressesOfKind(targets, 'phone', 'email', 'device');
  // The id of a device is the part of its address after the colon.
  const devices = addressesOfKind(targets, 'device').map((address) =>
    address.slice(address.indexOf(':') + 1),
  );
  return [accountId, to, [...addressesOfKind(targets, 'user'), ...devices], environment, until];
}

/** Returns the values of `LINES_OF_PERSON`. */
export function importCells({ accountId, environment, targets }: PersonScope): readonly unknown[] {
  const texts = addressesOfKind(targets, 'email', 'user').map((text) => text.toLowerCase());
  const ends = addressesOfKind(targets, 'phone').map((phone) => phone.slice(-COMPARED_DIGITS));
  return [accountId, environment, texts, ends];
}
