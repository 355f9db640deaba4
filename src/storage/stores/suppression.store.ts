import type { AccountEnvironment, Environment, Visibility } from '../../domain/caller.ts';
import type { KeyRange, Page, PageRequest } from '../../domain/paging.ts';
import type { SuppressionFilter, SuppressionStore } from '../../domain/ports/suppression-store.ts';
import type {
  SuppressedAddress,
  SuppressedChannel,
  Suppression,
  SuppressionPlace,
  SuppressionScope,
  SuppressionSource,
} from '../../domain/suppressions/suppression.ts';
import { Batcher } from '../../runtime/batcher.ts';
import { type Sql, statement } from '../postgres/sql.ts';
import { whereVisible } from './account-rows.ts';

interface SuppressionRow {
  id: string;
  account_id: string;
  created_at: Date;
  environment: Environment;
  channel: SuppressedChannel;
  scope: SuppressionScope;
  source: SuppressionSource;
  address: string;
  reason: string | null;
}

const COLUMNS = [
  'id',
  'account_id',
  'created_at',
  'environment',
  'channel',
  'scope',
  'source',
  'address',
  'reason',
] as const;

function mapRow(row: SuppressionRow): Suppression {
  return {
    id: row.id,
    accountId: row.account_id,
    environment: row.environment,
    channel: row.channel,
    address: row.address,
    scope: row.scope,
    source: row.source,
    reason: row.reason,
    createdAt: row.created_at,
  };
}

/** Returns the values of a suppression in the order of `COLUMNS`. */
function valuesOf(suppression: Suppression): readonly unknown[] {
  return [
    suppression.id,
    suppression.accountId,
    suppression.createdAt,
    suppression.environment,
    suppression.channel,
    suppression.scope,
    suppression.source,
    suppression.address,
    suppression.reason,
  ];
}

/** Returns the values of suppressions, one array for each of `COLUMNS`. */
function arraysOf(suppressions: readonly Suppression[]): readonly (readonly unknown[])[] {
  const rows = suppressions.map(valuesOf);
  return COLUMNS.map((_, index) => rows.map((row) => row[index]));
}

/** The addresses of one send, which are looked up. */
interface Ask {
  readonly owner: AccountEnvironment;
  readonly channel: SuppressedChannel;
  readonly addresses: readonly string[];
}

function keyOf({ channel, address }: Suppression): string {
  return `${channel} ${address}`;
}

/** Number of addresses in one statement of `among`. A send has at most 1,000, and is looked up at once. */
const ADDRESSES_AT_ONCE = 1_000;
/** Number of suppressions in one statement of `addAll`. */
const ROWS_AT_ONCE = 1_000;

const ANY = statement(
  'suppressions-any',
  `SELECT EXISTS (SELECT FROM suppressions WHERE account_id = $1) AS is_any,
     EXISTS (SELECT FROM erasures WHERE account_id = $1 AND (counts ->> 'suppressions')::int > 0) AS is_hashed`,
);
// One look into the unique index for each address: only that index has the order which the query asks for. With plain
// equalities, PostgreSQL read all suppressions of the account by the index of the newest, for each send after an import
// of 100,000, until it had statistics of the table.
const AMONG = statement(
  'suppressions-among',
  `SELECT a.ask, a.address, s.scope
   FROM unnest($1::int[], $2::uuid[], $3::text[], $4::text[], $5::text[])
       AS a (ask, account_id, environment, channel, address),
     LATERAL (
       SELECT channel, address, scope FROM suppressions
       WHERE account_id = a.account_id AND environment = a.environment
         AND (channel, address) >= (a.channel, a.address)
       ORDER BY channel, address LIMIT 1
     ) s
   WHERE s.channel = a.channel AND s.address = a.address`,
);
const COUNT_UP_TO = statement(
  'suppressions-count-up-to',
  'SELECT count(*)::int AS rows FROM (SELECT FROM suppressions WHERE account_id = $1 LIMIT $2) AS found',
);
const PLACES = statement(
  'suppressions-places',
  `SELECT environment, channel, address FROM suppressions
   WHERE account_id = $1 AND (environment, channel, address) > ($2, $3, $4)
   ORDER BY environment, channel, address LIMIT $5`,
);
const INSERT = `INSERT INTO suppressions (${COLUMNS.join(', ')}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`;
const INSERT_ALL = `INSERT INTO suppressions (${COLUMNS.join(', ')})
  SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::timestamptz[], $4::text[], $5::text[], $6::text[], $7::text[],
    $8::text[], $9::text[])`;
const ON_CONFLICT = 'ON CONFLICT (account_id, environment, channel, address) DO UPDATE SET';
// A STOP hides a narrower suppression instead of replacing it (R379).
const ADD = statement(
  'suppressions-add',
  `${INSERT_ALL}
   ${ON_CONFLICT} earlier_source = excluded.source, earlier_reason = excluded.reason
   WHERE suppressions.source = 'stop' AND suppressions.earlier_source IS NULL AND excluded.scope = 'marketing'
   RETURNING id`,
);
const WIDEN = statement(
  'suppressions-widen',
  `${INSERT_ALL}
   ${ON_CONFLICT} scope = excluded.scope, source = excluded.source, reason = excluded.reason,
     earlier_source = suppressions.source, earlier_reason = suppressions.reason
   WHERE suppressions.scope = 'marketing'
   RETURNING id`,
);
// `ADD` and `WIDEN` in one, so that a transaction locks the rows in the order of addresses.
const ADD_ALL = statement(
  'suppressions-add-all',
  `${INSERT_ALL}
   ${ON_CONFLICT} scope = CASE excluded.scope WHEN 'all' THEN 'all' ELSE suppressions.scope END,
     source = CASE excluded.scope WHEN 'all' THEN excluded.source ELSE suppressions.source END,
     reason = CASE excluded.scope WHEN 'all' THEN excluded.reason ELSE suppressions.reason END,
     earlier_source = CASE excluded.scope WHEN 'all' THEN suppressions.source ELSE excluded.source END,
     earlier_reason = CASE excluded.scope WHEN 'all' THEN suppressions.reason ELSE excluded.reason END
   WHERE CASE excluded.scope WHEN 'all' THEN suppressions.scope = 'marketing'
     ELSE suppressions.source = 'stop' AND suppressions.earlier_source IS NULL END
   RETURNING id`,
);
const LOCK_REPLIES = statement(
  'suppressions-lock-replies',
  'SELECT pg_advisory_xact_lock(7350180, hashtext($1))',
);
const STOPPED_UNDER = statement(
  'suppressions-stopped-under',
  `SELECT s.account_id FROM unnest($3::uuid[], $4::text[]) AS n (account_id, hash)
   JOIN suppressions s ON s.account_id = n.account_id AND s.environment = 'production' AND s.channel = $1
     AND s.address = $2 || n.hash AND s.source = 'stop'
   JOIN accounts a ON a.id = s.account_id AND a.moving IS NULL`,
);
const LIFT_STOP = statement(
  'suppressions-lift-stop',
  `WITH stopped AS (
     SELECT id FROM suppressions
     WHERE account_id = $1 AND environment = $2 AND channel = $3 AND address = ANY ($4::text[])
       AND source = 'stop' FOR UPDATE
   ), restored AS (
     UPDATE suppressions s SET scope = 'marketing', source = earlier_source, reason = earlier_reason,
       earlier_source = NULL, earlier_reason = NULL
     FROM stopped WHERE s.id = stopped.id AND earlier_source IS NOT NULL RETURNING s.id
   ), removed AS (
     DELETE FROM suppressions s USING stopped WHERE s.id = stopped.id AND earlier_source IS NULL RETURNING s.id
   )
   SELECT id FROM restored UNION ALL SELECT id FROM removed`,
);
const SET = statement(
  'suppressions-set',
  `${INSERT}
   ${ON_CONFLICT} scope = excluded.scope, source = excluded.source, reason = excluded.reason,
     earlier_source = NULL, earlier_reason = NULL
   RETURNING ${COLUMNS.join(', ')}`,
);

/** Stores suppressions (R377). */
export class PgSuppressionStore implements SuppressionStore {
  readonly #sql: Sql;
  /** Look-ups of sends that arrive at the same time share a statement: one each doubled the cost of accepting. */
  #asks: Batcher<Ask, readonly SuppressedAddress[]> | undefined;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async any(accountId: string): Promise<'none' | 'plain' | 'hashed'> {
    const [row] = await this.#sql.query<{ is_any: boolean; is_hashed: boolean }>(ANY, [accountId]);
    if (!row?.is_any) return 'none';
    return row.is_hashed ? 'hashed' : 'plain';
  }

  among(
    owner: AccountEnvironment,
    channel: SuppressedChannel,
    addresses: readonly string[],
  ): Promise<readonly SuppressedAddress[]> {
    this.#asks ??= new Batcher((asks) => this.#lookUp(asks), {
      weight: ({ addresses }) => addresses.length,
      maxWeight: ADDRESSES_AT_ONCE,
    });
    return this.#asks.add({ owner, channel, addresses });
  }

  async countUpTo(accountId: string, most: number): Promise<number> {
    const [row] = await this.#sql.query<{ rows: number }>(COUNT_UP_TO, [accountId, most]);
    return row?.rows ?? 0;
  }

  async places(
    accountId: string,
    after: SuppressionPlace | undefined,
    limit: number,
  ): Promise<readonly SuppressionPlace[]> {
    const { environment = '', channel = '', address = '' } = after ?? {};
    return this.#sql.query<SuppressionPlace>(PLACES, [accountId, environment, channel, address, limit]);
  }

  async #lookUp(asks: readonly Ask[]): Promise<(readonly SuppressedAddress[])[]> {
    const all = asks.flatMap(({ owner, channel, addresses }, ask) =>
      addresses.map((address) => ({ ...owner, ask, channel, address })),
    );
    const rows = await this.#sql.query<SuppressedAddress & { ask: number }>(AMONG, [
      all.map(({ ask }) => ask),
      all.map(({ accountId }) => accountId),
      all.map(({ environment }) => environment),
      all.map(({ channel }) => channel),
      all.map(({ address }) => address),
    ]);
    const found = asks.map((): SuppressedAddress[] => []);
    for (const { ask, address, scope } of rows) found[ask]?.push({ address, scope });
    return found;
  }

  async set(suppression: Suppression): Promise<Suppression> {
    const [row] = await this.#sql.query<SuppressionRow>(SET, valuesOf(suppression));
    if (!row) throw new Error('a stored suppression has no row');
    return mapRow(row);
  }

  async add(suppression: Suppression): Promise<string | undefined> {
    const [row] = await this.#sql.query<{ id: string }>(ADD, arraysOf([suppression]));
    return row?.id;
  }

  async widen(suppression: Suppression): Promise<string | undefined> {
    const [row] = await this.#sql.query<{ id: string }>(WIDEN, arraysOf([suppression]));
    return row?.id;
  }

  async addAll(suppressions: readonly Suppression[]): Promise<number> {
    let changed = 0;
    // In the order of addresses, as every transaction with several, so that two of them do not deadlock.
    const sorted = suppressions.toSorted((one, two) => (keyOf(one) < keyOf(two) ? -1 : 1));
    for (let start = 0; start < sorted.length; start += ROWS_AT_ONCE) {
      const part = sorted.slice(start, start + ROWS_AT_ONCE);
      changed += (await this.#sql.query(ADD_ALL, arraysOf(part))).length;
    }
    return changed;
  }

  async stoppedUnder(
    channel: SuppressedChannel,
    prefix: string,
    hashes: ReadonlyMap<string, string>,
  ): Promise<readonly string[]> {
    const values = [channel, prefix, [...hashes.keys()], [...hashes.values()]];
    return (await this.#sql.query<{ account_id: string }>(STOPPED_UNDER, values)).map(
      (row) => row.account_id,
    );
  }

  async find(visibility: Visibility, id: string): Promise<Suppression | undefined> {
    const row: SuppressionRow | undefined = await this.#sql
      .table('suppressions')
      .where({ ...whereVisible(visibility), id })
      .first(...COLUMNS);
    return row && mapRow(row);
  }

  async page(
    owner: AccountEnvironment,
    filter: SuppressionFilter,
    { page, limit }: PageRequest,
  ): Promise<Page<Suppression>> {
    const rows: SuppressionRow[] = await this.#matching(owner, filter)
      .select(...COLUMNS)
      .orderBy('id', 'desc')
      .limit(limit)
      .offset((page - 1) * limit);
    return { rows: rows.map(mapRow), total: await this.count(owner, filter) };
  }

  async slice(
    owner: AccountEnvironment,
    filter: SuppressionFilter,
    { limit, after }: KeyRange,
  ): Promise<readonly Suppression[]> {
    const matching = this.#matching(owner, filter).orderBy('id', 'desc').limit(limit);
    if (after !== undefined) matching.where('id', '<', after);
    const rows: SuppressionRow[] = await matching.select(...COLUMNS);
    return rows.map(mapRow);
  }

  async count(owner: AccountEnvironment, filter: SuppressionFilter): Promise<number> {
    const [row] = await this.#matching(owner, filter).count<{ count: number }[]>({ count: '*' });
    return row?.count ?? 0;
  }

  async remove(accountId: string, id: string): Promise<void> {
    await this.#sql.table('suppressions').where({ account_id: accountId, id }).delete();
  }

  async lockReplies(
    { accountId, environment }: AccountEnvironment,
    channel: SuppressedChannel,
    address: string,
  ): Promise<void> {
    await this.#sql.query(LOCK_REPLIES, [`${accountId} ${environment} ${channel} ${address}`]);
  }

  async liftStop(
    { accountId, environment }: AccountEnvironment,
    channel: SuppressedChannel,
    addresses: readonly string[],
  ): Promise<string | undefined> {
    const values = [accountId, environment, channel, addresses];
    const [row] = await this.#sql.query<{ id: string }>(LIFT_STOP, values);
    return row?.id;
  }

  #matching(owner: AccountEnvironment, { channel, addresses }: SuppressionFilter) {
    const matching = this.#sql.table<SuppressionRow>('suppressions').where(whereVisible(owner));
    if (channel !== undefined) matching.where({ channel });
    if (addresses !== undefined) matching.whereIn('address', [...addresses]);
    return matching;
  }
}
