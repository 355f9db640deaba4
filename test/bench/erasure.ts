import { request } from 'undici';
import {
  type BenchContext,
  type BenchResult,
  type BenchServer,
  fund,
  median,
  medianRatio,
} from './context.ts';
import { filledDatabase } from './filled.ts';
import { LARGE } from './history.ts';
import { sendSmsLoad, WARM_SECONDS } from './load.ts';

const CONNECTIONS = 64;
const SECONDS = 4;
const ROUNDS = 3;
/** The share of all messages that one person got. It is far more than a person gets, so that the erasure lasts. */
const SHARE = 0.02;
const DEADLINE_MS = 20 * 60_000;

/**
 * The rate of accepted messages while one person is erased from a database of two million messages, compared with the
 * rate before. A round erases another person. Fails if an erasure leaves the number in a recipient.
 */
export async function run(context: BenchContext): Promise<BenchResult[]> {
  const { database, dataset } = await filledDatabase(context, LARGE);
  await context.withClient(database, fund);
  const before = await surpluses(context, database);
  const server = await context.joinServer({ database, key: dataset.key }, { ROLES: 'api' });
  // A process without the API would name no address when it is ready.
  const worker = await context.joinServer({ database, key: dataset.key });
  const rates = { alone: [] as number[], beside: [] as number[] };
  const perSecond: number[] = [];
  try {
    await sendSmsLoad(server, CONNECTIONS, WARM_SECONDS);
    for (let round = 1; round <= ROUNDS; round++) {
      context.log(`erasure: round ${round} of ${ROUNDS}`);
      // Neither the database nor the load has messages to this number.
      const number = `+25678999999${round}`;
      const count = await give(context, database, dataset.accountId, number);
      const alone = await sendSmsLoad(server, CONNECTIONS, SECONDS);
      rates.alone.push(alone.accepted / alone.seconds);
      const begun = performance.now();
      const id = await erase(server, number);
      const beside = await sendSmsLoad(server, CONNECTIONS, SECONDS);
      rates.beside.push(beside.accepted / beside.seconds);
      await done(server, id);
      perSecond.push(count / ((performance.now() - begun) / 1_000));
      await checkGone(context, database, dataset.accountId, number);
    }
    const after = await surpluses(context, database);
    if (JSON.stringify(after) !== JSON.stringify(before))
      throw new Error('a balance changed otherwise than its ledger');
    return [
      {
        name: 'accepted/s while a person is erased ÷ before',
        value: median(rates.beside),
        unit: '/s',
        baseline: median(rates.alone),
        ratio: medianRatio(rates.beside, rates.alone),
        reach: '0.8',
      },
      { name: `messages of one person erased, of ${LARGE}`, value: median(perSecond), unit: '/s' },
    ];
  } finally {
    await server.stop();
    await worker.stop();
  }
}

/** Makes a number the recipient of a share of the settled messages. Returns how many these are. */
async function give(context: BenchContext, database: string, accountId: string, number: string) {
  const { rowCount } = await context.withClient(database, (client) =>
    client.query(
      `UPDATE recipients SET address = $2 WHERE ctid = ANY (ARRAY(
         SELECT ctid FROM recipients WHERE account_id = $1 AND status <> 'pending' AND address <> 'erased' LIMIT $3))`,
      [accountId, number, Math.round(LARGE * SHARE)],
    ),
  );
  return rowCount ?? 0;
}

async function erase(server: BenchServer, number: string): Promise<string> {
  const answer = await request(
    `${server.url}/api/v1/developers/recipients/${encodeURIComponent(number)}?reason=bench`,
    { method: 'DELETE', headers: { 'x-api-key': server.key } },
  );
  const body = (await answer.body.json()) as { erasure: { id: string } };
  if (answer.statusCode !== 202) throw new Error(`the erasure was answered with ${answer.statusCode}`);
  return body.erasure.id;
}

async function done(server: BenchServer, id: string): Promise<void> {
  const end = performance.now() + DEADLINE_MS;
  while (performance.now() < end) {
    const answer = await request(`${server.url}/api/v1/developers/erasures/${id}`, {
      headers: { 'x-api-key': server.key },
    });
    const body = (await answer.body.json()) as { erasure: { doneAt: string | null } };
    if (body.erasure.doneAt !== null) return;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  throw new Error('the erasure did not end');
}

async function checkGone(context: BenchContext, database: string, accountId: string, number: string) {
  const { rows } = await context.withClient(database, (client) =>
    client.query('SELECT count(*)::int AS count FROM recipients WHERE account_id = $1 AND address = $2', [
      accountId,
      number,
    ]),
  );
  if (rows[0].count > 0) throw new Error(`${rows[0].count} recipients still have the erased number`);
}

/** Returns by how much each balance exceeds its ledger. The filled database has no entry of the first top-up. */
async function surpluses(context: BenchContext, database: string): Promise<readonly unknown[]> {
  const { rows } = await context.withClient(database, (client) =>
    client.query(
      `SELECT a.id, (a.balance_minor - coalesce(sum(l.amount_minor), 0))::text AS surplus
       FROM accounts a LEFT JOIN ledger_entries l ON l.account_id = a.id GROUP BY a.id ORDER BY a.id`,
    ),
  );
  return rows;
}
