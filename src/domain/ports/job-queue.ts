/**
 * Durable jobs. A job commits in the same transaction as the state that causes it. If its worker dies, the job returns
 * to the queue.
 *
 * **Route key**: the carrier or endpoint that a job calls. A process holds a limited number of jobs per route key, so
 * that a slow carrier or endpoint does not take all slots.
 */
import type { AlertState } from '../alerts/alert.ts';
import type { Outgoing } from '../messages/message.ts';
import type { OperatorResetKind } from '../people/operator-reset.ts';
import type { DueAtEndpoint } from './webhook-stores.ts';

/**
 * The names of the queues. `webhook-backlog` holds the jobs of slow endpoints, so that jobs of other endpoints do not
 * wait behind them in `webhook`.
 */
export type QueueName = 'submit' | 'webhook' | 'webhook-backlog' | 'contact-import' | 'person-mail';

export interface SubmitJob {
  /** Messages whose pending recipients are submitted. */
  readonly messageIds: readonly string[];
  /**
   * Positions of the recipients to submit, by message id. Set when only a part of a message's recipients is retried.
   */
  readonly positions?: Readonly<Record<string, readonly number[]>>;
  /** Number of submissions that these recipients had before. */
  readonly attempt: number;
}

export interface WebhookJob {
  readonly webhookId: string;
  readonly deliveryIds: readonly string[];
  /** Number of attempts that these deliveries had before. */
  readonly attempt: number;
  /**
   * When these deliveries are due, in ISO 8601. Undefined before the first attempt. The worker skips a delivery that is
   * now due at another time, because then another job has it.
   */
  readonly dueAt?: string;
}

export interface ContactImportJob {
  readonly importId: string;
}

/** A mail to a person who signs in. After `until` (ISO 8601) the mail is useless and is not sent. */
export type PersonMailJob =
  /**
   * Somebody asked for a new password. The email address may be unknown. `address` is the IP address of the request.
   */
  | {
      readonly kind: 'lost_password';
      readonly email: string;
      readonly address: string;
      readonly until: string;
    }
  /** A mail with the link by which a person sets a password. */
  | { readonly kind: 'link'; readonly userId: string; readonly address: string; readonly until: string }
  /** Somebody else removed the person's second factors. `at` is in ISO 8601. */
  | { readonly kind: 'factors_reset'; readonly userId: string; readonly at: string; readonly until: string }
  /** An operator asked to reset the sign-in of the person, who is an operator. A second operator must confirm it. */
  | {
      readonly kind: 'reset_requested';
      readonly userId: string;
      readonly of: OperatorResetKind;
      readonly by: string;
      readonly until: string;
    }
  /** Two operators replaced the person's password. `at` is in ISO 8601. */
  | { readonly kind: 'password_reset'; readonly userId: string; readonly at: string; readonly until: string }
  /** The DNS record is gone that proved the domain of the account's single sign-on. The person is an owner. */
  | {
      readonly kind: 'domain_lost';
      readonly userId: string;
      readonly domain: string;
      readonly record: { readonly name: string; readonly value: string };
      readonly until: string;
    }
  /** An alert of the person's account, or of the operators, was opened or resolved (R482). */
  | {
      readonly kind: 'alert';
      readonly userId: string;
      readonly alertId: string;
      readonly state: AlertState;
      readonly until: string;
    }
  /** Somebody signed in as the person from a new device. `at` is in ISO 8601. */
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
 * Data that the creator of a job already has, so that its worker need not read it. It is as it was committed. It exists
 * only within the process and is never stored.
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
  /** The job starts at this time or later. Default: at once. */
  readonly startAfter?: Date;
  /** Jobs with a higher priority are fetched first. Default 0. */
  readonly priority?: number;
}

/** The operations of the queue that a transaction (`Tx`) offers. */
export interface JobSink {
  enqueue(jobs: readonly NewJob[]): Promise<void>;
  /** Deletes jobs that this process holds, when the transaction commits. The same transaction records their work. */
  end(jobs: readonly Pick<HeldJob<QueueName>, 'id' | 'queue'>[]): Promise<void>;
}

export interface HeldJob<Q extends QueueName> {
  readonly id: string;
  readonly queue: Q;
  readonly data: JobData[Q];
  readonly routeKey: string;
  /** The data of the job, if its creator passed it. Undefined: the worker must read it itself. */
  readonly prefetched?: PrefetchedData[Q] | undefined;
  /** True if a worker died or returned the job to the queue. A part of the work may then be done already. */
  readonly isRepeat: boolean;
  /**
   * Frees the job's slot. Call it when the job only waits for an answer from a remote system. From then on the job does
   * not count against `concurrency` and `perRoute`. The number of jobs that wait in this way is limited, too.
   */
  releaseSlotWhileWaiting(): void;
}

/**
 * Does the work of a job. Resolves when the work is recorded. Rejects if the job must return to the queue.
 *
 * `signal` aborts when the process stops, or when the job's lease has ended. After that the handler must send nothing
 * more, because another process may have the job.
 */
export type JobHandler<Q extends QueueName> = (job: HeldJob<Q>, signal: AbortSignal) => Promise<void>;

export interface WorkOptions {
  /** Largest number of jobs that this process holds at once, over all routes. */
  readonly concurrency: number;
  /**
   * Largest number of jobs of one route that this process holds at once. Jobs that released their slot do not count.
   * Undefined if the handler limits its routes itself.
   */
  readonly perRoute?: number;
  /**
   * Time in ms after which a job no longer counts against `concurrency`, because it only waits for an answer. So remote
   * systems that do not answer cannot take all slots. Undefined: a job always counts.
   */
  readonly countedMs?: number;
  /**
   * Shortest time in milliseconds between two fetches from a queue that is not urgent. When a slot becomes free, the
   * next fetch is made at once. Default 0.
   */
  readonly pauseMs?: number;
}

export interface JobQueue {
  work<Q extends QueueName>(queue: Q, options: WorkOptions, handler: JobHandler<Q>): Promise<void>;
  /** Takes no new jobs, waits up to `timeoutMs` for the held jobs, and returns the others to the queue. */
  stopWorking(timeoutMs: number): Promise<void>;
}
