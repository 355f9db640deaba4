/** The parts of a run: PostgreSQL, gateways behind proxies, carrier, receiver, and what can be done to them. */
import pg from 'pg';
import { databaseUrl, type ServerConnection } from '../support/database.ts';
import { startPostgresVersion, type TestPostgres } from '../support/postgres-versions.ts';
import {
  quickstartOf,
  runCli,
  type ServerProcess,
  startServer,
  type Workplace,
} from '../support/server-process.ts';
import { Carrier } from './carrier.ts';
import { type PostgresProxy, startPostgresProxy } from './postgres-proxy.ts';
import type { Random } from './random.ts';
import { type Receiver, startReceiver } from './receiver.ts';
import type { Disorder } from './schedule.ts';

const MASTER_KEY = Buffer.alloc(32, 7).toString('base64');
/** Messages that a gateway may have with the carrier unanswered. */
export const WINDOW = 5;

interface Gateway {
  readonly proxy: PostgresProxy;
  readonly dataDir: string;
  process: ServerProcess;
  url: string | undefined;
}

export class World {
  readonly carrier: Carrier;
  readonly receiver: Receiver;
  readonly #workplace: Workplace;
  readonly #postgres: TestPostgres;
  readonly #database: ServerConnection;
  readonly #gateways: Gateway[] = [];
  key = '';
  accountId = '';
  /** How often a hand-over may have been cut off with its gateway. */
  cutOff = 0;

  private constructor(workplace: Workplace, postgres: TestPostgres, carrier: Carrier, receiver: Receiver) {
    this.#workplace = workplace;
    this.#postgres = postgres;
    this.#database = { ...postgres.connection, database: 'gateway_test' };
    this.carrier = carrier;
    this.receiver = receiver;
  }

  /** Starts everything, with `gateways` processes on one database. */
  static async start(workplace: Workplace, random: Random, gateways: number): Promise<World> {
    const postgres = await startPostgresVersion(undefined, { settings: { synchronous_commit: 'on' } });
    const world = new World(workplace, postgres, await Carrier.start(random), await startReceiver());
    for (let count = 0; count < gateways; count += 1) {
      const proxy = await startPostgresProxy(world.#database);
      const dataDir = await workplace.directory('chaos');
      const process = world.#startProcess(proxy, dataDir);
      const gateway: Gateway = { proxy, dataDir, process, url: undefined };
      world.#gateways.push(gateway);
      gateway.url = await process.ready();
      if (count === 0) {
        const { key, accountId } = quickstartOf(process.stdout());
        Object.assign(world, { key, accountId });
      }
    }
    const topUp = await runCli(
      workplace,
      ['account', 'topup', '--account', world.accountId, '--amount', '10000000'],
      {
        DATABASE_URL: databaseUrl(world.#database),
        DATA_DIR: await workplace.directory('cli'),
        MASTER_KEY,
      },
    );
    if (topUp.code !== 0) throw new Error(`the account could not be topped up: ${topUp.stderr}`);
    return world;
  }

  /** The gateways that can be reached. */
  urls(): string[] {
    return this.#gateways.flatMap(({ url }) => url ?? []);
  }

  /** What the gateways have logged. */
  logs(): string {
    return this.#gateways.map(({ process }) => process.stderr()).join('\n');
  }

  /** Runs `work` on a connection of its own, past the proxies. */
  async query<T>(work: (client: pg.Client) => Promise<T>): Promise<T> {
    const client = new pg.Client(this.#database);
    client.on('error', () => undefined);
    await client.connect();
    try {
      return await work(client);
    } finally {
      await client.end().catch(() => undefined);
    }
  }

  /** Begins a disorder; resolves with what ends it. */
  async begin(disorder: Disorder): Promise<() => Promise<void>> {
    switch (disorder.kind) {
      case 'stop-gateway': {
        const { process } = this.#gateway(disorder.gateway);
        this.cutOff += 1;
        process.child.kill('SIGSTOP');
        return async () => void process.child.kill('SIGCONT');
      }
      case 'kill-gateway':
        return this.#kill(disorder.gateway);
      case 'crash-postgres':
        await this.#crashPostgres();
        return async () => undefined;
      case 'crash-both': {
        const again = this.#kill(disorder.gateway);
        await this.#crashPostgres();
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
          proxy.commits = isOn ? fate : 'pass';
        });
      }
      case 'cut-database':
        return this.#withProxy(disorder.gateway, (proxy, isOn) => proxy.setCut(isOn));
      case 'lock-account':
        return this.#lockAccount();
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
    await Promise.all(this.#gateways.map(({ process }) => process.kill()));
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
    return startServer(this.#workplace, {
      DATA_DIR: dataDir,
      DATABASE_URL: proxy.url,
      MASTER_KEY,
      SMS_ROUTES: `*=${this.carrier.smsc.url}?window=${WINDOW}`,
      WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
      RATE_LIMIT_PER_MINUTE: '1000000',
      LOG_LEVEL: 'warn',
    });
  }

  #kill(index: number): () => Promise<void> {
    const gateway = this.#gateway(index);
    this.cutOff += 1;
    gateway.url = undefined;
    const gone = gateway.process.kill();
    return async () => {
      await gone;
      // A start that the next disorder breaks is tried again, as a supervisor would.
      for (let tries = 0; gateway.url === undefined; tries += 1) {
        gateway.process = this.#startProcess(gateway.proxy, gateway.dataDir);
        gateway.url = await gateway.process.ready().catch((error: unknown) => {
          if (tries >= 20) throw error;
          return undefined;
        });
      }
    };
  }

  async #crashPostgres(): Promise<void> {
    const backend = await this.query(async (client) => {
      const { rows } = await client.query<{ pid: number }>(
        `SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() LIMIT 1`,
      );
      return rows[0]?.pid;
    }).catch(() => undefined);
    if (backend !== undefined) process.kill(backend, 'SIGKILL');
  }

  #withProxy(index: number, set: (proxy: PostgresProxy, isOn: boolean) => void): () => Promise<void> {
    const { proxy } = this.#gateway(index);
    set(proxy, true);
    return async () => set(proxy, false);
  }

  async #lockAccount(): Promise<() => Promise<void>> {
    const client = new pg.Client(this.#database);
    client.on('error', () => undefined);
    try {
      await client.connect();
      await client.query('BEGIN');
      await client.query('SELECT FROM accounts WHERE id = $1 FOR UPDATE', [this.accountId]);
    } catch {
      // PostgreSQL crashed at this moment: nobody holds the row.
    }
    return () => client.end().catch(() => undefined);
  }
}
