import { z } from 'zod';
import type { ZodOpenApiPathsObject } from 'zod-openapi';
import { EVENT_TYPES } from '../domain/webhooks/webhook.ts';
import { eventEnvelope } from './schemas.ts';

/** What the gateway POSTs to registered endpoints (R16, R135–R145). */
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
      requestBody: { required: true, content: { 'application/json': { schema: eventEnvelope } } },
      responses: { '2XX': { description: 'Received.' } },
    },
  },
};
