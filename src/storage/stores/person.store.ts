import type { PersonScope } from '../../domain/ports/erasure-store.ts';
import type {
  PersonalDevice,
  PersonalImportFault,
  PersonalInbound,
  PersonalNumber,
  PersonalReport,
  PersonalReview,
  PersonStore,
} from '../../domain/ports/person-store.ts';
import type { Erasure } from '../../domain/recipients/erasure.ts';
import { addressesOfKind } from '../../domain/recipients/personal-address.ts';
import { type Sql, statement } from '../postgres/sql.ts';
import {
  ERASURE_COLUMNS,
  type ErasureRow,
  erasureOf,
  importCells,
  LINES_OF_PERSON,
} from './erasure.store.ts';
import { hashOfNumber } from './inbound.store.ts';

const DEVICES_AFTER = statement(
  'person-devices-after',
  `SELECT id, environment, platform, token,
     CASE WHEN p256dh IS NOT NULL THEN json_build_object('p256dh', p256dh, 'auth', auth) END AS keys,
     user_id AS "userId", created_at AS "createdAt", updated_at AS "updatedAt"
   FROM devices WHERE account_id = $1 AND environment = ANY ($3::text[]) AND user_id = ANY ($2::text[]) AND id > $4
   ORDER BY id LIMIT $5`,
);
const INBOUND_AFTER = statement(
  'person-inbound-after',
  `SELECT id, channel, provider, sid, sender, sent_at AS "sentAt", received_at AS "receivedAt", type, content
   FROM inbound_messages WHERE sender = ANY ($2::text[]) AND account_id = $1 AND id > $3 ORDER BY id LIMIT $4`,
);
const IMPORT_FAULTS = statement(
  'person-import-faults',
  `WITH ${LINES_OF_PERSON}
   SELECT o.import_id AS "importId", o.line, o.column_name AS column, o.value, o.code, o.message
   FROM own o JOIN lines l ON l.import_id = o.import_id AND l.line = o.line ORDER BY o.import_id, o.seq`,
);
const NUMBERS = statement(
  'person-numbers',
  `SELECT n.address,
     ARRAY(SELECT c.hour FROM send_limits l JOIN send_limit_numbers c ON c.limit_id = l.id
       WHERE l.account_id = $1 AND c.address = n.address ORDER BY l.id) AS hours,
     ARRAY(SELECT c.messages FROM send_limits l JOIN send_limit_numbers c ON c.limit_id = l.id
       WHERE l.account_id = $1 AND c.address = n.address ORDER BY l.id) AS messages,
     (SELECT seen_at FROM pumping_numbers p WHERE p.account_id = $1 AND p.block = left(n.address, -3)
       AND p.ending = right(n.address, 3)) AS "countedAt",
     (SELECT max(wrote_at) FROM (
       SELECT wrote_at FROM whatsapp_writers WHERE number = n.address AND account_id = $1
       UNION ALL SELECT wrote_at FROM past_whatsapp_writers
         WHERE number_hash = ${hashOfNumber('n.address')} AND account_id = $1) w) AS "whatsAppAt",
     ARRAY(SELECT w.sender FROM sms_writers w WHERE w.number_hash = ${hashOfNumber('n.address')}
       AND w.account_id = $1 ORDER BY w.sender) AS senders,
     ARRAY(SELECT w.wrote_at FROM sms_writers w WHERE w.number_hash = ${hashOfNumber('n.address')}
       AND w.account_id = $1 ORDER BY w.sender) AS written
   FROM unnest($2::text[]) AS n (address)`,
);
const ERASURES = statement(
  'person-erasures',
  `SELECT ${ERASURE_COLUMNS.join(', ')} FROM erasures
   WHERE account_id = $1 AND ($2::text IS NULL OR environment = $2) AND address_hash = ANY ($3::text[]) ORDER BY id`,
);
const REPORTS = statement(
  'person-reports',
  `SELECT s.message_id AS "messageId", s.position, u.received_at AS "receivedAt", u.report
   FROM provider_sids s JOIN unmatched_reports u ON u.sid_keys && ARRAY[s.sid_key] AND u.provider = s.provider
   WHERE s.message_id = ANY ($1::uuid[]) ORDER BY u.received_at`,
);
const REVIEWS = statement(
  'person-reviews',
  `SELECT message_id AS "messageId", block, held_at AS "heldAt", decided_at AS "decidedAt", decision
   FROM held_reviews WHERE message_id = ANY ($1::uuid[])`,
);

/** Reads what is stored of one person, for an export (R493). Its rows go to a client, so each read is on the disk. */
export class PgPersonStore implements PersonStore {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  devicesAfter(
    { accountId, environment, targets }: PersonScope,
    afterId: string,
    limit: number,
  ): Promise<readonly PersonalDevice[]> {
    const environments = environment === null ? ['production', 'sandbox'] : [environment];
    const values = [accountId, addressesOfKind(targets, 'user'), environments, afterId, limit];
    return this.#sql.queryOnDisk<PersonalDevice>(DEVICES_AFTER, values);
  }

  inboundAfter(
    accountId: string,
    phones: readonly string[],
    afterId: string,
    limit: number,
  ): Promise<readonly PersonalInbound[]> {
    return this.#sql.queryOnDisk<PersonalInbound>(INBOUND_AFTER, [accountId, phones, afterId, limit]);
  }

  importFaults(scope: PersonScope): Promise<readonly PersonalImportFault[]> {
    return this.#sql.queryOnDisk<PersonalImportFault>(IMPORT_FAULTS, importCells(scope));
  }

  async numbers(accountId: string, phones: readonly string[]): Promise<readonly PersonalNumber[]> {
    const rows = await this.#sql.queryOnDisk<
      Pick<PersonalNumber, 'address' | 'countedAt' | 'whatsAppAt'> & {
        hours: Date[];
        messages: number[];
        senders: string[];
        written: Date[];
      }
    >(NUMBERS, [accountId, phones]);
    return rows.map(({ hours, messages, senders, written, ...row }) => ({
      ...row,
      smsBefore: senders.flatMap((sender, index) => {
        const wroteAt = written[index];
        return wroteAt ? [{ sender, wroteAt }] : [];
      }),
      limited: hours.map((hour, index) => ({ hour, messages: messages[index] ?? 0 })),
    }));
  }

  async erasures(
    { accountId, environment }: PersonScope,
    addressHashes: readonly string[],
  ): Promise<readonly Erasure[]> {
    const values = [accountId, environment, addressHashes];
    return (await this.#sql.queryOnDisk<ErasureRow>(ERASURES, values)).map(erasureOf);
  }

  reports(messageIds: readonly string[]): Promise<readonly PersonalReport[]> {
    return this.#sql.queryOnDisk<PersonalReport>(REPORTS, [messageIds]);
  }

  reviews(messageIds: readonly string[]): Promise<readonly PersonalReview[]> {
    return this.#sql.queryOnDisk<PersonalReview>(REVIEWS, [messageIds]);
  }
}
