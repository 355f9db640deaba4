import { z } from 'zod';
import type { Webhook } from '../../domain/webhooks/webhook.ts';
import { WEBHOOK_DESCRIPTION_MAX_LENGTH } from '../../domain/webhooks/webhook-operations.ts';
import { defineRoute, type Route } from '../define-route.ts';
import { isoTime } from '../schemas.ts';

const webhook = z
  .object({
    id: z.string(),
    url: z.string(),
    events: z.array(z.string()),
    description: z.string().nullable(),
    isActive: z.boolean(),
    disabledReason: z.string().nullable().describe('Why the gateway switched it off; null when it did not.'),
    maxRetries: z.int().describe('Attempts after the first one.'),
    createdAt: isoTime,
  })
  .meta({ id: 'Webhook' });

function webhookResource(hook: Webhook) {
  return {
    id: hook.id,
    url: hook.url,
    events: [...hook.events],
    description: hook.description,
    isActive: hook.isActive,
    disabledReason: hook.disabledReason,
    maxRetries: hook.maxRetries,
    createdAt: hook.createdAt.toISOString(),
  };
}

export const webhookRoutes: readonly Route[] = [
  defineRoute({
    method: 'post',
    path: '/developers/webhooks',
    summary: 'Register a webhook endpoint; its secret is shown in this answer only',
    tag: 'Webhooks',
    operation: (operations) => operations.webhooks.register,
    isWebhookRegistration: true,
    successStatus: 201,
    errors: ['invalid_event_type', 'invalid_webhook_url', 'webhook_limit'],
    body: z.object({
      url: z.string().max(2048).describe('HTTPS address that resolves to public addresses only.'),
      events: z.array(z.string()).describe('Event types to be told of, at least one.'),
      description: z.string().max(WEBHOOK_DESCRIPTION_MAX_LENGTH).optional(),
      maxRetries: z.int().optional().describe('Attempts after the first one, 0 to 5; 3 when it is missing.'),
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
    response: z.object({
      webhook,
      secret: z.string().describe('What deliveries are signed with; shown in this answer only.'),
    }),
    async handle({ caller, operations, body }) {
      const registered = await operations.webhooks.register.run(caller, body);
      return { body: { webhook: webhookResource(registered.webhook), secret: registered.secret } };
    },
  }),
];
