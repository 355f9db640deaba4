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
/** Jobs that one fetch takes at the most. */
const MAX_FETCH = 64;

/** What a job's row holds. `wasHandedOver`: the process that caused it began with it at once. */
export type StoredData<Q extends QueueName> = JobData[Q] & { readonly wasHandedOver?: true };

interface FetchedJob<Q extends QueueName> {
  readonly id: string;
  readonly retryCount: number;
  readonly data: StoredData<Q>;
  readonly groupId?: string | null;
}

interface Held {
  /** Another one once it has come back here, lost and found while the work at it went on. */
  row: HeldRow;
  readonly claim: Claim;
  readonly done: Promise<void>;
  /** It ended with the transaction that recorded its work. */
  hasEnded: boolean;
}

/** A slot for a job that is about to be committed, and what it will be held under. */
export interface Reservation extends JobSlot {
  readonly lease: Lease;
}

/**
 * Fetches jobs, or is handed them, and holds them until their work is recorded. Jobs run side by side, so a slow one
 * keeps no other waiting, and a route that already holds its share is passed over in the fetch.
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
  /** A slot came free, since the last look, that was missing then. */
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

  /** Looks for jobs now. */
  wake(): void {
    this.#isWoken = true;
    this.#sleeper?.();
  }

  /** Looks for jobs now, however short a time ago it last did. */
  #fill(): void {
    this.#hasNewRoom = true;
    this.wake();
    this.#endPause?.();
  }

  /** Looks for jobs at `due`; beyond a bounded number of such times, the regular look finds them. */
  wakeAt(due: Date): void {
    // Not on the instant itself: the database's clock must have passed it too.
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

  /** Takes a slot for a job that is about to be committed here; undefined where the queue must keep it. */
  reserve(routeKey: string): Reservation | undefined {
    if (this.#isStopping || this.#options.pauseMs !== undefined) return undefined;
    if (!this.#slots.hasRoomFor(routeKey)) return undefined;
    return { ...this.#slots.take(routeKey), lease: this.#validLease() };
  }

  /** Begins with a committed job whose row is leased, at the slot that was reserved for it. */
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

  /** Whether a job that is done can end with the transaction of `onEnd`, which then must delete its lease. */
  endWith(id: string, onEnd: (callback: (isCommitted: boolean) => void) => void): boolean {
    const held = this.#held.get(id);
    if (!held?.row.isLeased) return false;
    onEnd((isCommitted) => {
      held.hasEnded ||= isCommitted;
    });
    return true;
  }

  /** Takes nothing new and waits for what is held; after `timeoutMs` the rest is given back. */
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

  /** Fetches what there is room for; true when as much came as was asked for. */
  async #fetch(): Promise<boolean> {
    const { perRoute = Number.POSITIVE_INFINITY } = this.#options;
    // At most one route's share, so that one fetch cannot take more than twice that of a route.
    const batchSize = Math.min(this.#slots.room, perRoute, MAX_FETCH);
    if (batchSize <= 0) return false;
    const full = this.#slots.fullRoutes();
    // As of now, not of when the answer comes.
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
        // It was lost, and what was handed over is not recorded yet: nobody else must begin with it anew.
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
      // Its heartbeat or its lease ends with this process, and every process may take it.
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

  /** Stops the work at a job that PostgreSQL has given to others: going on would do it twice. */
  #lose(row: HeldRow): void {
    const held = this.#held.get(row.id);
    // A job that came back here meanwhile has another row; one whose work is recorded has none.
    if (held?.row !== row || held.hasEnded) return;
    this.#logger.warn({ queue: this.#queue, job: row.id }, 'a held job was lost to another process');
    held.claim.lose();
  }

  /** The lease of what is taken from now on: a new one where the last one ran out. */
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

  /** For so long, or until there is room again. */
  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#endPause = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  /** Until it is woken. */
  #sleep(): Promise<void> {
    return new Promise((resolve) => {
      this.#sleeper = () => {
        this.#sleeper = undefined;
        resolve();
      };
    });
  }
}
