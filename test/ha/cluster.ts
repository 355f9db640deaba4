/** Three PostgreSQL servers under Patroni, with etcd and HAProxy, all from Debian's packages. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync, readdirSync } from 'node:fs';
import { chmod, chown, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ServerConnection } from '../support/database.ts';
import { type DatabaseProxy, startDatabaseProxy } from '../support/database-proxy.ts';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/free-port.ts';
import { query } from '../support/server-process.ts';

const NODES = 3;
const PASSWORD = 'secret';
const START_MS = 300_000;
const SERVERS = '/usr/lib/postgresql';
/**
 * Patroni's times, in seconds: a primary that is gone loses its role after `ttl`. They are shorter than Patroni's
 * defaults, and longer than the pauses of a busy machine.
 */
const DYNAMIC = {
  ttl: 15,
  loop_wait: 3,
  retry_timeout: 5,
  synchronous_mode: true,
  // A primary that crashed is replaced at once, and not started again first.
  primary_start_timeout: 0,
  postgresql: {
    use_pg_rewind: true,
    use_slots: true,
    parameters: {
      max_connections: 150,
      hot_standby_feedback: true,
      wal_log_hints: true,
      max_wal_size: '512MB',
    },
  },
};

export interface Node {
  readonly name: string;
  /** The server, through a listener that a partition drops. */
  readonly connection: ServerConnection;
  /** Kills PostgreSQL's main process with SIGKILL. Patroni goes on. */
  killPostgres(): Promise<void>;
  /** Kills Patroni and PostgreSQL with SIGKILL. */
  killAll(): Promise<void>;
  /** Drops the listeners of the server: no client, standby, HAProxy or etcd reaches it, nor it etcd. */
  partition(): Promise<void>;
  /** Ends a partition, and starts what was killed. */
  heal(): Promise<void>;
}

export interface HaCluster {
  readonly nodes: readonly Node[];
  /** Addresses of HAProxy, which lead to the primary and to the standbys. */
  readonly primary: ServerConnection;
  readonly replicas: ServerConnection;
  /** Waits until two standbys follow a primary, one of them synchronously. Returns the primary. */
  whole(): Promise<Node>;
  /** True if another node than `former` takes writes. */
  hasOtherPrimary(former: Node): Promise<boolean>;
  stop(): Promise<void>;
}

interface Processes {
  start(name: string, command: string, args: readonly string[]): ChildProcess;
  readonly all: Set<ChildProcess>;
}

/** Starts the cluster. Its files are in a new directory. As root, the servers run as the user `postgres`. */
export async function startHaCluster(): Promise<HaCluster> {
  const root = await mkdtemp(join(tmpdir(), 'gateway-ha-'));
  await chmod(root, 0o755);
  const user = process.getuid?.() === 0 ? idsOf('postgres') : undefined;
  const directory = async (name: string) => {
    const path = join(root, name);
    await mkdir(path, { mode: 0o700 });
    if (user) await chown(path, user.uid, user.gid);
    return path;
  };
  const all = new Set<ChildProcess>();
  const processes: Processes = {
    all,
    start(name, command, args) {
      const log = openSync(join(root, `${name}.log`), 'a');
      const child = spawn(command, args, { ...user, cwd: root, stdio: ['ignore', log, log] });
      all.add(child);
      child.on('close', () => all.delete(child));
      return child;
    },
  };
  const etcdPort = await startEtcd(processes, await directory('etcd'));
  const nodes: (Node & { readonly rest: number; stop(): Promise<void> })[] = [];
  for (let number = 1; number <= NODES; number += 1) {
    const name = `node${number}`;
    nodes.push(await startNode(processes, { name, root, directory: await directory(name), etcdPort }));
  }
  const proxy = await startHaProxy(processes, root, nodes);
  const at = (port: number): ServerConnection => ({ ...nodes[0]!.connection, port });
  return {
    nodes,
    primary: at(proxy.primary),
    replicas: at(proxy.replicas),
    async hasOtherPrimary(former) {
      const asked = nodes
        .filter(({ name }) => name !== former.name)
        .map(({ connection }) => takesWrites(connection));
      return (await Promise.all(asked)).includes(true);
    },
    whole: () => eventually(() => primaryWithStandbys(nodes), START_MS),
    async stop() {
      for (const node of nodes) await node.stop();
      for (const child of [...all]) await end(child);
      await rm(root, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
    },
  };
}

function idsOf(user: string) {
  const id = (flag: string) => Number(execFileSync('id', [flag, user], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}

async function end(child: ChildProcess, signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill(signal);
  await once(child, 'close');
}

async function startEtcd({ start }: Processes, directory: string): Promise<number> {
  const [client, peer] = [await freePort(), await freePort()];
  const [clients, peers] = [`http://127.0.0.1:${client}`, `http://127.0.0.1:${peer}`];
  start('etcd', 'etcd', [
    ...['--data-dir', join(directory, 'data'), '--heartbeat-interval', '500', '--election-timeout', '5000'],
    ...['--listen-client-urls', clients, '--advertise-client-urls', clients, '--listen-peer-urls', peers],
    ...['--initial-advertise-peer-urls', peers, '--initial-cluster', `default=${peers}`],
  ]);
  await eventually(async () => (await fetch(`${clients}/health`)).ok, START_MS);
  return client;
}

interface NodeOptions {
  readonly name: string;
  readonly root: string;
  readonly directory: string;
  readonly etcdPort: number;
}

async function startNode(processes: Processes, { name, root, directory, etcdPort }: NodeOptions) {
  const [postgres, rest] = [await freePort(), await freePort()];
  const local = (port: number) => ({ host: '127.0.0.1', port, user: 'postgres', database: 'postgres' });
  const reach = (port: number) => startDatabaseProxy(local(port));
  const proxies = { postgres: await reach(postgres), rest: await reach(rest), etcd: await reach(etcdPort) };
  const data = join(directory, 'data');
  const config = join(root, `${name}.yml`);
  // JSON is YAML.
  await writeFile(
    config,
    JSON.stringify({
      scope: 'gateway',
      name,
      restapi: { listen: `127.0.0.1:${rest}`, connect_address: `127.0.0.1:${portOf(proxies.rest)}` },
      etcd3: { hosts: [`127.0.0.1:${portOf(proxies.etcd)}`], use_proxies: true },
      bootstrap: { dcs: DYNAMIC, initdb: [{ encoding: 'UTF8' }, { locale: 'C.UTF-8' }, 'data-checksums'] },
      postgresql: {
        listen: `127.0.0.1:${postgres}`,
        connect_address: `127.0.0.1:${portOf(proxies.postgres)}`,
        use_unix_socket: true,
        data_dir: data,
        bin_dir: binaries(),
        pgpass: join(directory, 'pgpass'),
        parameters: { unix_socket_directories: directory },
        pg_hba: [
          'local all all trust',
          'host all all 127.0.0.1/32 trust',
          'host replication all 127.0.0.1/32 trust',
        ],
        authentication: {
          superuser: { username: 'postgres', password: PASSWORD },
          replication: { username: 'replicator', password: PASSWORD },
        },
      },
    }),
  );
  let patroni = processes.start(name, 'patroni', [config]);
  const killPostgres = async () => {
    const [pid] = (await readFile(join(data, 'postmaster.pid'), 'utf8')).split('\n');
    process.kill(Number(pid), 'SIGKILL');
  };
  return {
    name,
    rest: portOf(proxies.rest),
    connection: local(portOf(proxies.postgres)),
    killPostgres,
    async killAll() {
      await end(patroni);
      await killPostgres();
    },
    async partition() {
      await Promise.all(Object.values(proxies).map((proxy) => proxy.cut()));
    },
    async heal() {
      await Promise.all(Object.values(proxies).map((proxy) => proxy.restore()));
      if (patroni.signalCode !== null) patroni = processes.start(name, 'patroni', [config]);
    },
    async stop() {
      // Patroni stops PostgreSQL when it ends.
      await end(patroni, 'SIGTERM');
      await Promise.all(Object.values(proxies).map((proxy) => proxy.stop()));
    },
  };
}

const portOf = ({ url }: DatabaseProxy): number => Number(new URL(url).port);

function binaries(): string {
  const [newest] = readdirSync(SERVERS).sort((one, other) => Number(other) - Number(one));
  return join(SERVERS, newest ?? '', 'bin');
}

async function startHaProxy(
  { start }: Processes,
  root: string,
  nodes: readonly { readonly name: string; readonly rest: number; readonly connection: ServerConnection }[],
) {
  const ports = { primary: await freePort(), replicas: await freePort() };
  const listen = (name: string, port: number, path: string) => [
    `listen ${name}`,
    `  bind 127.0.0.1:${port}`,
    `  option httpchk GET ${path}`,
    '  http-check expect status 200',
    '  default-server inter 1s fall 2 rise 1 on-marked-down shutdown-sessions',
    ...nodes.map((node) => `  server ${node.name} 127.0.0.1:${node.connection.port} check port ${node.rest}`),
  ];
  const file = join(root, 'haproxy.cfg');
  await writeFile(
    file,
    [
      'defaults',
      '  mode tcp',
      '  timeout connect 2s',
      '  timeout client 1h',
      '  timeout server 1h',
      '  timeout check 3s',
      ...listen('primary', ports.primary, '/primary'),
      ...listen('replicas', ports.replicas, '/replica'),
      '',
    ].join('\n'),
  );
  start('haproxy', 'haproxy', ['-db', '-f', file]);
  return ports;
}

const takesWrites = (connection: ServerConnection): Promise<boolean> =>
  query<{ is: boolean }>(connection, 'SELECT NOT pg_is_in_recovery() AS is').then(
    (rows) => rows[0]?.is === true,
    () => false,
  );

/**
 * Returns the primary, if two standbys follow it, and Patroni knows one of them as synchronous. Patroni promotes no other
 * one. It learns of it some seconds after PostgreSQL.
 */
async function primaryWithStandbys<T extends Node & { readonly rest: number }>(
  nodes: readonly T[],
): Promise<T | undefined> {
  for (const node of nodes) {
    const found = await query<{ state: string }>(
      node.connection,
      `SELECT sync_state AS state FROM pg_stat_replication WHERE state = 'streaming' AND NOT pg_is_in_recovery()`,
    ).catch(() => []);
    if (found.length !== NODES - 1 || !found.some(({ state }) => state === 'sync')) continue;
    const answer = await fetch(`http://127.0.0.1:${node.rest}/cluster`);
    const { members } = (await answer.json()) as { members: { name: string; role: string }[] };
    const has = (role: string) => members.filter((member) => member.role === role);
    if (has('leader')[0]?.name === node.name && has('sync_standby').length === 1) return node;
  }
  return undefined;
}
