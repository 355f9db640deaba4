import type { DeliveryFilter } from '../../domain/ports/webhook-stores.ts';
import { FIRST_UUID, uuidFloor } from '../../domain/uuid.ts';
import type { DeliveryStatus, EventType } from '../../domain/webhooks/webhook.ts';
import { type Sql, type Statement, statement } from '../postgres/sql.ts';

/**
 * Finds deliveries in lists of any size. Triggers count them by webhook, hour, event and status, so a total is a sum of
 * counts. Only the hours that hold a page are scanned: an id contains its hour.
 */
const HOUR_MS = 3_600_000;
/** Up to this offset, skipping index entries is cheaper than finding the hours of the page. */
const SKIPPED_IN_INDEX = 500;
const COUNTED = `(
    SELECT webhook_id, hour, event, status, deliveries FROM delivery_hours
    UNION ALL SELECT webhook_id, hour, event, status, deliveries FROM delivery_deltas
  ) counted
  WHERE webhook_id = ANY($1::uuid[])`;
const MATCHING = '($2::text IS NULL OR status = $2) AND ($3::text IS NULL OR event = $3)';
const HOURS = statement(
  'delivery-hours',
  `SELECT hour, sum(deliveries)::bigint AS count FROM ${COUNTED} AND ${MATCHING} AND hour <= $4
   GROUP BY hour HAVING sum(deliveries) > 0 ORDER BY hour DESC LIMIT $5`,
);
const TOTAL = statement(
  'delivery-total',
  `SELECT coalesce(sum(deliveries), 0)::bigint AS count FROM ${COUNTED} AND ${MATCHING}`,
);
const BY_STATUS = statement(
  'delivery-counts-by-status',
  `SELECT webhook_id, status, sum(deliveries)::bigint AS count FROM ${COUNTED} GROUP BY webhook_id, status`,
);
/**
 * A statement over the rows of `from`, which an index has in the order of `key` and `id`. Compared as a row, so that
 * the planner can use no other index.
 */
function idsOver(name: string, from: string, id: string, key: string, value = 'w.id') {
  return statement(
    `delivery-ids${name}`,
    `SELECT f.id FROM unnest($4::uuid[], $5::uuid[], $6::bigint[]) AS p (lowest, below, most)
     CROSS JOIN unnest($1::uuid[]) AS w (id)
     CROSS JOIN LATERAL (
       SELECT ${id} AS id FROM ${from}
       WHERE (${key}, ${id}) >= (${value}, p.lowest) AND (${key}, ${id}) < (${value}, p.below) AND ${MATCHING}
       ORDER BY ${key.replaceAll(',', ' DESC,')} DESC, ${id} DESC LIMIT least(p.most, $7::bigint + $8::bigint)
     ) f ORDER BY f.id DESC OFFSET $7 LIMIT $8`,
  );
}
const ALL = idsOver('', 'webhook_deliveries d', 'd.id', 'd.webhook_id');
const RETRIED = idsOver(
  '-retried',
  '(SELECT * FROM webhook_deliveries WHERE next_retry_at IS NOT NULL) d',
  'd.id',
  'd.webhook_id',
);
const FAILED = idsOver(
  '-failed',
  '(SELECT * FROM webhook_deliveries WHERE has_failed) d',
  'd.id',
  'd.webhook_id',
);
/** Events that nearly every message causes. The others have an index. */
const COMMON_EVENTS: readonly EventType[] = [
  'sms.sent',
  'email.sent',
  'push.sent',
  'whatsapp.delivered',
  'whatsapp.read',
];
const RARE = idsOver(
  '-rare',
  `(SELECT * FROM webhook_deliveries WHERE event NOT IN (${COMMON_EVENTS.map((event) => `'${event}'`).join(', ')})) d`,
  'd.id',
  'd.event, d.webhook_id',
  '$3::text, w.id',
);
const LAST_UUID = 'ffffffff-ffff-ffff-ffff-ffffffffffff';
const EVER: IdRange = { lowest: FIRST_UUID, below: LAST_UUID, most: null };

/** A range of ids, and the highest number of matching deliveries in it. */
interface IdRange {
  readonly lowest: string;
  readonly below: string;
  readonly most: number | null;
}
interface HourCount {
  readonly hour: Date;
  readonly count: number;
}
interface Part {
  readonly skipped: number;
  readonly limit: number;
}

/** Ids of the matching deliveries to the webhooks, newest first, by offset and limit. */
export async function deliveryPart(
  sql: Sql,
  webhookIds: readonly string[],
  filter: DeliveryFilter,
  part: Part,
): Promise<{ ids: readonly string[]; total: number }> {
  const hours = await hourCounts(sql, webhookIds, filter, undefined, null);
  let before = 0;
  let total = 0;
  const onPage: HourCount[] = [];
  for (const hour of hours) {
    if (total + hour.count <= part.skipped) before += hour.count;
    else if (total < part.skipped + part.limit) onPage.push(hour);
    total += hour.count;
  }
  if (indexed(filter) && part.skipped < SKIPPED_IN_INDEX) {
    return { ids: await idsIn(sql, webhookIds, filter, [EVER], undefined, part), total };
  }
  const within = { skipped: part.skipped - before, limit: part.limit };
  return { ids: await idsIn(sql, webhookIds, filter, onPage.map(idsOf), undefined, within), total };
}

/** Ids of the newest `limit` matching deliveries to the webhooks that are older than the one with id `before`. */
export async function deliveriesBefore(
  sql: Sql,
  webhookIds: readonly string[],
  filter: DeliveryFilter,
  before: string | undefined,
  limit: number,
): Promise<readonly string[]> {
  if (indexed(filter) || (filter.status === undefined && filter.event === undefined)) {
    return idsIn(sql, webhookIds, filter, [EVER], before, { skipped: 0, limit });
  }
  const newest = before === undefined ? undefined : hourOfUuid(before);
  const hours = await hourCounts(sql, webhookIds, filter, newest, limit + 1);
  let sure = 0;
  const wanted = hours.filter(({ hour, count }) => {
    if (sure >= limit) return false;
    // It is unknown how many of the newest hour are older than `before`.
    if (hour.getTime() !== newest?.getTime()) sure += count;
    return true;
  });
  return idsIn(sql, webhookIds, filter, wanted.map(idsOf), before, { skipped: 0, limit });
}

/** Ids of the newest `limit` deliveries to each webhook that are older than the one with id `before`. */
export async function deliveriesOfEachBefore(
  sql: Sql,
  webhookIds: readonly string[],
  before: string | undefined,
  limit: number,
): Promise<readonly string[]> {
  const part = { skipped: 0, limit: limit * webhookIds.length };
  return idsIn(sql, webhookIds, {}, [{ ...EVER, most: limit }], before, part);
}

/** Number of matching deliveries to the webhooks. */
export async function countDeliveries(sql: Sql, webhookIds: readonly string[], filter: DeliveryFilter) {
  const [row] = await sql.query<{ count: number }>(TOTAL, matching(webhookIds, filter));
  return row?.count ?? 0;
}

/** Number of deliveries to each webhook in each status. */
export async function countsByStatus(sql: Sql, webhookIds: readonly string[]) {
  return sql.query<{ webhook_id: string; status: DeliveryStatus; count: number }>(BY_STATUS, [webhookIds]);
}

/** The statement on an index that has the matching deliveries and few others, if there is one. */
function indexed({ status, event }: DeliveryFilter): Statement | undefined {
  if (status === 'failed') return FAILED;
  if (status === 'retrying') return RETRIED;
  return event === undefined || COMMON_EVENTS.includes(event) ? undefined : RARE;
}

function matching(webhookIds: readonly string[], { status, event }: DeliveryFilter): unknown[] {
  return [webhookIds, status ?? null, event ?? null];
}

function hourCounts(
  sql: Sql,
  webhookIds: readonly string[],
  filter: DeliveryFilter,
  newest: Date | undefined,
  limit: number | null,
) {
  const values = [...matching(webhookIds, filter), newest ?? 'infinity', limit];
  return sql.query<HourCount>(HOURS, values);
}

async function idsIn(
  sql: Sql,
  webhookIds: readonly string[],
  filter: DeliveryFilter,
  ranges: readonly IdRange[],
  before: string | undefined,
  { skipped, limit }: Part,
): Promise<readonly string[]> {
  if (ranges.length === 0) return [];
  const rows = await sql.query<{ id: string }>(indexed(filter) ?? ALL, [
    ...matching(webhookIds, filter),
    ranges.map(({ lowest }) => lowest),
    ranges.map(({ below }) => (before === undefined || below < before ? below : before)),
    ranges.map(({ most }) => most),
    skipped,
    limit,
  ]);
  return rows.map(({ id }) => id);
}

function idsOf({ hour, count }: HourCount): IdRange {
  return { lowest: uuidFloor(hour), below: uuidFloor(new Date(hour.getTime() + HOUR_MS)), most: count };
}

function hourOfUuid(id: string): Date {
  const ms = Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
  return new Date(Math.floor(ms / HOUR_MS) * HOUR_MS);
}
