import type { PgBoss } from 'pg-boss';
import type {
  HeldJob,
  JobData,
  JobHandler,
  NewJob,
  QueueName,
  WorkOptions,
} from '../domain/ports/job-queue.ts';
import type { Logger } from '../domain/ports/logger.ts';
import type { Clock } from '../domain/ports/system.ts';
import { OutageLog } from '../runtime/outage-log.ts';
import { TransientMap } from '../runtime/transient-map.ts';
import type { SqlRunner } from './job-leases.ts';
import { type HeldRow, JobRows } from './job-rows.ts';
import { type JobSlot, JobSlots } from './job-slots.ts';
import { type Claim, Lease } from './lease.ts';

const MAX_TIMER_MS = 2 ** 31 - 1;
const DUE_STEP_MS = 10;
const MAX_DUE_TIMERS = 5_000;
/** Largest number of jobs in one fetch. */
const MAX_FETCH = 64;

/**
 * The stored data of a job. `wasHandedOver` means that the process that created the job also started it. So a fetch of
 * such a job from the queue is a repetition.
 */
export type StoredData<Q extends QueueName> = JobData[Q] & { readonly wasHandedOver?: true };

interface FetchedJob<Q extends QueueName> {
  readonly id: string;
  readonly retryCount: number;
  readonly data: StoredData<Q>;
  readonly groupId?: string | null;
}

interface Held {
  /**
   * The row of the job in the queue. The job gets another row if this process loses the job and fetches it again during
   * the work.
   */
  row: HeldRow;
  readonly claim: Claim;
  readonly done: Promise<void>;
  /** True if the transaction that recorded the job's work also deleted the job. */
  hasEnded: boolean;
}

/** A slot and a lease for a job whose transaction has not committed yet. */
export interface Reservation extends JobSlot {
  readonly lease: Lease;
}

/**
 * Fetches jobs from pg-boss, or gets them directly from this process, and holds them until their work is recorded. Jobs
 * run concurrently, so a slow job does not delay others. A fetch leaves out routes that have no free slot.
 */
export class QueueWorker<Q extends QueueName> {
  readonly #boss: PgBoss;
  readonly #queue: Q;
  readonly #options: WorkOptions;
  readonly #logger: Logger;
  readonly #fetching: OutageLog;
  readonly #refreshing: OutageLog;
  readonly #handler: JobHandler<Q>;
  readonly #rows: JobRows;
  readonly #held = new TransientMap<string, Held>();
  readonly #slots: JobSlots;
  readonly #leaseMs: number;
  readonly #clock: Clock;
  #lease: Lease;
  #loop: Promise<void> | undefined;
  #heartbeat: NodeJS.Timeout | undefined;
  readonly #dueTimers = new Map<number, NodeJS.Timeout>();
  #sleeper: (() => void) | undefined;
  #endPause: (() => void) | undefined;
  #isWoken = false;
  /** True if a slot has become free since the last fetch. */
  #hasNewRoom = false;
  #isStopping = false;

  constructor(
    boss: PgBoss,
    pool: SqlRunner,
    queue: Q,
    options: WorkOptions,
    logger: Logger,
    handler: JobHandler<Q>,
    heartbeatSeconds: number,
    clock: Clock,
  ) {
    this.#clock = clock;
    this.#leaseMs = heartbeatSeconds * 1000;
    this.#lease = new Lease(this.#leaseMs);
    this.#boss = boss;
    this.#rows = new JobRows(boss, pool, queue);
    this.#queue = queue;
    this.#options = options;
    this.#logger = logger;
    this.#fetching = new OutageLog(logger, 'cannot fetch jobs', 'jobs are fetched again', { queue });
    this.#refreshing = new OutageLog(logger, 'cannot refresh held jobs', 'held jobs are refreshed again', {
      queue,
    });
    this.#handler = handler;
    this.#slots = new JobSlots(options, () => this.#fill());
  }

  start(): void {
    this.#loop = this.#run();
    this.#heartbeat = setInterval(() => void this.#touch(), this.#leaseMs / 3);
  }

  /** Makes the worker fetch, after its pause if it is in one. */
  wake(): void {
    this.#isWoken = true;
    this.#sleeper?.();
  }

  /** Makes the worker fetch now, even during its pause. */
  #fill(): void {
    this.#hasNewRoom = true;
    this.wake();
    this.#endPause?.();
  }

  /** Fetches at the time `due`. If there are too many timers, does nothing, and the regular poll finds the job. */
  wakeAt(due: Date): void {
    // Round up to a later time, because the database's clock must have passed `due`, too.
    const at = (Math.floor(due.getTime() / DUE_STEP_MS) + 1) * DUE_STEP_MS;
    if (this.#dueTimers.has(at) || this.#dueTimers.size >= MAX_DUE_TIMERS) return;
    const delayMs = Math.max(0, at - this.#clock.now().getTime());
    if (delayMs > MAX_TIMER_MS) return;
    const timer = setTimeout(() => {
      this.#dueTimers.delete(at);
      this.wake();
    }, delayMs).unref();
    this.#dueTimers.set(at, timer);
  }

  /** Reserves a slot for a job that is about to commit in this process. Undefined if the job must go into the queue. */
  reserve(routeKey: string): Reservation | undefined {
    if (this.#isStopping || this.#options.pauseMs !== undefined) return undefined;
    if (!this.#slots.hasRoomFor(routeKey)) return undefined;
    return { ...this.#slots.take(routeKey), lease: this.#validLease() };
  }

  /** Starts a committed job in the slot that was reserved for it, under that slot's lease. */
  handOver(id: string, job: NewJob<Q>, slot: Reservation): void {
    const { data, routeKey, prefetched } = job;
    const row = { id, retryCount: 0, isLeased: true };
    if (this.#isStopping) {
      slot.free();
      void this.#giveBack(row, 'the process stops');
    } else {
      const { releaseSlotWhileWaiting } = slot;
      const queue = this.#queue;
      const held = { id, queue, data, routeKey, prefetched, isRepeat: false, releaseSlotWhileWaiting };
      this.#hold(held, row, slot, slot.lease);
    }
  }

  /**
   * True if this process holds the job under a lease. Then the caller must delete the lease in the transaction of
   * `onEnd`, and the job ends when that transaction commits.
   */
  endWith(id: string, onEnd: (callback: (isCommitted: boolean) => void) => void): boolean {
    const held = this.#held.get(id);
    if (!held?.row.isLeased) return false;
    onEnd((isCommitted) => {
      held.hasEnded ||= isCommitted;
    });
    return true;
  }

  /** Takes no new jobs and waits for the held ones. After `timeoutMs`, gives the remaining jobs back. */
  async stop(timeoutMs: number): Promise<void> {
    this.#isStopping = true;
    this.#fill();
    await this.#loop;
    this.#lease.end();
    const held = Promise.all([...this.#held.values()].map(({ done }) => done));
    let timer: NodeJS.Timeout | undefined;
    const timeout = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, timeoutMs);
    });
    await Promise.race([held, timeout]);
    clearTimeout(timer);
    clearInterval(this.#heartbeat);
    for (const timer of this.#dueTimers.values()) clearTimeout(timer);
    await Promise.all([...this.#held.values()].map(({ row }) => this.#giveBack(row, 'the process stopped')));
  }

  async #run(): Promise<void> {
    const { pauseMs } = this.#options;
    while (!this.#isStopping) {
      this.#isWoken = false;
      this.#hasNewRoom = false;
      const mayHaveMore = await this.#fetch();
      if (mayHaveMore || this.#isStopping) continue;
      if (pauseMs !== undefined && !this.#hasNewRoom) await this.#pause(pauseMs);
      if (!this.#isWoken && !this.#isStopping) await this.#sleep();
    }
  }

  /** Fetches jobs for the free slots. Returns true if it got as many as it asked for, because there may be more. */
  async #fetch(): Promise<boolean> {
    const { perRoute = Number.POSITIVE_INFINITY } = this.#options;
    // Fetch at most as many jobs as one route may have. Even if all fetched jobs are of one route, that route then
    // holds at most twice its limit.
    const batchSize = Math.min(this.#slots.room, perRoute, MAX_FETCH);
    if (batchSize <= 0) return false;
    const full = this.#slots.fullRoutes();
    // Take the lease before the fetch, so that it starts before PostgreSQL gives this process the jobs.
    const lease = this.#validLease();
    try {
      const jobs: FetchedJob<Q>[] = await this.#boss.fetch<StoredData<Q>>(this.#queue, {
        batchSize,
        includeMetadata: true,
        ...(full.length > 0 ? { ignoreGroups: full } : {}),
      });
      for (const { id, retryCount, data, groupId } of jobs) {
        const routeKey = groupId ?? '';
        const isRepeat = retryCount > 0 || data.wasHandedOver === true;
        const row = { id, retryCount, isLeased: false };
        const held = this.#held.get(id);
        // This process lost the job and still works on it. Now it fetched the job again. Continue the work under the
        // new row. Do not start the job a second time.
        if (held) {
          held.row = row;
          continue;
        }
        const slot = this.#slots.take(routeKey);
        const { releaseSlotWhileWaiting } = slot;
        const queue = this.#queue;
        this.#hold({ id, queue, data, routeKey, isRepeat, releaseSlotWhileWaiting }, row, slot, lease);
      }
      this.#fetching.worked();
      return jobs.length === batchSize;
    } catch (error) {
      if (!this.#isStopping) this.#fetching.failed(error);
      return false;
    }
  }

  #hold(job: HeldJob<Q>, row: HeldRow, slot: JobSlot, lease: Lease): void {
    const { countedMs } = this.#options;
    const claim = lease.claim();
    const timer = countedMs === undefined ? undefined : setTimeout(slot.uncount, countedMs).unref();
    const done = this.#work(job, row, claim.signal).finally(() => {
      clearTimeout(timer);
      claim.release();
      this.#held.delete(job.id);
      slot.free();
    });
    this.#held.set(job.id, { row, claim, done, hasEnded: false });
  }

  async #work(job: HeldJob<Q>, row: HeldRow, signal: AbortSignal): Promise<void> {
    const { id } = job;
    try {
      await this.#handler(job, signal);
      const held = this.#held.get(id);
      if (!held?.hasEnded) await this.#rows.done(held?.row ?? row);
    } catch (error) {
      if (!this.#isStopping) this.#logger.warn({ err: error, queue: this.#queue, job: id }, 'job comes back');
      await this.#giveBack(this.#held.get(id)?.row ?? row, error instanceof Error ? error.message : 'failed');
    }
  }

  async #giveBack(row: HeldRow, why: string): Promise<void> {
    try {
      await this.#rows.giveBack(row, why);
    } catch (error) {
      // The job could not be given back. Its heartbeat or lease expires when this process ends, and then another
      // process takes it.
      this.#logger.warn({ err: error, queue: this.#queue, job: row.id }, 'cannot give a job back');
    }
  }

  async #touch(): Promise<void> {
    const lease = this.#validLease();
    const sign = lease.sign();
    const held = [...this.#held.values()].map(({ row }) => row);
    try {
      const lost = await this.#rows.refresh(held);
      lease.renew(sign);
      this.#refreshing.worked();
      for (const row of lost) this.#lose(row);
    } catch (error) {
      this.#refreshing.failed(error);
    }
  }

  /** Aborts the work on a job that another process has now. Otherwise both processes would do the work. */
  #lose(row: HeldRow): void {
    const held = this.#held.get(row.id);
    // If the job was fetched again, it has another row and is not lost. If it has ended, its row was deleted.
    if (held?.row !== row || held.hasEnded) return;
    this.#logger.warn({ queue: this.#queue, job: row.id }, 'a held job was lost to another process');
    held.claim.lose();
  }

  /** Returns the lease for jobs that are taken now. Starts a new lease if the last one has ended. */
  #validLease(): Lease {
    if (this.#lease.hasEnded && !this.#isStopping) {
      this.#logger.warn(
        { queue: this.#queue },
        'no sign of life for too long: the jobs held are left to others',
      );
      this.#lease = new Lease(this.#leaseMs);
    }
    return this.#lease;
  }

  /** Waits for `ms`, or until a slot becomes free. */
  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#endPause = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  /** Waits until `wake` is called. */
  #sleep(): Promise<void> {
    return new Promise((resolve) => {
      this.#sleeper = () => {
        this.#sleeper = undefined;
        resolve();
      };
    });
  }
}
