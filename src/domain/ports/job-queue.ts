/**
 * Durable work. Jobs commit with the state that causes them; a job comes back when its worker dies.
 *
 * **Route key**: jobs of one route (a carrier, an endpoint) share a bound on how many a process holds at once, so
 * that a slow one never takes the places of the others.
 */
import type { Outgoing } from '../messages/message.ts';
import type { DueAtEndpoint } from './webhook-stores.ts';

/** `webhook-backlog` holds what an endpoint cannot take at the moment, so that `webhook` stays short for the others. */
export type QueueName = 'submit' | 'webhook' | 'webhook-backlog' | 'contact-import';

export interface SubmitJob {
  /** Messages whose pending recipients are to be handed over. */
  readonly messageIds: readonly string[];
  /** Only these positions, where a part of a message is tried again. */
  readonly positions?: Readonly<Record<string, readonly number[]>>;
  /** How many hand-overs these recipients have behind them. */
  readonly attempt: number;
}

export interface WebhookJob {
  readonly webhookId: string;
  readonly deliveryIds: readonly string[];
  /** Attempts that these deliveries have behind them. */
  readonly attempt: number;
  /**
   * When these deliveries were to be tried again, ISO 8601; absent before the first attempt. A delivery whose time is
   * another one by now has been tried or made due since, and is another job's.
   */
  readonly dueAt?: string;
}

export interface ContactImportJob {
  readonly importId: string;
}

export interface JobData {
  submit: SubmitJob;
  webhook: WebhookJob;
  'webhook-backlog': WebhookJob;
  'contact-import': ContactImportJob;
}

/**
 * What the one who causes a job knows of it, and a worker would have to read first. It goes with the job where that is
 * handed over within the process, as of the commit, and is never stored.
 */
export interface PrefetchedData {
  submit: readonly Outgoing[];
  webhook: DueAtEndpoint;
  'webhook-backlog': undefined;
  'contact-import': undefined;
}

export interface NewJob<Q extends QueueName = QueueName> {
  readonly queue: Q;
  readonly data: JobData[Q];
  readonly routeKey: string;
  readonly prefetched?: PrefetchedData[Q];
  /** Not before this instant; at once when absent. */
  readonly startAfter?: Date;
  /** Fetched before jobs of lower priority; 0 when absent. */
  readonly priority?: number;
}

/** The transactional half: part of `Tx`. */
export interface JobSink {
  enqueue(jobs: readonly NewJob[]): Promise<void>;
  /** Says that the work of these jobs, which this process holds, is recorded: they end with the transaction. */
  end(jobs: readonly Pick<HeldJob<QueueName>, 'id' | 'queue'>[]): Promise<void>;
}

export interface HeldJob<Q extends QueueName> {
  readonly id: string;
  readonly queue: Q;
  readonly data: JobData[Q];
  readonly routeKey: string;
  /** Absent where it is to be read. */
  readonly prefetched?: PrefetchedData[Q] | undefined;
  /** Its worker died or gave it back before: parts of its work may be done. */
  readonly isRepeat: boolean;
  /**
   * Says that little of the job is left and only waits for its peer: from now on it takes no place from others, nor its
   * route's. Such jobs, too, are bounded, over all routes and in one.
   */
  releaseSlotWhileWaiting(): void;
}

/**
 * Resolves when the job's work is recorded; rejects when it must come back. `signal` aborts when the process drains, and
 * when others may have the job because they saw no sign of life for too long: then nothing more may leave.
 */
export type JobHandler<Q extends QueueName> = (job: HeldJob<Q>, signal: AbortSignal) => Promise<void>;

export interface WorkOptions {
  /** Jobs this process holds at once, over all routes. */
  readonly concurrency: number;
  /** Jobs of one route this process holds at once, but for those that only wait; absent where the handler itself keeps routes apart. */
  readonly perRoute?: number;
  /**
   * A job held for longer than this only waits for its peer, and does not count against `concurrency` any more:
   * peers that do not answer cannot take all places. Absent: every job counts.
   */
  readonly countedMs?: number;
  /** Least time between two looks at the queue, for one whose jobs are in no hurry, unless a job has made room; 0 when absent. */
  readonly pauseMs?: number;
}

export interface JobQueue {
  work<Q extends QueueName>(queue: Q, options: WorkOptions, handler: JobHandler<Q>): Promise<void>;
  /** Takes no new jobs, gives those held `timeoutMs` to finish, returns the rest to the queue. */
  stopWorking(timeoutMs: number): Promise<void>;
}
