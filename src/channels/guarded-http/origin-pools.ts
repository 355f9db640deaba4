/** Keeps connections alive: one undici pool for each origin, which connects only to one judged IP address. */
import { Pool } from 'undici';
import type { AddressGuard } from './address-guard.ts';
import {
  createGuardedConnector,
  type Dial,
  type GuardedConnector,
  type TlsTrust,
} from './guarded-connector.ts';
import type { Target } from './target-url.ts';

export interface OriginPoolsOptions {
  readonly guard: AddressGuard;
  readonly tls?: TlsTrust | undefined;
  readonly dial?: Dial | undefined;
}

/** A pool for one request. Call `release` after the request. */
export interface Lease {
  readonly pool: Pool;
  release(): void;
}

const MAX_ORIGINS = 1_000;
const IDLE_POOL_MS = 30_000;
const SWEEP_EVERY_MS = 5_000;
/**
 * How long an idle socket is kept, in ms. Common servers close after a longer time (Node: 5 s), so a request seldom
 * meets a socket that is being closed.
 */
const KEEP_ALIVE_MS = 4_000;
const MAX_HEADER_BYTES = 16_384;

interface Entry {
  readonly origin: string;
  readonly address: string;
  readonly pool: Pool;
  readonly connector: GuardedConnector;
  active: number;
  lastUsedAt: number;
  /**
   * The time by which a new connection must be established. While a request is being dispatched, it is that request's
   * `connectBy`. Otherwise it is the latest deadline of all requests.
   */
  connectBy: number;
  latestDeadline: number;
}

/**
 * Keeps the open pools. Up to 1,000 origins may be idle, and a pool is closed after 30 s without use. A pool connects
 * to one IP address. Its sockets may be reused while the name still resolves to that address. Otherwise the next lease
 * replaces the pool.
 */
export class OriginPools {
  readonly #options: OriginPoolsOptions;
  readonly #entries = new Map<string, Entry>();
  readonly #retired = new Set<Entry>();
  readonly #sweeper: NodeJS.Timeout;

  constructor(options: OriginPoolsOptions) {
    this.#options = options;
    this.#sweeper = setInterval(() => this.#sweep(), SWEEP_EVERY_MS).unref();
  }

  /**
   * Moves the address with open connections to the front of `addresses`. So connections are reused even if DNS changes
   * the order of its answers.
   */
  order(origin: string, addresses: readonly string[]): readonly string[] {
    const pinned = this.#entries.get(origin)?.address;
    if (pinned === undefined || addresses[0] === pinned || !addresses.includes(pinned)) return addresses;
    return [pinned, ...addresses.filter((address) => address !== pinned)];
  }

  /**
   * Returns the pool of `target` that connects to `address`. A pool for another address finishes its requests and
   * closes. The caller must dispatch its request in the same tick. If the dispatch opens a socket, the socket must be
   * established by `connectBy`. A socket that is opened later must be established by `deadline` (performance.now, ms).
   */
  lease(target: Target, address: string, connectBy: number, deadline: number): Lease {
    let entry = this.#entries.get(target.origin);
    if (entry !== undefined && entry.address !== address) {
      this.#retire(entry);
      entry = undefined;
    }
    entry ??= this.#open(target, address);
    entry.active += 1;
    entry.lastUsedAt = performance.now();
    entry.latestDeadline = Math.max(entry.latestDeadline, deadline);
    entry.connectBy = connectBy;
    const leased = entry;
    queueMicrotask(() => {
      leased.connectBy = leased.latestDeadline;
    });
    const release = () => {
      leased.active -= 1;
      leased.lastUsedAt = performance.now();
    };
    return { pool: leased.pool, release };
  }

  /**
   * Destroys all sockets, including those that are connecting. Requests in flight fail. Resolves when all are closed.
   */
  async close(): Promise<void> {
    clearInterval(this.#sweeper);
    const all = [...this.#entries.values(), ...this.#retired];
    this.#entries.clear();
    await Promise.all(
      all.map((entry) => {
        entry.connector.abort();
        return entry.pool.destroy();
      }),
    );
  }

  #open(target: Target, address: string): Entry {
    const connector = createGuardedConnector({
      guard: this.#options.guard,
      address,
      port: target.port,
      host: target.host,
      isLiteral: target.isLiteral,
      secure: target.secure,
      tls: this.#options.tls,
      dial: this.#options.dial,
      connectBy: () => entry.connectBy,
    });
    const pool = new Pool(target.origin, {
      // undici need not limit connections, because `ConnectionLimits` limits the requests.
      connections: null,
      pipelining: 1,
      allowH2: false,
      // One deadline covers the whole attempt, so undici's own timeouts are off.
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: KEEP_ALIVE_MS,
      keepAliveMaxTimeout: IDLE_POOL_MS,
      maxHeaderSize: MAX_HEADER_BYTES,
      connect: connector.connect,
    });
    const entry: Entry = {
      origin: target.origin,
      address,
      pool,
      connector,
      active: 0,
      lastUsedAt: 0,
      connectBy: 0,
      latestDeadline: 0,
    };
    if (this.#entries.size >= MAX_ORIGINS) this.#evictOldest();
    this.#entries.set(target.origin, entry);
    return entry;
  }

  #retire(entry: Entry): void {
    this.#entries.delete(entry.origin);
    this.#retired.add(entry);
    const gone = () => this.#retired.delete(entry);
    entry.pool.close().then(gone, gone);
  }

  #evictOldest(): void {
    let oldest: Entry | undefined;
    for (const entry of this.#entries.values()) {
      if (entry.active === 0 && (oldest === undefined || entry.lastUsedAt < oldest.lastUsedAt))
        oldest = entry;
    }
    if (oldest !== undefined) this.#retire(oldest);
  }

  #sweep(): void {
    const before = performance.now() - IDLE_POOL_MS;
    for (const entry of this.#entries.values()) {
      if (entry.active === 0 && entry.lastUsedAt < before) this.#retire(entry);
    }
  }
}
