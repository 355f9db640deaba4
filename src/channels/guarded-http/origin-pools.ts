/** Kept-alive connections: one undici pool for each origin, pinned to one judged address. */
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

/** A pool for one request. `release` returns it. */
export interface Lease {
  readonly pool: Pool;
  release(): void;
}

const MAX_ORIGINS = 1_000;
const IDLE_POOL_MS = 30_000;
const SWEEP_EVERY_MS = 5_000;
/**
 * Shorter than the idle time of common servers (Node: 5 s), so that a request seldom meets a socket that is closing.
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
  /** Deadline for a new connection: that of the request being dispatched, else the latest one. */
  connectBy: number;
  latestDeadline: number;
}

/**
 * The open pools: at most 1,000 idle origins, each closed after 30 s without use. A pool dials one address. Its
 * sockets may be reused while that address is among those just resolved; otherwise the next lease replaces the pool.
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
   * `addresses`, beginning with the one that has open connections, so that keep-alive survives rotating DNS answers.
   */
  order(origin: string, addresses: readonly string[]): readonly string[] {
    const pinned = this.#entries.get(origin)?.address;
    if (pinned === undefined || addresses[0] === pinned || !addresses.includes(pinned)) return addresses;
    return [pinned, ...addresses.filter((address) => address !== pinned)];
  }

  /**
   * The pool of `target`, pinned to `address`. A pool pinned to another address finishes its requests and closes.
   * Dispatch in the same tick: a socket opened by that dispatch must be established by `connectBy`, a later one by
   * `deadline` (performance.now, ms).
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

  /** Destroys every socket, connecting ones included. Requests in flight fail. Resolves when all are closed. */
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
      // `ConnectionLimits` limits them.
      connections: null,
      pipelining: 1,
      allowH2: false,
      // One deadline covers the attempt, so undici's own timeouts are off.
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
