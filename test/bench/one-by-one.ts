import { randomUUIDv7 } from 'node:crypto';
import pg from 'pg';
import type { BenchContext } from './context.ts';
import { MESSAGES_PER_IDEMPOTENCY_KEY } from './load.ts';

/** The tables that an accepted message writes to, with the same columns, keys and indexes as the gateway's. */
export const TWIN_SCHEMA = `
  CREATE TABLE IF NOT EXISTS accounts (id uuid PRIMARY KEY, balance_minor bigint NOT NULL CHECK (balance_minor >= 0),
    ledger_seq bigint NOT NULL DEFAULT 0, sms_seq bigint NOT NULL DEFAULT 0) WITH (fillfactor = 50);
  CREATE TABLE IF NOT EXISTS messages (id uuid PRIMARY KEY, account_id uuid NOT NULL, seq bigint NOT NULL,
    cost_minor bigint NOT NULL, created_at timestamptz NOT NULL, channel text NOT NULL, status text NOT NULL,
    sender text NOT NULL, content text NOT NULL, UNIQUE (account_id, channel, seq));
  CREATE TABLE IF NOT EXISTS recipients (message_id uuid NOT NULL, position smallint NOT NULL,
    account_id uuid NOT NULL, address text NOT NULL, cost_minor bigint NOT NULL, status text NOT NULL,
    PRIMARY KEY (message_id, position));
  CREATE TABLE IF NOT EXISTS ledger_entries (account_id uuid NOT NULL, seq bigint NOT NULL,
    amount_minor bigint NOT NULL, balance_after_minor bigint NOT NULL, message_id uuid, kind text NOT NULL,
    created_at timestamptz NOT NULL, PRIMARY KEY (account_id, seq));
  CREATE TABLE IF NOT EXISTS idempotency_records (account_id uuid NOT NULL, environment text NOT NULL, route text NOT NULL,
    key text NOT NULL, message_id uuid NOT NULL, status_code integer NOT NULL, body text NOT NULL,
    expires_at timestamptz NOT NULL, PRIMARY KEY (account_id, environment, route, key));
  CREATE INDEX IF NOT EXISTS idempotency_expiry ON idempotency_records (expires_at);
  CREATE TABLE IF NOT EXISTS jobs (id uuid PRIMARY KEY, queue text NOT NULL, data jsonb NOT NULL, start_after timestamptz NOT NULL);`;

const CHARGE = `UPDATE accounts SET balance_minor = balance_minor - 30, ledger_seq = ledger_seq + 1, sms_seq = sms_seq + 1
  WHERE id = $1 AND balance_minor >= 30 RETURNING balance_minor, ledger_seq, sms_seq`;
const MESSAGE = `INSERT INTO messages VALUES ($1, $2, $3, 30, now(), 'sms', 'pending', 'SERVICE', $4)`;
const RECIPIENT = `INSERT INTO recipients VALUES ($1, 0, $2, $3, 30, 'pending')`;
const ENTRY = `INSERT INTO ledger_entries VALUES ($1, $2, -30, $3, $4, 'charge', now())`;
const JOB = `INSERT INTO jobs VALUES ($1, 'submit', $2, now())`;

const KEY = `INSERT INTO idempotency_records VALUES ($1, 'production', 'sms', $2, $3, 200, $4, now() + interval '1 day')`;
/** As long as an answer to a send is. */
export const STORED_ANSWER = 'x'.repeat(420);

/** Messages a second when each is one transaction of prepared statements straight on PostgreSQL. */
export async function oneByOne(
  context: BenchContext,
  database: string,
  connections: number,
  seconds: number,
): Promise<number> {
  const account = randomUUIDv7();
  await context.withClient(database, async (client) => {
    await client.query(TWIN_SCHEMA);
    await client.query('INSERT INTO accounts (id, balance_minor) VALUES ($1, 1000000000)', [account]);
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
        await run('job', JOB, [randomUUIDv7(), JSON.stringify({ messageIds: [id], attempt: 0 })]);
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
