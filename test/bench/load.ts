import type { BenchContext, BenchServer } from './context.ts';
import { onConnections } from './http-connection.ts';

/** One message in this many has an idempotency key. The baselines store keys equally often. */
export const MESSAGES_PER_IDEMPOTENCY_KEY = 2;

/** Warm-up of both sides in seconds before the measurement, so that V8 has compiled the code. */
export const WARM_SECONDS = 20;

export interface LoadResult {
  readonly accepted: number;
  readonly seconds: number;
  readonly latenciesMs: readonly number[];
  /** The server's CPU microseconds for a message; NaN if unknown. */
  readonly cpuUs: number;
}
type Target = Pick<BenchServer, 'url' | 'key'> & Partial<Pick<BenchServer, 'usage'>>;

/** What a load sends: the sender, if not the default one, and the last eight digits of its numbers. */
export interface LoadText {
  readonly from?: string;
  readonly numberOf: (index: number) => number;
}
/** These numbers never end in 0001 to 0004, which the simulator treats specially. */
const IN_A_ROW: LoadText = { numberOf: (index) => index * 10 + 7 };

/** Posts one-recipient SMS over `connections` for `seconds`. Throws on any answer except 200. */
export async function sendSmsLoad(
  server: Target,
  connections: number,
  seconds: number,
  { from, numberOf }: LoadText = IN_A_ROW,
): Promise<LoadResult> {
  const sender = from === undefined ? '' : `"from":"${from}",`;
  const latenciesMs: number[] = [];
  const run = Math.random().toString(36).slice(2);
  const cpuBefore = (await server.usage?.())?.cpuSeconds ?? Number.NaN;
  const headers = { 'X-API-Key': server.key, 'Content-Type': 'application/json' };
  let sent = 0;
  const took = await onConnections(server.url, connections, seconds, async (connection) => {
    const index = sent;
    sent += 1;
    const at = performance.now();
    const hasKey = index % MESSAGES_PER_IDEMPOTENCY_KEY === 0;
    const answer = await connection.send(
      'POST',
      '/api/v1/developers/sms',
      hasKey ? { ...headers, 'Idempotency-Key': `${run}-${index}` } : headers,
      `{${sender}"to":"+2567${String(numberOf(index) % 1e8).padStart(8, '0')}","message":"Hello, this is a benchmark message."}`,
    );
    if (answer.status !== 200) throw new Error(`${answer.status}: ${answer.body}`);
    latenciesMs.push(performance.now() - at);
  });
  const cpuAfter = (await server.usage?.())?.cpuSeconds ?? Number.NaN;
  return {
    accepted: latenciesMs.length,
    seconds: took.seconds,
    latenciesMs,
    cpuUs: ((cpuAfter - cpuBefore) / latenciesMs.length) * 1e6,
  };
}

/** Fails unless exactly the accepted messages are stored and charged, and all balances equal their ledgers. */
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

/** Fails if a balance is not the sum of its ledger. */
export async function checkMoney(context: BenchContext, database: string): Promise<void> {
  const { rows } = await context.withClient(database, (client) =>
    client.query(`SELECT a.id FROM accounts a JOIN ledger_entries l ON l.account_id = a.id
      GROUP BY a.id HAVING sum(l.amount_minor) <> a.balance_minor`),
  );
  if (rows.length > 0) throw new Error('a balance differs from its ledger');
}
