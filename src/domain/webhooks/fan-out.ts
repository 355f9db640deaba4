import type { NewJob, WebhookJob } from '../ports/job-queue.ts';
import type { Tx } from '../ports/stores.ts';
import type { Ids } from '../ports/system.ts';
import type { DueDelivery } from '../ports/webhook-stores.ts';
import { settleAll } from '../settle-all.ts';
import type { NewEvent, RecordedEvent } from './event.ts';
import type { Webhook, WebhookDelivery } from './webhook.ts';

/** Largest number of deliveries in one job. */
const DELIVERIES_PER_JOB = 100;

/**
 * Records events. For each event, it creates a delivery and its job for every active endpoint of the same environment
 * that subscribed to the event type. An event may exclude one endpoint.
 */
export async function recordEvents(tx: Tx, ids: Ids, events: readonly NewEvent[]): Promise<void> {
  if (events.length === 0) return;
  // The two statements do not depend on each other, so send both at once.
  const [recorded, { endpoints, readAt }] = await settleAll([
    tx.events.append(events),
    tx.webhooks.active([...new Set(events.map((event) => event.accountId))]),
  ]);
  const byAccount = Map.groupBy(endpoints, ({ webhook }) => webhook.accountId);
  const created = recorded.flatMap((event) =>
    (byAccount.get(event.accountId) ?? [])
      .filter(
        ({ webhook }) =>
          webhook.environment === event.environment &&
          webhook.events.includes(event.type) &&
          webhook.id !== event.exceptWebhookId,
      )
      .map((endpoint) => ({ endpoint, event, delivery: newDelivery(ids, endpoint.webhook, event) })),
  );
  const deliveries = created.map(({ delivery }) => delivery);
  await tx.deliveries.insert(deliveries);
  tx.announceLive('delivery', deliveries);
  const jobs = [...Map.groupBy(created, ({ endpoint }) => endpoint)].flatMap(([endpoint, own]) => {
    const due = new Map(own.map(({ delivery, event }) => [delivery.id, dueDelivery(delivery, event.body)]));
    return firstAttemptJobs(own.map(({ delivery }) => delivery)).map((job) => {
      const prefetched = job.data.deliveryIds.flatMap((id) => due.get(id) ?? []);
      return { ...job, prefetched: { endpoint, readAt, due: prefetched } };
    });
  });
  await tx.jobs.enqueue(jobs);
}

function dueDelivery({ id, messageId, accountId, event }: WebhookDelivery, body: string): DueDelivery {
  return { id, messageId, accountId, event, body, attempts: 0, retriesFrom: 0, dueAt: null };
}

/** Returns a new delivery of `event` to `webhook`, without attempts. */
export function newDelivery(ids: Ids, webhook: Webhook, event: RecordedEvent): WebhookDelivery {
  return {
    id: ids.uuid(),
    accountId: webhook.accountId,
    environment: event.environment,
    webhookId: webhook.id,
    eventSeq: event.seq,
    event: event.type,
    messageId: event.messageId,
    status: 'pending',
    httpStatus: null,
    attempts: 0,
    responseBody: null,
    errorMessage: null,
    nextRetryAt: null,
    createdAt: event.recordedAt,
  };
}

/** Returns the jobs for the first attempts of deliveries. They are due after `startAfter`, or now if it is absent. */
export function firstAttemptJobs(
  deliveries: readonly Pick<WebhookDelivery, 'id' | 'webhookId'>[],
  startAfter?: Date,
): NewJob<'webhook'>[] {
  const data = deliveries.map(({ id, webhookId }) => ({ webhookId, deliveryIds: [id], attempt: 0 }));
  return merged(data).map((job) => newJob(job, startAfter));
}

/** The fields of a delivery that a retry needs. The retry is due at `nextRetryAt`. */
type RetriedDelivery = Pick<WebhookDelivery, 'id' | 'webhookId' | 'attempts' | 'nextRetryAt'>;

/** Returns jobs that retry deliveries at their `nextRetryAt`. If that time has passed, the job is due now. */
export function retryJobs(deliveries: readonly RetriedDelivery[], now: Date): NewJob<'webhook'>[] {
  const data = deliveries.flatMap(({ id, webhookId, attempts, nextRetryAt }) =>
    nextRetryAt
      ? [{ webhookId, deliveryIds: [id], attempt: attempts, dueAt: nextRetryAt.toISOString() }]
      : [],
  );
  return merged(data).map((job) => {
    const dueAt = new Date(job.dueAt ?? now);
    return newJob(job, dueAt > now ? dueAt : undefined);
  });
}

/**
 * Returns backlog jobs for deliveries that an endpoint cannot take now. Retries get a higher priority, because their
 * time was announced in `nextRetryAt`.
 */
export function backlogJobs(jobs: readonly WebhookJob[]): NewJob<'webhook-backlog'>[] {
  return merged(jobs).map((data) => ({
    queue: 'webhook-backlog',
    routeKey: data.webhookId,
    data,
    ...(data.attempt > 0 ? { priority: 1 } : {}),
  }));
}

function newJob(data: WebhookJob, startAfter: Date | undefined): NewJob<'webhook'> {
  return { queue: 'webhook', routeKey: data.webhookId, data, ...(startAfter ? { startAfter } : {}) };
}

/** Merges jobs with the same endpoint, attempt and time into jobs of at most `DELIVERIES_PER_JOB` deliveries. */
function merged(jobs: readonly WebhookJob[]): WebhookJob[] {
  const groups = Map.groupBy(
    jobs,
    ({ webhookId, attempt, dueAt = '' }) => `${webhookId} ${attempt} ${dueAt}`,
  );
  return [...groups.values()].flatMap((group) => {
    const [first] = group;
    if (!first) return [];
    const { webhookId, attempt, dueAt } = first;
    const ids = group.flatMap((job) => job.deliveryIds);
    const parts: WebhookJob[] = [];
    for (let start = 0; start < ids.length; start += DELIVERIES_PER_JOB) {
      parts.push({
        webhookId,
        deliveryIds: ids.slice(start, start + DELIVERIES_PER_JOB),
        attempt,
        ...(dueAt === undefined ? {} : { dueAt }),
      });
    }
    return parts;
  });
}
