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
import { LEASE_SECONDS, SCHEMA, type SqlRunner } from './job-rows.ts';
import { type Place, QueueWorker, type StoredData } from './queue-worker.ts';

/** A held job whose process shows no life for this long goes back to the queue. */
const HEARTBEAT_SECONDS = 10;
/** However long a handler lives, a job with heartbeats is its own; this bounds only a handler that hangs. */
const EXPIRE_SECONDS = 600;
/** A job comes back this often after a crash or a fault before it is given up; every deadline is far shorter. */
const RETRY_LIMIT = 1_000;
const RETENTION_SECONDS = 60 * 24 * 3_600;
const QUEUES: readonly QueueName[] = ['submit', 'webhook', 'webhook-backlog', 'contact-import'];

/** The transaction that jobs commit with. */
export interface QueueTransaction {
  readonly connection: SqlRunner;
  /** Calls back when it has ended; `isCommitted` is false also where nobody can tell. */
  onEnd(callback: (isCommitted: boolean) => void): void;
}

export interface QueueOptions {
  readonly pool: SqlRunner;
  readonly logger: Logger;
  /** Subscribes to a NOTIFY channel; returns the way to end it. A process that works on no jobs hears of none. */
  readonly listen?: (
    channel: string,
    onMessage: (payload: string) => void,
    onReconnect: () => void,
  ) => Promise<() => Promise<void>>;
}

/**
 * Jobs on pg-boss. Jobs commit with the transaction that causes them. This process's own worker, where it has room,
 * is handed a job with the commit and never has to look for it; NOTIFY wakes the workers of every process for the
 * others; deferred jobs are fetched by timer at their due time.
 */
export class PgBossQueue implements JobQueue {
  readonly #boss: PgBoss;
  readonly #logger: Logger;
  readonly #pool: SqlRunner;
  readonly #workers = new Map<QueueName, Pick<QueueWorker<QueueName>, keyof QueueWorker<QueueName>>>();

  constructor({ pool, logger, listen }: QueueOptions) {
    this.#logger = logger;
    this.#pool = pool;
    const db: Db = {
      executeSql: (text, values) => run(pool, text, values),
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
    this.#boss.on('error', (error) => logger.warn({ err: error }, 'queue error'));
  }

  /** Creates pg-boss's tables and the queues where they are missing. */
  async start(): Promise<void> {
    await this.#boss.start();
    for (const name of QUEUES) {
      await this.#boss.createQueue(name, {
        notify: true,
        retryLimit: RETRY_LIMIT,
        retryDelay: 1,
        heartbeatSeconds: HEARTBEAT_SECONDS,
        expireInSeconds: EXPIRE_SECONDS,
        retentionSeconds: RETENTION_SECONDS,
        deleteAfterSeconds: 3_600,
      });
    }
  }

  /** The sink whose jobs commit with the transaction. */
  sinkFor({ connection, onEnd }: QueueTransaction): JobSink {
    const db: Db = { executeSql: (text, values) => run(connection, text, values) };
    return {
      enqueue: async (jobs) => {
        for (const name of QUEUES) {
          const own = jobs.filter((job) => job.queue === name).map((job) => this.#placed(job));
          if (own.length === 0) continue;
          onEnd((isCommitted) => this.#handOver(name, own, isCommitted));
          await this.#boss.insert(name, own.map(toInsert), { db });
        }
      },
    };
  }

  async work<Q extends QueueName>(queue: Q, options: WorkOptions, handler: JobHandler<Q>): Promise<void> {
    const worker = new QueueWorker(this.#boss, this.#pool, queue, options, this.#logger, handler);
    this.#workers.set(queue, worker);
    worker.start(HEARTBEAT_SECONDS);
  }

  async stopWorking(timeoutMs: number): Promise<void> {
    await Promise.all([...this.#workers.values()].map((worker) => worker.stop(timeoutMs)));
  }

  async stop(): Promise<void> {
    await this.#boss.stop({ graceful: false, close: false });
  }

  /** Resolves when the queue's tables answer. */
  async check(): Promise<void> {
    if ((await this.#boss.schemaVersion()) === null) throw new Error('the queue is not installed');
  }

  /** Jobs that wait or are held, by queue; reads the job table. */
  async depth(): Promise<Record<QueueName, number>> {
    const depths = await Promise.all(
      QUEUES.map(async (name) => {
        const [stats] = await this.#boss.getQueueStats(name, { force: true });
        return [name, stats ? stats.queuedCount + stats.activeCount : 0] as const;
      }),
    );
    return Object.fromEntries(depths) as Record<QueueName, number>;
  }

  #wake(queue: string): void {
    this.#workers.get(queue as QueueName)?.wake();
  }

  #placed(job: NewJob): PlacedJob {
    const place = job.startAfter ? undefined : this.#workers.get(job.queue)?.reserve(job.group);
    return { id: randomUUID(), job, place };
  }

  /** Begins with what this process has places for, and sets timers for what is due later: no NOTIFY tells of it. */
  #handOver(queue: QueueName, jobs: readonly PlacedJob[], isCommitted: boolean): void {
    const worker = this.#workers.get(queue);
    for (const { id, job, place } of jobs) {
      if (!isCommitted) place?.free();
      else if (place) worker?.handOver(id, job, place);
      else if (job.startAfter) worker?.wakeAt(job.startAfter);
    }
  }
}

/** A job with the place that it has in this process, if any. */
interface PlacedJob {
  readonly id: string;
  readonly job: NewJob;
  readonly place: Place | undefined;
}

function toInsert({ id, job, place }: PlacedJob) {
  const data: StoredData<QueueName> = place ? { ...job.data, wasHandedOver: true } : job.data;
  return {
    id,
    data,
    group: { id: job.group },
    ...(job.priority === undefined ? {} : { priority: job.priority }),
    ...(job.startAfter ? { startAfter: job.startAfter.toISOString() } : {}),
    ...(place ? { startAfter: LEASE_SECONDS } : {}),
  };
}

const names = new Map<string, string>();

/** pg-boss's statements are few and long: under a name each connection parses and plans them once. */
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
