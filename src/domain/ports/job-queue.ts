/**
 * Durable jobs. A job commits with the state that causes it, and comes back when its worker dies.
 *
 * **Route key**: jobs of one route (a carrier, an endpoint) share a bound on the jobs that a process holds, so that
 * a slow route does not take the slots of others.
 */
import type { Outgoing } from '../messages/message.ts';
import type { DueAtEndpoint } from './webhook-stores.ts';

/** `webhook-backlog` holds jobs of slow endpoints, so that `webhook` stays short for the others. */
export type QueueName = 'submit' | 'webhook' | 'webhook-backlog' | 'contact-import' | 'person-mail';

export interface SubmitJob {
  /** Messages whose pending recipients are submitted. */
  readonly messageIds: readonly string[];
  /** Only these positions, for retries of a part of a message. */
  readonly positions?: Readonly<Record<string, readonly number[]>>;
  /** Submissions that these recipients had before. */
  readonly attempt: number;
}

export interface WebhookJob {
  readonly webhookId: string;
  readonly deliveryIds: readonly string[];
  /** Attempts that these deliveries had before. */
  readonly attempt: number;
  /**
   * When these deliveries are due, ISO 8601; absent before the first attempt. A delivery that is due at another time
   * by now belongs to another job.
   */
  readonly dueAt?: string;
}

export interface ContactImportJob {
  readonly importId: string;
}

/** A mail to a person who signs in. `until` is ISO 8601: the mail is of no use later. */
export type PersonMailJob =
  /** Somebody has lost the password of an email, which may be unknown. */
  | {
      readonly kind: 'lost_password';
      readonly email: string;
      readonly address: string;
      readonly until: string;
    }
  /** The link with which a person sets a password. */
  | { readonly kind: 'link'; readonly userId: string; readonly address: string; readonly until: string }
  /** Somebody signed in as the person from a device that is new. `at` is ISO 8601. */
  | {
      readonly kind: 'new_device';
      readonly userId: string;
      readonly device: string;
      readonly address: string;
      readonly at: string;
      readonly until: string;
    };

export interface JobData {
  submit: SubmitJob;
  webhook: WebhookJob;
  'webhook-backlog': WebhookJob;
  'contact-import': ContactImportJob;
  'person-mail': PersonMailJob;
}

/**
 * Data that the creator of a job has and its worker would otherwise read first. Passed along only within the
 * process, as of the commit, and never stored.
 */
export interface PrefetchedData {
  submit: readonly Outgoing[];
  webhook: DueAtEndpoint;
  'webhook-backlog': undefined;
  'contact-import': undefined;
  'person-mail': undefined;
}

export interface NewJob<Q extends QueueName = QueueName> {
  readonly queue: Q;
  readonly data: JobData[Q];
  readonly routeKey: string;
  readonly prefetched?: PrefetchedData[Q];
  /** Not before this time; at once when absent. */
  readonly startAfter?: Date;
  /** Higher priorities are fetched first. Default 0. */
  readonly priority?: number;
}

/** The part of the queue inside a transaction (`Tx`). */
export interface JobSink {
  enqueue(jobs: readonly NewJob[]): Promise<void>;
  /** Ends jobs of this process with the transaction, because their work is recorded in it. */
  end(jobs: readonly Pick<HeldJob<QueueName>, 'id' | 'queue'>[]): Promise<void>;
}

export interface HeldJob<Q extends QueueName> {
  readonly id: string;
  readonly queue: Q;
  readonly data: JobData[Q];
  readonly routeKey: string;
  /** Absent when the worker must read it. */
  readonly prefetched?: PrefetchedData[Q] | undefined;
  /** A worker died or gave the job back. Parts of its work may be done. */
  readonly isRepeat: boolean;
  /**
   * Call it when little of the job is left and it only waits for its peer. The job then no longer counts against the
   * concurrency and its route's share; the number of such jobs is also bounded.
   */
  releaseSlotWhileWaiting(): void;
}

/**
 * Resolves when the job's work is recorded. Rejects when the job must come back. `signal` aborts when the process
 * drains, or when its lease has ended and another process may have the job: nothing more may be sent then.
 */
export type JobHandler<Q extends QueueName> = (job: HeldJob<Q>, signal: AbortSignal) => Promise<void>;

export interface WorkOptions {
  /** Jobs that this process holds at once, over all routes. */
  readonly concurrency: number;
  /**
   * Jobs of one route that this process holds at once, except waiting ones. Absent when the handler bounds routes
   * itself.
   */
  readonly perRoute?: number;
  /**
   * After this time a job no longer counts against `concurrency`, because it only waits for its peer. Peers that do
   * not answer thus cannot take all slots. Absent: every job counts.
   */
  readonly countedMs?: number;
  /** Minimum time between two fetches of a queue that is not urgent, unless a slot becomes free. Default 0. */
  readonly pauseMs?: number;
}

export interface JobQueue {
  work<Q extends QueueName>(queue: Q, options: WorkOptions, handler: JobHandler<Q>): Promise<void>;
  /** Takes no new jobs, waits up to `timeoutMs` for those held, and returns the rest to the queue. */
  stopWorking(timeoutMs: number): Promise<void>;
}
