import type { LimitRow, LimitUse, SendLimits } from '../../domain/limits/send-limits.ts';
import type { SendLimitStore } from '../../domain/ports/send-limit-store.ts';
import { LIMIT_USE_COLUMNS, type LimitUseRow, mapLimit, mapLimitUse } from '../postgres/limit-rows.ts';
import { type Sql, statement } from '../postgres/sql.ts';

const OF_ACCOUNT = statement(
  'send-limits-of-account',
  `SELECT ${LIMIT_USE_COLUMNS} FROM send_limits l WHERE l.account_id = $1 ORDER BY l.key_id NULLS FIRST`,
);
const LOCK = statement(
  'send-limits-lock',
  `SELECT ${LIMIT_USE_COLUMNS} FROM send_limits l
   WHERE l.account_id = $1 AND l.key_id IS NOT DISTINCT FROM $2::text FOR NO KEY UPDATE`,
);
const SET = statement(
  'send-limits-set',
  `INSERT INTO send_limits AS l (id, account_id, key_id, spend_per_hour_minor, spend_per_day_minor,
     recipients_per_day, per_number_per_hour, allowed_prefixes, opened_prefixes)
   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
   ON CONFLICT (id) DO UPDATE SET spend_per_hour_minor = excluded.spend_per_hour_minor,
     spend_per_day_minor = excluded.spend_per_day_minor, recipients_per_day = excluded.recipients_per_day,
     per_number_per_hour = excluded.per_number_per_hour, allowed_prefixes = excluded.allowed_prefixes,
     opened_prefixes = excluded.opened_prefixes`,
);
const SHARE = statement(
  'send-limits-share',
  `INSERT INTO send_limit_keys (key_id, limit_id)
   SELECT k.key_id, l.limit_id FROM unnest($2::text[]) AS k (key_id) CROSS JOIN (
     SELECT id AS limit_id FROM send_limits WHERE key_id = $1
     UNION SELECT limit_id FROM send_limit_keys WHERE key_id = $1) l
   ON CONFLICT DO NOTHING RETURNING limit_id`,
);
const HAND_OVER = statement(
  'send-limits-hand-over',
  `WITH moved AS (UPDATE send_limits SET key_id = $2 WHERE key_id = $1 RETURNING id)
   INSERT INTO send_limit_keys (key_id, limit_id) SELECT $1, id FROM moved ON CONFLICT DO NOTHING`,
);
const FORGET_ROWS = 5_000;
const FORGET_NUMBERS = statement(
  'send-limits-forget-numbers',
  `DELETE FROM send_limit_numbers WHERE ctid = ANY (ARRAY(
     SELECT ctid FROM send_limit_numbers WHERE hour < $1 LIMIT ${FORGET_ROWS} FOR UPDATE SKIP LOCKED)) RETURNING 1`,
);

/** Stores send limits (R370). */
export class PgSendLimitStore implements SendLimitStore {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async ofAccount(accountId: string): Promise<readonly LimitUse[]> {
    return (await this.#sql.query<LimitUseRow>(OF_ACCOUNT, [accountId])).map(mapLimitUse);
  }

  async lock(accountId: string, keyId: string | null): Promise<LimitRow | undefined> {
    const [row] = await this.#sql.query<LimitUseRow>(LOCK, [accountId, keyId]);
    return row && mapLimit(row);
  }

  async set(id: string, accountId: string, keyId: string | null, limits: SendLimits): Promise<void> {
    await this.#sql.query(SET, [
      id,
      accountId,
      keyId,
      limits.spendPerHourMinor,
      limits.spendPerDayMinor,
      limits.recipientsPerDay,
      limits.perNumberPerHour,
      limits.allowedPrefixes,
      limits.openedPrefixes,
    ]);
  }

  async share(of: string, keyIds: readonly string[]): Promise<boolean> {
    return (await this.#sql.query(SHARE, [of, keyIds])).length > 0;
  }

  async handOver(from: string, to: string): Promise<void> {
    await this.#sql.query(HAND_OVER, [from, to]);
  }

  async forgetNumbers(before: Date): Promise<number> {
    let forgotten = 0;
    for (let rows = FORGET_ROWS; rows === FORGET_ROWS; forgotten += rows) {
      rows = (await this.#sql.query(FORGET_NUMBERS, [before])).length;
    }
    return forgotten;
  }
}
