import { Batcher } from '../batcher.ts';
import type { HeldJob } from '../ports/job-queue.ts';
import type { AttemptRecord, DueDelivery, Stores, UnitOfWork } from '../ports/stores.ts';
import type { Clock, SecretBox } from '../ports/system.ts';
import type { AttemptResult, WebhookTransport } from '../ports/webhook-transport.ts';
import { JobInterrupted } from '../messages/submit-messages.ts';
import { deliveryJobs } from './fan-out.ts';
import { RETRY_DELAYS_SECONDS, type Webhook } from './webhook.ts';

/** Attempts that one endpoint has on the wire at once, in one process. */
const IN_FLIGHT_PER_ENDPOINT = 10;

interface RecordedAttempt {
  readonly webhookId: string;
  readonly record: AttemptRecord;
}

/** Carries out webhook jobs: attempts, their records and the retries they call for (contract, Delivery and retries). */
export class DeliverWebhooks {
  readonly #stores: Pick<Stores, 'webhooks' | 'deliveries'>;
  readonly #transport: WebhookTransport;
  readonly #secrets: SecretBox;
  readonly #clock: Clock;
  readonly #records: Batcher<RecordedAttempt, void>;
  readonly #lanes = new Map<string, Lane>();

  constructor(
    stores: Pick<Stores, 'webhooks' | 'deliveries'>,
    uow: UnitOfWork,
    transport: WebhookTransport,
    secrets: SecretBox,
    clock: Clock,
  ) {
    this.#stores = stores;
    this.#transport = transport;
    this.#secrets = secrets;
    this.#clock = clock;
    this.#records = new Batcher((attempts) => recordAttempts(uow, attempts), {
      maxWeight: 500,
      isolate: () => true,
    });
  }

  /** Resolves when every delivery of the job has its attempt recorded; throws `JobInterrupted` on `signal`. */
  async handle(job: HeldJob<'webhook'>, signal: AbortSignal): Promise<void> {
    const { webhookId, deliveryIds, attempt } = job.data;
    const found = await this.#stores.webhooks.findForDelivery(webhookId);
    if (!found) return this.#stores.deliveries.close(deliveryIds, 'canceled', 'The endpoint was deleted.');
    if (!found.webhook.isActive) {
      const why = 'The endpoint is inactive; activate it and recover what it missed.';
      return this.#stores.deliveries.close(deliveryIds, 'failed', why);
    }
    const due = await this.#stores.deliveries.due(webhookId, deliveryIds, attempt);
    const secret = this.#secrets.open(found.secretSealed);
    const lane = this.#lanes.get(webhookId) ?? new Lane(IN_FLIGHT_PER_ENDPOINT);
    this.#lanes.set(webhookId, lane);
    try {
      const attempts = due.map((delivery) =>
        lane.run(async () => {
          if (signal.aborted) throw new JobInterrupted('the process is draining');
          await this.#attempt(found.webhook, secret, delivery, attempt + 1);
        }),
      );
      const results = await Promise.allSettled(attempts);
      const failure = results.find((result) => result.status === 'rejected');
      if (failure) throw failure.reason;
    } finally {
      if (lane.isIdle) this.#lanes.delete(webhookId);
    }
  }

  async #attempt(webhook: Webhook, secret: string, delivery: DueDelivery, number: number): Promise<void> {
    const at = this.#clock.now();
    const result = await this.#transport.attempt({
      url: webhook.url,
      secret,
      deliveryId: delivery.id,
      event: delivery.event,
      body: delivery.body,
      at,
    });
    const record = attemptRecord(webhook, delivery, number, at, this.#clock.now(), result);
    await this.#records.add({ webhookId: webhook.id, record });
  }
}

/** What an attempt makes of its delivery (decision 30): success on 2xx, else a retry while one is left. */
export function attemptRecord(
  webhook: Pick<Webhook, 'maxRetries'>,
  delivery: Pick<DueDelivery, 'id' | 'accountId'>,
  number: number,
  at: Date,
  endedAt: Date,
  result: AttemptResult,
): AttemptRecord {
  const delaySeconds = number <= webhook.maxRetries ? RETRY_DELAYS_SECONDS[number - 1] : undefined;
  const isRetried = !result.ok && delaySeconds !== undefined;
  return {
    deliveryId: delivery.id,
    accountId: delivery.accountId,
    number,
    status: result.ok ? 'success' : isRetried ? 'retrying' : 'failed',
    nextRetryAt: isRetried ? new Date(endedAt.getTime() + delaySeconds * 1000) : null,
    responseBody: result.responseBody,
    attempt: {
      at,
      httpStatus: result.httpStatus,
      durationMs: Math.round(result.durationMs),
      errorMessage: result.errorMessage,
    },
  };
}

/** Stores attempts and, in the same transaction, the jobs of the retries they call for. */
export function recordAttempts(uow: UnitOfWork, attempts: readonly RecordedAttempt[]): Promise<void[]> {
  return uow.run(async (tx) => {
    const recorded = new Set(await tx.deliveries.record(attempts.map(({ record }) => record)));
    const retries = attempts.filter(
      ({ record }) => record.nextRetryAt !== null && recorded.has(record.deliveryId),
    );
    await tx.jobs.enqueue(
      deliveryJobs(
        retries.map(({ webhookId, record }) => ({
          id: record.deliveryId,
          webhookId,
          attempts: record.number,
          nextRetryAt: record.nextRetryAt,
        })),
      ),
    );
    return attempts.map(() => undefined);
  });
}

/** Runs work with a bound on how much of it is under way; the rest waits in order. */
class Lane {
  readonly #limit: number;
  readonly #queue: (() => void)[] = [];
  #running = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get isIdle(): boolean {
    return this.#running === 0 && this.#queue.length === 0;
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#running >= this.#limit) await new Promise<void>((resolve) => this.#queue.push(resolve));
    else this.#running += 1;
    try {
      return await work();
    } finally {
      const next = this.#queue.shift();
      if (next) next();
      else this.#running -= 1;
    }
  }
}
