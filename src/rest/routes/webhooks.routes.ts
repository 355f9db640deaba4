import { z } from 'zod';
import { EVENT_TYPES, SECRET_OVERLAP_MAX_SECONDS, type Webhook } from '../../domain/webhooks/webhook.ts';
import { WEBHOOK_DESCRIPTION_MAX_LENGTH } from '../../domain/webhooks/webhook-operations.ts';
import { defineRoute, type Route } from '../define-route.ts';
import {
  envelope,
  environment,
  environmentQuery,
  idParams,
  isoTime,
  pageQuery,
  paginated,
} from '../schemas.ts';
import { delivery, deliveryResource, registered } from './webhook-deliveries.routes.ts';

const webhook = z
  .object({
    id: z.string(),
    environment,
    url: z.string().describe('Values in its query are shown as `***` in lists.'),
    events: z.array(z.string()),
    description: z.string().nullable(),
    isActive: z.boolean(),
    disabledReason: z
      .string()
      .nullable()
      .describe('Why the service deactivated the endpoint; null otherwise.'),
    maxRetries: z.int(),
    createdAt: isoTime,
  })
  .meta({ id: 'Webhook' });

const secret = z.string().describe('The signing secret. It is shown in this answer only.');

function webhookResource(hook: Webhook) {
  return {
    id: hook.id,
    environment: hook.environment,
    url: hook.url,
    events: [...hook.events],
    description: hook.description,
    isActive: hook.isActive,
    disabledReason: hook.disabledReason,
    maxRetries: hook.maxRetries,
    createdAt: hook.createdAt.toISOString(),
  };
}

const url = z.string().max(2048).describe('HTTPS address that resolves to public addresses only.');
const events = z
  .array(z.string())
  .describe('Event types to receive, at least one. A sandbox endpoint receives `webhook.test` only.');
const description = z.string().max(WEBHOOK_DESCRIPTION_MAX_LENGTH);
const maxRetries = z.int().describe('Retries after the first attempt, 0 to 5. Default: 3.');
const tag = 'Webhooks';

export const webhookRoutes: readonly Route[] = [
  defineRoute({
    method: 'post',
    path: '/developers/webhooks',
    summary: 'Register a webhook endpoint; its secret is shown in this answer only',
    tag,
    operation: (operations) => operations.webhooks.register,
    isWebhookRegistration: true,
    successStatus: 201,
    errors: ['invalid_event_type', 'invalid_webhook_url', 'webhook_limit'],
    body: z.object({
      url,
      events,
      description: description.optional(),
      maxRetries: maxRetries.optional(),
    }),
    examples: {
      sms: {
        summary: 'Everything about SMS',
        body: {
          url: 'https://example.com/webhooks',
          events: ['sms.sent', 'sms.failed'],
          description: 'Orders',
        },
      },
    },
    response: z.object({ webhook, secret }),
    async handle({ caller, operations, body }) {
      const registered = await operations.webhooks.register.run(caller, body);
      return { body: { webhook: webhookResource(registered.webhook), secret: registered.secret } };
    },
  }),
  defineRoute({
    method: 'get',
    path: '/developers/webhooks',
    summary: "The account's webhook endpoints, newest first",
    tag,
    operation: (operations) => operations.webhooks.list,
    query: pageQuery.extend({ environment: environmentQuery }),
    response: envelope(webhook),
    async handle({ caller, operations, query }) {
      const page = await operations.webhooks.list.run(caller, query);
      return { body: paginated(page, query, webhookResource) };
    },
  }),
  defineRoute({
    method: 'get',
    path: '/developers/webhooks/events',
    summary: 'Event types to subscribe to, each with a sample',
    tag,
    operation: (operations) => operations.events.types,
    query: pageQuery,
    response: envelope(
      z.object({
        event: z.string(),
        channel: z.string(),
        description: z.string(),
        sample: z.record(z.string(), z.unknown()),
      }),
    ),
    async handle({ caller, operations, query }) {
      const types = await operations.events.types.run(caller, {});
      const start = (query.page - 1) * query.limit;
      const rows = types.slice(start, start + query.limit);
      return { body: paginated({ rows, total: types.length }, query, (type) => ({ ...type })) };
    },
  }),
  defineRoute({
    method: 'get',
    path: '/developers/webhooks/:id',
    summary: 'One webhook endpoint',
    tag,
    operation: (operations) => operations.webhooks.get,
    params: idParams,
    examples: { registered: { params: registered } },
    response: z.object({ webhook }),
    async handle({ caller, operations, params }) {
      return { body: { webhook: webhookResource(await operations.webhooks.get.run(caller, params)) } };
    },
  }),
  defineRoute({
    method: 'put',
    path: '/developers/webhooks/:id',
    summary: 'Change a webhook endpoint; absent members stay as they are',
    tag,
    operation: (operations) => operations.webhooks.update,
    errors: ['invalid_event_type', 'invalid_webhook_url'],
    params: idParams,
    body: z.object({
      url: url.optional(),
      events: events.optional(),
      description: description.nullable().optional(),
      isActive: z.boolean().optional(),
      maxRetries: maxRetries.optional(),
    }),
    examples: {
      more: {
        summary: 'More events and retries',
        params: registered,
        body: { events: [...EVENT_TYPES], maxRetries: 5 },
      },
    },
    response: z.object({ webhook }),
    async handle({ caller, operations, params, body }) {
      const updated = await operations.webhooks.update.run(caller, { ...body, id: params.id });
      return { body: { webhook: webhookResource(updated) } };
    },
  }),
  defineRoute({
    method: 'delete',
    path: '/developers/webhooks/:id',
    summary: 'Delete a webhook endpoint; its open deliveries are canceled',
    tag,
    operation: (operations) => operations.webhooks.remove,
    params: idParams,
    examples: { registered: { params: registered } },
    response: z.object({ id: z.string(), deleted: z.literal(true) }),
    async handle({ caller, operations, params }) {
      const { id } = await operations.webhooks.remove.run(caller, params);
      return { body: { id, deleted: true as const } };
    },
  }),
  defineRoute({
    method: 'post',
    path: '/developers/webhooks/:id/rotate-secret',
    summary: 'Create a new secret; the old one is invalid at once, or after an overlap',
    tag,
    operation: (operations) => operations.webhooks.rotateSecret,
    params: idParams,
    body: z
      .object({
        overlapSeconds: z
          .int()
          .min(0)
          .max(SECRET_OVERLAP_MAX_SECONDS)
          .optional()
          .describe(
            'How long the old secret signs too, in the header `X-Service-Previous-Signature`. Default: 0.',
          ),
      })
      .optional(),
    examples: { registered: { params: registered, body: { overlapSeconds: 3600 } } },
    response: z.object({
      webhook,
      secret,
      previousSecretEndsAt: isoTime
        .optional()
        .describe('Until when the old secret signs too. Absent if it ended.'),
    }),
    async handle({ caller, operations, params, body }) {
      const rotated = await operations.webhooks.rotateSecret.run(caller, { ...body, id: params.id });
      const { previousSecretEndsAt } = rotated.webhook;
      return {
        body: {
          webhook: webhookResource(rotated.webhook),
          secret: rotated.secret,
          ...(previousSecretEndsAt && { previousSecretEndsAt: previousSecretEndsAt.toISOString() }),
        },
      };
    },
  }),
  defineRoute({
    method: 'post',
    path: '/developers/webhooks/:id/test',
    summary: 'Send a webhook.test event now, in one attempt',
    tag,
    operation: (operations) => operations.webhooks.test,
    params: idParams,
    examples: { registered: { params: registered } },
    response: z.object({ success: z.boolean(), delivery }),
    async handle({ caller, operations, params }) {
      const tested = await operations.webhooks.test.run(caller, params);
      return { body: { success: tested.isSuccess, delivery: deliveryResource(tested) } };
    },
  }),
];
