import pg from 'pg';
import type { Logger } from '../../domain/ports/logger.ts';
import { OutageLog } from '../../runtime/outage-log.ts';
import { configOf, type DatabaseConnection } from './connection.ts';
import { DatabaseServers } from './database-servers.ts';
import { isWithoutPrimary } from './faults.ts';
import { PgPrimaryWatch } from './primary-watch.ts';
import { setSession } from './session-settings.ts';

const RECONNECT_MS = 500;
const CONNECT_MS = 5_000;
/**
 * Interval of the connection check and time limit of its answer, in ms. A dead connection is found within two
 * intervals. So a cache is stale for less than a second (R9).
 */
const CHECK_MS = 400;
/** Fails on a standby. */
const CHECK = `SELECT pg_wal_lsn_diff(pg_current_wal_flush_lsn(), '0/0')::bigint AS position`;

interface Subscription {
  readonly channel: string;
  readonly onMessage: (payload: string) => void;
  readonly onReconnect: () => void;
}

/**
 * The one connection of the process that listens to NOTIFY. While it is disconnected, notifications are lost. So every
 * subscriber is called after a reconnect. `isListening` says whether a cache may rely on notifications at the moment.
 */
export class PgListener {
  readonly #connection: DatabaseConnection;
  readonly #servers: DatabaseServers | undefined;
  readonly #primary: PgPrimaryWatch;
  readonly #outage: OutageLog;
  readonly #subscriptions = new Set<Subscription>();
  #client: pg.Client | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isStopped = true;

  /** Tells `primary` whether the primary answers. */
  constructor(connection: DatabaseConnection, logger: Logger, primary = new PgPrimaryWatch()) {
    this.#primary = primary;
    this.#connection = connection;
    this.#servers = connection instanceof DatabaseServers ? connection : undefined;
    this.#servers?.onMove(() => this.#lost());
    this.#outage = new OutageLog(
      logger,
      'cannot listen for database notifications',
      'database notifications are heard again',
    );
  }

  get isListening(): boolean {
    return this.#client !== undefined;
  }

  async start(): Promise<void> {
    this.#isStopped = false;
    await this.#connect();
  }

  /**
   * Calls `onMessage` for each notification on `channel`, and `onReconnect` after each reconnect. Returns a function
   * that unsubscribes.
   */
  async listen(
    channel: string,
    onMessage: (payload: string) => void,
    onReconnect: () => void,
  ): Promise<() => Promise<void>> {
    const subscription = { channel, onMessage, onReconnect };
    this.#subscriptions.add(subscription);
    await this.#client?.query(`LISTEN ${pg.escapeIdentifier(channel)}`).catch(() => this.#lost());
    return async () => {
      this.#subscriptions.delete(subscription);
      if ([...this.#subscriptions].some((other) => other.channel === channel)) return;
      await this.#client?.query(`UNLISTEN ${pg.escapeIdentifier(channel)}`).catch(() => this.#lost());
    };
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    const client = this.#client;
    this.#client = undefined;
    await client?.end().catch(() => undefined);
  }

  async #connect(): Promise<void> {
    let client: pg.Client | undefined;
    try {
      client = this.#clientOf(await configOf(this.#connection));
      await client.connect();
      await this.#servers?.confirm(client);
      await setSession(client, true);
      for (const { channel } of this.#subscriptions) {
        await client.query(`LISTEN ${pg.escapeIdentifier(channel)}`);
      }
      if (this.#isStopped) return void client.end();
      this.#client = client;
      this.#primary.answered();
      this.#outage.worked();
      for (const subscription of this.#subscriptions) subscription.onReconnect();
      this.#checkLater(client);
    } catch (error) {
      client?.end().catch(() => undefined);
      this.#servers?.doubt();
      if (isWithoutPrimary(error)) this.#primary.lost();
      this.#outage.failed(error);
      this.#retry();
    }
  }

  #clientOf(config: pg.ClientConfig): pg.Client {
    const client = new pg.Client({
      ...config,
      application_name: 'messaging-gateway listen',
      connectionTimeoutMillis: CONNECT_MS,
      query_timeout: CONNECT_MS,
      keepAlive: true,
    });
    client.on('error', () => this.#lost(client));
    client.on('end', () => this.#lost(client));
    client.on('notification', ({ channel, payload }) => {
      for (const subscription of this.#subscriptions) {
        if (subscription.channel === channel) subscription.onMessage(payload ?? '');
      }
    });
    return client;
  }

  #checkLater(client: pg.Client): void {
    this.#timer = setTimeout(() => void this.#check(client), CHECK_MS).unref();
  }

  /** Sends a query, to find a connection that died without an error. */
  async #check(client: pg.Client): Promise<void> {
    let isAnswered = false;
    const giveUp = () => {
      if (!isAnswered) this.#lost(client);
    };
    // After a pause of the whole process, Node runs timers before it reads the socket. The answer may be waiting in the
    // socket then. `setImmediate` runs after the socket was read.
    const deadline = setTimeout(() => setImmediate(giveUp), CHECK_MS).unref();
    try {
      const { rows } = await client.query<{ position: number }>(CHECK);
      isAnswered = true;
      if (this.#client !== client) return;
      this.#primary.answered(rows[0]?.position);
      this.#checkLater(client);
    } catch {
      this.#lost(client);
    } finally {
      clearTimeout(deadline);
    }
  }

  #lost(client = this.#client): void {
    if (!client || this.#client !== client) return;
    this.#client = undefined;
    client.end().catch(() => undefined);
    this.#servers?.doubt();
    this.#retry();
  }

  #retry(): void {
    clearTimeout(this.#timer);
    if (!this.#isStopped) this.#timer = setTimeout(() => void this.#connect(), RECONNECT_MS).unref();
  }
}
