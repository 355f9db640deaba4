import type { HeldJob, WebhookJob } from '../../domain/ports/job-queue.ts';
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
import type { Webhook } from '../../domain/webhooks/webhook.ts';
import { Batcher } from '../../runtime/batcher.ts';
import { type OpenJob, recordParts } from '../open-job.ts';
import { JobInterrupted } from '../submit/submit-messages.ts';
import { EndpointLanes, type Lane } from './endpoint-lanes.ts';

/** How long a delivery waits for its endpoint's lane before it goes back to the backlog. */
const PATIENCE_MS = { webhook: 1_000, 'webhook-backlog': 10_000 } as const;
/**
 * An endpoint is read again before an attempt if it was read longer ago, so that a new URL or secret takes effect at
 * once.
 */
const FRESH_MS = 20;
/** Batches records of attempts. Nobody waits for them. */
const RECORD_EVERY_MS = 25;

interface Endpoint {
  readonly webhook: Webhook;
  readonly secret: string;
}

/** Runs webhook jobs: attempts, their records and retries (R163–R167). */
export class DeliverWebhooks {
  readonly #stores: Pick<Stores, 'webhooks' | 'deliveries'>;
  readonly #uow: UnitOfWork;
  readonly #transport: WebhookTransport;
  readonly #secrets: SecretBox;
  readonly #clock: Clock;
  readonly #records: Batcher<{ readonly attempt: RecordedAttempt; readonly job: OpenJob }, undefined>;
  readonly #moves: Batcher<WebhookJob, undefined>;
  readonly #lanes = new EndpointLanes();
  readonly #endpoints = new WeakMap<Lane, FreshEndpoint>();

  constructor(
    stores: Pick<Stores, 'webhooks' | 'deliveries'>,
    uow: UnitOfWork,
    transport: WebhookTransport,
    secrets: SecretBox,
    system: { clock: Clock; ids: Ids },
  ) {
    this.#stores = stores;
    this.#uow = uow;
    this.#transport = transport;
    this.#secrets = secrets;
    this.#clock = system.clock;
    this.#records = new Batcher(
      async (parts) => {
        const jobs = parts.map(({ job }) => job);
        const attempts = parts.map(({ attempt }) => attempt);
        await recordParts(uow, jobs, (tx) => recordAttempts(tx, system, attempts));
        return parts.map(() => undefined);
      },
      { maxWeight: 500, pauseMs: RECORD_EVERY_MS, isolate: () => true },
    );
    this.#moves = new Batcher(
      async (jobs) => {
        await uow.run((tx) => tx.jobs.enqueue(backlogJobs(jobs)));
        return jobs.map(() => undefined);
      },
      { maxWeight: 500 },
    );
  }

  /**
   * Resolves when every delivery of the job has a recorded attempt or is in the backlog. Throws `JobInterrupted`
   * when `signal` aborts.
   */
  async handle(job: HeldJob<'webhook' | 'webhook-backlog'>, signal: AbortSignal): Promise<void> {
    const { webhookId, deliveryIds, attempt, dueAt } = job.data;
    const lane = this.#lanes.of(webhookId);
    if (job.queue === 'webhook' && lane.isFull) return this.#moves.add(job.data);
    const endpoint = this.#endpointOf(lane, webhookId);
    if (job.prefetched) endpoint.learn(this.#opened(job.prefetched.endpoint), job.prefetched.readAt);
    // A retry may follow a change of the endpoint directly.
    else endpoint.renew();
    const refused = refusalOf(await endpoint.get());
    if (refused) return this.#close(deliveryIds, refused);
    const due =
      job.prefetched?.due ?? (await this.#stores.deliveries.due(webhookId, deliveryIds, attempt, dueAt));
    const open = { held: job, open: due.length };
    const left = await this.#attemptAll(due, open, lane, endpoint, PATIENCE_MS[job.queue], signal);
    if (left.length === 0) return;
    if (signal.aborted) throw new JobInterrupted();
    const gone = refusalOf(await endpoint.get());
    if (gone) await this.#close(left, gone);
    else await this.#moves.add({ ...job.data, deliveryIds: left });
  }

  /** Attempts the deliveries that enter the lane within `patienceMs`. Returns the ids of the others. */
  async #attemptAll(
    due: readonly DueDelivery[],
    open: OpenJob,
    lane: Lane,
    endpoint: FreshEndpoint,
    patienceMs: number,
    signal: AbortSignal,
  ): Promise<string[]> {
    const left: string[] = [];
    const patience = new AbortController();
    const stopWaiting = () => patience.abort();
    const timer = setTimeout(stopWaiting, patienceMs);
    signal.addEventListener('abort', stopWaiting, { once: true });
    const attemptOne = async (delivery: DueDelivery) => {
      const isGiven = !signal.aborted && (lane.tryEnter() || (await lane.enter(patience.signal)));
      if (!isGiven) return void left.push(delivery.id);
      let attempted: { recorded: RecordedAttempt; result: AttemptResult } | undefined;
      try {
        attempted = await this.#attempt(await endpoint.get(), delivery);
      } finally {
        lane.leave(attempted?.result);
      }
      if (attempted) await this.#records.add({ attempt: attempted.recorded, job: open });
      else left.push(delivery.id);
    };
    try {
      const results = await Promise.allSettled(due.map(attemptOne));
      const failure = results.find((result) => result.status === 'rejected');
      if (failure) throw failure.reason;
      return left;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', stopWaiting);
    }
  }

  /** One attempt; undefined when the endpoint is inactive or deleted. */
  async #attempt(endpoint: Endpoint | undefined, delivery: DueDelivery) {
    if (!endpoint || refusalOf(endpoint)) return undefined;
    const { webhook, secret } = endpoint;
    const at = this.#clock.now();
    const result = await this.#transport.attempt({
      accountId: webhook.accountId,
      url: webhook.url,
      secret,
      deliveryId: delivery.id,
      event: delivery.event,
      body: delivery.body,
      at,
    });
    const number = delivery.attempts + 1 - delivery.retriesFrom;
    const record = attemptRecord(webhook, delivery, number, at, this.#clock.now(), result);
    return { recorded: { webhookId: webhook.id, event: delivery.event, record }, result };
  }

  #close(deliveryIds: readonly string[], { status, why }: Refusal): Promise<void> {
    return this.#uow.run(async (tx) => {
      tx.announceLive('delivery', await tx.deliveries.close(deliveryIds, status, why));
    });
  }

  /** The endpoint that all jobs of a lane share. */
  #endpointOf(lane: Lane, webhookId: string): FreshEndpoint {
    let endpoint = this.#endpoints.get(lane);
    if (endpoint === undefined) {
      endpoint = new FreshEndpoint(() => this.#read(webhookId));
      this.#endpoints.set(lane, endpoint);
    }
    return endpoint;
  }

  async #read(webhookId: string): Promise<Endpoint | undefined> {
    const found = await this.#stores.webhooks.findForDelivery(webhookId);
    return found && this.#opened(found);
  }

  #opened({ webhook, secretSealed }: SealedEndpoint): Endpoint {
    return { webhook, secret: this.#secrets.open(secretSealed) };
  }
}

/** The result of deliveries to an inactive or deleted endpoint. */
interface Refusal {
  readonly status: 'canceled' | 'failed';
  readonly why: string;
}

/** Why an endpoint accepts no deliveries (R30, R31); undefined when it does. */
function refusalOf(endpoint: Endpoint | undefined): Refusal | undefined {
  if (!endpoint) return { status: 'canceled', why: 'The endpoint was deleted.' };
  if (endpoint.webhook.isActive) return undefined;
  const why = 'The endpoint is inactive; activate it and recover what it missed.';
  return { status: 'failed', why };
}

/** A cached endpoint, read again when it is not fresh. Concurrent reads are shared. */
class FreshEndpoint {
  readonly #read: () => Promise<Endpoint | undefined>;
  #last: Promise<Endpoint | undefined> | undefined;
  #readAt = Number.NEGATIVE_INFINITY;

  constructor(read: () => Promise<Endpoint | undefined>) {
    this.#read = read;
  }

  /** Takes a value that was read at `readAt` (performance.now, ms). */
  learn(value: Endpoint, readAt: number): void {
    if (readAt > this.#readAt) [this.#last, this.#readAt] = [Promise.resolve(value), readAt];
  }

  /** Reads the endpoint now. `get` reports a failure. */
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
