import type { Channel } from '../../domain/messages/message.ts';
import type { CopyState, CopyStore } from '../../domain/ports/copy-store.ts';
import type { RecipientKey } from '../../domain/ports/message-stores.ts';
import { type HoldReason, type Place, UNUSED_MINUTES } from '../../domain/recovery/hold.ts';
import { BLOCK, PENDING_BLOCKS } from '../message-index/index.ts';
import { type Sql, statement } from '../postgres/sql.ts';

/** The timeline of a primary. */
const TIMELINE = `left(pg_walfile_name(pg_current_wal_insert_lsn()), 8)`;

/**
 * Reads the copy state of the data. The setting `gateway.restored_as` exists only on a server whose files came from a
 * restore.
 */
const STATE = `SELECT c.system_identifier, c.database_oid, c.restored_as, c.timeline, c.held_at, c.held_from, c.held_reason,
    s.system_identifier::text AS found_system, nullif(current_setting('gateway.restored_as', true), '') AS found_restore,
    (SELECT oid::bigint FROM pg_database WHERE datname = current_database()) AS found_oid,
    CASE WHEN NOT pg_is_in_recovery() THEN ${TIMELINE} END AS found_timeline,
    coalesce(c.alive_at < now() - interval '${UNUSED_MINUTES} minutes', false) AS is_unused
  FROM data_copy c CROSS JOIN pg_control_system() s`;
const READ = statement('copy-read', STATE);
const LOCK = statement('copy-lock', `${STATE} FOR UPDATE OF c`);
const HOLD = statement(
  'copy-hold',
  'UPDATE data_copy SET held_at = now(), held_from = alive_at, held_reason = $1, restored_as = $2',
);
const SETTLE = statement(
  'copy-settle',
  `UPDATE data_copy SET held_at = NULL, held_from = NULL, held_reason = NULL,
     system_identifier = $1, database_oid = $2, restored_as = $3, timeline = $4`,
);
const RENEW = statement(
  'copy-renew',
  `UPDATE data_copy SET alive_at = now(), timeline = ${TIMELINE} WHERE held_at IS NULL`,
);
// No copy hands over what is held for review, so it cannot have left (R393).
const PENDING_AFTER = statement(
  'copy-pending-after',
  `SELECT m.id AS message_id, r.position, m.channel, coalesce(r.held_until, m.scheduled_for, m.created_at) AS due_at
   FROM ${PENDING_BLOCKS} b
   CROSS JOIN LATERAL (
     SELECT id, channel, scheduled_for, created_at FROM messages
     WHERE account_id = b.account_id AND channel = b.channel AND seq > b.block * ${BLOCK} AND seq <= (b.block + 1) * ${BLOCK}
       AND id >= $1 AND status_reason IS DISTINCT FROM 'held_for_review' OFFSET 0) m
   CROSS JOIN LATERAL (
     SELECT position, held_until FROM recipients
     WHERE message_id = m.id AND status = 'pending' AND (message_id, position) > ($1, $2) OFFSET 0) r
   ORDER BY m.id, r.position LIMIT $3`,
);

interface StateRow {
  system_identifier: string | null;
  database_oid: number | null;
  restored_as: string | null;
  timeline: string | null;
  held_at: Date | null;
  held_from: Date | null;
  held_reason: HoldReason | null;
  found_system: string;
  found_oid: number;
  found_restore: string | null;
  found_timeline: string | null;
  is_unused: boolean;
}

/** Reads and changes the row that identifies this copy of the data, and says whether the copy is held (R230). */
export class PgCopyStore implements CopyStore {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async read(): Promise<CopyState> {
    return mapState(await this.#sql.query<StateRow>(READ, []));
  }

  async lock(): Promise<CopyState> {
    return mapState(await this.#sql.query<StateRow>(LOCK, []));
  }

  async hold(reason: HoldReason, { restoredAs }: Place): Promise<void> {
    await this.#sql.execute(HOLD, [reason, restoredAs]);
  }

  async settle({ systemIdentifier, databaseOid, restoredAs, timeline }: Place): Promise<void> {
    await this.#sql.execute(SETTLE, [systemIdentifier, databaseOid, restoredAs, timeline]);
  }

  async renew(): Promise<void> {
    await this.#sql.execute(RENEW, []);
  }

  async pendingAfter({ messageId, position }: RecipientKey, limit: number) {
    const rows = await this.#sql.query<{
      message_id: string;
      position: number;
      channel: Channel;
      due_at: Date;
    }>(PENDING_AFTER, [messageId, position, limit]);
    const last = rows.length === limit ? rows.at(-1) : undefined;
    return {
      pending: rows.map((row) => ({
        messageId: row.message_id,
        position: row.position,
        channel: row.channel,
        dueAt: row.due_at,
      })),
      next: last && { messageId: last.message_id, position: last.position },
    };
  }
}

function mapState([row]: readonly StateRow[]): CopyState {
  if (!row) throw new Error('the row of data_copy is missing');
  const { held_at: at, held_reason: reason, held_from: dataUntil } = row;
  return {
    known: {
      systemIdentifier: row.system_identifier,
      databaseOid: row.database_oid,
      restoredAs: row.restored_as,
      timeline: row.timeline,
    },
    found: {
      systemIdentifier: row.found_system,
      databaseOid: row.found_oid,
      restoredAs: row.found_restore,
      timeline: row.found_timeline,
    },
    isUnused: row.is_unused,
    hold: at && reason ? { at, reason, dataUntil } : undefined,
  };
}
