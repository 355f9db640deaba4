/**
 * Several PostgreSQL servers with the same data. One of them, the **primary**, takes writes. The others are standbys.
 * A standby becomes the primary when it is promoted. A promotion begins a new **timeline**, a number that grows.
 */
import pg from 'pg';

/** Time in ms in which a server must answer. One that does not is not the primary. */
const ASK_MS = 2_000;
/**
 * Time in ms to wait for other servers after the first primary has answered. A primary that was cut off from its
 * standbys may not know that one of them was promoted.
 */
const OTHERS_MS = 200;
/**
 * Selects the timeline of a primary. Null for a standby, because PostgreSQL gives the current position in its log only
 * on a primary.
 */
const ASK = {
  text: `SELECT CASE WHEN NOT pg_is_in_recovery() THEN left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) END
    AS timeline`,
  query_timeout: ASK_MS,
};

export interface DatabaseServer {
  /** Host and port, for messages. */
  readonly name: string;
  readonly config: pg.ClientConfig;
}

interface Primary extends DatabaseServer {
  readonly timeline: number;
}

class NoPrimary extends Error {
  /** PostgreSQL's code for a server that cannot serve now. */
  readonly code = '57P03';
}

class PrimaryMoved extends Error {
  /** The same code as for a lost connection. */
  readonly code = 'ECONNRESET';
}

/**
 * Finds the primary, and finds it again after a promotion (R350). Never returns to a server with a smaller timeline
 * than it has seen before: writes to that server would be lost.
 */
export class DatabaseServers {
  readonly #servers: readonly DatabaseServer[];
  readonly #onMove: ((name: string) => void)[] = [];
  /** The primary. Undefined if a promotion may have changed it. */
  #known: Primary | undefined;
  /** The primary that was found last. */
  #last: Primary | undefined;
  #search: Promise<Primary> | undefined;

  constructor(servers: readonly DatabaseServer[]) {
    this.#servers = servers;
  }

  /** Returns the driver's configuration for the primary. Rejects within 2 s if there is none. */
  async primary(): Promise<pg.ClientConfig> {
    if (this.#known) return this.#known.config;
    // Concurrent callers share one search.
    this.#search ??= this.#find().finally(() => {
      this.#search = undefined;
    });
    return (await this.#search).config;
  }

  /**
   * Call this after an error that a promotion may have caused. The next call of `primary` queries all servers again.
   */
  doubt(): void {
    this.#known = undefined;
  }

  /** Calls `callback` with the server's name when another server has become the primary. */
  onMove(callback: (name: string) => void): void {
    this.#onMove.push(callback);
  }

  /** Rejects if a new connection leads to a standby. The server may have been restarted as one. */
  async confirm(client: pg.Client): Promise<void> {
    const { rows } = await client.query<{ timeline: string | null }>(ASK);
    if (!rows[0]?.timeline) throw new NoPrimary('The server has become a standby');
  }

  /** True if `config` names the primary that was found last. */
  isPrimary(config: pg.ClientConfig): boolean {
    return this.#last?.config === config;
  }

  async #find(): Promise<Primary> {
    const found: Primary[] = [];
    const faults: string[] = [];
    const foundOne = Promise.withResolvers<void>();
    const asked = this.#servers.map(async ({ name, config }) => {
      try {
        const timeline = await timelineOf(config);
        if (timeline === undefined) return void faults.push(`${name} is a standby`);
        found.push({ name, config, timeline });
        setTimeout(foundOne.resolve, OTHERS_MS).unref();
      } catch (error) {
        faults.push(`${name}: ${error instanceof Error ? error.message || error.name : error}`);
      }
    });
    await Promise.race([Promise.all(asked), foundOne.promise]);
    const [newest] = found.sort((one, other) => other.timeline - one.timeline);
    if (!newest) throw new NoPrimary(`None of the servers is the primary (${faults.join('; ')})`);
    const seen = this.#last?.timeline ?? 0;
    if (newest.timeline < seen) {
      throw new NoPrimary(
        `${newest.name} was the primary: it is on timeline ${newest.timeline}, and ${seen} has begun`,
      );
    }
    const hasMoved = this.#last !== undefined && this.#last.config !== newest.config;
    this.#known = newest;
    this.#last = newest;
    if (hasMoved) for (const callback of this.#onMove) callback(newest.name);
    return newest;
  }
}

/** Returns the timeline of a primary, or undefined for a standby. Rejects if the server does not answer in time. */
async function timelineOf(config: pg.ClientConfig): Promise<number | undefined> {
  const client = new pg.Client({
    ...config,
    application_name: 'messaging-gateway search',
    connectionTimeoutMillis: ASK_MS,
  });
  client.on('error', () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query<{ timeline: string | null }>(ASK);
    const timeline = rows[0]?.timeline;
    return timeline ? Number.parseInt(timeline, 16) : undefined;
  } finally {
    client.end().catch(() => undefined);
  }
}

/** The error of a connection that is closed because another server has become the primary. */
export const primaryMoved = (): Error => new PrimaryMoved('another server has become the primary');
