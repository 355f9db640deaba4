import { Pool } from 'undici';
import type { BenchContext, BenchServer } from './context.ts';

/** Every so many-th message has an idempotency key of its own; the baselines store one as often. */
export const MESSAGES_PER_IDEMPOTENCY_KEY = 2;

export interface LoadResult {
  readonly accepted: number;
  readonly seconds: number;
  readonly latenciesMs: readonly number[];
  /** Microseconds of the server's CPU per message; NaN where the server does not tell. */
  readonly cpuUs: number;
}
type Target = Pick<BenchServer, 'url' | 'key'> & Partial<Pick<BenchServer, 'usage'>>;

/** Posts one-recipient SMS over `connections` for `seconds`; throws on any answer that is not 200. */
export async function sendSmsLoad(server: Target, connections: number, seconds: number): Promise<LoadResult> {
  const pool = new Pool(server.url, { connections });
  const latenciesMs: number[] = [];
  const run = Math.random().toString(36).slice(2);
  const cpuBefore = (await server.usage?.())?.cpuSeconds ?? Number.NaN;
  const startedAt = performance.now();
  const deadline = startedAt + seconds * 1000;
  let sent = 0;
  const body = (index: number) =>
    JSON.stringify({
      to: `+2567${String(index % 1e8).padStart(8, '0')}`,
      message: 'Hello, this is a benchmark message.',
    });
  await Promise.all(
    Array.from({ length: connections }, async () => {
      while (performance.now() < deadline) {
        const index = sent;
        sent += 1;
        const at = performance.now();
        const answer = await pool.request({
          method: 'POST',
          path: '/api/v1/developers/sms',
          headers: {
            'x-api-key': server.key,
            'content-type': 'application/json',
            ...(index % MESSAGES_PER_IDEMPOTENCY_KEY === 0 ? { 'idempotency-key': `${run}-${index}` } : {}),
          },
          // Numbers that the simulator treats specially are left out: 0001 to 0004.
          body: body(index * 10 + 7),
        });
        const text = await answer.body.text();
        if (answer.statusCode !== 200) throw new Error(`${answer.statusCode}: ${text}`);
        latenciesMs.push(performance.now() - at);
      }
    }),
  );
  const elapsed = (performance.now() - startedAt) / 1000;
  const cpuAfter = (await server.usage?.())?.cpuSeconds ?? Number.NaN;
  await pool.close();
  return {
    accepted: latenciesMs.length,
    seconds: elapsed,
    latenciesMs,
    cpuUs: ((cpuAfter - cpuBefore) / latenciesMs.length) * 1e6,
  };
}

/** Fails when not exactly the messages that were accepted are there and charged, or a balance is not its ledger. */
export async function checkAccepted(
  context: BenchContext,
  database: string,
  accepted: number,
): Promise<void> {
  const { rows } = await context.withClient(database, (client) =>
    client.query(`SELECT (SELECT count(*) FROM messages)::int AS messages,
      (SELECT count(*) FROM ledger_entries WHERE kind = 'charge')::int AS charges`),
  );
  const { messages, charges } = rows[0];
  if (messages !== accepted || charges !== accepted) {
    throw new Error(`${accepted} messages were accepted, ${messages} are there and ${charges} charged`);
  }
  await checkMoney(context, database);
}

/** Fails when a balance is not its ledger's sum. */
export async function checkMoney(context: BenchContext, database: string): Promise<void> {
  const { rows } = await context.withClient(database, (client) =>
    client.query(`SELECT a.id FROM accounts a JOIN ledger_entries l ON l.account_id = a.id
      GROUP BY a.id HAVING sum(l.amount_minor) <> a.balance_minor`),
  );
  if (rows.length > 0) throw new Error('a balance differs from its ledger');
}
