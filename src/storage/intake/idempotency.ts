import type { IdempotencyClaim, PreparedMessage } from '../../domain/messages/message.ts';
import type { SendAnswer } from '../../domain/ports/intake.ts';
import { type Sql, statement } from '../postgres/sql.ts';

/** An idempotency key with its scope: account, environment and route (R19). */
export interface ScopedClaim {
  readonly accountId: string;
  readonly environment: string;
  readonly idempotency: IdempotencyClaim;
}

// Looks up each key with one index access. The condition on `expires_at` is an expression that no index can serve.
// Otherwise PostgreSQL could choose the index on `expires_at` while the table is empty, keep that plan, and scan all
// unexpired keys for each lookup.
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

/** Returns the scope and the key as one string, for use as the key of a Map. */
export function claimKey({ accountId, environment, idempotency: { route, key } }: ScopedClaim): string {
  return `${accountId} ${environment} ${route} ${key}`;
}

/**
 * Returns the stored answers to earlier requests with these keys, by `claimKey`. PostgreSQL's clock decides whether an
 * answer has expired. `isTold` means that the answers go to a client. Then the promise resolves only when the answers
 * are on the disk.
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

/**
 * Returns the messages whose idempotency key already has an answer, with that answer. They are replays (R19): intake
 * accepts only the others.
 */
export async function findReplays(
  sql: Sql,
  batch: readonly PreparedMessage[],
): Promise<Map<PreparedMessage, SendAnswer>> {
  const claims = batch.flatMap((prepared) => {
    const claim = claimOf(prepared);
    return claim ? [{ prepared, claim }] : [];
  });
  const stored = await findAnswers(
    sql,
    claims.map(({ claim }) => claim),
  );
  return new Map(
    claims.flatMap(({ prepared, claim }) => {
      const answer = stored.get(claimKey(claim));
      return answer ? [[prepared, answer]] : [];
    }),
  );
}

/** Returns the idempotency key of a message with its scope. Undefined if the message has no key. */
export function claimOf(prepared: PreparedMessage): ScopedClaim | undefined {
  const { idempotency } = prepared;
  return idempotency ? { ...prepared, idempotency } : undefined;
}
