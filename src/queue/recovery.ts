import type { Db, PgBoss } from 'pg-boss';
import type { Logger } from '../domain/ports/logger.ts';
import { Batcher } from '../runtime/batcher.ts';
import { OutageLog } from '../runtime/outage-log.ts';
import { jobLeases, LEFT_CHANNEL, MAX_LAPSED, type SqlRunner } from './job-leases.ts';

/** Requests to run that come within this time, in ms, are handled together. */
const PAUSE_MS = 10;

interface Parts {
  readonly boss: PgBoss;
  readonly transaction: <T>(work: (connection: SqlRunner, db: Db) => Promise<T>) => Promise<T>;
  readonly logger: Logger;
}

/**
 * Moves free jobs from `job_leases` into pg-boss. A job is free if it was left, was given back, or has an expired
 * lease.
 */
export class Recovery {
  readonly #parts: Parts;
  readonly #runs = new Batcher<undefined, undefined>((asked) => this.#run(asked), {
    maxWeight: Number.POSITIVE_INFINITY,
    pauseMs: PAUSE_MS,
  });
  #stopListening: Promise<() => Promise<void>> | undefined;
  readonly #outage: OutageLog;
  #isStopping = false;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#outage = new OutageLog(
      parts.logger,
      'cannot put jobs into the queue',
      'jobs are put into the queue again',
    );
  }

  /** Subscribes to NOTIFY for jobs that other processes leave. */
  async listen(
    subscribe: (
      channel: string,
      onMessage: () => void,
      onReconnect: () => void,
    ) => Promise<() => Promise<void>>,
  ): Promise<void> {
    const onLeft = () => void this.run();
    this.#stopListening ??= subscribe(LEFT_CHANNEL, onLeft, onLeft);
    await this.#stopListening;
  }

  /** Moves all free jobs. Resolves when they are in pg-boss, or when the attempt has failed. */
  async run(): Promise<void> {
    try {
      if (!this.#isStopping) await this.#runs.add(undefined);
      this.#outage.worked();
    } catch (error) {
      this.#outage.failed(error);
    }
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    const stopListening = await this.#stopListening;
    await stopListening?.();
    await this.#runs.drain();
  }

  async #run(asked: readonly undefined[]): Promise<readonly undefined[]> {
    const { boss, transaction } = this.#parts;
    let taken: number;
    do {
      taken = await transaction(async (connection, db) => {
        const lapsed = await jobLeases.takeLapsed(connection);
        for (const [queue, own] of Map.groupBy(lapsed, ({ queue }) => queue)) {
          const jobs = own.map(({ id, job }) => ({ id, ...job }));
          await boss.insert(queue, jobs, { db });
        }
        return lapsed.length;
      });
    } while (taken === MAX_LAPSED && !this.#isStopping);
    return asked;
  }
}
