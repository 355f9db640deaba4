import { createHash, randomUUID } from 'node:crypto';
import { type Db, PgBoss } from 'pg-boss';
import type {
  JobHandler,
  JobQueue,
  JobSink,
  NewJob,
  QueueName,
  WorkOptions,
} from '../domain/ports/job-queue.ts';
import type { Logger } from '../domain/ports/logger.ts';
import type { Clock } from '../domain/ports/system.ts';
import { OutageLog } from '../runtime/outage-log.ts';
import { jobLeases, type LeasedJob, type SqlRunner } from './job-leases.ts';
import { QueueWorker, type Reservation, type StoredData } from './queue-worker.ts';
import { Recovery } from './recovery.ts';

/** Schema of pg-boss's tables. */
const SCHEMA = 'pgboss';
/** Poll interval in ms. A job that another process created is found at most this long after it became due. */
const LOOK_MS = 500;
/**
 * A worker counts as stuck if no poll has succeeded for this time, in ms. The time is twice the time limit of a
 * statement.
 */
const STUCK_MS = 30_000;
/** A fetched job returns to the queue after this time without a heartbeat, in seconds. */
const HEARTBEAT_SECONDS = 10;
/** Longest run time of a job that sends heartbeats, in seconds. pg-boss allows at most a day. */
const EXPIRE_SECONDS = 24 * 3_600;
/** Longest pause before a failed job is repeated, in seconds. The pause starts at 1 s and doubles with each failure. */
const LONGEST_PAUSE_SECONDS = 60;
/**
 * A failed job is repeated this many times. That takes two years with the longest pause, so the number is never
 * reached. If the queue gave up a job, its message would never get a final status.
 */
const RETRY_LIMIT = 1_000_000;
const RETENTION_SECONDS = 60 * 24 * 3_600;
const QUEUES: readonly QueueName[] = [
  'submit',
  'webhook',
  'webhook-backlog',
  'contact-import',
  'person-mail',
];
const LOOK = `SELECT EXISTS (SELECT FROM job_leases WHERE due_at < now()) AS lapsed,
  ARRAY(SELECT name FROM unnest($1::text[]) AS name WHERE EXISTS (
    SELECT FROM ${SCHEMA}.job j WHERE j.name = name.name AND j.state < 'active' AND NOT j.blocked
      AND j.start_after < ${SCHEMA}.job_now())) AS due`;
/**
 * The first ids in the data of submit or webhook jobs, smallest first. Ids of messages and deliveries begin with their
 * creation time. Only the jobs that were due first are read, because a backlog can have very many jobs. Leaves out the
 * first job of a scheduled message until it is due.
 */
const OLDEST = `SELECT id FROM (
    SELECT job->'data'->$2->>0 AS id FROM job_leases WHERE queue = ANY($1::text[])
    UNION ALL
    SELECT data->$2->>0 FROM (
      SELECT data FROM ${SCHEMA}.job WHERE name = ANY($1::text[]) AND state < 'completed'
        AND (start_after <= now() OR (data->>'attempt')::int > 0)
      ORDER BY start_after LIMIT 5000) AS due
  ) AS jobs WHERE id IS NOT NULL ORDER BY id COLLATE "C" LIMIT 100`;
const HELD = 'SELECT queue, count(*)::int AS count FROM job_leases GROUP BY queue';

/** The transaction in which jobs are created or deleted. */
export interface QueueTransaction {
  readonly connection: SqlRunner;
  /**
   * Calls `callback` when the transaction has ended. `isCommitted` is false if it was rolled back, and also if the
   * outcome is unknown.
   */
  onEnd(callback: (isCommitted: boolean) => void): void;
}

export interface QueueOptions {
  readonly pool: SqlRunner;
  transaction<T>(work: (connection: SqlRunner) => Promise<T>): Promise<T>;
  /** The database's clock, which decides when a job is due. */
  readonly clock: Clock;
  readonly logger: Logger;
  /** Subscribes to a NOTIFY channel. Returns a function that unsubscribes. Undefined in a process without workers. */
  readonly listen?: (
    channel: string,
    onMessage: (payload: string) => void,
    onReconnect: () => void,
  ) => Promise<() => Promise<void>>;
}

/**
 * The job queue. Jobs commit with the transaction that creates them. If this process has a free slot, its own worker
 * starts the job after the commit. Such a job is under a lease (`job_leases`) and not in pg-boss. Other jobs go into
 * pg-boss. A process without a worker leaves its jobs in `job_leases`, and a process with workers moves them into
 * pg-boss. NOTIFY announces jobs to other processes. A timer fetches deferred jobs when they are due.
 */
export class PgBossQueue implements JobQueue {
  /** The gateway's own statements on the queue. The statements of pg-boss are not included. */
  static readonly statements = [
    ...jobLeases.statements,
    { name: 'queue-look', text: LOOK },
    { name: 'queue-held', text: HELD },
    { name: 'queue-oldest', text: OLDEST },
  ];
  readonly #boss: PgBoss;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #pool: SqlRunner;
  readonly #listen: QueueOptions['listen'];
  readonly #recovery: Recovery;
  #isStopping = false;
  #lookTimer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | undefined;
  /** Time of the last successful poll (performance.now, ms). */
  #lookedAt: number | undefined;
  readonly #outage: OutageLog;
  readonly #supervision: OutageLog;
  readonly #workers = new Map<QueueName, Pick<QueueWorker<QueueName>, keyof QueueWorker<QueueName>>>();

  constructor({ pool, transaction, clock, logger, listen }: QueueOptions) {
    this.#clock = clock;
    this.#logger = logger;
    this.#pool = pool;
    this.#listen = listen;
    const db: Db = {
      ...dbOn(pool),
      ...(listen && {
        listen: async (channel, onNotification, onReconnect) => {
          const close = await listen(
            channel,
            (queue) => {
              onNotification(queue);
              this.#wake(queue);
            },
            () => {
              onReconnect();
              for (const worker of this.#workers.values()) worker.wake();
            },
          );
          return { close };
        },
      }),
    };
    this.#boss = new PgBoss({
      db,
      schema: SCHEMA,
      useListenNotify: listen !== undefined,
      schedule: false,
      superviseIntervalSeconds: 2,
      monitorIntervalSeconds: 2,
    });
    this.#recovery = new Recovery({
      boss: this.#boss,
      transaction: (work) => transaction((connection) => work(connection, dbOn(connection))),
      logger,
    });
    this.#outage = new OutageLog(logger, 'cannot look for jobs', 'jobs are looked for again');
    this.#supervision = new OutageLog(logger, 'queue error', 'the queue works again');
    this.#boss.on('error', (error) => this.#supervision.failed(error));
  }

  /** Creates pg-boss's tables and the queues if they are missing. */
  async start(): Promise<void> {
    await this.#boss.start();
    for (const name of QUEUES) {
      const options = {
        notify: true,
        retryLimit: RETRY_LIMIT,
        retryDelay: 1,
        retryBackoff: true,
        retryDelayMax: LONGEST_PAUSE_SECONDS,
        heartbeatSeconds: HEARTBEAT_SECONDS,
        expireInSeconds: EXPIRE_SECONDS,
        retentionSeconds: RETENTION_SECONDS,
        deleteAfterSeconds: 3_600,
      };
      await this.#boss.createQueue(name, options);
      // `createQueue` does not change the options of a queue that exists.
      await this.#boss.updateQueue(name, options);
    }
  }

  /** Returns a job sink whose jobs commit with the transaction. */
  sinkFor({ connection, onEnd }: QueueTransaction): JobSink {
    const db = dbOn(connection);
    return {
      enqueue: async (jobs) => {
        if (jobs.length === 0) return;
        const placed = jobs.map((job) => this.#placed(job));
        onEnd((isCommitted) => this.#handOver(placed, isCommitted));
        const { held = [], left = [], queued = [] } = Object.groupBy(placed, (job) => this.#whereTo(job));
        if (held.length > 0) await jobLeases.hold(connection, held.map(leasedJob));
        if (left.length > 0) await jobLeases.leave(connection, left.map(leftJob));
        for (const [name, own] of Map.groupBy(queued, ({ job }) => job.queue)) {
          await this.#boss.insert(name, own.map(toInsert), { db });
        }
      },
      end: async (jobs) => {
        const ids = jobs
          .filter(({ id, queue }) => this.#workers.get(queue)?.endWith(id, onEnd))
          .map(({ id }) => id);
        if (ids.length > 0) await jobLeases.end(connection, ids);
      },
    };
  }

  async work<Q extends QueueName>(queue: Q, options: WorkOptions, handler: JobHandler<Q>): Promise<void> {
    const worker = new QueueWorker(
      this.#boss,
      this.#pool,
      queue,
      options,
      this.#logger,
      handler,
      HEARTBEAT_SECONDS,
      this.#clock,
    );
    this.#workers.set(queue, worker);
    worker.start();
    this.#lookedAt ??= performance.now();
    this.#looking ??= this.#look();
    if (this.#listen) await this.#recovery.listen(this.#listen);
  }

  async stopWorking(timeoutMs: number): Promise<void> {
    this.#isStopping = true;
    clearTimeout(this.#lookTimer);
    await Promise.all([this.#recovery.stop(), this.#looking]);
    await Promise.all([...this.#workers.values()].map((worker) => worker.stop(timeoutMs)));
  }

  async stop(): Promise<void> {
    await this.#boss.stop({ graceful: false, close: false });
  }

  /** Rejects if this process runs workers and could not poll for `STUCK_MS`. */
  async checkWorking(): Promise<void> {
    if (this.#lookedAt === undefined || this.#isStopping) return;
    const sinceMs = performance.now() - this.#lookedAt;
    if (sinceMs > STUCK_MS) throw new Error(`no look for jobs in ${Math.round(sinceMs)} ms`);
  }

  /** Resolves if the tables of the queue can be read. */
  async check(): Promise<void> {
    if ((await this.#boss.schemaVersion()) === null) throw new Error('the queue is not installed');
  }

  /** Returns the number of waiting and held jobs in each queue, read from the tables. */
  async depth(): Promise<Record<QueueName, number>> {
    const depths = await Promise.all(
      QUEUES.map(async (name) => {
        const [stats] = await this.#boss.getQueueStats(name, { force: true });
        return [name, stats ? stats.queuedCount + stats.activeCount : 0] as const;
      }),
    );
    const { rows } = await this.#pool.query({ text: HELD });
    const held = new Map((rows as { queue: string; count: number }[]).map((row) => [row.queue, row.count]));
    return Object.fromEntries(depths.map(([name, count]) => [name, count + (held.get(name) ?? 0)])) as Record<
      QueueName,
      number
    >;
  }

  /** Returns up to 100 ids of the messages whose submit jobs have waited longest. */
  oldestMessages(): Promise<string[]> {
    return this.#oldest(['submit'], 'messageIds');
  }

  /** Returns up to 100 ids of the webhook deliveries whose jobs have waited longest. Includes retries. */
  oldestDeliveries(): Promise<string[]> {
    return this.#oldest(['webhook', 'webhook-backlog'], 'deliveryIds');
  }

  async #oldest(queues: readonly QueueName[], member: string): Promise<string[]> {
    const { rows } = await this.#pool.query({ name: 'queue-oldest', text: OLDEST, values: [queues, member] });
    return (rows as { id: string }[]).map(({ id }) => id);
  }

  /** Polls: wakes the workers of queues with due jobs, and moves free jobs from `job_leases` into pg-boss. */
  async #look(): Promise<void> {
    try {
      const values = [[...this.#workers.keys()]];
      const { rows } = await this.#pool.query({ name: 'queue-look', text: LOOK, values });
      const [found] = rows as { lapsed: boolean; due: string[] }[];
      for (const queue of found?.due ?? []) this.#wake(queue);
      if (found?.lapsed) await this.#recovery.run();
      this.#lookedAt = performance.now();
      this.#outage.worked();
      this.#supervision.worked();
    } catch (error) {
      if (!this.#isStopping) this.#outage.failed(error);
    }
    if (this.#isStopping) return;
    this.#lookTimer = setTimeout(() => {
      this.#looking = this.#look();
    }, LOOK_MS);
  }

  #wake(queue: string): void {
    this.#workers.get(queue as QueueName)?.wake();
  }

  #placed(job: NewJob): PlacedJob {
    const slot = job.startAfter ? undefined : this.#workers.get(job.queue)?.reserve(job.routeKey);
    return { id: randomUUID(), job, slot };
  }

  /**
   * Decides where a job is stored. `held`: there is a slot, so this process holds it. `left`: this process has no
   * worker for the queue, so another process must take it. `queued`: it goes into pg-boss.
   */
  #whereTo({ job, slot }: PlacedJob): 'held' | 'left' | 'queued' {
    if (slot) return 'held';
    return job.startAfter || this.#workers.has(job.queue) ? 'queued' : 'left';
  }

  /** Starts the jobs that have a slot. Sets timers for deferred jobs, because no NOTIFY announces that they are due. */
  #handOver(jobs: readonly PlacedJob[], isCommitted: boolean): void {
    for (const { id, job, slot } of jobs) {
      const worker = this.#workers.get(job.queue);
      if (!isCommitted) slot?.free();
      else if (slot) worker?.handOver(id, job, slot);
      else if (job.startAfter) worker?.wakeAt(job.startAfter);
    }
  }
}

/** A new job. `slot` is set if this process has reserved a slot for the job. */
interface PlacedJob {
  readonly id: string;
  readonly job: NewJob;
  readonly slot: Reservation | undefined;
}

function toInsert({ id, job }: Pick<PlacedJob, 'id' | 'job'>) {
  return {
    id,
    data: job.data,
    group: { id: job.routeKey },
    ...(job.priority === undefined ? {} : { priority: job.priority }),
    ...(job.startAfter ? { startAfter: job.startAfter.toISOString() } : {}),
  };
}

function leasedJob({ id, job }: PlacedJob): LeasedJob {
  const data: StoredData<QueueName> = { ...job.data, wasHandedOver: true };
  return leftJob({ id, job: { ...job, data } });
}

function leftJob({ id, job }: Pick<PlacedJob, 'id' | 'job'>): LeasedJob {
  return { id, queue: job.queue, job: toInsert({ id, job }) };
}

const dbOn = (connection: SqlRunner): Db => ({
  executeSql: (text, values) => run(connection, text, values),
});

const names = new Map<string, string>();

/**
 * Runs a statement of pg-boss as a prepared statement. So each connection plans it only once. pg-boss has few different
 * statements, and they are long.
 */
async function run(runner: SqlRunner, text: string, values?: unknown[]) {
  if (!values || text.includes(';'))
    return (await runner.query({ text, ...(values ? { values } : {}) })) as never;
  let name = names.get(text);
  if (name === undefined) {
    name = `boss-${createHash('sha1').update(text).digest('hex').slice(0, 16)}`;
    if (names.size < 200) names.set(text, name);
  }
  return (await runner.query({ name, text, values })) as never;
}
