import { sidCandidates, sidKey } from '../../domain/messages/sid-keys.ts';
import type { DeliveryReport } from '../../domain/ports/provider.ts';
import type {
  KeptPlace,
  KeptReport,
  MatchedReport,
  ReportStore,
  SidRow,
  SoughtReport,
  StoredReport,
} from '../../domain/ports/report-stores.ts';
import { type Sql, statement } from '../postgres/sql.ts';
import { isHere } from './is-here.ts';
import { LOCK_MESSAGES } from './message.store.ts';

const ADD_SIDS = statement(
  'sids-add',
  `INSERT INTO provider_sids (provider, sid_key, message_id, position, part, parts)
   SELECT * FROM unnest($1::text[], $2::text[], $3::uuid[], $4::smallint[], $5::smallint[], $6::smallint[])`,
);
// Returns and deletes the reports that arrived before their sid was recorded. A report older than a day belongs to
// another message, because carriers use sids again. The condition on the age is an expression that no index can serve.
// So PostgreSQL uses the index on the keys, even if many reports arrived that day.
const TAKE_EARLY = statement(
  'reports-take-early',
  `DELETE FROM unmatched_reports WHERE sid_keys && $1::text[] AND provider = ANY($2::text[])
     AND received_at + interval '1 day' > now()
   RETURNING provider, report, received_at AS "receivedAt"`,
);
// Goes from each key to its sids, and then to the recipient. OFFSET 0 makes PostgreSQL keep this order. A report for an
// account that is about to arrive from another cell waits until it is here.
const MATCH = statement(
  'sids-match',
  `SELECT n.index::int AS index, n.rank::int AS rank, s.message_id, s.position, s.part, s.parts, r.address
   FROM unnest($1::int[], $2::int[], $3::text[]) AS n (index, rank, sid_key)
   CROSS JOIN LATERAL (
     SELECT message_id, position, part, parts FROM provider_sids
     WHERE sid_key = n.sid_key AND provider = $4 OFFSET 0) s
   CROSS JOIN LATERAL (
     SELECT address FROM recipients WHERE message_id = s.message_id AND position = s.position
       AND ${isHere('recipients.account_id')} OFFSET 0) r`,
);
const MARK_PARTS = statement(
  'sids-mark',
  `UPDATE provider_sids s SET delivered = true
   FROM unnest($1::uuid[], $2::smallint[], $3::smallint[]) AS n (message_id, position, part)
   WHERE s.message_id = n.message_id AND s.position = n.position AND s.part = n.part AND NOT s.delivered`,
);
const INCOMPLETE = statement(
  'sids-incomplete',
  `SELECT DISTINCT message_id, position FROM provider_sids
   WHERE message_id = ANY($1::uuid[]) AND NOT delivered`,
);
const LOCK_MATCHABLE = statement(
  'reports-lock-matchable',
  `SELECT id, provider, report, received_at AS "receivedAt", received_at::text AS place FROM unmatched_reports u
   WHERE (u.received_at, u.id) > ($1::timestamptz, $2) AND EXISTS (
     SELECT 1 FROM provider_sids s WHERE s.sid_key = ANY(u.sid_keys) AND s.provider = u.provider)
   ORDER BY u.received_at, u.id LIMIT $3 FOR UPDATE SKIP LOCKED`,
);
const FORGET = statement(
  'reports-forget-matched',
  'DELETE FROM unmatched_reports WHERE id = ANY($1::uuid[])',
);
const SPOOL_APPLIED_TO = statement(
  'report-spool-applied-to',
  'SELECT applied_to FROM report_spools WHERE spool = $1',
);
const NOTE_SPOOL_APPLIED = statement(
  'report-spool-note',
  `INSERT INTO report_spools AS s (spool, applied_to, applied_at)
   SELECT $1::uuid, $3::bigint, now() WHERE $2::bigint = 0 OR EXISTS (SELECT FROM report_spools WHERE spool = $1::uuid)
   ON CONFLICT (spool) DO UPDATE SET applied_to = excluded.applied_to, applied_at = excluded.applied_at
     WHERE s.applied_to = $2
   RETURNING spool`,
);
// Also deletes the stored positions of spool files that no process read for 90 days.
const FORGET_SPOOL = statement(
  'report-spool-forget',
  `DELETE FROM report_spools WHERE spool = $1 OR applied_at < now() - interval '90 days'`,
);

interface MatchRow {
  index: number;
  rank: number;
  message_id: string;
  position: number;
  part: number;
  parts: number;
  address: string;
}

/** Stores sids (the ids that providers give to messages), and the delivery reports for them. */
export class PgReportStore implements ReportStore {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async addSids(rows: readonly SidRow[]) {
    if (rows.length === 0) return [];
    const keys = rows.map((row) => sidKey(row.sid));
    await this.#sql.execute(ADD_SIDS, [
      rows.map((row) => row.provider),
      keys,
      rows.map((row) => row.messageId),
      rows.map((row) => row.position),
      rows.map((row) => row.part),
      rows.map((row) => row.parts),
    ]);
    return this.#sql.query<KeptReport>(TAKE_EARLY, [keys, [...new Set(rows.map((row) => row.provider))]]);
  }

  async match(provider: string, reports: readonly SoughtReport[]) {
    const keys = reports.flatMap(({ report }, index) =>
      sidCandidates(report.sid).map((key, rank) => ({ index, rank, key })),
    );
    // If this query shows that a report changes nothing, the report is acknowledged. So what the query read must be on
    // the disk.
    const rows = await this.#sql.queryOnDisk<MatchRow>(MATCH, [
      keys.map(({ index }) => index),
      keys.map(({ rank }) => rank),
      keys.map(({ key }) => key),
      provider,
    ]);
    const byReport = Map.groupBy(rows, (row) => row.index);
    const unmatched: DeliveryReport[] = [];
    const found: { report: DeliveryReport; row: MatchRow }[] = [];
    reports.forEach((sought, index) => {
      const { report } = sought;
      const row = bestMatch(sought, byReport.get(index) ?? []);
      if (row) found.push({ report, row });
      else unmatched.push(report);
    });
    const incomplete = await this.#markDelivered(found);
    const matched: MatchedReport[] = found.map(({ report, row }) => ({
      report,
      messageId: row.message_id,
      position: row.position,
      complete: !incomplete.has(`${row.message_id} ${row.position}`),
    }));
    return { matched, unmatched };
  }

  /**
   * Marks the delivered parts of multi-part texts. Returns the recipients that have undelivered parts left, as
   * `messageId position`.
   */
  async #markDelivered(found: readonly { report: DeliveryReport; row: MatchRow }[]): Promise<Set<string>> {
    const delivered = found
      .filter(({ report, row }) => report.status !== 'failed' && row.parts > 1)
      .map(({ row }) => row);
    if (delivered.length === 0) return new Set();
    // Two processes may receive the reports for two parts at the same time. Because of the lock, the second process
    // sees the mark of the first.
    await this.#sql.execute(LOCK_MESSAGES, [delivered.map((row) => row.message_id)]);
    await this.#sql.execute(MARK_PARTS, [
      delivered.map((row) => row.message_id),
      delivered.map((row) => row.position),
      delivered.map((row) => row.part),
    ]);
    const rows = await this.#sql.query<{ message_id: string; position: number }>(INCOMPLETE, [
      delivered.map((row) => row.message_id),
    ]);
    return new Set(rows.map((row) => `${row.message_id} ${row.position}`));
  }

  async keepUnmatched(reports: readonly KeptReport[]): Promise<void> {
    if (reports.length === 0) return;
    await this.#sql.table('unmatched_reports').insert(
      reports.map(({ provider, report, receivedAt }) => ({
        id: this.#sql.raw('gen_random_uuid()'),
        provider,
        sid: report.sid,
        sid_keys: sidCandidates(report.sid),
        report: JSON.stringify(report),
        received_at: receivedAt,
      })),
    );
  }

  async lockMatchable({ place, id }: KeptPlace, limit: number) {
    return this.#sql.query<StoredReport>(LOCK_MATCHABLE, [place, id, limit]);
  }

  async forget(ids: readonly string[]): Promise<void> {
    if (ids.length > 0) await this.#sql.execute(FORGET, [ids]);
  }

  async spoolAppliedTo(spool: string): Promise<number> {
    // The caller deletes the file if this query shows that all its reports are applied. So a crash of PostgreSQL must
    // not undo what the query read.
    const [row] = await this.#sql.queryOnDisk<{ applied_to: number }>(SPOOL_APPLIED_TO, [spool]);
    return row?.applied_to ?? 0;
  }

  async noteSpoolApplied(spool: string, from: number, to: number): Promise<boolean> {
    return (await this.#sql.query(NOTE_SPOOL_APPLIED, [spool, from, to])).length > 0;
  }

  async forgetSpool(spool: string): Promise<void> {
    await this.#sql.query(FORGET_SPOOL, [spool]);
  }
}

const digits = (address: string) => address.replace(/\D/g, '');

/** Only this many last digits of a number are compared, because carriers shorten numbers to the national form. */
const COMPARED_DIGITS = 9;
/**
 * Matches a phone number. Texts with fewer digits or with other characters do not match: short codes, names of senders,
 * masked numbers.
 */
const NUMBER = /^\+?[\d\s().-]{7,40}$/;

/** Returns the last digits of the number in a report. Undefined if it has no number. */
function namedNumber({ to }: DeliveryReport): string | undefined {
  if (to === undefined || !NUMBER.test(to)) return undefined;
  const number = digits(to);
  return number.length >= 7 ? number.slice(-COMPARED_DIGITS) : undefined;
}

/**
 * Chooses among the recipients whose sid the report may mean. If the report has a number, chooses the recipient with
 * that number. Otherwise prefers a recipient whose stored sid equals the report's sid literally, and then the newest
 * message, because carriers use sids again. A recipient with another number is chosen only with `acceptsOtherNumber`.
 */
function bestMatch(
  { report, acceptsOtherNumber }: SoughtReport,
  rows: readonly MatchRow[],
): MatchRow | undefined {
  const sorted = [...rows].sort(
    (left, right) => left.rank - right.rank || (left.message_id < right.message_id ? 1 : -1),
  );
  const number = namedNumber(report);
  if (number === undefined) return sorted[0];
  const named = sorted.find((row) => digits(row.address).endsWith(number));
  if (named || !acceptsOtherNumber) return named;
  return sorted.length === 1 && sorted[0]?.rank === 0 ? sorted[0] : undefined;
}
