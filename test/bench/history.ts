import { request } from 'undici';
import { type BenchContext, type BenchResult, type BenchServer, median } from './context.ts';
import { filledDatabase } from './filled.ts';

const SMALL = 1_000;
/** Number of messages in the large database. Other benchmarks share it. */
export const LARGE = Number(process.env.HISTORY_MESSAGES ?? 2_000_000);
const REPEATS = 60;

/** Row 6: any page of a history of two million messages, compared with page 1 of a thousand. */
export async function run(context: BenchContext): Promise<BenchResult[]> {
  const serve = async (messages: number) => {
    const { database, dataset } = await filledDatabase(context, messages);
    return context.joinServer({ database, key: dataset.key }, { ROLES: 'api' });
  };
  const small = await serve(SMALL);
  const large = await serve(LARGE);
  try {
    const pages = Math.floor(LARGE / 20);
    // Page numbers in the middle of the lists by status.
    const [delivered, sent, failed] = [0.4, 0.025, 0.0004].map((share) => Math.ceil(pages * share));
    const { from, to } = (await filledDatabase(context, LARGE)).dataset;
    const span = `from=${from.toISOString()}&until=${to.toISOString()}`;
    const wanted: Readonly<Record<string, string>> = {
      [`page 1 of ${pages}`]: 'page=1',
      [`page ${Math.floor(pages / 2)} of ${pages}`]: `page=${Math.floor(pages / 2)}`,
      [`page ${pages} of ${pages}`]: `page=${pages}`,
      'status=delivered, page 1': 'status=delivered&page=1',
      [`status=delivered, page ${delivered}`]: `status=delivered&page=${delivered}`,
      'status=sent, page 1': 'status=sent&page=1',
      [`status=sent, page ${sent}`]: `status=sent&page=${sent}`,
      'status=pending, page 1': 'status=pending&page=1',
      'status=failed, page 1': 'status=failed&page=1',
      [`status=failed, page ${failed}`]: `status=failed&page=${failed}`,
      'environment=sandbox, page 1': 'environment=sandbox&page=1',
      [`environment=production, page ${delivered}`]: `environment=production&page=${delivered}`,
      'from and until, page 1': `${span}&page=1`,
      'from, until and status=delivered, page 1': `${span}&status=delivered&page=1`,
      [`from, until and status=delivered, page ${sent}`]: `${span}&status=delivered&page=${sent}`,
    };
    const baselines: number[] = [];
    const figures = new Map<string, number[]>(Object.keys(wanted).map((name) => [name, []]));
    await timePage(small, 'page=1');
    for (const query of Object.values(wanted)) await timePage(large, query);
    for (let repeat = 0; repeat < REPEATS; repeat++) {
      // Alternate between the servers, so that both are equally warm.
      for (const [name, query] of Object.entries(wanted)) {
        baselines.push(await timePage(small, 'page=1'));
        figures.get(name)?.push(await timePage(large, query));
      }
    }
    const baseline = median(baselines);
    return [...figures].map(([name, times]) => {
      const value = median(times);
      return {
        row: 6,
        name: `history, ${name} ÷ page 1 of ${SMALL / 20}`,
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

async function timePage(server: BenchServer, query: string): Promise<number> {
  const at = performance.now();
  const answer = await request(`${server.url}/api/v1/developers/sms/history?${query}`, {
    headers: { 'x-api-key': server.key },
  });
  const body = (await answer.body.json()) as { data: unknown[] };
  const elapsed = performance.now() - at;
  if (answer.statusCode !== 200 || body.data.length !== 20) throw new Error(`${query}: ${answer.statusCode}`);
  return elapsed;
}
