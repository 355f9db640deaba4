import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { request } from 'undici';
import { type BenchContext, type BenchResult, type BenchServer, median, medianRatio } from './context.ts';
import { type LoadText, sendSmsLoad, WARM_SECONDS } from './load.ts';

const CONNECTIONS = 64;
const SECONDS = 4;
const ROUNDS = 8;
/** Limits that the load never reaches, so that they are counted and never refuse. */
const LIMITS = {
  spendPerHour: 1_000_000_000,
  spendPerDay: 1_000_000_000,
  recipientsPerDay: 100_000_000,
  perNumberPerHour: 1_000_000,
  allowedPrefixes: ['256'],
};
const SENDER = 'BENCH';
const SUPPRESSIONS = 100_000;
/** Numbers far from each other, as those of people are: in a row they would be held as SMS pumping. */
const FAR_APART = (index: number) => (index * 61_803_399 + 7) % 1e8;

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
  const trusted = await context.startServer({ ROLES: 'api', SENDER_POLICY: 'approved', PUMPING_WATCH: 'on' });
  try {
    await setLimits(trusted);
    await fillTrust(context, trusted);
    return [
      ...(await compare(context, 'traces of 1 % of the messages', traced, plain)),
      ...(await compare(
        context,
        'an approved sender, 100,000 opt-outs, quiet hours, limits of key and account, and the pumping watch',
        trusted,
        plain,
        { withIt: { from: SENDER, numberOf: FAR_APART }, without: { numberOf: FAR_APART } },
      )),
    ];
  } finally {
    for (const server of [plain, traced, trusted]) await server.stop();
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

/** Gives the account an approved sender, opt-outs, and limits of its own. */
async function fillTrust(context: BenchContext, { database }: BenchServer): Promise<void> {
  await context.withClient(database, async (client) => {
    const { rows } = await client.query('SELECT account_id FROM api_keys LIMIT 1');
    const { account_id: accountId } = rows[0];
    await client.query(
      `INSERT INTO senders (id, account_id, created_at, reviewed_at, environment, channel, status, name, look, purposes)
       VALUES (gen_random_uuid(), $1, now(), now(), 'production', 'sms', 'approved', $2, lower($2),
         '{transactional,otp,marketing}')`,
      [accountId, SENDER],
    );
    await client.query(
      `INSERT INTO suppressions (id, account_id, created_at, environment, channel, scope, source, address)
       SELECT gen_random_uuid(), $1, now(), 'production', 'sms', 'marketing', 'stop', '+25678' || lpad(n::text, 7, '0')
       FROM generate_series(1, $2) n`,
      [accountId, SUPPRESSIONS],
    );
    await client.query(
      `INSERT INTO send_limits (id, account_id, spend_per_hour_minor, spend_per_day_minor, recipients_per_day,
         per_number_per_hour, allowed_prefixes) VALUES ($1, $1, $2, $2, $3, $4, '{256}')`,
      [accountId, LIMITS.spendPerDay * 100, LIMITS.recipientsPerDay, LIMITS.perNumberPerHour],
    );
  });
}

/** Compares the rate and the CPU time of accepting on a server with a feature and on one without. */
async function compare(
  context: BenchContext,
  feature: string,
  withIt: BenchServer,
  without: BenchServer,
  texts?: Readonly<Record<'withIt' | 'without', LoadText>>,
): Promise<BenchResult[]> {
  const rates = { with: [] as number[], without: [] as number[] };
  const cpu = { with: [] as number[], without: [] as number[] };
  await sendSmsLoad(withIt, CONNECTIONS, WARM_SECONDS, texts?.withIt);
  await sendSmsLoad(without, CONNECTIONS, WARM_SECONDS, texts?.without);
  for (let round = 1; round <= ROUNDS; round++) {
    context.log(`costs: ${feature}, round ${round} of ${ROUNDS}`);
    const turns = [
      ['with', withIt, texts?.withIt],
      ['without', without, texts?.without],
    ] as const;
    // Each begins every other round: the machine is slower after a while of full load.
    for (const [name, server, text] of round % 2 === 0 ? turns : turns.toReversed()) {
      const load = await sendSmsLoad(server, CONNECTIONS, SECONDS, text);
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
