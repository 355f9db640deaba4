import { insufficientBalance } from '../../domain/errors.ts';
import { blockOf, endingOf, neighboursOf, WINDOW_MS } from '../../domain/limits/pumping.ts';
import { PREFIX_LENGTH } from '../../domain/messages/country.ts';
import { fromMinor } from '../../domain/money/money.ts';
import type {
  AddedNumbers,
  HeldBlock,
  HeldDecision,
  HeldMessage,
  HeldStore,
} from '../../domain/ports/held-store.ts';
import { uuidFloor } from '../../domain/uuid.ts';
import { BLOCK_OF_SEQ } from '../message-index/index.ts';
import { type Sql, statement } from '../postgres/sql.ts';

const DAY_MINUTES = 1_440;
const WINDOW = `interval '${WINDOW_MS} milliseconds'`;

const LOCK_COUNTS = statement(
  'pumping-lock',
  `SELECT pg_advisory_xact_lock(hashtextextended('pumping ' || $1::text, 0))`,
);
// The first condition must be the expression of the index recipients_to. An id of version 7 begins with its time.
const KNOWN = statement(
  'pumping-known',
  `SELECT n.address FROM unnest($2::text[]) AS n (address) WHERE EXISTS (
     SELECT FROM recipients r JOIN messages m ON m.id = r.message_id
     WHERE hashtextextended(r.address, uuid_hash_extended(r.account_id, 0))
         = hashtextextended(n.address, uuid_hash_extended($1::uuid, 0))
       AND r.account_id = $1 AND r.address = n.address AND r.message_id >= $3 AND r.message_id < $4
       AND r.status IN ('sent', 'delivered') AND m.channel = 'sms' AND m.environment = 'production')`,
);
const ADD = statement(
  'pumping-add',
  `WITH n AS (SELECT * FROM unnest($2::text[], $3::text[]) AS n (block, ending)), counted AS (
     SELECT p.block, p.ending FROM pumping_numbers p JOIN n ON n.block = p.block AND n.ending = p.ending
     WHERE p.account_id = $1 AND p.seen_at > now() - ${WINDOW}
   ), added AS (
     INSERT INTO pumping_numbers (account_id, seen_at, block, ending)
     SELECT $1::uuid, now(), block, ending FROM n ORDER BY 3, 4
     ON CONFLICT (account_id, block, ending) DO UPDATE SET seen_at = excluded.seen_at
     RETURNING block, ending, seen_at
   )
   SELECT block || ending AS address, seen_at::text AS at FROM added a
   WHERE NOT EXISTS (SELECT FROM counted c WHERE c.block = a.block AND c.ending = a.ending)`,
);
const TAKE_BACK = statement(
  'pumping-take-back',
  `DELETE FROM pumping_numbers p USING unnest($2::text[], $3::text[]) AS n (block, ending)
   WHERE p.account_id = $1 AND p.block = n.block AND p.ending = n.ending AND p.seen_at = $4::timestamptz`,
);
const COUNT = statement(
  'pumping-count',
  `SELECT n.block, (SELECT count(*) FROM pumping_numbers p WHERE p.account_id = $1 AND p.block = n.block
       AND p.seen_at > now() - ${WINDOW})::int AS numbers,
     EXISTS (SELECT FROM trusted_blocks t WHERE t.account_id = $1 AND t.block = n.block
       AND t.trusted_until > now()) AS is_trusted
   FROM unnest($2::text[]) AS n (block)`,
);
const STORED = statement(
  'pumping-stored',
  `SELECT p.block || p.ending AS address FROM unnest($2::text[], $3::text[]) AS n (block, ending)
   JOIN pumping_numbers p ON p.account_id = $1 AND p.block = n.block AND p.ending = n.ending
   WHERE p.seen_at > now() - ${WINDOW}`,
);
const BUSIEST_DAYS = statement(
  'pumping-busiest-days',
  `SELECT d.prefix, max(d.recipients)::bigint AS recipients FROM (
     SELECT prefix, sum(recipients) AS recipients FROM analytics_slots
     WHERE account_id = $1 AND minutes = ${DAY_MINUTES} AND slot >= $3 AND channel = 'sms'
       AND environment = 'production' AND prefix = ANY ($2::text[]) AND status IN ('sent', 'delivered')
     GROUP BY prefix, slot) d
   GROUP BY d.prefix`,
);
const TRUST = statement(
  'pumping-trust',
  `INSERT INTO trusted_blocks (account_id, trusted_until, block) VALUES ($1, $2, $3)
   ON CONFLICT (account_id, block) DO UPDATE SET trusted_until = excluded.trusted_until`,
);
const FORGET_ROWS = 5_000;
const FORGET_NUMBERS = statement(
  'pumping-forget-numbers',
  `DELETE FROM pumping_numbers WHERE ctid = ANY (ARRAY(
     SELECT ctid FROM pumping_numbers WHERE seen_at < $1 LIMIT ${FORGET_ROWS} FOR UPDATE SKIP LOCKED)) RETURNING 1`,
);
const FORGET_TRUST = statement('pumping-forget-trust', 'DELETE FROM trusted_blocks WHERE trusted_until < $1');

const BLOCKS = statement(
  'held-blocks',
  `SELECT account_id, block, count(*)::int AS messages, sum(cardinality(costs))::bigint AS recipients,
     sum(cost_minor)::bigint AS cost_minor, min(held_at) AS held_since
   FROM held_reviews WHERE account_id = ANY($1::uuid[]) AND decided_at IS NULL
   GROUP BY 1, 2 ORDER BY held_since, block`,
);
/**
 * Most recipients that one transaction decides about, unless the first message has more. More would take too long, and
 * then never succeed.
 */
const RECIPIENTS = 2_000;
const OPEN = statement(
  'held-open',
  `SELECT message_id FROM (
     SELECT message_id, sum(recipients) OVER (ORDER BY message_id) - recipients AS before FROM (
       SELECT message_id, cardinality(costs) AS recipients FROM held_reviews
       WHERE account_id = $1 AND block = $2 AND decided_at IS NULL ORDER BY message_id LIMIT $3) o) c
   WHERE before < ${RECIPIENTS} ORDER BY message_id`,
);
// Rows of an account that moves to another cell refuse changes, and would stop those of all other accounts (R503).
const STAYS = (row: string) =>
  `NOT EXISTS (SELECT FROM accounts a WHERE a.id = ${row}.account_id AND a.moving IS NOT NULL)`;
const HELD_BEFORE = statement(
  'held-before',
  `SELECT message_id FROM (
     SELECT message_id, held_at, sum(recipients) OVER (ORDER BY held_at, message_id) - recipients AS before FROM (
       SELECT message_id, held_at, cardinality(costs) AS recipients FROM held_reviews h
       WHERE decided_at IS NULL AND held_at <= $1 AND ${STAYS('h')} ORDER BY held_at, message_id LIMIT $2) o) c
   WHERE before < ${RECIPIENTS} ORDER BY held_at, message_id`,
);
const FIND = statement(
  'held-find',
  `SELECT message_id, cost_minor, costs, routes FROM held_reviews
   WHERE message_id = ANY($1::uuid[]) AND decided_at IS NULL ORDER BY message_id`,
);
const DECIDE = statement(
  'held-decide',
  `UPDATE held_reviews SET decided_at = $3, decision = $2 WHERE message_id = ANY($1::uuid[]) AND decided_at IS NULL`,
);
const TAKE_DECIDED = statement(
  'held-take-decided',
  `DELETE FROM held_reviews WHERE message_id = ANY (ARRAY(
     SELECT message_id FROM held_reviews h WHERE decided_at < $1 AND ${STAYS('h')} ORDER BY decided_at LIMIT $2
     FOR UPDATE SKIP LOCKED))
   RETURNING message_id, decision`,
);

/** The key of the fold of analytics (src/storage/analytics/fold.ts). */
const LOCK_ANALYTICS = statement('held-lock-analytics', 'SELECT pg_advisory_xact_lock(4872392)');
const LOCK_ACCOUNT = statement(
  'held-lock-account',
  'SELECT balance_minor, currency FROM accounts WHERE id = $1 FOR NO KEY UPDATE',
);
/**
 * Sets the costs of released messages, and counts them where the messages are counted. The fold of analytics reads the
 * costs of messages above the mark itself, so only those below it get a delta. The caller locks the fold out meanwhile.
 * An update of the row makes this transaction its maker, which the trigger `charged_once` of the ledger asks for.
 */
const SET_COSTS = statement(
  'held-set-costs',
  `WITH n AS (
     SELECT h.message_id, h.cost_minor, h.costs, n.expires_at
     FROM unnest($1::uuid[], $2::timestamptz[]) AS n (message_id, expires_at)
     JOIN held_reviews h ON h.message_id = n.message_id
   ), message AS (
     UPDATE messages m SET cost_minor = n.cost_minor, status_reason = NULL, expires_at = n.expires_at
     FROM n WHERE m.id = n.message_id RETURNING m.*
   ), recipient AS (
     UPDATE recipients r SET cost_minor = n.costs[r.position + 1] FROM n WHERE r.message_id = n.message_id
     RETURNING r.message_id, r.address, r.cost_minor
   ), usage AS (
     INSERT INTO usage_deltas (account_id, hour, channel, environment, status, api_key_id, block, bitmap, messages,
       cost_minor)
     SELECT account_id, date_trunc('hour', created_at, 'UTC'), channel, environment, 'pending', coalesce(api_key_id, ''),
       ${BLOCK_OF_SEQ}, 0, 0, sum(cost_minor)
     FROM message GROUP BY 1, 2, 3, 4, 6, 7
   )
   INSERT INTO analytics_deltas (account_id, slot, channel, environment, api_key_id, sender, status, prefix, provider,
     error_code, messages, recipients, cost_minor, refund_minor)
   SELECT m.account_id, date_bin('15 minutes', m.created_at, '2000-01-01T00:00Z'), m.channel, m.environment,
     coalesce(m.api_key_id, ''), m.sender, 'pending', left(r.address, ${PREFIX_LENGTH}), '', '', 0, 0,
     sum(r.cost_minor), 0
   FROM message m JOIN recipient r ON r.message_id = m.id
   JOIN analytics_marks k ON k.account_id = m.account_id AND m.seq <= k.sms_seq
   GROUP BY 1, 2, 3, 4, 5, 6, 8`,
);
const CHARGE = statement(
  'held-charge',
  `WITH account AS (
     UPDATE accounts SET balance_minor = balance_minor - $5, ledger_seq = ledger_seq + cardinality($2::uuid[])
     WHERE id = $1
     RETURNING balance_minor + $5 AS balance, ledger_seq - cardinality($2::uuid[]) AS ledger
   )
   INSERT INTO ledger_entries (account_id, seq, amount_minor, balance_after_minor, message_id, kind, created_at)
   SELECT $1, a.ledger + n.place, -n.cost, a.balance - sum(n.cost) OVER (ORDER BY n.place), n.message_id, 'charge', $4
   FROM unnest($2::uuid[], $3::bigint[]) WITH ORDINALITY AS n (message_id, cost, place) CROSS JOIN account a
   ORDER BY n.place`,
);

interface BlockRow {
  account_id: string;
  block: string;
  messages: number;
  recipients: number;
  cost_minor: number;
  held_since: Date;
}
interface HeldRow {
  message_id: string;
  cost_minor: number;
  costs: (number | string)[];
  routes: string[];
}

/** Stores messages that are held for review, and counts numbers in a row (R392 to R396). */
export class PgHeldStore implements HeldStore {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async countNumbers(input: Parameters<HeldStore['countNumbers']>[0]) {
    const { accountId, bounds, local } = input;
    // One lock for all blocks of an account: several sends to several blocks cannot wait for each other in a circle.
    await this.#sql.query(LOCK_COUNTS, [accountId]);
    const known = new Set(await this.#known(input, input.added));
    const added = await this.#add(
      accountId,
      input.added.filter((address) => !known.has(address)),
    );
    const near = new Map([...bounds.keys()].map((block) => [block, neighboursOf(block)]));
    const rows = await this.#sql.query<{ block: string; numbers: number; is_trusted: boolean }>(COUNT, [
      accountId,
      [...new Set([...near].flatMap(([block, neighbours]) => [block, ...neighbours]))],
    ]);
    const numbers = new Map(rows.map((row) => [row.block, row.numbers]));
    const released = new Set(rows.filter((row) => row.is_trusted).map((row) => row.block));
    const localIn = new Map([...Map.groupBy(local, blockOf)].map(([block, own]) => [block, new Set(own)]));
    const countOf = (block: string) => {
      const numbersOf = (each: string) => (numbers.get(each) ?? 0) + (localIn.get(each)?.size ?? 0);
      return numbersOf(block) + Math.max(0, ...(near.get(block) ?? []).map(numbersOf));
    };
    const above = () =>
      [...bounds].flatMap(([block, bound]) =>
        countOf(block) > bound && ![block, ...(near.get(block) ?? [])].some((each) => released.has(each))
          ? [block]
          : [],
      );
    // The numbers in memory may be known, or the database has them from another process. That counts only where a
    // block would be held.
    const doubtful = new Set(above().flatMap((block) => [block, ...(near.get(block) ?? [])]));
    const unsure = local.filter((address) => doubtful.has(blockOf(address)));
    const stored = new Set(await this.#stored(accountId, unsure));
    for (const address of await this.#known(input, unsure)) known.add(address);
    for (const address of [...stored, ...known]) localIn.get(blockOf(address))?.delete(address);
    return { above: new Map(above().map((block) => [block, countOf(block)])), known, stored, added };
  }

  async #known(
    { accountId, since, until }: Parameters<HeldStore['countNumbers']>[0],
    addresses: readonly string[],
  ): Promise<readonly string[]> {
    if (addresses.length === 0) return [];
    const values = [accountId, addresses, uuidFloor(since), uuidFloor(until)];
    const rows = await this.#sql.query<{ address: string }>(KNOWN, values);
    return rows.map(({ address }) => address);
  }

  async #stored(accountId: string, addresses: readonly string[]): Promise<readonly string[]> {
    if (addresses.length === 0) return [];
    const values = [accountId, addresses.map(blockOf), addresses.map(endingOf)];
    const rows = await this.#sql.query<{ address: string }>(STORED, values);
    return rows.map(({ address }) => address);
  }

  async #add(accountId: string, addresses: readonly string[]): Promise<AddedNumbers | undefined> {
    if (addresses.length === 0) return undefined;
    const added = await this.#sql.query<{ address: string; at: string }>(ADD, [
      accountId,
      addresses.map(blockOf),
      addresses.map(endingOf),
    ]);
    return added[0] && { accountId, addresses: added.map((row) => row.address), at: added[0].at };
  }

  async takeBack({ accountId, addresses, at }: AddedNumbers): Promise<void> {
    // Without the lock, this could wait for a count and the count for this, because they lock rows in different orders.
    await this.#sql.transaction(async (sql) => {
      await sql.query(LOCK_COUNTS, [accountId]);
      await sql.query(TAKE_BACK, [accountId, addresses.map(blockOf), addresses.map(endingOf), at]);
    });
  }

  async busiestDays(
    accountId: string,
    prefixes: readonly string[],
    since: Date,
  ): Promise<ReadonlyMap<string, number>> {
    const rows = await this.#sql.query<{ prefix: string; recipients: number }>(BUSIEST_DAYS, [
      accountId,
      prefixes,
      since,
    ]);
    return new Map(rows.map((row) => [row.prefix, row.recipients]));
  }

  async trust(accountId: string, block: string, until: Date): Promise<void> {
    await this.#sql.query(TRUST, [accountId, until, block]);
  }

  async forgetNumbers(before: Date): Promise<number> {
    let forgotten = 0;
    for (let rows = FORGET_ROWS; rows === FORGET_ROWS; forgotten += rows) {
      rows = (await this.#sql.query(FORGET_NUMBERS, [before])).length;
    }
    await this.#sql.query(FORGET_TRUST, [before]);
    return forgotten;
  }

  async blocks(accountIds: readonly string[]): Promise<readonly HeldBlock[]> {
    const rows = await this.#sql.queryOnDisk<BlockRow>(BLOCKS, [accountIds]);
    return rows.map((row) => ({
      accountId: row.account_id,
      block: row.block,
      messages: row.messages,
      recipients: row.recipients,
      costMinor: row.cost_minor,
      heldSince: row.held_since,
    }));
  }

  open(accountId: string, block: string, limit: number): Promise<readonly string[]> {
    return this.#ids(OPEN, [accountId, block, limit]);
  }

  heldBefore(before: Date, limit: number): Promise<readonly string[]> {
    return this.#ids(HELD_BEFORE, [before, limit]);
  }

  async #ids(of: typeof OPEN, values: readonly unknown[]): Promise<readonly string[]> {
    const rows = await this.#sql.query<{ message_id: string }>(of, [...values]);
    return rows.map((row) => row.message_id);
  }

  async find(messageIds: readonly string[]): Promise<readonly HeldMessage[]> {
    if (messageIds.length === 0) return [];
    const rows = await this.#sql.query<HeldRow>(FIND, [messageIds]);
    return rows.map((row) => ({
      messageId: row.message_id,
      costMinor: row.cost_minor,
      costs: row.costs.map(Number),
      routes: row.routes,
    }));
  }

  async decide(messageIds: readonly string[], decision: HeldDecision, at: Date): Promise<void> {
    if (messageIds.length > 0) await this.#sql.query(DECIDE, [messageIds, decision, at]);
  }

  async charge(accountId: string, held: readonly HeldMessage[], expiresAt: readonly Date[], at: Date) {
    await this.#sql.query(LOCK_ANALYTICS, []);
    // The account is locked last, because sends of all accounts wait for it.
    await this.#sql.query(SET_COSTS, [held.map(({ messageId }) => messageId), expiresAt]);
    const [account] = await this.#sql.query<{ balance_minor: number; currency: string }>(LOCK_ACCOUNT, [
      accountId,
    ]);
    if (!account) throw new Error(`account ${accountId} is not there`);
    const totalMinor = held.reduce((sum, { costMinor }) => sum + costMinor, 0);
    const { balance_minor: balanceMinor, currency } = account;
    if (totalMinor > balanceMinor) {
      throw insufficientBalance(fromMinor(balanceMinor, currency), fromMinor(totalMinor, currency), currency);
    }
    const charged = held.filter(({ costMinor }) => costMinor > 0);
    if (charged.length > 0) {
      await this.#sql.query(CHARGE, [
        accountId,
        charged.map(({ messageId }) => messageId),
        charged.map(({ costMinor }) => costMinor),
        at,
        totalMinor,
      ]);
    }
  }

  async takeDecided(before: Date, limit: number) {
    const rows = await this.#sql.query<{ message_id: string; decision: HeldDecision }>(TAKE_DECIDED, [
      before,
      limit,
    ]);
    return rows.map((row) => ({ messageId: row.message_id, isReleased: row.decision === 'released' }));
  }
}
