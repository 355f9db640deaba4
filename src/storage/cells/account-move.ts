import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { ALL_IDS } from '../../domain/ports/changes.ts';
import { uuidFloor, uuidTime } from '../../domain/uuid.ts';
import { configOf, type DatabaseConnection } from '../postgres/connection.ts';
import { CHANGES_CHANNEL, changePayload } from '../postgres/pg-changes.ts';
import { MOVED_TABLES, type MovedTable, rowsOf, WRITERS } from './account-tables.ts';
import { dropFence, raiseFence } from './fence.ts';
import { RowCopy } from './row-copy.ts';

/** Pause between two looks at the jobs that processes hold, in ms. */
const DRAIN_PAUSE_MS = 25;
/** Number of rows that one statement deletes in the cell that the account has left. */
const CLEAN_PAGE = 2_000;
/** Time before the move, in ms, at which the other cell also looks again. It is longer than two clocks may differ. */
const CATCH_UP_MS = 10 * 60_000;
/** The first number separates this advisory lock from others. It could be any number. */
const MOVE_LOCK = 7_350_116;

/** A move that cannot begin or go on. The message says why, and what would be right. */
class MoveRefused extends Error {
  override readonly name = 'MoveRefused';
}

/** In this order. A killed move goes on with the step after the last one that is recorded. */
type Step = 'copying' | 'closed' | 'frozen' | 'moved' | 'done';

interface SqlRunner {
  query(config: { name?: string; text: string; values?: unknown[] }): Promise<{ rows: unknown[] }>;
}
interface StoredJob {
  readonly id: string;
  readonly queue: string;
  readonly job: object;
}
/** The part of the queue that moves jobs (src/queue/account-jobs.ts). */
interface AccountJobs {
  park(sql: SqlRunner, accountId: string): Promise<number>;
  held(sql: SqlRunner, accountId: string): Promise<number>;
  unpark(sql: SqlRunner, accountId: string): Promise<void>;
  parked(sql: SqlRunner, accountId: string): Promise<readonly StoredJob[]>;
  leave(sql: SqlRunner, jobs: readonly StoredJob[]): Promise<void>;
}

export interface MoveOptions {
  /** A UUID in lower case. */
  readonly accountId: string;
  /** The database of the cell that the account leaves. */
  readonly from: DatabaseConnection;
  readonly to: DatabaseConnection;
  /** Name of the cell to which it goes, for people. */
  readonly toCell: string | undefined;
  /** The address of the other database, sealed with the master key. Later delivery reports are given to it. */
  readonly toDatabaseSealed: string;
  readonly jobs: AccountJobs;
  /** How long the move waits for jobs that processes hold, in ms. Then it gives up, and the account goes on. */
  readonly drainMs: number;
  /** Called when the other cell has the account and the senders still wait. Changes where the proxy sends its keys. */
  readonly redirect: (keyIds: readonly string[]) => Promise<void>;
  /**
   * How long this cell then still answers 503, in ms, before it answers that the account has moved. The proxy may have
   * passed on a request just before it was told. Sent again, it reaches the other cell.
   */
  readonly settleMs: number;
  /** Called before each step. */
  readonly onStep?: (step: Step | 'copied') => Promise<void> | void;
}

export interface MoveReport {
  readonly accountId: string;
  /** Number of rows in the other cell, by table. */
  readonly rows: Readonly<Record<string, number>>;
  readonly jobs: number;
  /** How long senders were answered 503, in ms. */
  readonly pauseMs: number;
}

interface MoveRow {
  readonly move_id: string;
  readonly step: Step | 'arrived';
  readonly copied_before: string | null;
}

/**
 * Moves an account to another cell (R503 to R507). Run again, a move that was killed goes on where it was. Throws
 * `MoveRefused`.
 */
export async function moveAccount(options: MoveOptions): Promise<MoveReport> {
  const open = new Set<pg.Client>();
  const connect = async (connection: DatabaseConnection, name: string) => {
    const client = new pg.Client({ ...(await configOf(connection)), application_name: name });
    // The error of a lost connection also rejects the statement that waits for it.
    client.on('error', () => undefined);
    // To end a client whose connection is lost would wait for ever.
    client.on('end', () => open.delete(client));
    await client.connect();
    open.add(client);
    await client.query(
      "SET gateway.mover = 'on'; SET TimeZone = 'UTC'; SET jit = off; SET synchronous_commit = on",
    );
    return client;
  };
  try {
    return await new AccountMove(options, {
      from: await connect(options.from, 'messaging-gateway-move'),
      reader: await connect(options.from, 'messaging-gateway-move-reader'),
      to: await connect(options.to, 'messaging-gateway-move'),
    }).run();
  } finally {
    await Promise.all([...open].map((client) => client.end()));
  }
}

class AccountMove {
  readonly #options: MoveOptions;
  readonly #from: pg.Client;
  readonly #to: pg.Client;
  /** Reads the rows at `from` in one snapshot. */
  readonly #reader: pg.Client;
  readonly #copy: RowCopy;
  /** How long senders were refused. Undefined if another process redirected them. */
  #pauseMs: number | undefined;

  constructor(
    options: MoveOptions,
    { from, reader, to }: Readonly<Record<'from' | 'reader' | 'to', pg.Client>>,
  ) {
    this.#options = options;
    this.#from = from;
    this.#to = to;
    this.#reader = reader;
    this.#copy = new RowCopy(reader, to, options.accountId);
  }

  get #id(): string {
    return this.#options.accountId;
  }

  async run(): Promise<MoveReport> {
    const lock = await this.#from.query<{ mine: boolean }>(
      'SELECT pg_try_advisory_lock($1, hashtext($2)) AS mine',
      [MOVE_LOCK, this.#id],
    );
    if (!lock.rows[0]?.mine) throw new MoveRefused('Another process is moving this account.');
    // Such a lock belongs to one database. So it is taken if the other database is this one.
    const there = await this.#to.query<{ mine: boolean }>(
      'SELECT pg_try_advisory_lock($1, hashtext($2)) AS mine',
      [MOVE_LOCK, this.#id],
    );
    if (!there.rows[0]?.mine)
      throw new MoveRefused(
        'The other database is that of this cell, or another process moves the account there.',
      );
    const move = await this.#begin();
    if (move.step === 'copying') {
      if (move.copied_before === null) await this.#copyEarly();
      await this.#options.onStep?.('copied');
    }
    if (move.step === 'copying' || move.step === 'closed' || move.step === 'frozen') {
      try {
        await this.#pause(move);
      } catch (error) {
        await this.#thaw(error);
      }
    }
    await this.#catchUp();
    await this.#leave();
    const pauseMs = this.#pauseMs ?? (await this.#sinceClosed());
    const rows: Record<string, number> = {};
    for (const table of MOVED_TABLES) rows[table.name] = (await this.#copy.counts(table)).to;
    const jobs = (await this.#options.jobs.parked(this.#from, this.#id)).length;
    await this.#clean();
    return { accountId: this.#id, rows, jobs, pauseMs };
  }

  /** Returns the move that is under way, or begins one. */
  async #begin(): Promise<MoveRow> {
    const account = await this.#from.query<{ moving: string | null }>(
      'SELECT moving FROM accounts WHERE id = $1',
      [this.#id],
    );
    if (account.rows.length === 0) throw new MoveRefused(`There is no account ${this.#id} in this cell.`);
    const found = await this.#find(this.#from);
    const isUnderWay = found !== undefined && !['done', 'arrived'].includes(found.step);
    if (isUnderWay) return found;
    if (account.rows[0]?.moving === 'moved')
      throw new MoveRefused(`The account ${this.#id} has left this cell already.`);
    await this.#check();
    await this.#options.onStep?.('copying');
    await this.#from.query(
      `INSERT INTO account_moves (account_id, move_id, step, to_cell, to_database_sealed)
       VALUES ($1, gen_random_uuid(), 'copying', $2, $3)
       ON CONFLICT (account_id) DO UPDATE SET move_id = excluded.move_id, step = excluded.step, to_cell = excluded.to_cell,
         to_database_sealed = excluded.to_database_sealed, started_at = now(), closed_at = NULL, copied_before = NULL`,
      [this.#id, this.#options.toCell ?? null, this.#options.toDatabaseSealed],
    );
    return this.#read();
  }

  /** Refuses a move that would fail later. */
  async #check(): Promise<void> {
    const ask = async (text: string, values: unknown[] = []) => {
      const [from, to] = await Promise.all([this.#from.query(text, values), this.#to.query(text, values)]);
      return { from: from.rows[0], to: to.rows[0] };
    };
    const schema = await ask('SELECT max(name) AS name FROM schema_migrations');
    if (schema.from.name !== schema.to.name)
      throw new MoveRefused(
        `The cells have different schemas: ${schema.from.name} here and ${schema.to.name} there. Update both to one release.`,
      );
    const key = await ask("SELECT split_part(sealed, '.', 2) AS name FROM audit_head");
    if (key.from?.name && key.to?.name && key.from.name !== key.to.name)
      throw new MoveRefused(
        'The cells have different master keys, so the other one could not open the secrets of the account. Give both the same MASTER_KEY.',
      );
    const there = await this.#to.query<{ moving: string | null; step: string | null }>(
      'SELECT a.moving, m.step FROM accounts a LEFT JOIN account_moves m ON m.account_id = a.id WHERE a.id = $1',
      [this.#id],
    );
    const [known] = there.rows;
    if (known && (known.moving !== 'moved' || known.step !== 'done'))
      throw new MoveRefused(
        known.moving === 'moved'
          ? 'The account left the other cell, and its move there has not ended. Run that move again first.'
          : `The account ${this.#id} lives in the other cell, too.`,
      );
    const people = await this.#from.query<{ email: string }>(
      'SELECT lower(email) AS email FROM users WHERE account_id = $1 AND removed_at IS NULL AND invited_at IS NULL',
      [this.#id],
    );
    const taken = await this.#to.query<{ email: string }>(
      `SELECT email FROM users WHERE lower(email) = ANY ($1) AND account_id IS DISTINCT FROM $2 AND removed_at IS NULL
         AND invited_at IS NULL`,
      [people.rows.map(({ email }) => email), this.#id],
    );
    if (taken.rows[0])
      throw new MoveRefused(
        `${taken.rows[0].email} signs in to another account of the other cell. Change one of the two emails first.`,
      );
    await this.#checkNumber();
  }

  /** Refuses a move if an account of the other cell has the WhatsApp number of this one (R556). */
  async #checkNumber(): Promise<void> {
    const own = await this.#from.query<{ name: string; phone_number_id: string }>(
      "SELECT name, phone_number_id FROM senders WHERE account_id = $1 AND channel = 'whatsapp'",
      [this.#id],
    );
    const [number] = own.rows;
    if (!number) return;
    const taken = await this.#to.query<{ account_id: string }>(
      `SELECT account_id FROM senders WHERE channel = 'whatsapp' AND account_id <> $1
         AND (phone_number_id = $2 OR name = $3)`,
      [this.#id, number.phone_number_id, number.name],
    );
    if (taken.rows[0])
      throw new MoveRefused(
        `The WhatsApp number ${number.name} belongs to the account ${taken.rows[0].account_id} of the other cell. Take it away from one of the two first.`,
      );
  }

  async #find(client: pg.Client): Promise<MoveRow | undefined> {
    const { rows } = await client.query<MoveRow>(
      'SELECT move_id, step, copied_before FROM account_moves WHERE account_id = $1',
      [this.#id],
    );
    return rows[0];
  }

  async #read(): Promise<MoveRow> {
    const move = await this.#find(this.#from);
    if (!move) throw new Error(`the move of account ${this.#id} is gone`);
    return move;
  }

  async #record(step: Step): Promise<void> {
    await this.#options.onStep?.(step);
    await this.#from.query(
      `UPDATE account_moves SET step = $2::text,
         closed_at = CASE $2::text WHEN 'closed' THEN coalesce(closed_at, clock_timestamp()) ELSE closed_at END
       WHERE account_id = $1`,
      [this.#id, step],
    );
  }

  /** Copies the large tables while the account works. */
  async #copyEarly(): Promise<void> {
    await this.#reader.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
    const { rows } = await this.#reader.query<{ before: string }>(
      'SELECT pg_snapshot_xmin(pg_current_snapshot())::text AS before',
    );
    // What the snapshot shows may not be on the disk yet. This commit waits for the disk.
    await this.#record('copying');
    for (const table of MOVED_TABLES) if (table.when === 'early') await this.#copy.copy(table);
    await this.#reader.query('COMMIT');
    await this.#from.query('UPDATE account_moves SET copied_before = $2 WHERE account_id = $1', [
      this.#id,
      rows[0]?.before,
    ]);
  }

  /** Closes the account, and copies what is missing. When it returns, the other cell has the account. */
  async #pause({ move_id: moveId }: MoveRow): Promise<void> {
    await this.#record('closed');
    await this.#from.query("UPDATE accounts SET moving = 'closed' WHERE id = $1 AND moving IS NULL", [
      this.#id,
    ]);
    if ((await this.#hasArrived(moveId)) === false) {
      const until = performance.now() + this.#options.drainMs;
      await this.#drain(until);
      // A delivery report may still make an event, and the event a webhook job. Its attempt must be recorded, so at
      // first only new events are refused.
      await raiseFence(this.#from, this.#id, ['event_feeds']);
      await this.#drain(until);
      await raiseFence(this.#from, this.#id);
      await this.#drain(until);
      await this.#keepHashKey();
      await this.#record('frozen');
      await this.#copyLate(moveId);
    }
    const keys = await this.#from.query<{ key_id: string }>(
      'SELECT key_id FROM api_keys WHERE account_id = $1',
      [this.#id],
    );
    await this.#options.redirect(keys.rows.map((row) => row.key_id));
    this.#pauseMs = await this.#sinceClosed();
    await sleep(this.#options.settleMs);
    await this.#record('moved');
  }

  /** Parks the account's jobs until no process holds one. Throws `MoveRefused` if that takes longer than `until`. */
  async #drain(until: number): Promise<void> {
    const { jobs, drainMs } = this.#options;
    for (;;) {
      // Ask before parking. A job that ends between the two may leave another one, which is then parked.
      const held = await jobs.held(this.#from, this.#id);
      const parked = await inTransaction(this.#from, () => jobs.park(this.#from, this.#id));
      if (held === 0 && parked === 0) return;
      if (performance.now() > until)
        throw new MoveRefused(
          `${held} jobs of the account are still under way after ${drainMs / 1000} s. Carriers or webhook endpoints are slow: try again later, or with a longer --drain.`,
        );
      await sleep(DRAIN_PAUSE_MS);
    }
  }

  /** Makes the key of this cell the account's own, so that it recognises erased people in the other cell (R492). */
  async #keepHashKey(): Promise<void> {
    await this.#from.query(
      `INSERT INTO account_hash_keys (account_id, sealed) SELECT $1, sealed FROM address_hash_key
       ON CONFLICT DO NOTHING`,
      [this.#id],
    );
  }

  async #hasArrived(moveId: string): Promise<boolean> {
    const there = await this.#find(this.#to);
    return there?.move_id === moveId && there.step === 'arrived';
  }

  /** Copies the changes since the first copy and the other tables, checks, and opens the account, in one transaction. */
  async #copyLate(moveId: string): Promise<void> {
    const { jobs } = this.#options;
    const { copied_before: before } = await this.#read();
    await this.#reader.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
    await this.#to.query('BEGIN');
    try {
      const planId = await this.#plan();
      const opened = (row: Readonly<Record<string, unknown>>) => ({ ...row, plan_id: planId, moving: null });
      for (const table of MOVED_TABLES) {
        const changedSince = table.when === 'early' && before !== null ? before : undefined;
        await this.#copy.copy(table, {
          changedSince,
          ...(table.name === 'accounts' ? { change: opened } : {}),
        });
      }
      // Children before their parents.
      for (const table of MOVED_TABLES.toReversed()) await this.#verify(table);
      await this.#verifyLedger();
      const parked = await jobs.parked(this.#from, this.#id);
      if (parked.length > 0) await jobs.leave(this.#to, parked);
      await this.#to.query(
        `INSERT INTO account_moves (account_id, move_id, step) VALUES ($1, $2, 'arrived')
         ON CONFLICT (account_id) DO UPDATE SET move_id = excluded.move_id, step = excluded.step, started_at = now(),
           closed_at = NULL, copied_before = NULL, to_cell = NULL, to_database_sealed = NULL`,
        [this.#id, moveId],
      );
      await this.#announce(this.#to);
      await this.#to.query('COMMIT');
    } catch (error) {
      await this.#to.query('ROLLBACK').catch(() => undefined);
      throw error;
    } finally {
      await this.#reader.query('ROLLBACK').catch(() => undefined);
    }
  }

  /** Returns the id that the account's plan has in the other cell. Creates the plan if there is none of its name. */
  async #plan(): Promise<string | null> {
    const { rows } = await this.#reader.query<{ plan: string }>(
      'SELECT row_to_json(p)::text AS plan FROM plans p JOIN accounts a ON a.plan_id = p.id WHERE a.id = $1',
      [this.#id],
    );
    if (!rows[0]) return null;
    await this.#to.query(
      'INSERT INTO plans SELECT * FROM json_populate_record(NULL::plans, $1::json) ON CONFLICT (name) DO NOTHING',
      [rows[0].plan],
    );
    const named = await this.#to.query<{ id: string }>(
      "SELECT id FROM plans WHERE name = $1::json->>'name'",
      [rows[0].plan],
    );
    return named.rows[0]?.id ?? null;
  }

  async #verify(table: MovedTable): Promise<void> {
    if (WRITERS.includes(table.name)) return;
    let counts = await this.#copy.counts(table);
    if (counts.to > counts.from && (!table.stays || table.endsOnReturn)) {
      // Rows were deleted after the first copy, or stayed when the account left.
      await this.#copy.removeGone(table);
      counts = await this.#copy.counts(table);
    }
    if (counts.to !== counts.from)
      throw new MoveRefused(
        `The copy differs: ${table.name} has ${counts.from} rows here and ${counts.to} in the other cell.`,
      );
  }

  async #verifyLedger(): Promise<void> {
    const { rows } = await this.#to.query<{ right: boolean }>(
      `SELECT a.balance_minor = coalesce(sum(l.amount_minor), 0) AND a.ledger_seq = count(l.seq)
         AND a.ledger_seq = coalesce(max(l.seq), 0) AS right
       FROM accounts a LEFT JOIN ledger_entries l ON l.account_id = a.id WHERE a.id = $1 GROUP BY a.id`,
      [this.#id],
    );
    if (rows[0]?.right !== true)
      throw new MoveRefused('The balance of the account is not the sum of its ledger.');
  }

  /** Makes the processes of a cell read the account and its keys again. */
  async #announce(client: pg.Client): Promise<void> {
    const keys = await client.query<{ key_id: string }>('SELECT key_id FROM api_keys WHERE account_id = $1', [
      this.#id,
    ]);
    const payloads = [
      changePayload({ kind: 'account', id: this.#id }),
      ...keys.rows.map((row) => changePayload({ kind: 'api-key', id: row.key_id })),
      changePayload({ kind: 'suppressions', id: this.#id }),
      // Names that are refused to all other accounts, and numbers, are cached together.
      changePayload({ kind: 'senders', id: ALL_IDS }),
      changePayload({ kind: 'erasures', id: ALL_IDS }),
    ];
    await client.query('SELECT pg_notify($1, payload) FROM unnest($2::text[]) AS payload', [
      CHANGES_CHANNEL,
      payloads,
    ]);
  }

  /** After a failure, opens the account again where it is. Throws `error`, with what to do. */
  async #thaw(error: unknown): Promise<never> {
    const { move_id: moveId } = await this.#read();
    // If the other cell cannot be asked, it may have the account. Then nobody may open it here.
    if (await this.#hasArrived(moveId)) throw error;
    await dropFence(this.#from, this.#id);
    await inTransaction(this.#from, async () => {
      await this.#options.jobs.unpark(this.#from, this.#id);
      await this.#from.query("UPDATE accounts SET moving = NULL WHERE id = $1 AND moving = 'closed'", [
        this.#id,
      ]);
      await this.#from.query(
        "UPDATE account_moves SET step = 'copying', closed_at = NULL WHERE account_id = $1",
        [this.#id],
      );
    });
    throw error;
  }

  /** Returns the time since the account was closed, in ms. */
  async #sinceClosed(): Promise<number> {
    const { rows } = await this.#from.query<{ ms: number | null }>(
      `SELECT (extract(epoch FROM clock_timestamp() - closed_at) * 1000)::int AS ms
       FROM account_moves WHERE account_id = $1`,
      [this.#id],
    );
    return rows[0]?.ms ?? 0;
  }

  /**
   * Lets the other cell look again at what it passed over before the account was there: reports that it kept, and
   * messages that reached a deadline during the move.
   */
  async #catchUp(): Promise<void> {
    const { rows } = await this.#from.query<{ started_at: Date; ms: number }>(
      `SELECT started_at, (extract(epoch FROM now() - started_at) * 1000)::float AS ms
       FROM account_moves WHERE account_id = $1`,
      [this.#id],
    );
    const [move] = rows;
    if (!move) return;
    await inTransaction(this.#to, async () => {
      // Kept reports are looked at for some minutes only.
      await this.#to.query(
        `UPDATE unmatched_reports SET received_at = now() - interval '5 minutes'
         WHERE received_at >= $1::timestamptz - $2 * interval '1 ms' AND received_at < now() - interval '5 minutes'`,
        [move.started_at, CATCH_UP_MS],
      );
      const marks = await this.#to.query<{ name: string; last_at: Date; last_id: string }>(
        "SELECT name, last_at, last_id FROM sweep_marks WHERE name ~ '^(expired|unconfirmed)' ORDER BY name FOR UPDATE",
      );
      const earlier = (time: Date) => new Date(time.getTime() - move.ms - CATCH_UP_MS);
      for (const { name, last_at: at, last_id: id } of marks.rows)
        await this.#to.query('UPDATE sweep_marks SET last_at = $2, last_id = $3 WHERE name = $1', [
          ...[name, earlier(at), uuidFloor(earlier(uuidTime(id)))],
        ]);
    });
  }

  /** Makes this cell answer that the account has moved. */
  async #leave(): Promise<void> {
    await inTransaction(this.#from, async () => {
      await this.#from.query("UPDATE accounts SET moving = 'moved' WHERE id = $1", [this.#id]);
      await this.#from.query(
        'UPDATE users SET removed_at = now() WHERE account_id = $1 AND removed_at IS NULL',
        [this.#id],
      );
      await this.#from.query(
        'UPDATE webhooks SET deleted_at = now(), is_active = false WHERE account_id = $1 AND deleted_at IS NULL',
        [this.#id],
      );
      await this.#from.query(
        'DELETE FROM sessions WHERE user_id IN (SELECT id FROM users WHERE account_id = $1)',
        [this.#id],
      );
      // Without their sids, later reports are kept until they are passed on.
      await this.#from.query(
        'DELETE FROM provider_sids WHERE message_id IN (SELECT id FROM messages WHERE account_id = $1)',
        [this.#id],
      );
      await this.#announce(this.#from);
    });
  }

  /** Deletes what the account leaves behind. The ledger, keys and people stay, because they are never deleted. */
  async #clean(): Promise<void> {
    for (const table of MOVED_TABLES.toReversed()) {
      if (table.stays) continue;
      let deleted: number;
      do {
        const { rowCount } = await this.#from.query(
          `DELETE FROM ${table.name} WHERE ctid = ANY (ARRAY(
             SELECT t.ctid FROM ${table.name} t WHERE ${rowsOf(table, this.#id)} LIMIT ${CLEAN_PAGE}))`,
        );
        deleted = rowCount ?? 0;
      } while (deleted === CLEAN_PAGE);
    }
    await this.#from.query('DELETE FROM account_move_jobs WHERE account_id = $1', [this.#id]);
    await dropFence(this.#from, this.#id);
    await this.#announce(this.#from);
    await this.#record('done');
  }
}

async function inTransaction<T>(client: pg.Client, work: () => Promise<T>): Promise<T> {
  await client.query('BEGIN');
  try {
    const result = await work();
    await client.query('COMMIT');
    return result;
  } catch (error) {
    await client.query('ROLLBACK').catch(() => undefined);
    throw error;
  }
}
