import { allDone } from '../all-done.ts';
import type { NewJob, WebhookJob } from '../ports/job-queue.ts';
import type { Tx } from '../ports/stores.ts';
import type { Ids } from '../ports/system.ts';
import type { DueDelivery } from '../ports/webhook-stores.ts';
import type { NewEvent, RecordedEvent } from './event.ts';
import type { Webhook, WebhookDelivery } from './webhook.ts';

/** Deliveries that one job carries at the most. */
const DELIVERIES_PER_JOB = 100;

/** Records events and owes each to every active endpoint that subscribed to it, with the jobs that deliver them. */
export async function recordEvents(tx: Tx, ids: Ids, events: readonly NewEvent[]): Promise<void> {
  if (events.length === 0) return;
  const readAt = performance.now();
  // Asked together: the one does not need to know of the other.
  const [recorded, endpoints] = await allDone([
    tx.events.append(events),
    tx.webhooks.active([...new Set(events.map((event) => event.accountId))]),
  ]);
  const byAccount = Map.groupBy(endpoints, ({ webhook }) => webhook.accountId);
  const owed = recorded.flatMap((event) =>
    (byAccount.get(event.accountId) ?? [])
      .filter(({ webhook }) => webhook.events.includes(event.type))
      .map((endpoint) => ({ endpoint, event, delivery: newDelivery(ids, endpoint.webhook, event) })),
  );
  const deliveries = owed.map(({ delivery }) => delivery);
  await tx.deliveries.insert(deliveries);
  tx.announceLive('delivery', deliveries);
  const jobs = [...Map.groupBy(owed, ({ endpoint }) => endpoint)].flatMap(([endpoint, own]) => {
    const due = new Map(own.map(({ delivery, event }) => [delivery.id, dueDelivery(delivery, event.body)]));
    return deliveryJobs(own.map(({ delivery }) => delivery)).map((job) => {
      const known = job.data.deliveryIds.flatMap((id) => due.get(id) ?? []);
      return { ...job, known: { endpoint, readAt, due: known } };
    });
  });
  await tx.jobs.enqueue(jobs);
}

function dueDelivery({ id, accountId, event }: WebhookDelivery, body: string): DueDelivery {
  return { id, accountId, event, body };
}

/** A delivery of `event` to `webhook` with no attempt yet. */
export function newDelivery(ids: Ids, webhook: Webhook, event: RecordedEvent): WebhookDelivery {
  return {
    id: ids.uuid(),
    accountId: webhook.accountId,
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

/** Jobs for deliveries, cut by endpoint, number of attempts behind them and due time. */
export function deliveryJobs(
  deliveries: readonly Pick<WebhookDelivery, 'id' | 'webhookId' | 'attempts' | 'nextRetryAt'>[],
): NewJob<'webhook'>[] {
  const groups = Map.groupBy(
    deliveries,
    (delivery) => `${delivery.webhookId} ${delivery.attempts} ${delivery.nextRetryAt?.getTime() ?? ''}`,
  );
  return [...groups.values()].flatMap((group) => {
    const [first] = group;
    if (!first) return [];
    const { webhookId, attempts, nextRetryAt } = first;
    const ids = group.map((delivery) => delivery.id);
    return jobsOf(webhookId, ids, attempts).map((job): NewJob<'webhook'> => {
      return { queue: 'webhook', ...job, ...(nextRetryAt ? { startAfter: nextRetryAt } : {}) };
    });
  });
}

/** Jobs of the backlog for what an endpoint cannot take now. Retries go first: their time was promised. */
export function backlogJobs(jobs: readonly WebhookJob[]): NewJob<'webhook-backlog'>[] {
  const groups = Map.groupBy(jobs, (job) => `${job.webhookId} ${job.attempt}`);
  return [...groups.values()].flatMap((group) => {
    const [first] = group;
    if (!first) return [];
    const ids = group.flatMap((job) => job.deliveryIds);
    return jobsOf(first.webhookId, ids, first.attempt).map((job): NewJob<'webhook-backlog'> => {
      return { queue: 'webhook-backlog', ...job, ...(first.attempt > 0 ? { priority: 1 } : {}) };
    });
  });
}

function jobsOf(webhookId: string, deliveryIds: readonly string[], attempt: number) {
  const jobs: { group: string; data: WebhookJob }[] = [];
  for (let start = 0; start < deliveryIds.length; start += DELIVERIES_PER_JOB) {
    const ids = deliveryIds.slice(start, start + DELIVERIES_PER_JOB);
    jobs.push({ group: webhookId, data: { webhookId, deliveryIds: ids, attempt } });
  }
  return jobs;
}
