import { recordChange } from '../audit/record-change.ts';
import type { SystemCaller } from '../caller.ts';
import type { Tx } from '../ports/stores.ts';
import type { Clock, Ids } from '../ports/system.ts';
import type { AttemptRecord, DueDelivery, TimeSpan } from '../ports/webhook-stores.ts';
import type { AttemptResult } from '../ports/webhook-transport.ts';
import { retryJobs } from './fan-out.ts';
import { type EventType, RETRY_DELAYS_SECONDS, type Webhook } from './webhook.ts';

const DAY_MS = 24 * 3_600_000;
/** Number of days after which an endpoint is disabled, if it has failed all the time (R31). */
const DISABLE_AFTER_DAYS = 5;
/**
 * Times of retries are rounded up to a multiple of this, in ms. Retries of one endpoint at the same time then share a
 * job.
 */
const RETRY_STEP_MS = 20;
const WEBHOOKS: SystemCaller = { kind: 'system', name: 'webhooks' };

export interface RecordedAttempt {
  readonly webhookId: string;
  readonly event: EventType;
  readonly record: AttemptRecord;
}

/**
 * Builds the record of an attempt (R30). A 2xx response is a success. After any other result the delivery is retried,
 * if it has retries left. The delay starts at the end of the attempt (R165). `number` is the number of this attempt
 * from 1, counting only attempts that use up `maxRetries`. A test has no retries.
 */
export function attemptRecord(
  webhook: Pick<Webhook, 'maxRetries'>,
  delivery: Pick<DueDelivery, 'id' | 'accountId' | 'event' | 'dueAt'>,
  number: number,
  at: Date,
  endedAt: Date,
  result: AttemptResult,
): AttemptRecord {
  const mayRetry = number <= webhook.maxRetries && delivery.event !== 'webhook.test';
  const delaySeconds = mayRetry ? RETRY_DELAYS_SECONDS[number - 1] : undefined;
  const isRetried = !result.ok && delaySeconds !== undefined;
  const retryAtMs = isRetried ? endedAt.getTime() + delaySeconds * 1000 : 0;
  return {
    deliveryId: delivery.id,
    accountId: delivery.accountId,
    dueAt: delivery.dueAt,
    status: result.ok ? 'success' : isRetried ? 'retrying' : 'failed',
    nextRetryAt: isRetried ? new Date(Math.ceil(retryAtMs / RETRY_STEP_MS) * RETRY_STEP_MS) : null,
    responseBody: result.responseBody,
    attempt: {
      at,
      httpStatus: result.httpStatus,
      durationMs: Math.round(result.durationMs),
      errorMessage: result.errorMessage,
    },
  };
}

/**
 * Stores attempts and the jobs of their retries in one transaction. Disables endpoints that have only failed for 5
 * days, and records the reason and an audit entry.
 */
export async function recordAttempts(
  tx: Tx,
  system: { clock: Clock; ids: Ids },
  attempts: readonly RecordedAttempt[],
): Promise<void> {
  const states = await tx.deliveries.record(attempts.map(({ record }) => record));
  const counted = attempts.filter(({ record }) => states.has(record));
  tx.announceLive(
    'delivery',
    counted.map(({ record }) => ({ accountId: record.accountId, id: record.deliveryId })),
  );
  const retries = counted.flatMap(({ webhookId, record }) => {
    const { attempts: attemptCount = 0, nextRetryAt = null } = states.get(record) ?? {};
    // A concurrent attempt of the same delivery may have set another time, or none. Then that attempt decides about the
    // retry.
    if (nextRetryAt === null || nextRetryAt.getTime() !== record.nextRetryAt?.getTime()) return [];
    return { id: record.deliveryId, webhookId, attempts: attemptCount, nextRetryAt };
  });
  await tx.jobs.enqueue(retryJobs(retries, system.clock.now()));
  await disableFailingEndpoints(tx, system, counted);
}

/**
 * Disables endpoints that have been failing for at least 5 days and had a failed attempt on each of the last 5 days
 * (R31). So two failures 5 days apart are not enough. A failed test does not count, because somebody is working on the
 * endpoint. A successful test counts, because it shows that the endpoint works.
 */
async function disableFailingEndpoints(
  tx: Tx,
  system: { clock: Clock; ids: Ids },
  attempts: readonly RecordedAttempt[],
): Promise<void> {
  const succeeded = new Set<string>();
  const failedAt = new Map<string, Date>();
  for (const { webhookId, event, record } of attempts) {
    const earliest = failedAt.get(webhookId);
    if (record.status === 'success') succeeded.add(webhookId);
    else if (event !== 'webhook.test' && (!earliest || record.attempt.at < earliest))
      failedAt.set(webhookId, record.attempt.at);
  }
  for (const id of succeeded) failedAt.delete(id);
  if (succeeded.size > 0) await tx.webhooks.clearFailing([...succeeded]);
  if (failedAt.size === 0) return;
  await tx.webhooks.markFailing(failedAt);
  for (const { webhook, failingSince } of await tx.webhooks.failingOn(
    [...failedAt.keys()],
    daysBefore(system.clock.now()),
  )) {
    const disabledReason = `Every attempt since ${failingSince.toISOString()} failed. Repair the endpoint, activate it and recover what it missed.`;
    await tx.webhooks.update(webhook.id, { isActive: false, disabledReason });
    await recordChange(tx, system, WEBHOOKS, {
      accountId: webhook.accountId,
      action: 'webhook.disable',
      target: webhook.id,
      before: { isActive: true },
      after: { isActive: false, disabledReason },
    });
  }
}

/** Returns the last `DISABLE_AFTER_DAYS` periods of 24 hours, oldest first. */
function daysBefore(now: Date): TimeSpan[] {
  const start = now.getTime() - DISABLE_AFTER_DAYS * DAY_MS;
  return Array.from({ length: DISABLE_AFTER_DAYS }, (_, day) => ({
    since: new Date(start + day * DAY_MS),
    until: new Date(start + (day + 1) * DAY_MS),
  }));
}
