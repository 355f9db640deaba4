/**
 * Kills the primary of a Patroni cluster again and again, and cuts it off, while two gateways send. HA_ROUNDS is the
 * number of kills (default 20). A quarter as many partitions follow. The first gateway names all servers in
 * DATABASE_URL, the second one HAProxy.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import { databaseUrl } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { askGraphql, signIn } from '../support/graphql-request.ts';
import { severalHosts } from '../support/replicas.ts';
import { hasAll, sendAll } from '../support/senders.ts';
import {
  buildWorkplace,
  query,
  quickstartOf,
  runCli,
  type ServerProcess,
  startServer,
  type Workplace,
} from '../support/server-process.ts';
import { type HaCluster, type Node, startHaCluster } from './cluster.ts';

const KILLS = Number(process.env.HA_ROUNDS ?? 20);
const PARTITIONS = Math.ceil(KILLS / 4);
/** Time limit of a failover, in ms (R350). A gateway must accept again within it. */
const ACCEPTS_AGAIN_MS = 30_000;
/** Longest time without lists for a dashboard, in ms (R520). Without the replicas it would be that of the failover. */
const LISTS_AGAIN_MS = 10_000;
const LIST = '{ messages(first: 20) { nodes { id status } } }';

jest.setTimeout((KILLS + PARTITIONS) * 360_000 + 600_000);

let workplace: Workplace;
let cluster: HaCluster;
const servers: ServerProcess[] = [];
beforeAll(async () => {
  workplace = await buildWorkplace();
  cluster = await startHaCluster();
});
afterAll(async () => {
  await Promise.all(servers.map((server) => server.kill()));
  await cluster?.stop();
  await workplace?.remove();
});

const FAULTS: Readonly<Record<string, (primary: Node) => Promise<void>>> = {
  'kill -9 of PostgreSQL': (primary) => primary.killPostgres(),
  'kill -9 of PostgreSQL and Patroni': (primary) => primary.killAll(),
  'partition: listeners dropped': (primary) => primary.partition(),
};
const [CRASH, LOSS, PARTITION] = Object.keys(FAULTS) as [string, string, string];
const faults = [
  ...Array.from({ length: KILLS }, (_, round) => (round % 2 === 0 ? CRASH : LOSS)),
  ...Array.from({ length: PARTITIONS }, () => PARTITION),
];

interface Round {
  readonly fault: string;
  /** Time in ms from the fault until both gateways had accepted on another primary. */
  readonly acceptsAgainMs: number;
  /** Longest time in ms between two lists that a dashboard got. */
  readonly withoutListMs: number;
}

async function startGateways() {
  const database = { database: 'gateway' };
  const variables = {
    DATA_DIR: await workplace.directory('data'),
    DATABASE_READ_URL: databaseUrl({ ...cluster.replicas, ...database }),
    LOG_LEVEL: 'warn',
    RATE_LIMIT_PER_MINUTE: '1000000',
    RATE_LIMIT_SESSION_PER_MINUTE: '1000000',
    RATE_LIMIT_POINTS_PER_MINUTE: '100000000',
  };
  const hosts = severalHosts(
    cluster.nodes.map(({ connection }) => databaseUrl({ ...connection, ...database })),
  );
  const proxied = databaseUrl({ ...cluster.primary, ...database });
  const urls: string[] = [];
  for (const DATABASE_URL of [hosts, proxied]) {
    const server = startServer(workplace, { ...variables, DATABASE_URL });
    servers.push(server);
    urls.push(await server.ready());
  }
  const owner = quickstartOf(servers[0]!.stdout());
  const topup = ['account', 'topup', '--account', owner.accountId, '--amount', '1000000000'];
  const { code, stderr } = await runCli(workplace, topup, { ...variables, DATABASE_URL: hosts });
  if (code !== 0) throw new Error(stderr);
  return { urls, owner, token: await signIn({ url: urls[0]! }, owner) };
}

/** Reads a list again and again, as a dashboard does. */
function readLists(urls: readonly string[], token: string) {
  let isLive = true;
  let lastAt = performance.now();
  let longest = 0;
  const reader = (async () => {
    for (let number = 0; isLive; number += 1) {
      const answer = await askGraphql({ url: urls[number % urls.length]! }, LIST, { token }).catch(
        () => undefined,
      );
      if (answer?.body.data?.messages) {
        longest = Math.max(longest, performance.now() - lastAt);
        lastAt = performance.now();
      }
      await sleep(100);
    }
  })();
  return {
    /** Returns the longest time without a list since the last call, in ms. */
    takeLongest() {
      const found = Math.max(longest, performance.now() - lastAt);
      longest = 0;
      return found;
    },
    async stop() {
      isLive = false;
      await reader;
    },
  };
}

it('a cluster that loses its primary again and again loses no message and charges none twice, and dashboards have lists meanwhile (R350) (R422) (R520)', async () => {
  const first = await cluster.whole();
  await query(first.connection, 'CREATE DATABASE gateway');
  const { urls, owner, token } = await startGateways();
  const load = sendAll(urls, { key: owner.key, pauseMs: 50 });
  const dashboard = readLists(urls, token);
  const rounds: Round[] = [];
  for (const fault of faults) {
    const primary = await cluster.whole();
    // Both gateways must be at work before the fault.
    const readyAt = performance.now();
    await eventually(() => urls.every((url) => load.newestAt(url) > readyAt), 120_000);
    dashboard.takeLongest();
    const startedAt = performance.now();
    await FAULTS[fault]!(primary);
    await eventually(() => cluster.hasOtherPrimary(primary), 240_000);
    const promotedAt = performance.now();
    await eventually(() => urls.every((url) => load.newestAt(url) > promotedAt), 240_000);
    const acceptsAgainMs = performance.now() - startedAt;
    await eventually(async () => (await askGraphql({ url: urls[0]! }, LIST, { token })).status === 200);
    rounds.push({ fault, acceptsAgainMs, withoutListMs: dashboard.takeLongest() });
    process.stderr.write(`round ${rounds.length}, ${fault}: ${shown(rounds.slice(-1))}\n`);
    await primary.heal();
  }
  const primary = await cluster.whole();
  await load.stop();
  await dashboard.stop();
  await hasAll({ ...primary.connection, database: 'gateway' }, owner.accountId, load.accepted);
  process.stderr.write(
    `${load.accepted.size} messages accepted, none lost, none charged twice.\n${table(rounds)}\nRefused: ${[...load.refused].join('; ')}\n`,
  );
  // The processes that began are those that ended: none was restarted.
  for (const server of servers) expect(server.child.exitCode).toBeNull();
  expect(Math.max(...rounds.map(({ acceptsAgainMs }) => acceptsAgainMs))).toBeLessThan(ACCEPTS_AGAIN_MS);
  expect(Math.max(...rounds.map(({ withoutListMs }) => withoutListMs))).toBeLessThan(LISTS_AGAIN_MS);
});

/** Returns the rows of docs/operations/failover.md. */
function table(rounds: readonly Round[]): string {
  return [
    '| fault | rounds | accepting again: p50, max | lists of a dashboard missing: p50, max |',
    '|---|---|---|---|',
    ...[...Map.groupBy(rounds, ({ fault }) => fault)].map(
      ([fault, own]) => `| ${fault} | ${own.length} | ${shown(own)} |`,
    ),
  ].join('\n');
}

function shown(rounds: readonly Round[]): string {
  const of = (times: readonly number[]) => {
    const sorted = [...times].sort((one, other) => one - other);
    const seconds = (ms = 0) => `${(ms / 1_000).toFixed(1)} s`;
    return `${seconds(sorted[Math.floor((sorted.length - 1) / 2)])}, ${seconds(sorted.at(-1))}`;
  };
  return `${of(rounds.map(({ acceptsAgainMs }) => acceptsAgainMs))} | ${of(rounds.map(({ withoutListMs }) => withoutListMs))}`;
}
