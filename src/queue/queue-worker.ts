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
/** Limit of jobs for one fetch. */
const MAX_FETCH = 64;

/** The stored data of a job. `wasHandedOver`: the process that created it started it at once. */
export type StoredData<Q extends QueueName> = JobData[Q] & { readonly wasHandedOver?: true };

interface FetchedJob<Q extends QueueName> {
  readonly id: string;
  readonly retryCount: number;
  readonly data: StoredData<Q>;
  readonly groupId?: string | null;
}

interface Held {
  /** Another row if the job was lost and fetched again while its work continued. */
  row: HeldRow;
  readonly claim: Claim;
  readonly done: Promise<void>;
  /** True if the job ended with the transaction that recorded its work. */
  hasEnded: boolean;
}

/** A slot for a job that is about to commit, and its lease. */
export interface Reservation extends JobSlot {
  readonly lease: Lease;
}

/**
 * Fetches or receives jobs, and holds them until their work is recorded. Jobs run concurrently, so a slow one delays no
 * other. A fetch skips routes that use their whole share.
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
  /** True if a slot was missing at the last fetch and is free now. */
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

  /** Fetches soon. */
  wake(): void {
    this.#isWoken = true;
    this.#sleeper?.();
  }

  /** Fetches now, in spite of the pause. */
  #fill(): void {
    this.#hasNewRoom = true;
    this.wake();
    this.#endPause?.();
  }

  /** Fetches at `due`. Above a number of such timers, the regular poll finds the job. */
  wakeAt(due: Date): void {
    // Not at that instant: the database's clock must have passed it too.
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

  /** Reserves a slot for a job that is about to commit here; undefined if the queue must keep it. */
  reserve(routeKey: string): Reservation | undefined {
    if (this.#isStopping || this.#options.pauseMs !== undefined) return undefined;
    if (!this.#slots.hasRoomFor(routeKey)) return undefined;
    return { ...this.#slots.take(routeKey), lease: this.#validLease() };
  }

  /** Starts a committed, leased job in its reserved slot. */
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

  /** True if the job can end with the transaction of `onEnd`, which then must delete the lease. */
  endWith(id: string, onEnd: (callback: (isCommitted: boolean) => void) => void): boolean {
    const held = this.#held.get(id);
    if (!held?.row.isLeased) return false;
    onEnd((isCommitted) => {
      held.hasEnded ||= isCommitted;
    });
    return true;
  }

  /** Takes no new jobs and waits for the held ones; after `timeoutMs` gives the rest back. */
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

  /** Fetches for the free slots; true if the fetch was full. */
  async #fetch(): Promise<boolean> {
    const { perRoute = Number.POSITIVE_INFINITY } = this.#options;
    // At most one route's share, so that one fetch cannot take more than twice the share of a route.
    const batchSize = Math.min(this.#slots.room, perRoute, MAX_FETCH);
    if (batchSize <= 0) return false;
    const full = this.#slots.fullRoutes();
    // Taken before the fetch, because the lease counts from then.
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
        // The job was lost while its work is not recorded: another process must not start it anew.
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
      // Its heartbeat or lease ends with this process, and then any process may take it.
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

  /** Aborts the work on a job that another process has: continuing would do it twice. */
  #lose(row: HeldRow): void {
    const held = this.#held.get(row.id);
    // A job that was fetched again has another row; a recorded job has none.
    if (held?.row !== row || held.hasEnded) return;
    this.#logger.warn({ queue: this.#queue, job: row.id }, 'a held job was lost to another process');
    held.claim.lose();
  }

  /** The lease for jobs taken from now on: a new one if the last has ended. */
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

  /** Waits for `ms`, or until a slot is free. */
  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#endPause = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  /** Waits until it is woken. */
  #sleep(): Promise<void> {
    return new Promise((resolve) => {
      this.#sleeper = () => {
        this.#sleeper = undefined;
        resolve();
      };
    });
  }
}
