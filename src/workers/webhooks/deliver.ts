import type { HeldJob, WebhookJob } from '../../domain/ports/job-queue.ts';
import type { AttemptClass, Measurements } from '../../domain/ports/measurements.ts';
import type { Stores, UnitOfWork } from '../../domain/ports/stores.ts';
import type { Clock, Ids, SecretBox } from '../../domain/ports/system.ts';
import type { DueDelivery, SealedEndpoint } from '../../domain/ports/webhook-stores.ts';
import type { AttemptResult, WebhookTransport } from '../../domain/ports/webhook-transport.ts';
import { backlogJobs } from '../../domain/webhooks/fan-out.ts';
import {
  attemptRecord,
  type RecordedAttempt,
  recordAttempts,
} from '../../domain/webhooks/record-attempts.ts';
import { type OpenSecrets, openSecrets, signingSecrets } from '../../domain/webhooks/signing-secrets.ts';
import type { Webhook } from '../../domain/webhooks/webhook.ts';
import { Batcher } from '../../runtime/batcher.ts';
import { type OpenJob, recordParts } from '../open-job.ts';
import { JobInterrupted } from '../submit/submit-messages.ts';
import { EndpointLanes, type Lane } from './endpoint-lanes.ts';

/**
 * How long a delivery of each queue waits for a place in the endpoint's lane, in ms. After this time, the delivery goes
 * to the backlog again.
 */
const LANE_WAIT_MS = { webhook: 1_000, 'webhook-backlog': 10_000 } as const;
/**
 * Before an attempt, the endpoint is read again if its cached copy is older than this, in ms. So a new URL or secret
 * takes effect at once.
 */
const FRESH_MS = 20;
/**
 * Shortest time between two batches of attempt records, in ms. Nobody waits for these records, so the batches may be
 * large.
 */
const RECORD_EVERY_MS = 25;

interface Endpoint extends OpenSecrets {
  readonly webhook: Webhook;
}

type AttemptMeasurements = Pick<Measurements, 'attempted' | 'traceparentOf'>;

/** Runs webhook jobs: makes the attempts, and records them and their retries (R163–R167). */
export class DeliverWebhooks {
  readonly #stores: Pick<Stores, 'webhooks' | 'deliveries'>;
  readonly #uow: UnitOfWork;
  readonly #transport: WebhookTransport;
  readonly #secrets: SecretBox;
  readonly #clock: Clock;
  readonly #measurements: AttemptMeasurements;
  readonly #records: Batcher<{ readonly attempt: RecordedAttempt; readonly job: OpenJob }, undefined>;
  readonly #backlog: Batcher<WebhookJob, undefined>;
  readonly #lanes = new EndpointLanes();
  readonly #endpoints = new WeakMap<Lane, CachedEndpoint>();

  constructor(
    stores: Pick<Stores, 'webhooks' | 'deliveries'>,
    uow: UnitOfWork,
    transport: WebhookTransport,
    secrets: SecretBox,
    system: { clock: Clock; ids: Ids; measurements: AttemptMeasurements },
  ) {
    this.#stores = stores;
    this.#uow = uow;
    this.#transport = transport;
    this.#secrets = secrets;
    this.#clock = system.clock;
    this.#measurements = system.measurements;
    this.#records = new Batcher(
      async (parts) => {
        const jobs = parts.map(({ job }) => job);
        const attempts = parts.map(({ attempt }) => attempt);
        await recordParts(uow, jobs, (tx) => recordAttempts(tx, system, attempts));
        return parts.map(() => undefined);
      },
      { maxWeight: 500, pauseMs: RECORD_EVERY_MS, isolate: () => true },
    );
    this.#backlog = new Batcher(
      async (jobs) => {
        await uow.run((tx) => tx.jobs.enqueue(backlogJobs(jobs)));
        return jobs.map(() => undefined);
      },
      { maxWeight: 500 },
    );
  }

  /**
   * Resolves when every delivery of the job has a recorded attempt or is in the backlog. Throws `JobInterrupted` if
   * `signal` aborts.
   */
  async handle(job: HeldJob<'webhook' | 'webhook-backlog'>, signal: AbortSignal): Promise<void> {
    const { webhookId, deliveryIds, attempt, dueAt } = job.data;
    const lane = this.#lanes.of(webhookId);
    if (job.queue === 'webhook' && lane.isFull) return this.#backlog.add(job.data);
    const endpoint = this.#endpointOf(lane, webhookId);
    if (job.prefetched) endpoint.set(this.#opened(job.prefetched.endpoint), job.prefetched.readAt);
    // Read the endpoint now. Somebody may have changed it and then requested this retry.
    else endpoint.renew();
    const refused = refusalOf(await endpoint.get());
    if (refused) return this.#close(deliveryIds, refused);
    const due =
      job.prefetched?.due ?? (await this.#stores.deliveries.due(webhookId, deliveryIds, attempt, dueAt));
    const openJob = { held: job, unrecorded: due.length };
    const unattempted = await this.#attemptAll(due, openJob, lane, endpoint, LANE_WAIT_MS[job.queue], signal);
    if (unattempted.length === 0) return;
    if (signal.aborted) throw new JobInterrupted();
    const refusedNow = refusalOf(await endpoint.get());
    if (refusedNow) await this.#close(unattempted, refusedNow);
    else await this.#backlog.add({ ...job.data, deliveryIds: unattempted });
  }

  /** Attempts the deliveries that get a place in the lane within `waitMs`. Returns the ids of the others. */
  async #attemptAll(
    due: readonly DueDelivery[],
    openJob: OpenJob,
    lane: Lane,
    endpoint: CachedEndpoint,
    waitMs: number,
    signal: AbortSignal,
  ): Promise<string[]> {
    const unattempted: string[] = [];
    const patience = new AbortController();
    const stopWaiting = () => patience.abort();
    const timer = setTimeout(stopWaiting, waitMs);
    signal.addEventListener('abort', stopWaiting, { once: true });
    const attemptOne = async (delivery: DueDelivery) => {
      const isGiven = !signal.aborted && (lane.tryEnter() || (await lane.enter(patience.signal)));
      if (!isGiven) return void unattempted.push(delivery.id);
      let attempted: { recorded: RecordedAttempt; result: AttemptResult } | undefined;
      try {
        attempted = await this.#attempt(await endpoint.get(), delivery);
      } finally {
        lane.leave(attempted?.result);
      }
      if (attempted) await this.#records.add({ attempt: attempted.recorded, job: openJob });
      else unattempted.push(delivery.id);
    };
    try {
      const results = await Promise.allSettled(due.map(attemptOne));
      const failure = results.find((result) => result.status === 'rejected');
      if (failure) throw failure.reason;
      return unattempted;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', stopWaiting);
    }
  }

  /** Makes one attempt. Returns undefined if the endpoint is inactive or deleted. */
  async #attempt(endpoint: Endpoint | undefined, delivery: DueDelivery) {
    if (!endpoint || refusalOf(endpoint)) return undefined;
    const { webhook } = endpoint;
    const at = this.#clock.now();
    const attempt = {
      messageId: delivery.messageId,
      deliveryId: delivery.id,
      attemptsBefore: delivery.attempts,
    };
    const traceparent = this.#measurements.traceparentOf(attempt);
    const result = await this.#transport.attempt({
      accountId: webhook.accountId,
      url: webhook.url,
      ...signingSecrets(endpoint, webhook, at),
      deliveryId: delivery.id,
      event: delivery.event,
      body: delivery.body,
      at,
      ...(traceparent === undefined ? {} : { traceparent }),
    });
    this.#measurements.attempted({ ...attempt, result: classOf(result), seconds: result.durationMs / 1_000 });
    const number = delivery.attempts + 1 - delivery.retriesFrom;
    const record = attemptRecord(webhook, delivery, number, at, this.#clock.now(), result);
    return { recorded: { webhookId: webhook.id, event: delivery.event, record }, result };
  }

  #close(deliveryIds: readonly string[], { status, reason }: Refusal): Promise<void> {
    return this.#uow.run(async (tx) => {
      tx.announceLive('delivery', await tx.deliveries.close(deliveryIds, status, reason));
    });
  }

  /** Returns the cached endpoint, which all jobs of a lane share. */
  #endpointOf(lane: Lane, webhookId: string): CachedEndpoint {
    let endpoint = this.#endpoints.get(lane);
    if (endpoint === undefined) {
      endpoint = new CachedEndpoint(() => this.#read(webhookId));
      this.#endpoints.set(lane, endpoint);
    }
    return endpoint;
  }

  async #read(webhookId: string): Promise<Endpoint | undefined> {
    const found = await this.#stores.webhooks.findForDelivery(webhookId);
    return found && this.#opened(found);
  }

  #opened(endpoint: SealedEndpoint): Endpoint {
    return { webhook: endpoint.webhook, ...openSecrets(this.#secrets, endpoint) };
  }
}

/**
 * Returns the class of an attempt for the metrics. An answer that broke off counts as no answer, whatever its status.
 */
function classOf({ ok, httpStatus }: AttemptResult): AttemptClass {
  if (ok) return '2xx';
  const classes = { 3: '3xx', 4: '4xx', 5: '5xx' } as const;
  const hundreds = Math.floor((httpStatus ?? 0) / 100);
  return hundreds === 3 || hundreds === 4 || hundreds === 5 ? classes[hundreds] : 'no_answer';
}

/** The reason why deliveries to an endpoint end without an attempt, and their status. */
interface Refusal {
  readonly status: 'canceled' | 'failed';
  readonly reason: string;
}

/** Says why an endpoint accepts no deliveries (R30, R31). Undefined if it accepts them. */
function refusalOf(endpoint: Endpoint | undefined): Refusal | undefined {
  if (!endpoint) return { status: 'canceled', reason: 'The endpoint was deleted.' };
  if (endpoint.webhook.isActive) return undefined;
  const reason = 'The endpoint is inactive; activate it and recover what it missed.';
  return { status: 'failed', reason };
}

/** A cached endpoint. It is read again if it was read more than `FRESH_MS` ago. Concurrent callers share a read. */
class CachedEndpoint {
  readonly #read: () => Promise<Endpoint | undefined>;
  #last: Promise<Endpoint | undefined> | undefined;
  #readAt = Number.NEGATIVE_INFINITY;

  constructor(read: () => Promise<Endpoint | undefined>) {
    this.#read = read;
  }

  /** Stores a value that was read at `readAt` (performance.now, ms), unless the cache has a newer one. */
  set(value: Endpoint, readAt: number): void {
    if (readAt > this.#readAt) [this.#last, this.#readAt] = [Promise.resolve(value), readAt];
  }

  /** Reads the endpoint now. If that fails, the next `get` rejects. */
  renew(): Promise<Endpoint | undefined> {
    this.#readAt = performance.now();
    this.#last = this.#read();
    return this.#last;
  }

  get(): Promise<Endpoint | undefined> {
    if (this.#last && performance.now() - this.#readAt <= FRESH_MS) return this.#last;
    return this.renew();
  }
}
