/**
 * Runs PostgreSQL inside the gateway: starts the packaged binaries, and restarts the server when it dies.
 *
 * Terms:
 * - Cluster: the server's data directory, DATA_DIR/postgres.
 * - Postmaster: the server's main process.
 * - Endpoint: where the server listens. It stays the same after a restart.
 * - Owner: the one process on a DATA_DIR that holds the owner lock. It starts, restarts and stops the postmaster. Other
 *   processes use the same server. When the owner stops or dies, one of them becomes the owner.
 *
 * The owner also holds a lock of the cluster itself, because several DATA_DIRs may link to one cluster, for example
 * after a DATA_DIR was copied.
 *
 * Files in DATA_DIR: postgres/ (or a link), postgres.lock, postgres.json (the endpoint), postgres.log. File in the
 * cluster: gateway.lock.
 */
import { mkdir, realpath } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../../domain/ports/logger.ts';
import { packagedBinaries, usableBinaries } from './binaries.ts';
import { type ClusterPlace, ensureCluster, placeCluster, SUPERUSER } from './cluster.ts';
import { ensureDatabase } from './database.ts';
import { type Endpoint, prepareEndpoint, readEndpoint } from './endpoint.ts';
import { OwnerLock } from './owner-lock.ts';
import { launchPostmaster, type Postmaster } from './postmaster.ts';
import { giveTo } from './server-user.ts';

export interface EmbeddedPostgres {
  /** Connection options for `pg`. `host` is a socket directory, or 127.0.0.1 on Windows. */
  readonly connection: { host: string; port: number; user: string; database: string; password?: string };
  /** True if this process owns the server: it started the server and restarts it when it dies. */
  readonly owned: boolean;
  /**
   * Stops the server if this process owns it, and resolves when the server is down. Another process may become the
   * owner.
   */
  stop(): Promise<void>;
}

interface EmbeddedPostgresOptions {
  /**
   * The directory for the cluster. Its path is absolute, or relative to the working directory. It is created if it does
   * not exist.
   */
  dataDir: string;
  /** Name of the database. It is created if it does not exist. */
  database: string;
  logger: Logger;
  /** Server settings such as `{ fsync: 'off' }`. They apply while this process owns the server. */
  settings?: Record<string, string>;
  /** Another PostgreSQL to run instead of the packaged one. */
  release?: Release;
}

/** The directory of PostgreSQL's binaries, and the locale arguments for its initdb. */
interface Release {
  readonly directory: string;
  readonly localeArguments: readonly string[];
}

/**
 * Sorts text by code point and maps upper and lower case by Unicode. Both are built into PostgreSQL, so an upgrade of
 * the system's libc or ICU cannot change the order of an index.
 */
const BUILTIN_LOCALE = ['--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8'];

const OTHERS_START_MS = 60_000;
const FIRST_POLL_MS = 25;
const TAKEOVER_POLL_MS = 250;
const BACKOFF_MIN_MS = 100;
const BACKOFF_MAX_MS = 5_000;
/**
 * A server that ran longer than this, in ms, was healthy. If it then dies, the pauses before restarts start at their
 * minimum again.
 */
const HEALTHY_AFTER_MS = 30_000;

/**
 * Resolves when the cluster's server accepts connections and the database exists. Either this process or another one on
 * the same DATA_DIR has started the server. From then on, if this process is the owner, it restarts a server that dies.
 * If the owner goes away, this process becomes the owner within about a second. None of this keeps the process alive.
 * If the process dies without `stop`, the server shuts down too.
 *
 * If it fails, rejects with a message for the operator and leaves nothing running. Examples: no binaries for this
 * platform, no user to run the server, an unusable directory, a server that does not start.
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  await mkdir(options.dataDir, { recursive: true });
  const supervisor = new Supervisor({ ...options, dataDir: await realpath(options.dataDir) });
  await supervisor.start();
  return supervisor;
}

class Supervisor implements EmbeddedPostgres {
  readonly #options: EmbeddedPostgresOptions;
  readonly #lock: OwnerLock;
  #clusterLock: OwnerLock | undefined;
  readonly #stopping = new AbortController();
  readonly #stopRequested = new Promise<undefined>((done) =>
    this.#stopping.signal.addEventListener('abort', () => done(undefined)),
  );
  #endpoint: Endpoint | undefined;
  #postmaster: Postmaster | undefined;
  #watch: Promise<void> = Promise.resolve();
  #stopped: Promise<void> | undefined;

  constructor(options: EmbeddedPostgresOptions) {
    this.#options = options;
    this.#lock = new OwnerLock(join(options.dataDir, 'postgres.lock'));
  }

  get connection(): EmbeddedPostgres['connection'] {
    return { ...this.#endpoint!, user: SUPERUSER, database: this.#options.database };
  }

  get owned(): boolean {
    return this.#postmaster !== undefined;
  }

  async start(): Promise<void> {
    try {
      await this.#startOrJoin();
    } catch (error) {
      await this.stop();
      throw error;
    }
    this.#watch = this.#watchOver();
  }

  stop(): Promise<void> {
    this.#stopped ??= this.#shutDown();
    return this.#stopped;
  }

  async #shutDown(): Promise<void> {
    this.#stopping.abort();
    await this.#watch;
    try {
      await this.#postmaster?.stop();
    } finally {
      this.#postmaster = undefined;
      // Release the locks last. The next holder may start a server on the cluster at once.
      this.#clusterLock?.close();
      this.#lock.close();
    }
  }

  async #startOrJoin(): Promise<void> {
    const { dataDir, database } = this.#options;
    const deadline = Date.now() + OTHERS_START_MS;
    for (;;) {
      if (this.#lock.tryAcquire()) {
        await this.#launch();
        return ensureDatabase(this.#endpoint!, join(dataDir, 'postgres'), database);
      }
      try {
        const endpoint = await readEndpoint(dataDir);
        if (!endpoint) throw new Error(`${dataDir} has no postgres.json yet`);
        await ensureDatabase(endpoint, join(dataDir, 'postgres'), database);
        this.#endpoint = endpoint;
        return;
      } catch (cause) {
        if (Date.now() < deadline) {
          await sleep(FIRST_POLL_MS);
          continue;
        }
        throw new Error(
          `Another process owns the embedded PostgreSQL in ${dataDir}, but it cannot be reached after ` +
            `${OTHERS_START_MS / 1000} s (${(cause as Error).message}). Both must run on one machine, in one ` +
            'container and as one user (or root); otherwise set DATABASE_URL in both.',
          { cause },
        );
      }
    }
  }

  async #launch(): Promise<void> {
    const { dataDir, logger, settings = {} } = this.#options;
    const startedAt = performance.now();
    const cluster = await placeCluster(dataDir);
    const release = this.#options.release ?? {
      directory: packagedBinaries(),
      localeArguments: BUILTIN_LOCALE,
    };
    const binaries = await usableBinaries(release.directory, cluster.user, dirname(cluster.directory));
    const endpoint = await prepareEndpoint(dataDir, cluster, this.#endpoint !== undefined);
    await ensureCluster(cluster, binaries, {
      durable: settings.fsync !== 'off',
      password: endpoint.password,
      localeArguments: release.localeArguments,
    });
    await this.#lockCluster(cluster);
    const logFile = join(dataDir, 'postgres.log');
    this.#postmaster = await launchPostmaster({ binaries, cluster, endpoint, settings, logFile });
    this.#endpoint = endpoint;
    const durationMs = Math.round(performance.now() - startedAt);
    logger.info(
      { pid: this.#postmaster.pid, directory: cluster.directory, durationMs },
      'embedded PostgreSQL started',
    );
  }

  /**
   * Takes the cluster's lock. Without the lock, this process could find a server that runs for a gateway with another
   * DATA_DIR. It would stop that server, because it would believe that no process owns it.
   */
  async #lockCluster({ directory, user }: ClusterPlace): Promise<void> {
    if (!this.#clusterLock) {
      const path = join(directory, 'gateway.lock');
      this.#clusterLock = new OwnerLock(path);
      await giveTo(user, path);
    }
    if (this.#clusterLock.tryAcquire()) return;
    const entry = join(this.#options.dataDir, 'postgres');
    throw new Error(
      `Another gateway, whose DATA_DIR is not ${this.#options.dataDir}, runs the PostgreSQL cluster in ` +
        `${directory}, to which ${entry} is a link. Stop that gateway; for a copy of its data, put a copy of ` +
        'that directory in place of the link.',
    );
  }

  /** Watches the server until `stop`, restarts it, and takes over ownership. Never rejects. */
  async #watchOver(): Promise<void> {
    const { logger } = this.#options;
    let failures = 0;
    while (!this.#stopping.signal.aborted) {
      if (this.#postmaster) {
        const since = Date.now();
        const reason = await Promise.race([this.#postmaster.exited, this.#stopRequested]);
        if (reason === undefined) return;
        logger.error({ reason }, 'embedded PostgreSQL died; starting it again');
        this.#postmaster = undefined;
        failures = Date.now() - since > HEALTHY_AFTER_MS ? 0 : failures + 1;
        if (failures > 1) await this.#pause(backoffMs(failures));
        continue;
      }
      try {
        if (this.#lock.tryAcquire()) await this.#launch();
        else await this.#pause(TAKEOVER_POLL_MS);
      } catch (error) {
        failures += 1;
        logger.error({ error: (error as Error).message }, 'embedded PostgreSQL did not start; trying again');
        await this.#pause(backoffMs(failures));
      }
    }
  }

  async #pause(ms: number): Promise<void> {
    // Ignore the rejection. `stop` aborts the sleep, so that the pause ends early.
    await sleep(ms, undefined, { ref: false, signal: this.#stopping.signal }).catch(() => undefined);
  }
}

function backoffMs(failures: number): number {
  return Math.min(BACKOFF_MIN_MS * 2 ** (failures - 1), BACKOFF_MAX_MS);
}
