import { countRecipients, numbersOf, type OpenLimit } from '../../domain/limits/send-limits.ts';
import { type PreparedMessage, spendOf } from '../../domain/messages/message.ts';
import { DAY, HOUR, LIMIT_USE_COLUMNS, type LimitUseRow, mapLimitUse } from '../postgres/limit-rows.ts';
import { type Sql, statement } from '../postgres/sql.ts';

/**
 * Adds a batch to the counts of its limits. A number names its limit by its place in the first parameter, because each
 * character of a parameter is written and parsed. Refuses the batch if a limit is exceeded (R371). Send it after the accounts
 * are locked, so that only one transaction at a time changes the limits of an account.
 */
const COUNT = statement(
  'intake-count',
  `WITH counted AS (
     UPDATE send_limits l SET hour = ${HOUR}, day = ${DAY},
       hour_minor = n.cost + CASE WHEN l.hour = ${HOUR} THEN l.hour_minor ELSE 0 END,
       day_minor = n.cost + CASE WHEN l.day = ${DAY} THEN l.day_minor ELSE 0 END,
       day_recipients = n.recipients + CASE WHEN l.day = ${DAY} THEN l.day_recipients ELSE 0 END
     FROM unnest($1::uuid[], $2::bigint[], $3::bigint[]) AS n (id, cost, recipients)
     WHERE l.id = n.id
     RETURNING l.id, l.account_id, l.hour, l.per_number_per_hour, l.day_recipients > l.recipients_per_day
       OR n.cost > 0 AND (l.hour_minor > l.spend_per_hour_minor OR l.day_minor > l.spend_per_day_minor) AS is_over
   ), numbered AS (
     INSERT INTO send_limit_numbers AS a (limit_id, address, hour, messages)
     SELECT c.id, n.address, c.hour, n.messages
     FROM unnest($4::int[], $5::text[], $6::int[]) AS n (place, address, messages)
       JOIN counted c ON c.id = ($1::uuid[])[n.place] AND c.per_number_per_hour IS NOT NULL ORDER BY 1, 2
     ON CONFLICT (limit_id, address) DO UPDATE SET hour = excluded.hour,
       messages = excluded.messages + CASE WHEN a.hour = excluded.hour THEN a.messages ELSE 0 END
     RETURNING limit_id, messages
   )
   SELECT refuse_batch('account ' || c.account_id || ': a limit is reached')
   FROM counted c LEFT JOIN numbered n ON n.limit_id = c.id
   WHERE c.is_over OR n.messages > c.per_number_per_hour LIMIT 1`,
);

const READ = statement(
  'intake-limits',
  `SELECT ${LIMIT_USE_COLUMNS} FROM send_limits l WHERE l.id = ANY ($1::uuid[])`,
);
const READ_NUMBERS = statement(
  'intake-limit-numbers',
  `SELECT l.id, a.address, a.messages FROM unnest($1::uuid[], $2::text[]) AS n (id, address)
   JOIN send_limits l ON l.id = n.id
   JOIN send_limit_numbers a ON a.limit_id = l.id AND a.address = n.address AND a.hour = ${HOUR}`,
);

/**
 * Adds the messages to the counts of their limits, in the transaction of `sql`. Sends nothing if no message has limits.
 */
export function countMessages(sql: Sql, batch: readonly PreparedMessage[]): void {
  const shares = new Map<string, { cost: number; recipients: number; numbers: Map<string, number> }>();
  for (const message of batch) {
    for (const { id, countsNumbers } of message.limits) {
      const share = shares.get(id) ?? { cost: 0, recipients: 0, numbers: new Map<string, number>() };
      shares.set(id, share);
      share.cost += spendOf(message);
      share.recipients += countRecipients(message);
      for (const address of countsNumbers ? numbersOf(message) : []) {
        share.numbers.set(address, (share.numbers.get(address) ?? 0) + 1);
      }
    }
  }
  if (shares.size === 0) return;
  const ids = [...shares.keys()].sort();
  const sums = ids.map((id) => ({ id, ...(shares.get(id) as NonNullable<ReturnType<typeof shares.get>>) }));
  const places: number[] = [];
  const addresses: string[] = [];
  const counts: number[] = [];
  sums.forEach(({ numbers }, index) => {
    for (const [address, messages] of numbers) {
      places.push(index + 1);
      addresses.push(address);
      counts.push(messages);
    }
  });
  sql.send(COUNT, [
    ids,
    sums.map(({ cost }) => cost),
    sums.map(({ recipients }) => recipients),
    places,
    addresses,
    counts,
  ]);
}

/** Reads the limits of the messages with their counts, by id. The accounts must be locked. */
export async function readLimits(
  sql: Sql,
  batch: readonly PreparedMessage[],
): Promise<ReadonlyMap<string, OpenLimit>> {
  const ids = new Set(batch.flatMap(({ limits }) => limits.map(({ id }) => id)));
  if (ids.size === 0) return new Map();
  const numbers = batch.flatMap((message) =>
    message.limits.flatMap(({ id, countsNumbers }) =>
      countsNumbers ? numbersOf(message).map((address) => ({ id, address })) : [],
    ),
  );
  const [rows, counts] = await Promise.all([
    sql.query<LimitUseRow>(READ, [[...ids]]),
    sql.query<{ id: string; address: string; messages: number }>(READ_NUMBERS, [
      numbers.map(({ id }) => id),
      numbers.map(({ address }) => address),
    ]),
  ]);
  const open = new Map(
    rows.map((row) => [row.id, { ...mapLimitUse(row), numbers: new Map<string, number>() }]),
  );
  for (const { id, address, messages } of counts) open.get(id)?.numbers.set(address, messages);
  return open;
}
