import type { Environment } from '../../domain/caller.ts';
import type { KeyRange } from '../../domain/paging.ts';
import type { RequestStore } from '../../domain/ports/request-store.ts';
import {
  type ApiRequest,
  FULL_BODIES_HOURS,
  type FullBodies,
  type NewApiRequest,
  type RequestFilter,
} from '../../domain/requests/api-request.ts';
import { uuidFloor } from '../../domain/uuid.ts';
import { type Sql, statement } from '../postgres/sql.ts';

interface RequestRow {
  id: string;
  account_id: string;
  message_id: string | null;
  at: Date;
  status: number;
  duration_ms: number;
  request_bytes: number;
  skipped_before: number;
  environment: Environment;
  key_id: string;
  method: string;
  path: string;
  error_code: string | null;
  address: string;
  request_id: string;
  idempotency_key: string | null;
  request_body: string | null;
  response_body: string | null;
  is_full: boolean;
}

/** Whole bodies are shown for a day, even if the worker has not erased them yet. */
const SHOWS_FULL = `(at > now() - interval '${FULL_BODIES_HOURS} hours'
  AND (full_request_body IS NOT NULL OR full_response_body IS NOT NULL))`;
const SHOWN = `id, account_id, message_id, at, status, duration_ms, request_bytes, skipped_before, environment, key_id,
  method, path, error_code, address, request_id, idempotency_key, ${SHOWS_FULL} AS is_full,
  CASE WHEN ${SHOWS_FULL} THEN coalesce(full_request_body, request_body) ELSE request_body END AS request_body,
  CASE WHEN ${SHOWS_FULL} THEN coalesce(full_response_body, response_body) ELSE response_body END AS response_body`;

function mapRow(row: RequestRow): ApiRequest {
  return {
    id: row.id,
    accountId: row.account_id,
    messageId: row.message_id,
    at: row.at,
    status: row.status,
    durationMs: row.duration_ms,
    requestBytes: row.request_bytes,
    skippedBefore: row.skipped_before,
    environment: row.environment,
    keyId: row.key_id,
    method: row.method,
    path: row.path,
    errorCode: row.error_code,
    address: row.address,
    requestId: row.request_id,
    idempotencyKey: row.idempotency_key,
    requestBody: row.request_body,
    responseBody: row.response_body,
    isFull: row.is_full,
  };
}

/** The columns of a new row: their types, and where their values come from. */
const WRITTEN: Readonly<Record<string, readonly [type: string, value: (row: NewApiRequest) => unknown]>> = {
  id: ['uuid', ({ id }) => id],
  account_id: ['uuid', ({ accountId }) => accountId],
  message_id: ['uuid', ({ messageId }) => messageId],
  at: ['timestamptz', ({ at }) => at],
  status: ['int', ({ status }) => status],
  duration_ms: ['int', ({ durationMs }) => durationMs],
  request_bytes: ['int', ({ requestBytes }) => requestBytes],
  skipped_before: ['int', ({ skippedBefore }) => skippedBefore],
  environment: ['text', ({ environment }) => environment],
  key_id: ['text', ({ keyId }) => keyId],
  method: ['text', ({ method }) => method],
  path: ['text', ({ path }) => path],
  error_code: ['text', ({ errorCode }) => errorCode],
  address: ['text', ({ address }) => address],
  request_id: ['text', ({ requestId }) => requestId],
  idempotency_key: ['text', ({ idempotencyKey }) => idempotencyKey],
  request_body: ['text', ({ requestBody }) => requestBody],
  response_body: ['text', ({ responseBody }) => responseBody],
  full_request_body: ['text', ({ fullRequestBody }) => fullRequestBody],
  full_response_body: ['text', ({ fullResponseBody }) => fullResponseBody],
};
const NAMES = Object.keys(WRITTEN).join(', ');

/**
 * Counts the rows and inserts them in one statement. If the day already has its largest number of rows, the statement
 * inserts nothing.
 */
const ADD = statement(
  'requests-add',
  `WITH counted AS (
     INSERT INTO api_request_days AS d (day, requests) VALUES ($1::date, $2::bigint)
     ON CONFLICT (day) DO UPDATE SET requests = d.requests + excluded.requests WHERE d.requests < $3::bigint
     RETURNING day)
   INSERT INTO api_requests (${NAMES})
   SELECT n.* FROM unnest(${Object.values(WRITTEN)
     .map(([type], index) => `$${index + 4}::${type}[]`)
     .join(', ')}) AS n
   WHERE EXISTS (SELECT FROM counted)`,
);
const FIND = statement(
  'requests-find',
  `SELECT ${SHOWN} FROM api_requests WHERE account_id = $1 AND id = ANY ($2::uuid[])`,
);
const OF_MESSAGES = statement(
  'requests-of-messages',
  `SELECT DISTINCT ON (message_id) ${SHOWN} FROM api_requests
   WHERE account_id = $1 AND message_id = ANY ($2::uuid[]) ORDER BY message_id, id`,
);
const FORGET = statement(
  'requests-forget',
  `WITH old AS (SELECT id FROM api_requests WHERE id < $1::uuid ORDER BY id LIMIT $2 FOR UPDATE SKIP LOCKED),
     days AS (DELETE FROM api_request_days WHERE day < $3::date - 1),
     gone AS (DELETE FROM api_requests USING old WHERE api_requests.id = old.id RETURNING 1)
   SELECT count(*) AS count FROM gone`,
);
const ERASE = statement(
  'requests-erase-full',
  `WITH old AS (
     SELECT id FROM api_requests
     WHERE id < $1::uuid AND (full_request_body IS NOT NULL OR full_response_body IS NOT NULL)
     ORDER BY id LIMIT $2 FOR UPDATE SKIP LOCKED),
     erased AS (UPDATE api_requests r SET full_request_body = NULL, full_response_body = NULL
       FROM old WHERE r.id = old.id RETURNING 1)
   SELECT count(*) AS count FROM erased`,
);
const FULL = statement(
  'request-logging-of',
  `SELECT account_id, full_from, full_until FROM request_logging
   WHERE account_id = ANY ($1::uuid[]) AND full_until > now() - interval '${FULL_BODIES_HOURS} hours'`,
);
const SET_FULL = statement(
  'request-logging-set',
  `INSERT INTO request_logging (account_id, full_from, full_until) VALUES ($1, $2, $3)
   ON CONFLICT (account_id) DO UPDATE SET full_from = excluded.full_from, full_until = excluded.full_until`,
);

const STATUSES = { success: [0, 399], client_error: [400, 499], server_error: [500, 999] } as const;

/** Stores the log of REST requests. */
export class PgRequestStore implements RequestStore {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async add(day: Date, requests: readonly NewApiRequest[], mostOfDay: number): Promise<void> {
    const columns = Object.values(WRITTEN).map(([, value]) => requests.map(value));
    await this.#sql.query(ADD, [day, requests.length, mostOfDay, ...columns]);
  }

  async find(accountId: string, id: string): Promise<ApiRequest | undefined> {
    const [found] = await this.findMany(accountId, [id]);
    return found;
  }

  async findMany(accountId: string, ids: readonly string[]): Promise<readonly ApiRequest[]> {
    return (await this.#sql.query<RequestRow>(FIND, [accountId, ids])).map(mapRow);
  }

  async slice(
    accountId: string,
    filter: RequestFilter,
    { limit, after }: KeyRange,
  ): Promise<readonly ApiRequest[]> {
    const matching = this.#matching(accountId, filter).orderBy('id', 'desc').limit(limit);
    if (after !== undefined) matching.where('id', '<', after);
    const rows: RequestRow[] = await matching.select(this.#sql.raw(SHOWN));
    return rows.map(mapRow);
  }

  count(accountId: string, filter: RequestFilter): Promise<number> {
    return this.#sql.count(this.#matching(accountId, filter));
  }

  async ofMessages(accountId: string, messageIds: readonly string[]): Promise<readonly ApiRequest[]> {
    return (await this.#sql.query<RequestRow>(OF_MESSAGES, [accountId, messageIds])).map(mapRow);
  }

  async forget(before: Date, limit: number): Promise<number> {
    const [row] = await this.#sql.query<{ count: number }>(FORGET, [uuidFloor(before), limit, before]);
    return row?.count ?? 0;
  }

  async eraseFullBodies(before: Date, limit: number): Promise<number> {
    const [row] = await this.#sql.query<{ count: number }>(ERASE, [uuidFloor(before), limit]);
    return row?.count ?? 0;
  }

  async fullBodies(accountIds: readonly string[]): Promise<ReadonlyMap<string, FullBodies>> {
    const rows = await this.#sql.query<{ account_id: string; full_from: Date; full_until: Date }>(FULL, [
      accountIds,
    ]);
    return new Map(
      rows.map((row) => [row.account_id, { from: row.full_from, until: row.full_until }] as const),
    );
  }

  async setFullBodies(accountId: string, { from, until }: FullBodies): Promise<void> {
    await this.#sql.query(SET_FULL, [accountId, from, until]);
  }

  #matching(accountId: string, filter: RequestFilter) {
    const matching = this.#sql.table<RequestRow>('api_requests').where({ account_id: accountId });
    const { errorCode, keyId, method, requestId, idempotencyKey, environment } = filter;
    if (errorCode !== undefined) matching.where({ error_code: errorCode });
    if (keyId !== undefined) matching.where({ key_id: keyId });
    if (method !== undefined) matching.where({ method });
    if (requestId !== undefined) matching.where({ request_id: requestId });
    if (idempotencyKey !== undefined) matching.where({ idempotency_key: idempotencyKey });
    if (environment !== undefined) matching.where({ environment });
    if (filter.statusClass !== undefined) matching.whereBetween('status', STATUSES[filter.statusClass]);
    if (filter.pathPrefix !== undefined)
      matching.where(this.#sql.raw('starts_with(path, ?)', [filter.pathPrefix]));
    if (filter.since !== undefined) matching.where('id', '>=', uuidFloor(filter.since));
    if (filter.until !== undefined) matching.where('id', '<', uuidFloor(filter.until));
    return matching;
  }
}
