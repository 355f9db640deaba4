import { randomUUIDv7 } from 'node:crypto';
import pg from 'pg';
import type { BenchContext } from './context.ts';
import { MESSAGES_PER_IDEMPOTENCY_KEY } from './load.ts';

/** The rows that the gateway writes for an accepted message, into its own tables. */
const CHARGE = `UPDATE accounts SET balance_minor = balance_minor - 30, ledger_seq = ledger_seq + 1, sms_seq = sms_seq + 1,
    last_accepted_at = now()
  WHERE id = $1 AND balance_minor >= 30 RETURNING balance_minor, ledger_seq, sms_seq`;
const MESSAGE = `INSERT INTO messages (id, account_id, seq, cost_minor, unit_price_minor, created_at, expires_at, channel,
    environment, currency, api_key_id, sender, content)
  VALUES ($1, $2, $3, 30, 30, now(), now() + interval '3 days', 'sms', 'production', 'UGX', 'bench', 'SERVICE', $4)`;
const RECIPIENT = `INSERT INTO recipients (message_id, account_id, position, address, cost_minor, status)
  VALUES ($1, $2, 0, $3, 30, 'pending')`;
const ENTRY = `INSERT INTO ledger_entries (account_id, seq, amount_minor, balance_after_minor, message_id, kind, created_at)
  VALUES ($1, $2, -30, $3, $4, 'charge', now())`;
const USAGE = `INSERT INTO usage_deltas (account_id, hour, channel, environment, status, api_key_id, block, bitmap, messages, cost_minor)
  VALUES ($1, date_trunc('hour', now(), 'UTC'), 'sms', 'production', 'pending', 'bench', ($2::bigint - 1) / 64,
    1::bigint << (($2::bigint - 1) % 64)::int, 1, 30)`;
const JOB = `INSERT INTO pgboss.job (name, data) VALUES ('submit', $1)`;
const KEY = `INSERT INTO idempotency_records (account_id, environment, route, key, message_id, status_code, body, expires_at)
  VALUES ($1, 'production', 'sms', $2, $3, 200, $4, now() + interval '1 day')`;
/** A stored response of the same length as the answer to a send. */
export const STORED_ANSWER = 'x'.repeat(420);

/**
 * Returns the messages a second that PostgreSQL takes without a gateway. Each message is one transaction of prepared
 * statements, on the account of a gateway's database.
 */
export async function oneByOne(
  context: BenchContext,
  database: string,
  connections: number,
  seconds: number,
): Promise<number> {
  const account = await context.withClient(database, async (client) => {
    return (await client.query('SELECT id FROM accounts')).rows[0].id as string;
  });
  let count = 0;
  const startedAt = performance.now();
  const deadline = startedAt + seconds * 1000;
  await Promise.all(
    Array.from({ length: connections }, async () => {
      const client = new pg.Client({ ...context.postgres, database });
      await client.connect();
      const run = (name: string, text: string, values: unknown[]) => client.query({ name, text, values });
      while (performance.now() < deadline) {
        const id = randomUUIDv7();
        await client.query('BEGIN');
        const { rows } = await run('charge', CHARGE, [account]);
        await run('message', MESSAGE, [id, account, rows[0].sms_seq, 'Hello, this is a benchmark message.']);
        await run('recipient', RECIPIENT, [id, account, '+256700123456']);
        await run('entry', ENTRY, [account, rows[0].ledger_seq, rows[0].balance_minor, id]);
        await run('usage', USAGE, [account, rows[0].sms_seq]);
        await run('job', JOB, [JSON.stringify({ messageIds: [id], positions: {}, attempt: 0 })]);
        if (count % MESSAGES_PER_IDEMPOTENCY_KEY === 0)
          await run('key', KEY, [account, id, id, STORED_ANSWER]);
        await client.query('COMMIT');
        count += 1;
      }
      await client.end();
    }),
  );
  return count / ((performance.now() - startedAt) / 1000);
}
