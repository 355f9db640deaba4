import { z } from 'zod';
import type { ZodOpenApiComponentsObject, ZodOpenApiHeadersObject } from 'zod-openapi';

/** Headers that routes share (R4, R10, R19, R183). */
export const HEADER_COMPONENTS = {
  parameters: {
    RequestId: z
      .string()
      .regex(/^[A-Za-z0-9._-]{1,64}$/)
      .optional()
      .meta({
        description: 'Identifies the request in the logs and in the answer. Default: a generated id.',
        param: { name: 'X-Request-Id', in: 'header' },
      }),
    IdempotencyKey: z
      .string()
      .min(1)
      .max(64)
      .optional()
      .meta({
        description:
          'A repeat with the same key within 24 hours gets the first answer again and sends nothing twice. ' +
          '`idempotencyKey` in the body does the same; when both are sent they must be equal.',
        param: { name: 'Idempotency-Key', in: 'header' },
      }),
    Timestamp: z
      .string()
      .regex(/^[0-9]+$/)
      .optional()
      .meta({
        description: 'Unix time in seconds. Needed, with `x-signature`, by keys that sign their requests.',
        param: { name: 'x-timestamp', in: 'header' },
      }),
    Signature: z
      .string()
      .regex(/^[0-9a-f]{64}$/)
      .optional()
      .meta({
        description:
          'The request signature in lowercase hexadecimal digits. Needed by keys that sign their requests.',
        param: { name: 'x-signature', in: 'header' },
      }),
  },
  headers: {
    'X-Request-Id': z.string().meta({
      description: 'Identifies this request in the logs: the id that the client sent, or a generated one.',
    }),
    'X-RateLimit-Limit': z.int().meta({ description: 'Requests allowed in any 60 seconds.' }),
    'X-RateLimit-Remaining': z.int().meta({ description: 'Requests left in the window.' }),
    'X-RateLimit-Reset': z
      .int()
      .meta({ description: 'Unix time in seconds at which the oldest counted request leaves the window.' }),
    'Retry-After': z.int().min(1).meta({ description: 'Whole seconds to wait before a retry.' }),
    'Idempotency-Replayed': z.literal('true').optional().meta({
      description: 'Set on an answer that is repeated for its idempotency key.',
    }),
  },
} satisfies ZodOpenApiComponentsObject;

type HeaderName = keyof typeof HEADER_COMPONENTS.headers;
const EVERY_ANSWER: readonly HeaderName[] = [
  'X-Request-Id',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
];

/** Returns the headers that every answer has, and the headers in `more`. */
export function responseHeaders(more: readonly HeaderName[] = []): ZodOpenApiHeadersObject {
  const names = [...EVERY_ANSWER, ...more];
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}
