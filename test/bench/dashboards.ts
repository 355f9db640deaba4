import { request } from 'undici';
import {
  type BenchContext,
  type BenchResult,
  type BenchServer,
  fund,
  median,
  medianRatio,
} from './context.ts';
import { composeOn, filledDatabase } from './filled.ts';
import { LARGE } from './history.ts';
import { sendSmsLoad, WARM_SECONDS } from './load.ts';

const CONNECTIONS = 64;
/** Duration of a round in seconds: one minute, because the budgets of queries are per minute. */
const SECONDS = Number(process.env.DASHBOARD_SECONDS ?? 60);
const ROUNDS = Number(process.env.DASHBOARD_ROUNDS ?? 2);
const VIEWERS = 2;
/** Number of queries that a viewer sends concurrently. */
const AT_ONCE = 6;

/** The most expensive queries. The searches find nothing, so PostgreSQL reads everything that can be searched. */
const WORST = [
  '{ messages(filter: { search: "no such text" }) { totalCount nodes { id } } }',
  '{ a: messages(filter: { search: "nothing" }) { totalCount } b: messages(filter: { search: "none" }) { totalCount } c: messages(filter: { search: "no" }) { totalCount } }',
  '{ messages(first: 100) { nodes { recipients { to status } events { type } timeline { at } deliveries { id } } } }',
];

/**
 * Compares acceptance beside two viewers, who send the most expensive queries of their budgets, with acceptance alone.
 */
export async function run(context: BenchContext): Promise<BenchResult[]> {
  const { database, dataset } = await filledDatabase(context, LARGE);
  const emails = Array.from({ length: VIEWERS }, (_, index) => `viewer${index}@bench.example`);
  const passwords = await invite(context, database, emails);
  await context.withClient(database, fund);
  const server = await context.joinServer({ database, key: dataset.key }, { ROLES: 'api' });
  const rates = { alone: [] as number[], watched: [] as number[] };
  const counts = { answered: 0, refused: 0 };
  try {
    await sendSmsLoad(server, CONNECTIONS, WARM_SECONDS);
    const tokens = await Promise.all(
      emails.map((email, index) => signIn(server, email, passwords[index] ?? '')),
    );
    for (let round = 1; round <= ROUNDS; round++) {
      context.log(`dashboards: round ${round} of ${ROUNDS}`);
      const alone = await sendSmsLoad(server, CONNECTIONS, SECONDS);
      rates.alone.push(alone.accepted / alone.seconds);
      const end = new AbortController();
      const viewers = tokens.flatMap((token) =>
        Array.from({ length: AT_ONCE }, () => view(server, token, end.signal, counts)),
      );
      const watched = await sendSmsLoad(server, CONNECTIONS, SECONDS);
      rates.watched.push(watched.accepted / watched.seconds);
      end.abort();
      await Promise.all(viewers);
    }
    return [
      {
        name: `accepted/s beside ${VIEWERS} viewers at their worst ÷ alone`,
        value: median(rates.watched),
        unit: '/s',
        baseline: median(rates.alone),
        ratio: medianRatio(rates.watched, rates.alone),
        reach: '0.95',
        note: `${counts.answered} queries answered, ${counts.refused} refused`,
      },
    ];
  } finally {
    context.log(`dashboards: ${counts.answered} queries answered, ${counts.refused} refused`);
    await server.stop();
  }
}

/** Sends one query after another. After a refusal, waits for the time that the refusal names. */
async function view(
  server: BenchServer,
  token: string,
  end: AbortSignal,
  counts: { answered: number; refused: number },
): Promise<void> {
  for (let turn = 0; !end.aborted; turn++) {
    const { body, retryAfter } = await ask(server, WORST[turn % WORST.length] ?? '', token);
    if (body.errors === undefined) counts.answered += 1;
    else counts.refused += 1;
    if (retryAfter > 0) await sleepUntil(end, retryAfter * 1_000);
  }
}

function sleepUntil(end: AbortSignal, ms: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    end.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

async function ask(server: BenchServer, query: string, token?: string, variables?: object) {
  const answer = await request(`${server.url}/graphql`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify({ query, variables }),
  });
  const body = (await answer.body.json()) as {
    data?: { signIn: { token: string } };
    errors?: readonly object[];
  };
  return { body, retryAfter: Number(answer.headers['retry-after'] ?? 0) };
}

async function signIn(server: BenchServer, email: string, password: string): Promise<string> {
  const query = 'mutation ($e: String!, $p: String!) { signIn(email: $e, password: $p) { token } }';
  const { body } = await ask(server, query, undefined, { e: email, p: password });
  if (!body.data) throw new Error(`${email} cannot sign in: ${JSON.stringify(body.errors)}`);
  return body.data.signIn.token;
}

/** Adds people with the role VIEWER to the account. Returns their passwords. */
async function invite(context: BenchContext, database: string, emails: readonly string[]): Promise<string[]> {
  const { rows } = await context.withClient(database, (client) =>
    client.query<{ id: string; account_id: string }>(
      `SELECT id, account_id FROM users WHERE account_id = (
         SELECT account_id FROM messages GROUP BY account_id ORDER BY count(*) DESC LIMIT 1) LIMIT 1`,
    ),
  );
  const [owner] = rows;
  if (!owner) throw new Error('the account has no owner');
  const gateway = await composeOn(context, database);
  try {
    const caller = { kind: 'member', accountId: owner.account_id, userId: owner.id, role: 'OWNER' } as const;
    const passwords: string[] = [];
    for (const email of emails) {
      const { password } = await gateway.operations.members.invite.run(caller, { email, role: 'VIEWER' });
      passwords.push(password ?? '');
    }
    return passwords;
  } finally {
    await gateway.close();
  }
}
