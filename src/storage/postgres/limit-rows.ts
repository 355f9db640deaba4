import type { LimitRow, LimitUse } from '../../domain/limits/send-limits.ts';

/** A row of `send_limits`, as the stores and intake read it. */
export interface LimitUseRow {
  readonly id: string;
  readonly account_id: string;
  readonly key_id: string | null;
  readonly spend_per_hour_minor: number | null;
  readonly spend_per_day_minor: number | null;
  readonly recipients_per_day: number | null;
  readonly per_number_per_hour: number | null;
  readonly allowed_prefixes: string[] | null;
  readonly opened_prefixes: string[];
  readonly hour_minor: number;
  readonly day_minor: number;
  readonly day_recipients: number;
  readonly hour: Date;
  readonly day: Date;
  readonly now: Date;
  readonly shared_by: string[];
}

/**
 * SQL for the current hour and day of a row. They never decrease, even if another process has already written a later
 * hour or day.
 */
export const HOUR = `greatest(l.hour, date_trunc('hour', now(), 'UTC'))`;
export const DAY = `greatest(l.day, date_trunc('day', now(), 'UTC'))`;

/** SQL for the columns of a row `l`. Counts of a past hour or day are 0. */
export const LIMIT_USE_COLUMNS = `l.id, l.account_id, l.key_id, l.spend_per_hour_minor, l.spend_per_day_minor,
  l.recipients_per_day, l.per_number_per_hour, l.allowed_prefixes, l.opened_prefixes,
  CASE WHEN l.hour = ${HOUR} THEN l.hour_minor ELSE 0 END AS hour_minor,
  CASE WHEN l.day = ${DAY} THEN l.day_minor ELSE 0 END AS day_minor,
  CASE WHEN l.day = ${DAY} THEN l.day_recipients ELSE 0 END AS day_recipients,
  ${HOUR} AS hour, ${DAY} AS day, now() AS now,
  ARRAY(SELECT k.key_id FROM send_limit_keys k WHERE k.limit_id = l.id) AS shared_by`;

const HOUR_MS = 3_600_000;

export function mapLimit(row: LimitUseRow): LimitRow {
  return {
    id: row.id,
    accountId: row.account_id,
    keyId: row.key_id,
    spendPerHourMinor: row.spend_per_hour_minor,
    spendPerDayMinor: row.spend_per_day_minor,
    recipientsPerDay: row.recipients_per_day,
    perNumberPerHour: row.per_number_per_hour,
    allowedPrefixes: row.allowed_prefixes,
    openedPrefixes: row.opened_prefixes,
  };
}

export function mapLimitUse(row: LimitUseRow): LimitUse {
  return {
    ...mapLimit(row),
    hourMinor: row.hour_minor,
    dayMinor: row.day_minor,
    dayRecipients: row.day_recipients,
    hourEndsAt: new Date(row.hour.getTime() + HOUR_MS),
    dayEndsAt: new Date(row.day.getTime() + 24 * HOUR_MS),
    now: row.now,
    sharedBy: row.shared_by,
  };
}
