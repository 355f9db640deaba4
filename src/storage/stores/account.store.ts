import type {
  Account,
  AccountOrder,
  LedgerEntry,
  Plan,
  RetentionDays,
} from '../../domain/accounts/account.ts';
import type { KeyRange } from '../../domain/paging.ts';
import type { AccountStore } from '../../domain/ports/account-stores.ts';
import { isUuid } from '../../domain/uuid.ts';
import { containing } from '../postgres/like.ts';
import { type Sql, statement } from '../postgres/sql.ts';
import { LEDGER_COLUMNS, type LedgerRow, mapLedgerEntry } from './ledger.store.ts';

interface AccountRow {
  id: string;
  name: string;
  email: string;
  currency: string;
  balance_minor: number;
  created_at: Date;
  content_days: number | null;
  message_days: number | null;
  require_second_factor: boolean;
  moving: 'closed' | 'moved' | null;
  /** The columns of the plan. Null if the account has no plan. */
  plan_name: string | null;
  per_minute: number | null;
  per_second: number | null;
  webhooks_per_minute: number | null;
  session_per_minute: number | null;
}

const COLUMNS = [
  'accounts.id',
  'accounts.name',
  'accounts.email',
  'accounts.currency',
  'accounts.balance_minor',
  'accounts.created_at',
  'accounts.content_days',
  'accounts.message_days',
  'accounts.require_second_factor',
  'accounts.moving',
  'plans.name as plan_name',
  'plans.per_minute',
  'plans.per_second',
  'plans.webhooks_per_minute',
  'plans.session_per_minute',
] as const;

const STATUS = { here: 'active', closed: 'moving', moved: 'moved' } as const;

function mapRow(row: AccountRow): Account {
  return {
    id: row.id,
    name: row.name,
    email: row.email,
    currency: row.currency,
    balanceMinor: row.balance_minor,
    retention: { contentDays: row.content_days, messageDays: row.message_days },
    plan: planOf(row),
    requireSecondFactor: row.require_second_factor,
    status: STATUS[row.moving ?? 'here'],
    createdAt: row.created_at,
  };
}

function planOf({
  plan_name: name,
  per_minute: perMinute,
  per_second: perSecond,
  webhooks_per_minute: webhooksPerMinute,
  session_per_minute: sessionPerMinute,
}: AccountRow): Plan | null {
  const has = name !== null && perMinute !== null && perSecond !== null && webhooksPerMinute !== null;
  return has ? { name, perMinute, perSecond, webhooksPerMinute, sessionPerMinute } : null;
}

// Accounts are locked in the order of their ids, so that two transactions do not deadlock.
const LOCK = statement(
  'account-lock',
  `SELECT id, balance_minor, ledger_seq FROM accounts WHERE id = ANY($1::uuid[]) ORDER BY id FOR NO KEY UPDATE`,
);
const EXISTING = statement(
  'ledger-existing',
  `SELECT account_id, message_id, position, reference FROM ledger_entries
   WHERE (kind = 'refund' AND (message_id, position) IN (SELECT * FROM unnest($1::uuid[], $2::smallint[])))
      OR (reference IS NOT NULL AND (account_id, reference) IN (SELECT * FROM unnest($3::uuid[], $4::text[])))`,
);
const BOOKED = statement(
  'ledger-booked',
  `SELECT ${LEDGER_COLUMNS} FROM ledger_entries WHERE account_id = $1 AND reference = $2`,
);
const CREDIT = statement(
  'ledger-credit',
  `WITH entry AS (
     INSERT INTO ledger_entries
       (account_id, seq, kind, amount_minor, balance_after_minor, message_id, position, reference, actor, created_at)
     SELECT * FROM unnest($1::uuid[], $2::bigint[], $3::text[], $4::bigint[], $5::bigint[], $6::uuid[],
                          $7::smallint[], $8::text[], $9::text[], $10::timestamptz[])
   )
   UPDATE accounts a SET balance_minor = n.balance, ledger_seq = n.seq
   FROM unnest($11::uuid[], $12::bigint[], $13::bigint[]) AS n (id, balance, seq) WHERE a.id = n.id`,
);

const OF_TAIL = statement('account-of-tail', 'SELECT id FROM accounts WHERE right(id::text, 17) = $1');

/**
 * Finds accounts whose name or email address contains $1. $2 is $1 escaped for LIKE. Inside the subquery the planner
 * can only use the trigram index.
 */
const FOUND = `SELECT id FROM (SELECT id, name, email FROM accounts
   WHERE search_terms('', lower(name) || E'\\n' || lower(email), '{}') @@ search_query('', ARRAY[lower($1)], NULL)
   OFFSET 0) AS narrowed WHERE (name ILIKE $2 OR email ILIKE $2)`;
const FIND = statement(
  'accounts-find',
  `${FOUND} AND ($4::uuid IS NULL OR id < $4) ORDER BY id DESC LIMIT $3`,
);
const FIND_ALL = statement('accounts-find-all', FOUND);
const COUNT_FOUND = statement('accounts-count-found', `SELECT count(*) AS total FROM (${FOUND}) AS found`);

interface Locked {
  id: string;
  balance_minor: number;
  ledger_seq: number;
}

/** Stores accounts, and ledger entries that add to a balance. Intake writes the charges (src/storage/intake). */
export class PgAccountStore implements AccountStore {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async insert(account: Account): Promise<void> {
    await this.#sql.table('accounts').insert({
      id: account.id,
      name: account.name,
      email: account.email,
      currency: account.currency,
      balance_minor: account.balanceMinor,
      created_at: account.createdAt,
    });
    await this.#sql.table('event_feeds').insert({ account_id: account.id });
  }

  async find(id: string): Promise<Account | undefined> {
    if (!isUuid(id)) return undefined;
    const row: AccountRow | undefined = await this.#withPlan()
      .where('accounts.id', id)
      .first(...COLUMNS);
    return row && mapRow(row);
  }

  async idOfTail(tail: string): Promise<string | undefined> {
    const [row] = await this.#sql.query<{ id: string }>(OF_TAIL, [tail]);
    return row?.id;
  }

  findOnDisk(id: string): Promise<Account | undefined> {
    return this.#sql.readOnDisk((sql) => new PgAccountStore(sql).find(id));
  }

  async findMany(ids: readonly string[]): Promise<readonly Account[]> {
    const rows: AccountRow[] = await this.#sql.readOnDisk((sql) =>
      new PgAccountStore(sql)
        .#withPlan()
        .whereIn('accounts.id', ids.filter(isUuid))
        .select(...COLUMNS),
    );
    return rows.map(mapRow);
  }

  async list(
    search: string | undefined,
    range: KeyRange,
    order: AccountOrder = 'newest',
  ): Promise<readonly Account[]> {
    return this.#sql.readOnDisk((sql) => {
      const store = new PgAccountStore(sql);
      return order === 'balance' ? store.#listByBalance(search, range) : store.#list(search, range);
    });
  }

  /**
   * Sorts all accounts, or those that are found: an index on the balance would be written with each charge. A cursor is
   * `balanceKey`.
   */
  async #listByBalance(search: string | undefined, { limit, after }: KeyRange): Promise<readonly Account[]> {
    const query = this.#withPlan()
      .orderBy(['accounts.currency', 'accounts.balance_minor', 'accounts.id'])
      .limit(limit);
    if (after !== undefined) {
      const [currency = '', balance = '', id = ''] = after.split(' ');
      query.whereRaw('(accounts.currency, accounts.balance_minor, accounts.id) > (?, ?::bigint, ?::uuid)', [
        currency,
        balance,
        id,
      ]);
    }
    if (search !== undefined) {
      const found = await this.#sql.query<{ id: string }>(FIND_ALL, [search, containing(search)]);
      query.whereRaw('accounts.id = ANY(?::uuid[])', [found.map(({ id }) => id)]);
    }
    const rows: AccountRow[] = await query.select(...COLUMNS);
    return rows.map(mapRow);
  }

  async #list(search: string | undefined, { limit, after }: KeyRange): Promise<readonly Account[]> {
    const query = this.#withPlan().orderBy('accounts.id', 'desc').limit(limit);
    if (after !== undefined) query.where('accounts.id', '<', after);
    if (search !== undefined) {
      const found = await this.#sql.query<{ id: string }>(FIND, [
        search,
        containing(search),
        limit,
        after ?? null,
      ]);
      query.whereIn(
        'accounts.id',
        found.map(({ id }) => id),
      );
    }
    const rows: AccountRow[] = await query.select(...COLUMNS);
    return rows.map(mapRow);
  }

  async count(search: string | undefined): Promise<number> {
    if (search === undefined)
      return this.#sql.readOnDisk((sql) => sql.count(new PgAccountStore(sql).#withPlan()));
    const [counted] = await this.#sql.queryOnDisk<{ total: number }>(COUNT_FOUND, [
      search,
      containing(search),
    ]);
    return counted?.total ?? 0;
  }

  #withPlan() {
    return this.#sql.table<AccountRow>('accounts').leftJoin('plans', 'plans.id', 'accounts.plan_id');
  }

  async setRetention(id: string, { contentDays, messageDays }: RetentionDays) {
    const account = this.#sql
      .table<{ id: string; content_days: number | null; message_days: number | null }>('accounts')
      .where({ id });
    const before = await account.clone().forNoKeyUpdate().first('content_days', 'message_days');
    await account.update({ content_days: contentDays, message_days: messageDays });
    return before && { contentDays: before.content_days, messageDays: before.message_days };
  }

  async setSecurityPolicy(id: string, requireSecondFactor: boolean): Promise<void> {
    await this.#sql.table('accounts').where({ id }).update({ require_second_factor: requireSecondFactor });
  }

  async isEmpty(): Promise<boolean> {
    return (await this.#sql.table('accounts').first('id')) === undefined;
  }

  async credit(
    entries: readonly Omit<LedgerEntry, 'seq' | 'balanceAfterMinor'>[],
  ): Promise<readonly LedgerEntry[]> {
    if (entries.length === 0) return [];
    const ids = [...new Set(entries.map((entry) => entry.accountId))];
    const accounts = new Map((await this.#sql.query<Locked>(LOCK, [ids])).map((row) => [row.id, { ...row }]));
    const refunds = entries.filter((entry) => entry.kind === 'refund');
    const referenced = entries.filter((entry) => entry.reference !== null);
    const taken = new Set<string>();
    const existing = await this.#sql.query<{
      account_id: string;
      message_id: string | null;
      position: number | null;
      reference: string | null;
    }>(EXISTING, [
      refunds.map((entry) => entry.messageId),
      refunds.map((entry) => entry.position),
      referenced.map((entry) => entry.accountId),
      referenced.map((entry) => entry.reference),
    ]);
    for (const row of existing) {
      taken.add(`refund ${row.message_id} ${row.position}`);
      if (row.reference !== null) taken.add(`reference ${row.account_id} ${row.reference}`);
    }
    const credited: LedgerEntry[] = [];
    for (const entry of entries) {
      const keys = [
        ...(entry.kind === 'refund' ? [`refund ${entry.messageId} ${entry.position}`] : []),
        ...(entry.reference === null ? [] : [`reference ${entry.accountId} ${entry.reference}`]),
      ];
      const account = accounts.get(entry.accountId);
      if (!account || keys.some((key) => taken.has(key))) continue;
      for (const key of keys) taken.add(key);
      account.ledger_seq += 1;
      account.balance_minor += entry.amountMinor;
      credited.push({ ...entry, seq: account.ledger_seq, balanceAfterMinor: account.balance_minor });
    }
    if (credited.length === 0) return [];
    const changed = [...accounts.values()];
    await this.#sql.execute(CREDIT, [
      credited.map((entry) => entry.accountId),
      credited.map((entry) => entry.seq),
      credited.map((entry) => entry.kind),
      credited.map((entry) => entry.amountMinor),
      credited.map((entry) => entry.balanceAfterMinor),
      credited.map((entry) => entry.messageId),
      credited.map((entry) => entry.position),
      credited.map((entry) => entry.reference),
      credited.map((entry) => entry.actor),
      credited.map((entry) => entry.createdAt),
      changed.map((account) => account.id),
      changed.map((account) => account.balance_minor),
      changed.map((account) => account.ledger_seq),
    ]);
    return credited;
  }

  async findBooked(accountId: string, reference: string): Promise<LedgerEntry | undefined> {
    const [row] = await this.#sql.query<LedgerRow>(BOOKED, [accountId, reference]);
    return row && mapLedgerEntry(row);
  }
}
