import type { IdempotencyClaim } from '../../domain/messages/message.ts';
import type { SendAnswer } from '../../domain/ports/intake.ts';
import { type Sql, statement } from '../postgres/sql.ts';

/** An idempotency key with its scope (R19). */
export interface ScopedClaim {
  readonly accountId: string;
  readonly environment: string;
  readonly idempotency: IdempotencyClaim;
}

// One look at the key for each claim. No index can serve the time as it is written here: planned while the table is
// still empty, the statement would read all that is kept, for each claim.
const FIND = statement(
  'idempotency-find',
  `SELECT r.* FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[]) AS c (account_id, environment, route, key)
   CROSS JOIN LATERAL (
     SELECT account_id, environment, route, key, message_id, body FROM idempotency_records k
     WHERE k.account_id = c.account_id AND k.environment = c.environment AND k.route = c.route AND k.key = c.key
       AND k.expires_at - now() > interval '0' LIMIT 1
   ) r`,
);

interface AnswerRow {
  account_id: string;
  environment: string;
  route: string;
  key: string;
  message_id: string;
  body: string;
}

/** One text for a claim with its scope. */
export function claimKey({ accountId, environment, idempotency: { route, key } }: ScopedClaim): string {
  return `${accountId} ${environment} ${route} ${key}`;
}

/**
 * What the claims were answered with, by `claimKey`, as far as they are still kept by PostgreSQL's clock; `isTold`: resolves
 * when that is on the disk.
 */
export async function findAnswers(
  sql: Sql,
  claims: readonly ScopedClaim[],
  { isTold = false } = {},
): Promise<Map<string, SendAnswer>> {
  if (claims.length === 0) return new Map();
  const values = [
    claims.map((claim) => claim.accountId),
    claims.map((claim) => claim.environment),
    claims.map((claim) => claim.idempotency.route),
    claims.map((claim) => claim.idempotency.key),
  ];
  const rows = await (isTold ? sql.queryOnDisk<AnswerRow>(FIND, values) : sql.query<AnswerRow>(FIND, values));
  return new Map(
    rows.map((row) => [
      claimKey({
        accountId: row.account_id,
        environment: row.environment,
        idempotency: { route: row.route, key: row.key },
      }),
      { messageId: row.message_id, body: row.body, isReplay: true },
    ]),
  );
}
