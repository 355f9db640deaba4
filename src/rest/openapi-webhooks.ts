import { z } from 'zod';
import type { ZodOpenApiPathsObject } from 'zod-openapi';
import { CHANNELS } from '../domain/messages/message.ts';
import { EVENT_TYPES } from '../domain/webhooks/webhook.ts';
import { isoTime } from './schemas.ts';

const envelope = z
  .object({
    event: z.enum(EVENT_TYPES),
    channel: z.enum([...CHANNELS, 'system']),
    messageId: z.string().optional().describe('The message concerned; absent for `webhook.test`.'),
    timestamp: isoTime.describe('When the event was recorded.'),
    data: z.looseObject({}).describe('What the channel has to say; members may be added.'),
  })
  .meta({
    id: 'Event',
    example: {
      event: 'sms.sent',
      channel: 'sms',
      messageId: '019a8f6e-3a5c-7c1e-9d50-2f4b8a61c7d3',
      timestamp: '2026-11-21T09:00:00.000Z',
      data: { to: '+256700123456', from: 'SERVICE', message: 'Your code is 482913', sid: '7f3a91' },
    },
  });

/** What the gateway POSTs to registered endpoints (contract, Events; decision 16). */
export const WEBHOOK_REQUESTS: ZodOpenApiPathsObject = {
  event: {
    post: {
      operationId: 'receiveEvent',
      tags: ['Webhooks'],
      summary: 'An event, sent to every active endpoint that subscribes to it',
      description:
        'Any answer but 2xx within 10 seconds is retried after 5, 15, 35, 75 and 155 seconds, `maxRetries` times. ' +
        'Operators can replace the word `Service` in the names of these headers.',
      security: [],
      requestParams: {
        header: z.object({
          'X-Service-Signature': z
            .string()
            .describe(
              "`t=<unix seconds>,v1=<hex>`: the HMAC-SHA-256 of `<t>.<raw body>`, keyed with the endpoint's secret. " +
                'Compare `v1` and refuse a `t` more than 300 seconds old.',
            ),
          'X-Service-Event': z.enum(EVENT_TYPES),
          'X-Service-Delivery': z
            .string()
            .describe('The delivery, the same on every attempt: a receiver drops those that it has seen.'),
        }),
      },
      requestBody: { required: true, content: { 'application/json': { schema: envelope } } },
      responses: { '2XX': { description: 'Received.' } },
    },
  },
};
