/**
 * A standby that serves lists, searches and usage of queries of GraphQL (R420). A **position** is a place in the
 * write-ahead log, in bytes since its beginning. A **timeline** is a history of the log, which begins with a promotion.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Knex } from 'knex';
import pg from 'pg';
import type { Logger } from '../../domain/ports/logger.ts';
import { outsideReadScopes, presentQuery, type ReadScope } from '../../runtime/read-scope.ts';
import type { DatabaseConnection } from './connection.ts';
import { isUnreachable } from './faults.ts';
import { Pipeline } from './pipeline.ts';
import type { PgPrimaryWatch } from './primary-watch.ts';
import { createReadPool, READ_POOL_SIZE } from './read-pool.ts';
import { createKnex, type ReplicaReads, replaceConnections, Sql, statement } from './sql.ts';
import { isUnanswered } from './unanswered.ts';

/** Longest wait, in ms, until the replica has what the caller wrote (R421). */
const CATCH_UP_MS = 100;
/** Pause in ms between two looks at what the replica has replayed. */
const LOOK_MS = 5;
/** Time in ms in which the replica must begin a read: accept a connection, and say what it has replayed. */
const BEGIN_MS = 1_000;
/** Pause in ms between two attempts to use a replica again that was out of service. */
const RETRY_MS = 5_000;
/** A connection without an answer for this long, in ms, is closed. PostgreSQL cancels a read of this pool earlier. */
const STATEMENT_TIMEOUT_MS = 6_000;
/**
 * PostgreSQL's codes for errors of one read, which say nothing about the replica: a conflict with the replay of changes,
 * a timeout, a lock, a value that cannot be used, and a statement that is too large.
 */
const OF_ONE_READ = /^(40001|40P01|57014|55P03|22|54)/;

/** Returns no row on a server that is a standby. */
export const POSITION = statement(
  'replica-position',
  `SELECT pg_wal_lsn_diff(pg_current_wal_flush_lsn(), '0/0')::bigint AS position,
     left(pg_walfile_name(pg_current_wal_flush_lsn()), 8) AS timeline,
     current_setting('synchronous_standby_names') <> '' AS "isSynchronous"
   WHERE NOT pg_is_in_recovery()`,
);
/** PostgreSQL hides the timeline from users without the role pg_read_all_stats. */
const REPLAYED = statement(
  'replica-replayed',
  `SELECT CASE WHEN pg_is_in_recovery() THEN pg_wal_lsn_diff(pg_last_wal_replay_lsn(), '0/0')::bigint END AS replayed,
     w.pid AS receiver, lpad(upper(to_hex(w.received_tli)), 8, '0') AS timeline
   FROM (SELECT) AS one LEFT JOIN pg_stat_wal_receiver w ON true`,
);
/** Identifies a database. A standby has the identity of its primary. */
export const IDENTITY = statement(
  'replica-identity',
  `SELECT c.system_identifier::text || ' ' || d.oid AS identity
   FROM pg_control_system() c, pg_database d WHERE d.datname = current_database()`,
);
/** Waits until the synchronous standbys have everything that the primary has written. */
const CONFIRM = statement('replica-confirm', `SELECT pg_logical_emit_message(true, '', '')`);

export interface Position {
  /** The end of what was on the primary's disk. */
  readonly position: number;
  /** Undefined while there is no primary: a standby then follows none. */
  readonly timeline: string | undefined;
  /** True if the primary has synchronous standbys. */
  readonly isSynchronous: boolean;
}

interface Replayed {
  readonly replayed: number | null;
  /** The process that receives the log from the primary. */
  readonly receiver: number | null;
  readonly timeline: string | null;
}

/** Thrown if the replica cannot serve reads. */
class OutOfService extends Error {}
/** Thrown if the replica only lags. Reads that it has begun go on. */
class Behind extends OutOfService {}
/** Thrown if the primary must serve this read. */
class NotServed extends Error {}

/** A read on its way to the replica. */
interface Turn {
  /** True when the replica has what the caller wrote, and the read itself runs. */
  isReading: boolean;
  /** Set when the primary serves the read instead. */
  isOver: boolean;
  /** Ends the turn at once, also if the replica does not answer. */
  giveUp(why: Error): void;
}

export interface ReplicaOptions {
  readonly connection: DatabaseConnection;
  /** The pool of the primary for reads of dashboards. */
  readonly primary: Knex;
  readonly watch: PgPrimaryWatch;
  readonly logger: Logger;
}

/**
 * A standby that serves lists, searches and usage of queries of GraphQL. Every read of a query sees all that was
 * answered before the query began, by any process: it waits until the replica has replayed it (R421). A replica that
 * cannot serve is left out, and tried again every 5 seconds (R422). While there is no primary, a read sees what the
 * primary had when it answered this process last (R520).
 */
export class Replica implements ReplicaReads {
  readonly #reads: Knex;
  /** One connection, which cancels reads and finds out whether the replica can serve again. */
  readonly #other: Knex;
  readonly #primary: Sql;
  readonly #watch: PgPrimaryWatch;
  readonly #logger: Logger;
  /** The identity of the primary's database. Undefined before the first attempt to use the replica. */
  #identity: string | undefined;
  /** Where the primary was after the query began. Undefined if the server is no primary. */
  readonly #positions = new WeakMap<ReadScope, Promise<Position | undefined>>();
  readonly #turns = new Set<Turn>();
  #isInService = false;
  /** True if the log says that the replica cannot serve. */
  #isTold = false;
  #retry: NodeJS.Timeout | undefined;
  #isClosed = false;
  /** Numbers of reads of this process that the replica and the primary have served. */
  readonly served = { replica: 0, primary: 0 };

  constructor({ connection, primary, watch, logger }: ReplicaOptions) {
    const limits = { connectTimeoutMs: BEGIN_MS, statementTimeoutMs: STATEMENT_TIMEOUT_MS };
    this.#logger = logger;
    this.#watch = watch;
    this.#primary = new Sql(primary);
    this.#other = createKnex(connection, logger, {
      ...limits,
      poolSize: 1,
      name: 'messaging-gateway replica',
    });
    this.#reads = createReadPool(connection, logger, this.#other, limits);
    this.#tryAfter(0);
  }

  /** False while the primary serves all reads, because the replica cannot. */
  get isInService(): boolean {
    return this.#isInService;
  }

  get pool(): Knex {
    return this.#reads;
  }

  /**
   * Runs `read` on a connection to the replica. Resolves with undefined if the primary must serve this read, because it
   * is not a query's or because the replica cannot serve it. Throws what `read` throws, if the replica is not the cause.
   */
  async read<T>(read: (connection: pg.Client) => Promise<T>): Promise<{ readonly result: T } | undefined> {
    const query = presentQuery();
    if (!query) return undefined;
    const served = this.#isInService ? await this.#serve(query, read) : undefined;
    this.served[served ? 'replica' : 'primary'] += 1;
    return served;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#isInService = false;
    clearTimeout(this.#retry);
    await Promise.all([this.#reads.destroy(), this.#other.destroy()]);
  }

  async #serve<T>(query: ReadScope, read: (connection: pg.Client) => Promise<T>) {
    const asked = query.withoutPrimary
      ? undefined
      : await this.#watch.unlessAway(() => this.#positionAt(query));
    const wanted = asked ? asked.result : this.#lastPosition();
    if (!wanted || !this.#isInService) return undefined;
    let result: T;
    try {
      result = await this.#onReplica(wanted, read);
    } catch (error) {
      query.signal.throwIfAborted();
      const fault = faultOf(error);
      if (fault === 'of the read') throw error;
      if (fault === 'of the replica') this.#leaveOut(error);
      return undefined;
    }
    // The replica may have replayed commits that no synchronous standby has. They would be lost with the primary.
    const confirm = () => this.#primary.query(CONFIRM, []);
    const isConfirmed = !wanted.isSynchronous || (await this.#watch.unlessAway(confirm)) !== undefined;
    if (!asked || !isConfirmed) query.isStale = true;
    return { result };
  }

  /** Returns where the primary was when it answered last. Undefined if it has not answered yet. */
  #lastPosition(): Position | undefined {
    const { position } = this.#watch;
    return position === undefined ? undefined : { position, timeline: undefined, isSynchronous: false };
  }

  /** Asks the primary once for each query. All that was answered before the query is before this position. */
  #positionAt(query: ReadScope): Promise<Position | undefined> {
    const known = this.#positions.get(query);
    if (known) return known;
    const asked = this.#position();
    this.#positions.set(query, asked);
    return asked;
  }

  async #position(): Promise<Position | undefined> {
    return (await this.#primary.query<Position>(POSITION, []))[0];
  }

  /** Runs `read` when the replica has replayed `wanted`. The replica must begin the read within `BEGIN_MS`. */
  async #onReplica<T>(wanted: Position, read: (connection: pg.Client) => Promise<T>): Promise<T> {
    const givenUp = Promise.withResolvers<never>();
    const turn: Turn = {
      isReading: false,
      isOver: false,
      giveUp(why) {
        turn.isOver = true;
        givenUp.reject(why);
      },
    };
    const timer = setTimeout(() => {
      if (turn.isReading) return;
      const reading = [...this.#turns].filter(({ isReading }) => isReading).length;
      turn.giveUp(
        reading < READ_POOL_SIZE
          ? new OutOfService('The replica does not answer')
          : new NotServed('It is busy'),
      );
    }, BEGIN_MS);
    this.#turns.add(turn);
    try {
      const done = onConnection(this.#reads, async (connection) => {
        if (turn.isOver) throw new NotServed('The primary serves the read');
        await hasReplayed(connection, wanted);
        if (turn.isOver) throw new NotServed('The primary serves the read');
        turn.isReading = true;
        return read(connection);
      });
      return await Promise.race([done, givenUp.promise]);
    } finally {
      clearTimeout(timer);
      turn.isOver = true;
      this.#turns.delete(turn);
    }
  }

  /** Lets the primary serve all reads, those too that wait for the replica now. */
  #leaveOut(error: unknown): void {
    if (!this.#isInService || this.#isClosed) return;
    this.#isInService = false;
    this.#tell(error);
    for (const turn of this.#turns) {
      if (!(error instanceof Behind && turn.isReading)) turn.giveUp(new NotServed('The replica is left out'));
    }
    // Other connections may be silent as well. And a proxy may lead new ones to another replica.
    replaceConnections(this.#reads, error);
    replaceConnections(this.#other, error);
    this.#tryAfter(RETRY_MS);
  }

  #tell(error: unknown): void {
    if (this.#isTold) return;
    this.#isTold = true;
    this.#logger.warn({ err: error }, 'the replica cannot serve reads; the primary serves them');
  }

  #tryAfter(delayMs: number): void {
    if (this.#isClosed) return;
    const begin = () => {
      this.#try().then(
        (canServe) => !canServe && this.#tryAfter(RETRY_MS),
        () => this.#tryAfter(RETRY_MS),
      );
    };
    // In the scope of the present request, the end of that request would cancel the attempt.
    this.#retry = outsideReadScopes(() => setTimeout(begin, delayMs));
    this.#retry.unref();
  }

  /** Uses the replica if it can serve. Returns false if it cannot. Rejects if the primary does not answer. */
  async #try(): Promise<boolean> {
    const asked = await this.#watch.unlessAway(async () => {
      const [own] = await this.#primary.query<{ identity: string }>(IDENTITY, []);
      this.#identity = own?.identity;
      return this.#position();
    });
    const wanted = asked ? asked.result : this.#lastPosition();
    const identity = this.#identity;
    if (!wanted || identity === undefined) return false;
    try {
      await onConnection(this.#other, async (connection) => {
        const [found] = await Pipeline.of(connection).add<{ identity: string }>({ ...IDENTITY, values: [] });
        if (found?.identity !== identity)
          throw new OutOfService('The server of DATABASE_READ_URL has another database than DATABASE_URL');
        await hasReplayed(connection, wanted);
      });
    } catch (error) {
      replaceConnections(this.#other, error);
      if (!this.#isClosed) this.#tell(error);
      return false;
    }
    if (this.#isClosed) return false;
    this.#isInService = true;
    if (this.#isTold) this.#logger.info({}, 'the replica serves reads again');
    this.#isTold = false;
    return true;
  }
}

async function onConnection<T>(knex: Knex, work: (connection: pg.Client) => Promise<T>): Promise<T> {
  let connection: pg.Client;
  try {
    connection = await knex.client.acquireConnection();
  } catch (cause) {
    if (isPoolBusy(cause)) throw cause;
    throw new OutOfService('The replica accepts no connection', { cause });
  }
  try {
    return await work(connection);
  } finally {
    await knex.client.releaseConnection(connection);
  }
}

/** Waits until the replica has replayed the primary's log up to `wanted`. Throws `OutOfService` if it has not in time. */
async function hasReplayed(connection: pg.Client, wanted: Position): Promise<void> {
  const end = performance.now() + CATCH_UP_MS;
  for (;;) {
    const rows = await Pipeline.of(connection).add<Replayed>({ ...REPLAYED, values: [] });
    const { replayed = null, receiver = null, timeline = null } = rows[0] ?? {};
    if (replayed === null) throw new OutOfService('The server of DATABASE_READ_URL is not a standby');
    if (receiver !== null && timeline === null)
      throw new OutOfService('The user of DATABASE_READ_URL needs the role pg_read_all_stats');
    // Only the same history has the same positions. After a promotion, a standby may still follow the former primary.
    const isSame = wanted.timeline === undefined || timeline === wanted.timeline;
    if (isSame && replayed >= wanted.position) return;
    if (performance.now() >= end) {
      throw isSame
        ? new Behind(`The replica is ${wanted.position - replayed} bytes of the log behind the primary`)
        : new OutOfService('The replica does not follow the primary');
    }
    await sleep(LOOK_MS, undefined, { ref: false });
  }
}

/** True if all connections of a pool are in use. */
const isPoolBusy = (error: unknown): boolean => (error as Error).name === 'KnexTimeoutError';

/** Says what an error means: the replica cannot serve reads, or not this one, or no server can serve this read. */
function faultOf(error: unknown): 'of the replica' | 'of this read there' | 'of the read' {
  if (error instanceof NotServed || isPoolBusy(error)) return 'of this read there';
  if (error instanceof OutOfService || isUnanswered(error) || isUnreachable(error)) return 'of the replica';
  if (!(error instanceof pg.DatabaseError)) return 'of the read';
  return OF_ONE_READ.test(error.code ?? '') ? 'of this read there' : 'of the replica';
}
