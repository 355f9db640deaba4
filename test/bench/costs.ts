import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { request } from 'undici';
import { type BenchContext, type BenchResult, type BenchServer, median, medianRatio } from './context.ts';
import { sendSmsLoad, WARM_SECONDS } from './load.ts';

const CONNECTIONS = 64;
const SECONDS = 4;
const ROUNDS = 5;
/** Limits that the load never reaches, so that they are counted and never refuse. */
const LIMITS = {
  spendPerHour: 1_000_000_000,
  spendPerDay: 1_000_000_000,
  recipientsPerDay: 100_000_000,
  perNumberPerHour: 1_000_000,
  allowedPrefixes: ['256'],
};

/** What features cost the accept path: servers with and without them take turns under the same load. */
export async function run(context: BenchContext): Promise<BenchResult[]> {
  const collector = createServer((asked, answer) => asked.resume().on('end', () => answer.end('{}')));
  await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve));
  const { port } = collector.address() as AddressInfo;
  const plain = await context.startServer({ ROLES: 'api', SENDER_POLICY: 'open', QUIET_HOURS: 'none' });
  const traced = await context.startServer({
    ROLES: 'api',
    SENDER_POLICY: 'open',
    QUIET_HOURS: 'none',
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
    OTEL_TRACES_SAMPLER_ARG: '0.01',
  });
  const limited = await context.startServer({ ROLES: 'api', SENDER_POLICY: 'approved' });
  try {
    await setLimits(limited);
    return [
      ...(await compare(context, 'traces of 1 % of the messages', traced, plain)),
      ...(await compare(context, 'sender policy, quiet hours and five limits of the key', limited, plain)),
    ];
  } finally {
    for (const server of [plain, traced, limited]) await server.stop();
    collector.close();
  }
}

async function setLimits({ url, key }: BenchServer): Promise<void> {
  const [, keyId] = key.split('_');
  const answer = await request(`${url}/api/v1/developer/keys/${keyId}/limits`, {
    method: 'PUT',
    headers: { 'x-api-key': key, 'content-type': 'application/json' },
    body: JSON.stringify(LIMITS),
  });
  if (answer.statusCode !== 200) throw new Error(await answer.body.text());
}

/** Compares the rate and the CPU time of accepting on a server with a feature and on one without. */
async function compare(
  context: BenchContext,
  feature: string,
  withIt: BenchServer,
  without: BenchServer,
): Promise<BenchResult[]> {
  const rates = { with: [] as number[], without: [] as number[] };
  const cpu = { with: [] as number[], without: [] as number[] };
  for (const server of [withIt, without]) await sendSmsLoad(server, CONNECTIONS, WARM_SECONDS);
  for (let round = 1; round <= ROUNDS; round++) {
    context.log(`costs: ${feature}, round ${round} of ${ROUNDS}`);
    for (const [name, server] of [
      ['with', withIt],
      ['without', without],
    ] as const) {
      const load = await sendSmsLoad(server, CONNECTIONS, SECONDS);
      rates[name].push(load.accepted / load.seconds);
      cpu[name].push(load.cpuUs);
    }
  }
  return [
    {
      name: `accepted/s with ${feature} ÷ without`,
      value: median(rates.with),
      unit: '/s',
      baseline: median(rates.without),
      ratio: medianRatio(rates.with, rates.without),
      cpuUs: median(cpu.with),
      reach: '0.97',
      note: `${median(cpu.without).toFixed(1)} µs without`,
    },
  ];
}
