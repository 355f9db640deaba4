import { recordChange } from '../audit/record-change.ts';
import type { Caller } from '../caller.ts';
import { visibilityOf } from '../caller.ts';
import type { Dependencies } from '../dependencies.ts';
import { doneButUnread, type ItemError, notFound, validationError } from '../errors.ts';
import { parseIsoTime, shiftedTime } from '../iso-time.ts';
import { operation } from '../operation.ts';
import type { Page, PageRequest } from '../paging.ts';
import type { NewJob } from '../ports/job-queue.ts';
import type { Tx } from '../ports/stores.ts';
import type { DeliveryFilter, TimeSpan } from '../ports/webhook-stores.ts';
import { isUuid, uuidFloor } from '../uuid.ts';
import { eventEnvelope } from './event.ts';
import { firstAttemptJobs, newDelivery, retryJobs } from './fan-out.ts';
import { attemptRecord, recordAttempts } from './record-attempts.ts';
import { openSecrets, signingSecrets } from './signing-secrets.ts';
import type { DeliveryAttempt, DeliveryStatus, Webhook, WebhookDelivery } from './webhook.ts';
import { MANAGE_WEBHOOKS, READ_WEBHOOKS, REDELIVER } from './webhook-operations.ts';

/** Number of deliveries that a recovery queues in one transaction. */
const RECOVER_BATCH = 1_000;
/** Largest number of deliveries in a selection that a person retries (R411). */
export const SELECTION_MAX = 100;
/** Largest expected difference between the clocks of two gateway processes, in milliseconds. */
const ID_SLACK_MS = 60_000;
/**
 * Statuses in which a person may retry a delivery. A `pending` delivery still gets its first attempt. The endpoint of a
 * `canceled` delivery was deleted.
 */
const RETRYABLE: readonly DeliveryStatus[] = ['retrying', 'success', 'failed'];
/** If the process dies before it records the attempt of a test, the test is attempted again after this time. */
const TEST_RETRY_MS = 30_000;

/** A delivery with its attempts, oldest first (R30). */
export interface DeliveryDetails {
  readonly delivery: WebhookDelivery;
  readonly attemptLog: readonly DeliveryAttempt[];
}

/** Operations that read and retry deliveries. */
export function deliveryOperations(deps: Dependencies) {
  const { stores, uow, clock, ids, secrets, transport, holdGate } = deps;

  async function webhookOf(caller: Caller, id: string): Promise<Webhook> {
    const webhook = isUuid(id) ? await stores.webhooks.find(visibilityOf(caller), id) : undefined;
    if (!webhook) throw notFound('Webhook');
    return webhook;
  }

  /**
   * Returns a delivery and its endpoint. Throws `not_found` if the endpoint was deleted, or if `webhookId` is given and
   * the delivery belongs to another endpoint.
   */
  async function deliveryOf(caller: Caller, id: string, webhookId: string | undefined) {
    const visibility = visibilityOf(caller);
    const delivery = isUuid(id) ? await stores.deliveries.find(visibility, id) : undefined;
    const webhook = delivery && (await stores.webhooks.find(visibility, delivery.webhookId));
    if (!webhook || (webhookId !== undefined && webhookId !== webhook.id)) throw notFound('Delivery');
    return { delivery, webhook };
  }

  async function detailsOf(delivery: WebhookDelivery): Promise<DeliveryDetails> {
    const attempts = await stores.deliveries.attempts(delivery.accountId, [delivery.id]);
    return { delivery, attemptLog: attempts.get(delivery.id) ?? [] };
  }

  async function announceAndQueue(tx: Tx, deliveries: readonly WebhookDelivery[], jobs: readonly NewJob[]) {
    tx.announceLive('delivery', deliveries);
    await tx.jobs.enqueue(jobs);
  }

  /** Queues failed deliveries again, with the same ids and new retries. Returns the number of queued deliveries. */
  async function requeueFailed(webhook: Webhook, span: TimeSpan): Promise<number> {
    let queued = 0;
    // The search starts at the smallest id of that time, because a delivery's id holds its creation time. A delivery is
    // created after its event, unless the clocks of two processes differ.
    const first = uuidFloor(shiftedTime(span.since, -ID_SLACK_MS));
    for (let afterId: string | undefined = first; afterId !== undefined; ) {
      const failed: readonly string[] = await stores.deliveries.failed(
        webhook.id,
        span,
        afterId,
        RECOVER_BATCH,
      );
      afterId = failed.length === RECOVER_BATCH ? failed.at(-1) : undefined;
      queued += await uow.run(async (tx) => {
        const now = clock.now();
        const reopened = await tx.deliveries.reopen(failed, ['failed'], now, true);
        await announceAndQueue(tx, reopened, retryJobs(reopened, now));
        return reopened.length;
      });
    }
    return queued;
  }

  /** Creates and queues deliveries for events that have none. Returns the number of queued deliveries. */
  async function queueMissing(webhook: Webhook, span: TimeSpan): Promise<number> {
    let queued = 0;
    for (let afterSeq: number | undefined = 0; afterSeq !== undefined; ) {
      const from: number = afterSeq;
      const events = await uow.run(async (tx) => {
        // Lock the endpoint, so that two concurrent recoveries do not deliver an event twice.
        if (!(await tx.webhooks.lock(webhook, webhook.id))) throw notFound('Webhook');
        const missing = await tx.events.missing(webhook, span, from, RECOVER_BATCH);
        const deliveries = missing.map((event) => newDelivery(ids, webhook, event));
        await tx.deliveries.insert(deliveries);
        await announceAndQueue(tx, deliveries, firstAttemptJobs(deliveries));
        queued += deliveries.length;
        return missing;
      });
      afterSeq = events.length === RECOVER_BATCH ? events.at(-1)?.seq : undefined;
    }
    return queued;
  }

  return {
    /** Lists an endpoint's deliveries, newest first (R112). */
    deliveries: operation(
      'webhook.deliveries',
      READ_WEBHOOKS,
      async (
        caller,
        input: { readonly id: string; readonly filter: DeliveryFilter; readonly page: PageRequest },
      ): Promise<Page<DeliveryDetails>> => {
        const webhook = await webhookOf(caller, input.id);
        const page = await stores.deliveries.page(webhook.id, input.filter, input.page);
        const attempts = await stores.deliveries.attempts(
          webhook.accountId,
          page.rows.map((delivery) => delivery.id),
        );
        const rows = page.rows.map((delivery) => ({ delivery, attemptLog: attempts.get(delivery.id) ?? [] }));
        return { rows, total: page.total };
      },
    ),

    delivery: operation(
      'webhook.delivery',
      READ_WEBHOOKS,
      async (caller, input: { readonly id: string; readonly webhookId?: string | undefined }) => {
        const { delivery } = await deliveryOf(caller, input.id, input.webhookId);
        return detailsOf(delivery);
      },
    ),

    /**
     * Makes a delivery due now with the same id, whatever its result was (R28). If it has no retries left, it gets one
     * more attempt. A delivery that is already due or in progress is not changed. The audit log has an entry if the
     * delivery was changed.
     */
    retry: operation(
      'webhook.retry',
      REDELIVER,
      async (caller, input: { readonly id: string; readonly webhookId?: string | undefined }) => {
        holdGate.refuseWhileHeld();
        const { delivery, webhook } = await deliveryOf(caller, input.id, input.webhookId);
        checkActive(webhook);
        const reopened = await uow.run(async (tx) => {
          const now = clock.now();
          const deliveries = await tx.deliveries.reopen([delivery.id], RETRYABLE, now, false);
          if (deliveries.length === 0) return deliveries;
          await announceAndQueue(tx, deliveries, retryJobs(deliveries, now));
          await recordChange(tx, deps, caller, {
            accountId: webhook.accountId,
            action: 'webhook.retry',
            target: webhook.id,
            after: { deliveryId: delivery.id },
          });
          return deliveries;
        });
        return detailsOf(reopened[0] ?? delivery);
      },
    ),

    /**
     * Makes a selection of an endpoint's deliveries due now, each as `retry` does (R411). A delivery that is not queued
     * is reported in `userErrors`, and the others are queued. The audit log has one entry. Throws `validation_error`
     * unless there are 1 to `SELECTION_MAX` ids and the endpoint is active, and `not_found` for an unknown endpoint.
     */
    retryMany: operation(
      'webhook.retryMany',
      { roles: REDELIVER.roles },
      async (caller, input: { readonly id: string; readonly deliveryIds: readonly string[] }) => {
        holdGate.refuseWhileHeld();
        const asked = input.deliveryIds.map((id) => id.toLowerCase());
        if (asked.length === 0 || asked.length > SELECTION_MAX) {
          const message = `must name 1 to ${SELECTION_MAX} deliveries`;
          throw validationError([{ path: 'deliveryIds', message }]);
        }
        const webhook = await webhookOf(caller, input.id);
        checkActive(webhook);
        const uuids = asked.filter(isUuid);
        const found = await stores.deliveryLists.findMany(webhook.accountId, uuids, webhook.id);
        const statuses = new Map(found.map(({ id, status }) => [id, status]));
        const queued = await uow.run(async (tx) => {
          const now = clock.now();
          const reopened = await tx.deliveries.reopen([...statuses.keys()], RETRYABLE, now, false);
          await announceAndQueue(tx, reopened, retryJobs(reopened, now));
          await recordChange(tx, deps, caller, {
            accountId: webhook.accountId,
            action: 'webhook.retryMany',
            target: webhook.id,
            after: { selected: statuses.size, queued: reopened.length },
          });
          return new Set(reopened.map(({ id }) => id));
        });
        const userErrors = asked.flatMap((id, index): ItemError[] => {
          if (queued.has(id) || asked.indexOf(id) < index) return [];
          return [{ index, path: `deliveryIds.${index}`, ...reasonLeft(statuses.get(id)) }];
        });
        return { queued: queued.size, userErrors };
      },
    ),

    /**
     * Queues the deliveries that an endpoint missed in a time span, and returns their number (R28, R31). Failed
     * deliveries are queued again with new retries. Each subscribed event without a delivery gets a delivery. Such
     * events were recorded while the endpoint was inactive, for example.
     */
    recover: operation(
      'webhook.recover',
      REDELIVER,
      async (
        caller,
        input: { readonly id: string; readonly since: string; readonly until?: string | undefined },
      ) => {
        holdGate.refuseWhileHeld();
        const webhook = await webhookOf(caller, input.id);
        checkActive(webhook);
        const now = clock.now();
        const span = {
          since: timeOf('since', input.since),
          until: input.until === undefined ? now : timeOf('until', input.until),
        };
        if (span.until < span.since) {
          throw validationError([
            input.until === undefined
              ? { path: 'since', message: 'must not be in the future' }
              : { path: 'until', message: 'must not be before since' },
          ]);
        }
        const queued = (await requeueFailed(webhook, span)) + (await queueMissing(webhook, span));
        await uow.run((tx) =>
          recordChange(tx, deps, caller, {
            accountId: webhook.accountId,
            action: 'webhook.recover',
            target: webhook.id,
            after: { since: span.since.toISOString(), until: span.until.toISOString(), queued },
          }),
        );
        return { queued };
      },
    ),

    /**
     * Sends a `webhook.test` event to the endpoint, active or not (R28, R113). It makes one attempt at once, without
     * retries. `isSuccess` is the result of the attempt, even if the endpoint was deleted meanwhile.
     */
    test: operation(
      'webhook.test',
      MANAGE_WEBHOOKS,
      async (
        caller,
        input: { readonly id: string },
      ): Promise<DeliveryDetails & { readonly isSuccess: boolean }> => {
        holdGate.refuseWhileHeld();
        const webhook = await webhookOf(caller, input.id);
        const found = await stores.webhooks.findForDelivery(webhook.id);
        if (!found) throw notFound('Webhook');
        const recordedAt = clock.now();
        const body = eventEnvelope({
          type: 'webhook.test',
          channel: 'system',
          messageId: null,
          recordedAt,
          data: { webhookId: webhook.id, message: 'This is a test of your webhook endpoint.' },
        });
        const delivery = await uow.run(async (tx) => {
          const { accountId, environment } = webhook;
          const event = {
            accountId,
            environment,
            type: 'webhook.test',
            messageId: null,
            position: null,
            source: null,
            recordedAt,
            body,
          } as const;
          const [recorded] = await tx.events.append([event]);
          if (!recorded) throw new Error('the event was not recorded');
          const made = newDelivery(ids, webhook, recorded);
          await tx.deliveries.insert([made]);
          const retryAt = new Date(recordedAt.getTime() + TEST_RETRY_MS);
          await announceAndQueue(tx, [made], firstAttemptJobs([made], retryAt));
          return made;
        });
        const at = clock.now();
        const { url } = found.webhook;
        const result = await transport.attempt({
          accountId: webhook.accountId,
          url,
          ...signingSecrets(openSecrets(secrets, found), found.webhook, at),
          deliveryId: delivery.id,
          event: delivery.event,
          body,
          at,
        });
        const record = attemptRecord(webhook, { ...delivery, dueAt: null }, 1, at, clock.now(), result);
        const attempt = { webhookId: webhook.id, event: delivery.event, record };
        try {
          await uow.run((tx) => recordAttempts(tx, deps, [attempt]));
          const recorded = await stores.deliveries.find(delivery, delivery.id);
          return { ...(await detailsOf(recorded ?? delivery)), isSuccess: result.ok };
        } catch (error) {
          // The attempt was made, and only recording it failed. With a plain error, the client would believe that no
          // event was sent (R217).
          throw doneButUnread({ deliveryId: delivery.id }, error);
        }
      },
    ),
  };
}

/** Returns why a delivery with this status was not queued again. Undefined is the status of an unknown delivery. */
function reasonLeft(status: DeliveryStatus | undefined): Pick<ItemError, 'code' | 'message'> {
  if (status === undefined) return { code: 'not_found', message: 'The webhook has no such delivery.' };
  const message =
    status === 'pending'
      ? 'Its first attempt is still to come.'
      : 'Its next attempt is due already or under way.';
  return { code: 'delivery_already_queued', message };
}

function checkActive(webhook: Webhook): void {
  if (webhook.isActive) return;
  const message = 'the endpoint is inactive; activate it first (isActive: true)';
  throw validationError([{ path: 'isActive', message }]);
}

function timeOf(path: string, text: string): Date {
  const time = parseIsoTime(text);
  if (!time) throw validationError([{ path, message: 'must be an ISO 8601 time with Z or an offset' }]);
  return time;
}
