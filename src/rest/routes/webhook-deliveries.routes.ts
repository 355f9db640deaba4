import { z } from 'zod';
import type { DeliveryDetails } from '../../domain/webhooks/delivery-operations.ts';
import { DELIVERY_STATUSES, EVENT_TYPES } from '../../domain/webhooks/webhook.ts';
import { defineRoute, type Route } from '../define-route.ts';
import { envelope, idParams, isoTime, pageQuery, paginated } from '../schemas.ts';

/** Schema of a webhook delivery in every answer (R30). */
export const delivery = z
  .object({
    id: z.string().describe('The value of the delivery header, the same on every attempt.'),
    event: z.string(),
    messageId: z.string().nullable(),
    status: z.enum(DELIVERY_STATUSES),
    httpStatus: z.int().nullable().describe('Of the last attempt.'),
    attempts: z.int(),
    responseBody: z.string().nullable().describe('The first 10 kB of the last answer.'),
    errorMessage: z.string().nullable(),
    nextRetryAt: isoTime.nullable(),
    createdAt: isoTime,
    attemptLog: z.array(
      z.object({
        at: isoTime,
        httpStatus: z.int().nullable(),
        durationMs: z.int(),
        errorMessage: z.string().nullable(),
      }),
    ),
  })
  .meta({ id: 'WebhookDelivery' });

export function deliveryResource({ delivery: made, attemptLog }: DeliveryDetails) {
  return {
    id: made.id,
    event: made.event,
    messageId: made.messageId,
    status: made.status,
    httpStatus: made.httpStatus,
    attempts: made.attempts,
    responseBody: made.responseBody,
    errorMessage: made.errorMessage,
    nextRetryAt: made.nextRetryAt?.toISOString() ?? null,
    createdAt: made.createdAt.toISOString(),
    attemptLog: attemptLog.map((attempt) => ({ ...attempt, at: attempt.at.toISOString() })),
  };
}

const deliveryParams = idParams.extend({
  deliveryId: z.string().describe('The value of the delivery header, a UUID.'),
});
const tag = 'Webhooks';

/** The id of the endpoint that the example of the registration route created. */
export const registered = { id: { route: 'POST /developers/webhooks', at: 'webhook.id' } };
const delivered = {
  ...registered,
  deliveryId: { route: 'POST /developers/webhooks/:id/test', at: 'delivery.id' },
};

export const webhookDeliveryRoutes: readonly Route[] = [
  defineRoute({
    method: 'get',
    path: '/developers/webhooks/:id/deliveries',
    summary: 'Deliveries to an endpoint, newest first, with every attempt',
    tag,
    operation: (operations) => operations.webhooks.deliveries,
    params: idParams,
    examples: { newest: { params: registered, query: { limit: '50' } } },
    query: pageQuery.extend({
      status: z.enum(DELIVERY_STATUSES).optional(),
      event: z.enum(EVENT_TYPES).optional(),
    }),
    response: envelope(delivery),
    async handle({ caller, operations, params, query }) {
      const { status, event, ...page } = query;
      const found = await operations.webhooks.deliveries.run(caller, {
        id: params.id,
        filter: { status, event },
        page,
      });
      return { body: paginated(found, page, deliveryResource) };
    },
  }),
  defineRoute({
    method: 'get',
    path: '/developers/webhooks/:id/deliveries/:deliveryId',
    summary: 'One delivery, with every attempt',
    tag,
    operation: (operations) => operations.webhooks.delivery,
    params: deliveryParams,
    examples: { tested: { params: delivered } },
    response: z.object({ delivery }),
    async handle({ caller, operations, params }) {
      const input = { id: params.deliveryId, webhookId: params.id };
      return { body: { delivery: deliveryResource(await operations.webhooks.delivery.run(caller, input)) } };
    },
  }),
  defineRoute({
    method: 'post',
    path: '/developers/webhooks/:id/deliveries/:deliveryId/retry',
    summary: 'Retry a delivery now, under the same delivery id',
    tag,
    operation: (operations) => operations.webhooks.retry,
    errors: ['validation_error'],
    params: deliveryParams,
    examples: { tested: { params: delivered } },
    response: z.object({ delivery }),
    async handle({ caller, operations, params }) {
      const input = { id: params.deliveryId, webhookId: params.id };
      return { body: { delivery: deliveryResource(await operations.webhooks.retry.run(caller, input)) } };
    },
  }),
  defineRoute({
    method: 'post',
    path: '/developers/webhooks/:id/recover',
    summary: 'Queue what an endpoint missed: failed deliveries, and events without a delivery',
    tag,
    operation: (operations) => operations.webhooks.recover,
    params: idParams,
    body: z.object({
      since: z.string().describe('ISO 8601 time with Z or an offset.'),
      until: z.string().optional().describe('ISO 8601 time with Z or an offset; now when absent.'),
    }),
    examples: { outage: { params: registered, body: { since: '2026-11-20T22:00:00Z' } } },
    response: z.object({ queued: z.int() }),
    async handle({ caller, operations, params, body }) {
      return { body: await operations.webhooks.recover.run(caller, { ...body, id: params.id }) };
    },
  }),
];
