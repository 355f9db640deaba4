import { readdir, readFile } from 'node:fs/promises';
import pg from 'pg';
import type { BenchContext, BenchResult, BenchServer } from './context.ts';
import { pinToCores } from './cores.ts';
import { checkAccepted, sendSmsLoad, WARM_SECONDS } from './load.ts';

const CONNECTIONS = 64;
const SECONDS = 8;
const FINISHED_MS = 120_000;
const TICKS_A_SECOND = 100;
/** The channels on which processes tell each other of work and changes. */
const CHANNELS = ['gateway_changes', 'gateway_live', 'gateway_left_jobs'];

/**
 * What one message takes of the server and of PostgreSQL, accepted only and through to `delivered`. The figures of
 * docs/scale.md come from here.
 */
export async function run(context: BenchContext): Promise<BenchResult[]> {
  return [
    ...(await measure(context, 'accepted', { ROLES: 'api' }, async () => undefined)),
    ...(await measure(context, 'finished', {}, (server) => allFinished(context, server))),
  ];
}

async function measure(
  context: BenchContext,
  name: string,
  environment: Record<string, string>,
  settle: (server: BenchServer) => Promise<void>,
): Promise<BenchResult[]> {
  const server = await context.startServer(environment);
  const listener = new pg.Client({ ...context.postgres, database: server.database });
  const pinned = await pinToCores(context, [server], 'together');
  let notifications = 0;
  listener.on('notification', () => {
    notifications += 1;
  });
  try {
    await listener.connect();
    for (const channel of CHANNELS) await listener.query(`LISTEN ${channel}`);
    const warm = await sendSmsLoad(server, CONNECTIONS, WARM_SECONDS);
    await settle(server);
    const before = await look(context, server);
    const heardBefore = notifications;
    const load = await sendSmsLoad(server, CONNECTIONS, SECONDS);
    await settle(server);
    const after = await look(context, server);
    await checkAccepted(context, server.database, warm.accepted + load.accepted);
    const each = (figure: keyof typeof after) => (after[figure] - before[figure]) / load.accepted;
    const seconds = load.seconds;
    return [
      {
        name: `scale: accepted/s while measured, ${name}`,
        value: load.accepted / seconds,
        unit: '/s',
        note: pinned.text,
      },
      { name: `scale: CPU of the gateway, each ${name}`, value: each('gatewaySeconds') * 1e6, unit: 'µs' },
      { name: `scale: CPU of PostgreSQL, each ${name}`, value: each('postgresSeconds') * 1e6, unit: 'µs' },
      { name: `scale: WAL, each ${name}`, value: each('walBytes'), unit: 'bytes' },
      { name: `scale: commits, each ${name}`, value: each('commits'), unit: '' },
      {
        name: `scale: NOTIFY, each ${name}`,
        value: (notifications - heardBefore) / load.accepted,
        unit: '',
      },
      { name: `scale: connections of the process, ${name}`, value: after.connections, unit: '' },
    ];
  } finally {
    await listener.end();
    await pinned.undo();
    await server.stop();
  }
}

async function allFinished(context: BenchContext, { database }: BenchServer): Promise<void> {
  await context.withClient(database, async (client) => {
    const deadline = performance.now() + FINISHED_MS;
    for (;;) {
      const { rows } = await client.query(
        `SELECT EXISTS (SELECT FROM recipients WHERE status <> 'delivered') AS is_open`,
      );
      if (!rows[0].is_open) return;
      if (performance.now() > deadline) throw new Error('messages are not delivered after two minutes');
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  });
}

async function look(context: BenchContext, server: BenchServer) {
  const { cpuSeconds } = await server.usage();
  return context.withClient(server.database, async (client) => {
    const { rows } = await client.query(
      `SELECT (pg_current_wal_lsn() - '0/0')::float8 AS wal, xact_commit::float8 AS commits, pg_backend_pid() AS pid,
         (SELECT count(*)::int FROM pg_stat_activity WHERE datname = current_database()
            AND backend_type = 'client backend' AND application_name LIKE 'messaging-gateway%') AS connections
       FROM pg_stat_database WHERE datname = current_database()`,
    );
    const [row] = rows;
    return {
      gatewaySeconds: cpuSeconds,
      postgresSeconds: await secondsOfServer(row.pid),
      walBytes: row.wal,
      commits: row.commits,
      connections: row.connections,
    };
  });
}

/** Returns the CPU seconds of the PostgreSQL server to which the backend `pid` belongs, with all its processes. */
async function secondsOfServer(pid: number): Promise<number> {
  const parent = (await statOf(String(pid)))?.parent ?? 0;
  const all = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const stats = (await Promise.all(all.map(statOf))).filter((stat) => stat !== undefined);
  const own = stats.find((stat) => stat.pid === parent);
  const children = stats.filter((stat) => stat.parent === parent);
  return children.reduce((sum, stat) => sum + stat.seconds, (own?.seconds ?? 0) + (own?.endedSeconds ?? 0));
}

async function statOf(pid: string) {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
  if (text === undefined) return undefined;
  const fields = text
    .slice(text.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number);
  const ticks = (index: number) => (fields[index] ?? 0) / TICKS_A_SECOND;
  return {
    pid: Number(pid),
    parent: fields[1] ?? 0,
    seconds: ticks(11) + ticks(12),
    /** CPU time of the processes that it started and that have ended. */
    endedSeconds: ticks(13) + ticks(14),
  };
}
