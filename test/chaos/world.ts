/** The parts of a run (PostgreSQL, gateways behind proxies, carrier, receiver) and the disorders that disturb them. */
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import pg from 'pg';
import type { ServerConnection } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { startPostgresVersion, type TestPostgres } from '../support/postgres-versions.ts';
import { type ServerProcess, startServer } from '../support/server-process.ts';
import { pause, type Told } from './api.ts';
import { type Arena, DATABASE, MASTER_KEY } from './arena.ts';
import { Carrier } from './carrier.ts';
import { type PostgresProxy, startPostgresProxy } from './postgres-proxy.ts';
import type { Random } from './random.ts';
import { type Receiver, startReceiver } from './receiver.ts';
import type { Disorder } from './schedule.ts';

/** Hours by which a clock may be set wrong. The seed chooses one. */
const CLOCK_SHIFTS_HOURS = [-30, -1, 25, 72] as const;
/** Longest time in ms that a disorder waits for its moment, such as an open transaction. */
const MOMENT_MS = 1_000;
/** After this time in ms without a sign of a gateway, other gateways may take its jobs. */
const LEASE_MS = 13_000;
/**
 * A process that is stopped inside a transaction may keep it open for 5 s. This limit in ms allows for a busy machine.
 */
const OPEN_MS = 12_000;
const OPEN_FOR_LONG = `SELECT FROM pg_stat_activity WHERE application_name = 'messaging-gateway'
  AND state = 'idle in transaction' AND state_change < now() - interval '10 seconds'`;
/** After this time in ms, a slow carrier has received some recipients of a message to many, but not all. */
const AMID_MS = 500;
/** After this time in ms, the data that a gateway sent before it stopped has arrived. */
const ARRIVED_MS = 150;
/** Longest time in ms until PostgreSQL is available after a crash. */
const RECOVERY_MS = 60_000;
/** Longest time in ms until a gateway has restarted, even if further disorders happen meanwhile. */
const START_MS = 240_000;
const PRELOAD = pathToFileURL(join(import.meta.dirname, 'clocks.ts')).href;
/** Delays of a commit in microseconds (`commit_delay`), to imitate a slow disk. */
const COMMIT_DELAYS = ['0', '10000', '100000', '100000'] as const;
/** An unanswered submission occupies a place in the window for this long. Late answers arrive sooner than this. */
const SUBMIT_TIMEOUT_SECONDS = 8;
/** Largest number of unanswered submissions of one gateway at the carrier. */
export const WINDOW = 5;

interface Gateway {
  readonly proxy: PostgresProxy;
  readonly dataDir: string;
  process: ServerProcess;
  url: string | undefined;
  /** Number of disorders that need this gateway to stay down now. It may start again at 0. */
  kills: number;
  starting: Promise<void> | undefined;
  /** Total time in ms for which the gateway's machine was suspended. */
  suspendedMs: number;
}

/** Actions of clients that a disorder may wait for or request. */
export interface Clients {
  /** Resolves when a client next receives an answer of the kind `what`. */
  told(what: Told): Promise<void>;
  /** Resolves when the gateway has answered a send to many. */
  sendMany(url: string): Promise<void>;
}

export class World {
  readonly carrier: Carrier;
  readonly receiver: Receiver;
  readonly #arena: Arena;
  readonly #postgres: TestPostgres;
  readonly #database: ServerConnection;
  readonly #gateways: Gateway[] = [];
  /** How many extra copies each number may get, because a gateway submitted its message and could not record that. */
  readonly atRisk = new Map<string, number>();
  /** Number of further messages that may be sent twice, because a stopped gateway had begun to write them. */
  mayBeTwice = 0;
  /** Observations that no disorder explains. Each one fails the run. */
  readonly oddities: string[] = [];
  readonly #random: Random;
  #isStopping = false;

  private constructor(
    arena: Arena,
    random: Random,
    postgres: TestPostgres,
    carrier: Carrier,
    receiver: Receiver,
  ) {
    this.#arena = arena;
    this.#random = random;
    this.#postgres = postgres;
    this.#database = { ...postgres.connection, database: DATABASE };
    this.carrier = carrier;
    this.receiver = receiver;
  }

  /** Starts everything, with `gateways` processes on one database. */
  static async start(arena: Arena, random: Random, gateways: number): Promise<World> {
    // Settings as in production, except for the delay of commits. With the delay, a crash loses unwritten commits.
    const settings = {
      fsync: 'on',
      synchronous_commit: 'on',
      full_page_writes: 'on',
      commit_delay: random.pick(COMMIT_DELAYS),
      commit_siblings: '0',
    };
    const prepare = (cluster: string) => promisify(execFile)('cp', ['-a', arena.cluster, cluster]);
    const postgres = await startPostgresVersion(undefined, {
      settings,
      prepare: async (cluster) => void (await prepare(cluster)),
    });
    const carrier = await Carrier.start(random.fork());
    const world = new World(arena, random, postgres, carrier, await startReceiver());
    for (let count = 0; count < gateways; count += 1) {
      const proxy = await startPostgresProxy(world.#database, random.fork());
      const dataDir = await arena.workplace.directory('chaos');
      world.#gateways.push({
        proxy,
        dataDir,
        process: world.#startProcess(proxy, dataDir),
        url: undefined,
        kills: 0,
        starting: undefined,
        suspendedMs: 0,
      });
    }
    await Promise.all(world.#gateways.map((gateway) => world.#untilStarted(gateway)));
    return world;
  }

  /** Addresses of the reachable gateways. */
  urls(): string[] {
    return this.#gateways.flatMap(({ url }) => url ?? []);
  }

  /** The address of each gateway, or undefined while it is unreachable. */
  get gateways(): readonly (string | undefined)[] {
    return this.#gateways.map(({ url }) => url);
  }

  /** The logs of all gateways. */
  logs(): string {
    return this.#gateways.map(({ process }) => process.stderr()).join('\n');
  }

  /**
   * Runs `work` on a new connection that bypasses the proxies. Repeats it if PostgreSQL crashes, so `work` must only
   * read.
   */
  async query<T>(work: (client: pg.Client) => Promise<T>): Promise<T> {
    let failure: unknown;
    const done = await eventually(async () => {
      const client = new pg.Client(this.#database);
      client.on('error', () => undefined);
      try {
        await client.connect();
        return { value: await work(client) };
      } catch (error) {
        if (isAway(error)) return undefined;
        failure = error;
        return { value: undefined as T };
      } finally {
        await client.end().catch(() => undefined);
      }
    }, RECOVERY_MS);
    if (failure !== undefined) throw failure;
    return done.value;
  }

  /** Begins a disorder. Resolves with a function that ends it. */
  async begin(disorder: Disorder, clients: Clients): Promise<() => Promise<void>> {
    switch (disorder.kind) {
      case 'stop-gateway': {
        const gateway = this.#gateway(disorder.gateway);
        const { process } = gateway;
        if (disorder.isInTransaction) await this.#stopInTransaction(gateway);
        process.child.kill('SIGSTOP');
        const stoppedAt = performance.now();
        await this.#mayLose();
        return async () => {
          await this.#resumed(stoppedAt);
          process.child.kill('SIGCONT');
        };
      }
      case 'suspend-gateway': {
        const gateway = this.#gateway(disorder.gateway);
        if (disorder.isAmidMany && gateway.url !== undefined) {
          this.carrier.slowDown();
          await Promise.race([clients.sendMany(gateway.url), pause(MOMENT_MS)]);
          await pause(AMID_MS);
        }
        gateway.process.child.kill('SIGSTOP');
        const stoppedAt = performance.now();
        await this.#mayLose();
        return async () => {
          this.carrier.behave();
          await this.#resumed(stoppedAt);
          gateway.suspendedMs += performance.now() - stoppedAt;
          await writeFile(join(gateway.dataDir, 'suspended'), String(gateway.suspendedMs));
          gateway.process.child.kill('SIGCONT');
        };
      }
      case 'set-clock': {
        const { process } = this.#gateway(disorder.gateway);
        const set = async () => void process.child.kill('SIGUSR2');
        await set();
        return set;
      }
      case 'stop-postgres':
        return this.#stopPostgres();
      case 'kill-gateway':
        return this.#kill(disorder.gateway);
      case 'crash-postgres':
        await this.#crashPostgres(disorder.after && clients.told(disorder.after));
        return async () => undefined;
      case 'crash-both': {
        const [again] = await Promise.all([this.#kill(disorder.gateway), this.#crashPostgres()]);
        return again;
      }
      case 'slow-database':
        return this.#withProxy(disorder.gateway, (proxy, isOn) => {
          proxy.delayMs = isOn ? disorder.delayMs : 0;
        });
      case 'lose-commits':
      case 'drop-commits': {
        const fate = disorder.kind === 'lose-commits' ? 'lose' : 'drop';
        return this.#withProxy(disorder.gateway, (proxy, isOn) => {
          proxy.commits = isOn ? { fate, share: disorder.share } : undefined;
        });
      }
      case 'cut-database': {
        const connect = this.#withProxy(disorder.gateway, (proxy, isOn) => proxy.setCut(isOn));
        const cutAt = performance.now();
        return async () => {
          if (performance.now() - cutAt > LEASE_MS) await this.#mayLose();
          await connect();
        };
      }
      case 'lock-row':
        return this.#lockRow(disorder.table);
      case 'carrier':
        this.carrier.misbehave(disorder.how);
        return async () => this.carrier.behave();
      case 'carrier-counts-anew':
        this.carrier.smsc.countAnew();
        return async () => undefined;
      case 'receiver':
        this.receiver.misbehave(disorder.how);
        return async () => this.receiver.misbehave(undefined);
    }
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    await Promise.all(this.#gateways.map(({ process }) => process.kill()));
    await Promise.allSettled(this.#gateways.map(({ starting }) => starting));
    await Promise.all(this.#gateways.map(({ proxy }) => proxy.stop()));
    await this.carrier.smsc.stop();
    await this.receiver.stop();
    await this.#postgres.stop();
  }

  #gateway(index: number): Gateway {
    const gateway = this.#gateways[index];
    if (!gateway) throw new Error(`there is no gateway ${index}`);
    return gateway;
  }

  #startProcess(proxy: PostgresProxy, dataDir: string): ServerProcess {
    return startServer(this.#arena.workplace, {
      DATA_DIR: dataDir,
      DATABASE_URL: proxy.url,
      MASTER_KEY,
      SMS_ROUTES: `*=${this.carrier.smsc.url}?window=${WINDOW}&submitTimeoutSeconds=${SUBMIT_TIMEOUT_SECONDS}`,
      WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
      RATE_LIMIT_PER_MINUTE: '1000000',
      LOG_LEVEL: 'warn',
      NODE_OPTIONS: `--import=${PRELOAD}`,
      SUSPENDED_FILE: join(dataDir, 'suspended'),
      CLOCK_SHIFT_MS: String(this.#random.pick(CLOCK_SHIFTS_HOURS) * 3_600_000),
    });
  }

  /**
   * Notes the submissions whose answer a gateway may fail to record, because it ends, is stopped or has no database.
   * The next process that takes these jobs submits the messages again.
   */
  async #mayLose(): Promise<void> {
    // Wait until the carrier has received all that the gateway sent.
    await pause(ARRIVED_MS);
    const taken = this.carrier.handedOver.flatMap(({ answer, to }) => (answer === 'accepted' ? [to] : []));
    const unrecorded = await this.query(async (client) => {
      const sql = `SELECT address FROM recipients WHERE status = 'pending' AND address = ANY ($1)`;
      return (await client.query<{ address: string }>(sql, [taken])).rows;
    });
    for (const { address } of unrecorded) this.atRisk.set(address, (this.atRisk.get(address) ?? 0) + 1);
  }

  /** Checks the effects of a stopped gateway, before it continues. */
  async #resumed(since: number): Promise<void> {
    const stoodMs = performance.now() - since;
    // Other gateways have taken its jobs, but it still writes the submissions that it had begun.
    if (stoodMs > LEASE_MS) this.mayBeTwice += WINDOW;
    if (stoodMs < OPEN_MS) return;
    const open = await this.query(async (client) => (await client.query(OPEN_FOR_LONG)).rowCount ?? 0);
    if (open > 0)
      this.oddities.push(
        `${open} transactions of a process that stood still for ${Math.round(stoodMs)} ms are open`,
      );
  }

  async #kill(index: number): Promise<() => Promise<void>> {
    const gateway = this.#gateway(index);
    gateway.url = undefined;
    gateway.kills += 1;
    await gateway.process.kill();
    await this.#mayLose();
    return async () => {
      gateway.kills -= 1;
      // A gateway that is killed again during its start is started after that disorder.
      gateway.starting ??= this.#startAgain(gateway).finally(() => {
        gateway.starting = undefined;
      });
      await gateway.starting;
    };
  }

  /** Stops a gateway inside a transaction, if it opens one within `MOMENT_MS`. */
  async #stopInTransaction({ process, proxy }: Gateway): Promise<void> {
    const isStopped = new Promise<void>((resolve) => {
      proxy.onTransaction = () => {
        process.child.kill('SIGSTOP');
        resolve();
      };
    });
    await Promise.race([isStopped, pause(MOMENT_MS)]);
    proxy.onTransaction = undefined;
  }

  /** Starts a gateway unless a disorder keeps it killed. */
  async #startAgain(gateway: Gateway): Promise<void> {
    if (gateway.kills > 0 || this.#isStopping) return;
    gateway.process = this.#startProcess(gateway.proxy, gateway.dataDir);
    await this.#untilStarted(gateway);
  }

  /** Starts a gateway. Tries again if a disorder or a slow machine makes the start fail, as a supervisor would. */
  async #untilStarted(gateway: Gateway): Promise<void> {
    const until = performance.now() + START_MS;
    while (gateway.kills === 0 && !this.#isStopping) {
      const url = await gateway.process.ready().catch((error: unknown) => {
        if (performance.now() > until) throw error;
        return undefined;
      });
      if (gateway.kills > 0) return;
      gateway.url = url;
      if (url !== undefined) return;
      await gateway.process.kill();
      gateway.process = this.#startProcess(gateway.proxy, gateway.dataDir);
    }
  }

  /** Crashes PostgreSQL when `moment` resolves, or after `MOMENT_MS`. Without `moment`, crashes it now. */
  async #crashPostgres(moment?: Promise<void>): Promise<void> {
    const backend = await this.query(async (client) => {
      const { rows } = await client.query<{ pid: number }>(
        `SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() LIMIT 1`,
      );
      return rows[0]?.pid;
    }).catch(() => undefined);
    if (moment) await Promise.race([moment, pause(MOMENT_MS)]);
    if (backend !== undefined) signal(backend, 'SIGKILL');
  }

  #withProxy(index: number, set: (proxy: PostgresProxy, isOn: boolean) => void): () => Promise<void> {
    const { proxy } = this.#gateway(index);
    set(proxy, true);
    return async () => set(proxy, false);
  }

  async #lockRow(table: 'accounts' | 'event_feeds'): Promise<() => Promise<void>> {
    const client = new pg.Client(this.#database);
    client.on('error', () => undefined);
    const key = table === 'accounts' ? 'id' : 'account_id';
    try {
      await client.connect();
      await client.query('BEGIN');
      await client.query(`SELECT FROM ${table} WHERE ${key} = $1 FOR UPDATE`, [this.#arena.accountId]);
    } catch {
      // PostgreSQL crashed at this moment, so the row is not locked.
    }
    return () => client.end().catch(() => undefined);
  }

  /** Stops PostgreSQL's main process and all of its children. */
  async #stopPostgres(): Promise<() => Promise<void>> {
    const file = await readFile(join(this.#postgres.cluster, 'postmaster.pid'), 'utf8');
    const main = Number(file.split('\n')[0]);
    const children = await readFile(`/proc/${main}/task/${main}/children`, 'utf8');
    const pids = [main, ...(children.match(/\d+/g) ?? []).map(Number)];
    for (const pid of pids) signal(pid, 'SIGSTOP');
    return async () => {
      for (const pid of pids) signal(pid, 'SIGCONT');
    };
  }
}

/** Signals a process, unless it has ended. */
function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** True if the error only means that PostgreSQL is unavailable at present. */
function isAway(error: unknown): boolean {
  if (error instanceof pg.DatabaseError) return error.code?.startsWith('57P') === true;
  const { code, message } = error as NodeJS.ErrnoException;
  return code !== undefined || message.startsWith('Connection terminated');
}
