import { request } from 'undici';
import { guideDocuments, guideVariables } from '../support/dashboard-documents.ts';
import { type BenchContext, type BenchResult, median } from './context.ts';
import { filledDatabase } from './filled.ts';
import { LARGE } from './history.ts';

const REPEATS = 30;
const YEAR_MS = 365 * 24 * 3_600_000;
const MONTH_MS = YEAR_MS / 12;
/** Documents that are run over a month instead of a year, because usage by hour covers at most 32 days. */
const OF_A_MONTH = ['LiveCounters'];

/** Runs the GraphQL documents of docs/guides/graphql.md over a year, on a database of two million messages. */
export async function run(context: BenchContext): Promise<BenchResult[]> {
  const { database, dataset } = await filledDatabase(context, LARGE);
  const server = await context.joinServer(
    { database, key: dataset.key },
    {
      ROLES: 'api',
      // The documents run much more often than a dashboard would run them.
      RATE_LIMIT_POINTS_PER_MINUTE: '1000000',
    },
  );
  try {
    const ask = async (query: string, variables: object, token?: string) => {
      const answer = await request(`${server.url}/graphql`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          ...(token ? { authorization: `Bearer ${token}` } : {}),
        },
        body: JSON.stringify({ query, variables }),
      });
      const body = (await answer.body.json()) as {
        data: Record<string, { token: string }>;
        errors?: unknown;
      };
      if (answer.statusCode !== 200 || body.errors) throw new Error(JSON.stringify(body.errors));
      return body.data;
    };
    const signIn =
      'mutation ($email: String!, $password: String!) { signIn(email: $email, password: $password) { token } }';
    const { signIn: session } = await ask(signIn, dataset.owner);
    const to = new Date(Date.now() + 60_000);
    const results: BenchResult[] = [];
    for (const { name, text } of await guideDocuments()) {
      const from = new Date(to.getTime() - (OF_A_MONTH.includes(name) ? MONTH_MS : YEAR_MS));
      const times: number[] = [];
      for (let repeat = 0; repeat < REPEATS; repeat++) {
        const at = performance.now();
        await ask(text, guideVariables(dataset.messageId, from, to), session?.token);
        times.push(performance.now() - at);
      }
      results.push({ name: `dashboard ${name}`, value: median(times), unit: 'ms' });
    }
    return results;
  } finally {
    await server.stop();
  }
}
