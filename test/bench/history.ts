import { request } from 'undici';
import { type BenchContext, type BenchResult, type BenchServer, median } from './context.ts';

const SMALL = 1_000;
const LARGE = 2_000_000;
const CHUNK = 100_000;
const REPEATS = 60;

/** Row 6: any page of a history of two million messages, against the first page of a thousand. */
export async function run(context: BenchContext): Promise<BenchResult[]> {
  const small = await context.startServer({ ROLES: 'api' });
  const large = await context.startServer({ ROLES: 'api' });
  try {
    await fill(context, small.database, SMALL);
    await fill(context, large.database, LARGE);
    const pages = LARGE / 20;
    const wanted = [1, Math.floor(pages / 2), pages];
    const baselines: number[] = [];
    const figures = new Map<number, number[]>(wanted.map((page) => [page, []]));
    await timePage(small, 1);
    for (const page of wanted) await timePage(large, page);
    for (let repeat = 0; repeat < REPEATS; repeat++) {
      baselines.push(await timePage(small, 1));
      for (const page of wanted) figures.get(page)?.push(await timePage(large, page));
    }
    const baseline = median(baselines);
    return wanted.map((page) => {
      const value = median(figures.get(page) ?? []);
      return {
        row: 6,
        name: `history page ${page} of ${pages} ÷ page 1 of ${SMALL / 20}`,
        value,
        unit: 'ms',
        baseline,
        ratio: value / baseline,
        reach: '1.5',
      };
    });
  } finally {
    await small.stop();
    await large.stop();
  }
}

async function timePage(server: BenchServer, page: number): Promise<number> {
  const at = performance.now();
  const answer = await request(`${server.url}/api/v1/developers/sms/history?page=${page}`, {
    headers: { 'x-api-key': server.key },
  });
  const body = (await answer.body.json()) as { data: unknown[] };
  const elapsed = performance.now() - at;
  if (answer.statusCode !== 200 || body.data.length !== 20)
    throw new Error(`page ${page}: ${answer.statusCode}`);
  return elapsed;
}

/** Finished messages of the quickstart account, written straight into the tables, with their dense sequence. */
async function fill(context: BenchContext, database: string, count: number): Promise<void> {
  await context.withClient(database, async (client) => {
    // The rows are made consistent here, so the checks on each would only cost time.
    await client.query('SET session_replication_role = replica');
    for (let from = 1; from <= count; from += CHUNK) {
      const upTo = Math.min(count, from + CHUNK - 1);
      await client.query(
        `WITH made AS (
           INSERT INTO messages (id, account_id, seq, cost_minor, unit_price_minor, created_at, expires_at, channel,
             environment, status, currency, sender, content)
           SELECT gen_random_uuid(), a.id, n, 30, 30, now() - make_interval(secs => $3 - n), now(), 'sms', 'production',
             'delivered', a.currency, 'SERVICE', 'Message number ' || n
           FROM (SELECT id, currency FROM accounts LIMIT 1) a, generate_series($1::int, $2::int) n
           RETURNING id, account_id, seq)
         INSERT INTO recipients (message_id, account_id, position, address, cost_minor, status, sent_at, delivered_at)
         SELECT id, account_id, 0, '+2567' || lpad(seq::text, 8, '0'), 30, 'delivered', now(), now() FROM made`,
        [from, upTo, count],
      );
      context.log(`history: ${upTo} of ${count} messages written`);
    }
    await client.query('UPDATE accounts SET sms_seq = $1', [count]);
    await client.query('VACUUM ANALYZE messages, recipients');
  });
}
