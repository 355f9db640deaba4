import { request } from 'undici';
import { type BenchContext, type BenchResult, built, fund, MASTER_KEY, median } from './context.ts';
import { filledDatabase } from './filled.ts';
import { checkMoney } from './load.ts';

const MESSAGES = 100_000;
const ROUNDS = 3;
/** The senders that are at work during a move. */
const SENDERS = 4;
const RETRY_MS = 20;
const DRAIN_MS = 30_000;

/**
 * How long senders are refused while an account of 100,000 messages moves to another cell (R503), from the last message
 * that the one accepted to the first that the other accepted. Both cells have their database in one PostgreSQL. Fails if
 * a message is lost, or if a sender gets any other refusal.
 */
export async function run(context: BenchContext): Promise<BenchResult[]> {
  const { database: home, dataset } = await filledDatabase(context, MESSAGES);
  await context.withClient(home, async (client) => {
    await fund(client);
    // A carrier named each message, and its names are kept until the message has ended for a day.
    await client.query(
      `INSERT INTO provider_sids (provider, sid_key, message_id, position)
       SELECT 'bench', message_id::text, message_id, position FROM recipients WHERE account_id = $1`,
      [dataset.accountId],
    );
    await client.query('VACUUM ANALYZE');
  });
  const away = await context.gatewayDatabase();
  const [first, second] = [
    await context.joinServer({ database: home, key: dataset.key }, { CELL_SLOTS: '000-7ff' }),
    await context.joinServer({ database: away, key: dataset.key }, { CELL_SLOTS: '800-fff' }),
  ];
  const pauses: number[] = [];
  const totals: number[] = [];
  try {
    let [from, to] = [first, second];
    for (let round = 1; round <= ROUNDS; round += 1) {
      context.log(`move: round ${round} of ${ROUNDS}`);
      const { pauseMs, totalMs } = await moveUnderLoad(context, dataset, from, to);
      pauses.push(pauseMs);
      totals.push(totalMs);
      [from, to] = [to, from];
    }
    await checkMoney(context, from.database);
    return [
      {
        name: `longest pause of a move, ${MESSAGES} messages`,
        value: Math.max(...pauses),
        unit: 'ms',
        reach: '5000',
      },
      { name: 'pause of a move, median', value: median(pauses), unit: 'ms' },
      { name: 'whole move, median', value: median(totals), unit: 'ms' },
    ];
  } finally {
    await first.stop();
    await second.stop();
  }
}

interface Place {
  readonly url: string;
  readonly database: string;
}

async function moveUnderLoad(
  context: BenchContext,
  { accountId, key }: { readonly accountId: string; readonly key: string },
  from: Place,
  to: Place,
) {
  const { moveAccount } = await built<typeof import('../../src/storage/cells/account-move.ts')>(
    'storage/cells/account-move.js',
  );
  const { accountJobs } =
    await built<typeof import('../../src/queue/account-jobs.ts')>('queue/account-jobs.js');
  const { createSecretBox } =
    await built<typeof import('../../src/crypto/secret-box.ts')>('crypto/secret-box.js');
  const { host, port, user } = context.postgres;
  const count = async ({ database }: Place) =>
    context.withClient(database, async (client) => {
      const { rows } = await client.query(
        'SELECT count(*)::int AS count FROM messages WHERE account_id = $1',
        [accountId],
      );
      return rows[0].count as number;
    });
  const before = await count(from);
  const at = { accepted: 0, lastHere: 0, firstThere: 0 };
  let place = from;
  let isOver = false;
  const senders = Array.from({ length: SENDERS }, async () => {
    while (!isOver) {
      const asked = place;
      const { statusCode, body } = await request(`${asked.url}/api/v1/developers/sms`, {
        method: 'POST',
        headers: { 'x-api-key': key, 'content-type': 'application/json' },
        body: JSON.stringify({ to: '+256772000001', message: 'Hello' }),
      });
      const text = await body.text();
      if (statusCode === 200) {
        at.accepted += 1;
        if (asked === from) at.lastHere = performance.now();
        else at.firstThere ||= performance.now();
      } else if (statusCode === 503 || statusCode === 421) {
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      } else throw new Error(`the sender got ${statusCode}: ${text}`);
    }
  });
  const startedAt = performance.now();
  try {
    const report = await moveAccount({
      accountId,
      from: { ...context.postgres, database: from.database },
      to: { ...context.postgres, database: to.database },
      toCell: undefined,
      toDatabaseSealed: createSecretBox(Buffer.from(MASTER_KEY, 'base64'), []).seal(
        `postgres://${user}@${encodeURIComponent(host)}:${port}/${to.database}`,
      ),
      jobs: accountJobs,
      drainMs: DRAIN_MS,
      settleMs: 0,
      redirect: async () => {
        place = to;
      },
      onStep: (step) => context.log(`move: ${step} after ${Math.round(performance.now() - startedAt)} ms`),
    });
    context.log(`move: refused for ${report.pauseMs} ms, as the move says`);
    const until = performance.now() + DRAIN_MS;
    while (at.firstThere === 0 && performance.now() < until)
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  } finally {
    isOver = true;
  }
  await Promise.all(senders);
  const totalMs = performance.now() - startedAt;
  const after = await count(to);
  if (after !== before + at.accepted)
    throw new Error(`${before} messages and ${at.accepted} accepted ones, but ${after} in the other cell`);
  return { pauseMs: at.firstThere - at.lastHere, totalMs };
}
