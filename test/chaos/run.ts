/** One run: a world, its disorder, its clients, and what was wrong in the end. */
import type { Workplace } from '../support/server-process.ts';
import { Clients } from './clients.ts';
import { brokenInvariants } from './invariants.ts';
import { judge } from './judge.ts';
import { Random } from './random.ts';
import { type Planned, scheduleOf } from './schedule.ts';
import { WINDOW, World } from './world.ts';

const GATEWAYS = 2;
const CLIENTS = 6;
/** For the last messages and hooks to come to rest, ms. */
const REST_MS = 150_000;
const WEBHOOK_EVENTS = ['sms.sent', 'sms.failed'];

/** What a failing run shows besides. */
const LOOKED_AT = ['unmatched_reports', 'timeline_notes', 'job_leases', 'report_spools'];

export interface RunOptions {
  readonly seed: number;
  readonly seconds: number;
  /** Numbers of the planned disorders that happen; all when absent. */
  readonly only?: readonly number[] | undefined;
  readonly log: (line: string) => void;
}

export interface RunResult {
  readonly planned: readonly Planned[];
  /** What was wrong, in sentences. */
  readonly wrong: readonly string[];
  readonly messages: number;
  readonly events: number;
}

/** Runs one seed. Real processes decide when exactly things happen, so a seed repeats the disorder, not every step. */
export async function run(
  workplace: Workplace,
  { seed, seconds, only, log }: RunOptions,
): Promise<RunResult> {
  const random = new Random(seed);
  const planned = scheduleOf(random.fork(), seconds, GATEWAYS);
  const world = await World.start(workplace, random.fork(), GATEWAYS);
  try {
    const clients = new Clients(random.fork(), () => world.urls(), world.key);
    await registerWebhook(world);
    clients.start(CLIENTS);
    const startedAt = performance.now();
    const happening = planned.map(async ({ atMs, lastsMs, disorder }, number) => {
      if (only && !only.includes(number)) return;
      await pause(atMs - (performance.now() - startedAt));
      log(`${(atMs / 1_000).toFixed(1)} s: ${number} ${JSON.stringify(disorder)} for ${lastsMs} ms`);
      const end = await world.begin(disorder);
      await pause(lastsMs);
      await end();
    });
    await Promise.all([...happening, pause(seconds * 1_000)]);
    await clients.stop();
    log('waiting for rest');
    const unrest = await rest(world);
    await clients.stopFollowing();
    const seen = {
      wanted: clients.wanted,
      fed: clients.fed,
      handedOver: world.carrier.handedOver,
      hooks: world.receiver.hooks,
      mayBeTwice: cutOff(world),
    };
    const wrong = await world.query(async (client) => [
      ...clients.oddities,
      ...(unrest === undefined ? [] : [unrest]),
      ...(await brokenInvariants(client)),
      ...(await judge(client, seen)),
    ]);
    if (wrong.length > 0) {
      log(world.logs());
      for (const { sid, answers } of world.carrier.smsc.reports) {
        if (answers.length !== 1 || answers[0] !== 0)
          log(`report on ${sid} was answered ${JSON.stringify(answers)}`);
      }
      for (const table of LOOKED_AT) {
        const { rows } = await world.query((client) => client.query(`SELECT * FROM ${table} LIMIT 30`));
        for (const row of rows) log(`${table}: ${JSON.stringify(row)}`);
      }
    }
    return { planned, wrong, messages: clients.wanted.length, events: clients.fed.length };
  } finally {
    await world.stop();
  }
}

async function registerWebhook(world: World): Promise<void> {
  const [url] = world.urls();
  const answer = await fetch(`${url}/api/v1/developers/webhooks`, {
    method: 'POST',
    headers: { 'X-Api-Key': world.key, 'Content-Type': 'application/json' },
    body: JSON.stringify({ url: world.receiver.url, events: WEBHOOK_EVENTS }),
  });
  if (answer.status !== 201) throw new Error(`the webhook was not registered: ${await answer.text()}`);
}

/** How many hand-overs may have lost their answer: with a connection that is cut, all that were on it. */
function cutOff({ cutOff, carrier }: World): number {
  const lost = carrier.handedOver.map(({ answer }) =>
    answer === 'cut' ? WINDOW : answer === 'none' ? 1 : 0,
  );
  return lost.reduce<number>((sum, each) => sum + each, cutOff * WINDOW);
}

/** Waits until nothing is on its way any more; says what still is when that takes too long. */
async function rest(world: World): Promise<string | undefined> {
  const until = performance.now() + REST_MS;
  for (;;) {
    // The carrier did not answer these: they are tried again after minutes only.
    const unanswered = world.carrier.handedOver.flatMap(({ to, answer }) => (answer === 'none' ? [to] : []));
    const open = await world.query(async (client) => {
      const { rows } = await client.query<{ pending: number; owed: number }>(
        `SELECT (SELECT count(*)::int FROM recipients WHERE status = 'pending' AND address <> ALL ($1)) AS pending,
           (SELECT count(*)::int FROM webhook_deliveries WHERE status IN ('pending', 'retrying')) AS owed`,
        [unanswered],
      );
      return rows[0] ?? { pending: 0, owed: 0 };
    });
    if (open.pending === 0 && open.owed === 0) {
      // Reports may still be on their way.
      await pause(2_000);
      return undefined;
    }
    if (performance.now() > until) return `there is no rest: ${JSON.stringify(open)}`;
    await pause(200);
  }
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, Math.max(0, ms)));
