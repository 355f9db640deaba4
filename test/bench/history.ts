import { request } from 'undici';
import { type BenchContext, type BenchResult, type BenchServer, median } from './context.ts';
import { filledDatabase } from './filled.ts';

const SMALL = 1_000;
/** Of the large database, which `plans` looks through too. */
export const LARGE = Number(process.env.HISTORY_MESSAGES ?? 2_000_000);
const REPEATS = 60;

/** Row 6: any page of a history of two million messages, against the first page of a thousand. */
export async function run(context: BenchContext): Promise<BenchResult[]> {
  const serve = async (messages: number) => {
    const { database, dataset } = await filledDatabase(context, messages);
    return context.joinServer({ database, key: dataset.key }, { ROLES: 'api' });
  };
  const small = await serve(SMALL);
  const large = await serve(LARGE);
  try {
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
