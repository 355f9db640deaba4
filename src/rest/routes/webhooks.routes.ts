import { z } from 'zod';
import type { Webhook } from '../../domain/webhooks/webhook.ts';
import { WEBHOOK_DESCRIPTION_MAX_LENGTH } from '../../domain/webhooks/webhook-operations.ts';
import { defineRoute, type Route } from '../define-route.ts';
import { isoTime } from '../schemas.ts';

const webhook = z.object({
  id: z.string(),
  url: z.string(),
  events: z.array(z.string()),
  description: z.string().nullable(),
  isActive: z.boolean(),
  disabledReason: z.string().nullable(),
  maxRetries: z.int(),
  createdAt: isoTime,
});

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
    body: z.object({
      url: z.string().max(2048),
      events: z.array(z.string()),
      description: z.string().max(WEBHOOK_DESCRIPTION_MAX_LENGTH).optional(),
      maxRetries: z.int().optional(),
    }),
    response: z.object({ webhook, secret: z.string() }),
    async handle({ caller, operations, body }) {
      const registered = await operations.webhooks.register.run(caller, body);
      return { body: { webhook: webhookResource(registered.webhook), secret: registered.secret } };
    },
  }),
];
