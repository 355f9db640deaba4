/** One run: starts the processes (`World`), disturbs them while clients work, and returns the faults that it found. */
import { Api, pause } from './api.ts';
import type { Arena } from './arena.ts';
import { KeyRotator, WebhookChanger } from './changers.ts';
import { brokenInvariants } from './invariants.ts';
import { judge, type Seen } from './judge.ts';
import { type Happened, judgeService } from './judge-service.ts';
import { Random } from './random.ts';
import { Readers } from './readers.ts';
import { type Planned, scheduleOf } from './schedule.ts';
import { Senders } from './senders.ts';
import { type Clients, WINDOW, World } from './world.ts';

const SENDERS = 6;
const STATUSES = [undefined, 'pending', 'sent', 'delivered', 'failed'] as const;

/** Tables whose rows a failing run also prints. */
const LOOKED_AT = ['unmatched_reports', 'timeline_notes', 'job_leases', 'report_spools'];

export interface RunOptions {
  readonly seed: number;
  readonly seconds: number;
  /** Theme (kind of disorders) of the run. Without it, the seed chooses one. */
  readonly theme?: string | undefined;
  /** Numbers of the planned disorders to carry out. Without it, all are. */
  readonly only?: readonly number[] | undefined;
  /** Longest time in seconds until the last messages, reports and webhook deliveries are finished. */
  readonly restSeconds: number;
  readonly log: (line: string) => void;
}

export interface RunResult {
  readonly planned: readonly Planned[];
  /** One sentence for each fault found. */
  readonly wrong: readonly string[];
  readonly messages: number;
  readonly events: number;
  /** Time in ms until no work was left. */
  readonly restMs: number;
}

/**
 * Runs one seed. A seed repeats the same disorders, but not every step, because the timing of real processes varies.
 */
export async function run(
  arena: Arena,
  { seed, seconds, theme, only, restSeconds, log }: RunOptions,
): Promise<RunResult> {
  const random = new Random(seed);
  const gateways = random.chance(0.2) ? 3 : 2;
  const planned = scheduleOf(random.fork(), seconds, gateways, theme);
  const begunAt = performance.now();
  const world = await World.start(arena, random.fork(), gateways);
  log(`started after ${Math.round(performance.now() - begunAt)} ms`);
  try {
    const api = new Api(() => world.urls());
    const keys = new KeyRotator(api, arena.key);
    const key = () => keys.current;
    const senders = new Senders(api, key);
    const readers = new Readers(api, key);
    const webhooks = new WebhookChanger(api, arena.key, world.receiver.url);
    await webhooks.registerSteady(random.fork());
    const openingBalance = await readers.balance(random.fork());
    if (openingBalance === undefined) throw new Error('the balance could not be read');
    for (const each of [keys, webhooks]) each.start(random.fork());
    senders.start(random.fork(), SENDERS, () => world.gateways);
    readers.start(random.fork(), () => senders.latest(20));
    const startedAt = performance.now();
    const happened: Happened[] = [];
    const many = random.fork();
    const clients: Clients = {
      told: (what) => api.told(what),
      sendMany: (url) => senders.sendMany(many, url),
    };
    const happening = planned.map(async ({ atMs, lastsMs, disorder }, number) => {
      if (only && !only.includes(number)) return;
      await pause(atMs - (performance.now() - startedAt));
      log(`${(atMs / 1_000).toFixed(1)} s: ${number} ${JSON.stringify(disorder)} for ${lastsMs} ms`);
      const from = Date.now();
      const end = await world.begin(disorder, clients);
      await pause(lastsMs);
      await end();
      happened.push({ disorder, from, until: Date.now() });
    });
    await Promise.all([...happening, pause(seconds * 1_000)]);
    await Promise.all([senders, readers, keys, webhooks].map((each) => each.stop()));
    log('waiting for rest');
    const restedAt = performance.now();
    const reading = random.fork();
    /** Judges the present state. Returns the faults. */
    const judgeNow = async (): Promise<string[]> => {
      await readers.catchUp();
      const walks: [string | undefined, { ids: string[]; total: number }][] = [];
      for (const status of STATUSES) {
        const walk = await readers.walk(reading, status);
        if (walk) walks.push([status, walk]);
      }
      const seen: Seen = {
        wanted: senders.wanted,
        fed: readers.fed,
        statuses: readers.statuses,
        endpoints: webhooks.endpoints,
        handedOver: world.carrier.handedOver,
        hooks: world.receiver.hooks,
        atRisk: world.atRisk,
        mayBeTwice: mayBeTwice(world),
        openingBalance,
        balance: await readers.balance(reading),
        walks: new Map(walks),
      };
      return world.query(async (client) => [
        ...(await brokenInvariants(client)),
        ...(await judge(client, seen)),
        ...(await unrest(world)),
      ]);
    };
    let wrong = await judgeNow();
    while (wrong.length > 0 && performance.now() - restedAt < restSeconds * 1_000) {
      log(
        `not at rest after ${Math.round(performance.now() - restedAt)} ms: ${wrong.slice(0, 3).join('; ')}`,
      );
      await pause(1_000);
      wrong = await judgeNow();
    }
    await readers.stopFollowing();
    wrong = [...api.oddities, ...world.oddities, ...judgeService(senders.probes, happened), ...wrong];
    if (wrong.length > 0) await show(world, wrong, log);
    return {
      planned,
      wrong,
      messages: senders.wanted.length,
      events: readers.fed.length,
      restMs: Math.round(performance.now() - restedAt),
    };
  } finally {
    await world.stop();
  }
}

/** Number of submissions whose answer may be lost. A cut connection loses the answers to all submissions on it. */
function mayBeTwice({ mayBeTwice, carrier }: World): number {
  const cuts = carrier.handedOver.filter(({ answer }) => answer === 'cut').length;
  return mayBeTwice + cuts * WINDOW;
}

/** Returns the unfinished work: jobs that are due or under a lease, and reports that were not acknowledged. */
async function unrest(world: World): Promise<string[]> {
  const [open] = await world.query(async (client) => {
    const { rows } = await client.query<{ due: number; held: number }>(
      `SELECT (SELECT count(*)::int FROM pgboss.job WHERE state < 'completed' AND start_after <= now()) AS due,
         (SELECT count(*)::int FROM job_leases) AS held`,
    );
    return rows;
  });
  const heard = world.carrier.isHeard ? [] : ['reports wait for their acknowledgement'];
  return open?.due || open?.held ? [`there is no rest: ${JSON.stringify(open)}`, ...heard] : heard;
}

/** Prints what helps to find the cause: the logs, and all data on the messages that the faults name. */
async function show(world: World, wrong: readonly string[], log: (line: string) => void): Promise<void> {
  log(world.logs());
  const tables = async (sql: string, values: readonly unknown[] = []) => {
    const { rows } = await world.query((client) => client.query(sql, [...values]));
    for (const row of rows) log(`  ${sql.slice(0, 60)}: ${JSON.stringify(row)}`);
  };
  for (const fault of wrong.slice(0, 10)) {
    log(fault);
    const [id] = /[0-9a-f]{8}-[0-9a-f-]{27}/.exec(fault) ?? [];
    if (id === undefined) continue;
    await tables('SELECT * FROM recipients WHERE message_id = $1', [id]);
    await tables('SELECT * FROM provider_sids WHERE message_id = $1', [id]);
    await tables('SELECT * FROM timeline_notes WHERE message_id = $1', [id]);
    await tables('SELECT * FROM events WHERE message_id = $1', [id]);
    await tables('SELECT * FROM ledger_entries WHERE message_id = $1', [id]);
    const { rows } = await world.query((client) =>
      client.query<{ address: string }>('SELECT address FROM recipients WHERE message_id = $1', [id]),
    );
    const { received, reports } = world.carrier.smsc;
    for (const { address } of rows)
      for (const { index, sid, destination } of received)
        if (address.endsWith(destination.address.replace('+', ''))) {
          const own = reports.filter((report) => report.index === index).map(({ answers }) => answers);
          log(
            `  handed over as ${sid} (${index}): ${JSON.stringify(world.carrier.handedOver[index])} ${JSON.stringify(own)}`,
          );
        }
  }
  for (const table of LOOKED_AT) await tables(`SELECT * FROM ${table} LIMIT 30`);
}
