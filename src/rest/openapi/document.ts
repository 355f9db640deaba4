import { z } from 'zod';
import {
  createDocument,
  type ZodOpenApiOperationObject,
  type ZodOpenApiPathItemObject,
  type ZodOpenApiPathsObject,
} from 'zod-openapi';
import { SCOPES } from '../../domain/caller.ts';
import type { Operations } from '../../domain/operations.ts';
import { EVENT_TYPES } from '../../domain/webhooks/webhook.ts';
import type { Route } from '../define-route.ts';
import { routes } from '../routes/all.ts';
import { eventEnvelope } from '../schemas.ts';
import { describeService } from './description.ts';
import { ERROR_SCHEMAS, errorResponsesOf } from './errors.ts';
import { HEADER_COMPONENTS, responseHeaders } from './headers.ts';

/**
 * Makes the OpenAPI 3.1 document of the REST API, from the routes and schemas that serve it. It only reads the scopes
 * of `operations`.
 */
export function openApiDocument(operations: Operations): object {
  return createDocument(
    {
      openapi: '3.1.1',
      info: {
        title: 'Messaging gateway',
        version: '1.0.0',
        description: describeService(),
        contact: { name: 'The operator of this gateway' },
        license: { name: 'MIT', identifier: 'MIT' },
      },
      servers: [{ url: '/api/v1', description: 'This gateway' }],
      security: [{ ApiKey: [] }],
      tags: [...new Set(routes.map((route) => route.tag))].map((name) => ({ name })),
      paths: pathsOf(operations),
      webhooks: WEBHOOK_REQUESTS,
      components: {
        securitySchemes: {
          ApiKey: {
            type: 'apiKey',
            in: 'header',
            name: 'X-Api-Key',
            description: 'The full key: `msg_`, 16 hexadecimal characters, `_`, 40 hexadecimal characters.',
          },
        },
        ...HEADER_COMPONENTS,
        schemas: ERROR_SCHEMAS,
      },
    },
    {
      override: ({ jsonSchema }) => {
        // The API may add fields later (R1), so the document must not forbid unknown fields.
        if (jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
        // Delete bounds and patterns that zod adds. `integer` and `date-time` already say the same.
        if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
        if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
        if (jsonSchema.format === 'date-time') delete jsonSchema.pattern;
      },
    },
  );
}

function pathsOf(operations: Operations): ZodOpenApiPathsObject {
  const parameters = ['RequestId', 'Timestamp', 'Signature'].map((name) => ({
    $ref: `#/components/parameters/${name}`,
  }));
  const paths: Record<string, ZodOpenApiPathItemObject> = {};
  for (const route of routes) {
    const path = documentedPath(route.path);
    paths[path] = { parameters, ...paths[path], [route.method]: operationOf(route, operations) };
  }
  return paths;
}

const CSV = { 'text/csv': { schema: { type: 'string' } } } as const;

function operationOf(route: Route, operations: Operations): ZodOpenApiOperationObject {
  const examples = Object.entries(route.examples ?? {});
  return {
    operationId: operationIdOf(route),
    tags: [route.tag],
    summary: route.summary,
    description: describe(route, operations),
    requestParams: {
      ...(route.params ? { path: route.params as z.ZodObject } : {}),
      ...(route.query ? { query: route.query as z.ZodObject } : {}),
    },
    ...(route.isIdempotent ? { parameters: [{ $ref: '#/components/parameters/IdempotencyKey' }] } : {}),
    ...(route.body
      ? {
          requestBody: {
            required: !route.body.safeParse(undefined).success,
            content: {
              'application/json': {
                schema: route.body as z.ZodObject,
                examples: Object.fromEntries(
                  examples.map(([name, { summary, body }]) => [
                    name,
                    { ...(summary ? { summary } : {}), value: body },
                  ]),
                ),
              },
              ...(route.takesCsv ? CSV : {}),
            },
          },
        }
      : {}),
    responses: {
      [route.successStatus ?? 200]: {
        description: 'Done.',
        headers: responseHeaders(route.isIdempotent ? ['Idempotency-Replayed'] : []),
        content: {
          'application/json': { schema: route.response as z.ZodObject },
          ...(route.csvOf ? CSV : {}),
        },
      },
      ...errorResponsesOf(route),
    },
  };
}

/** Describes the route: the scopes that may call it (R120–R128), its other paths and its special rules. */
function describe(route: Route, operations: Operations): string {
  const { scopes = [] } = route.operation(operations).access;
  const named = SCOPES.filter((scope) => scope === 'FULL_ACCESS' || scopes.includes(scope));
  const aliases = route.aliases?.map((path) => `\`${documentedPath(path)}\``) ?? [];
  return [
    scopes === 'any'
      ? 'Any valid key may call this.'
      : `Scope: ${named.map((scope) => `\`${scope}\``).join(' or ')}.`,
    ...(aliases.length > 0 ? [`Also available at ${aliases.join(' and ')}.`] : []),
    ...(route.isWebhookRegistration
      ? ['Also counts against a budget of its own: 20 a minute by default.']
      : []),
  ].join(' ');
}

const documentedPath = (path: string) => path.replaceAll(/:(\w+)/g, '{$1}');

/** Makes the operation id from method and path: `POST /developers/webhooks/:id/test` becomes `postWebhooksByIdTest`. */
function operationIdOf({ method, path }: Route): string {
  const words = path
    .replace(/^\/developers?\//, '/')
    .replaceAll(':', 'by-')
    .split(/[^A-Za-z0-9]+/)
    .filter(Boolean);
  return method + words.map((word) => word[0]?.toUpperCase() + word.slice(1)).join('');
}

/** The requests that the gateway sends to registered endpoints (R16, R135–R145). */
const WEBHOOK_REQUESTS: ZodOpenApiPathsObject = {
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
            .describe('The delivery id, the same on every attempt: a receiver drops repeats by it.'),
        }),
      },
      requestBody: { required: true, content: { 'application/json': { schema: eventEnvelope } } },
      responses: { '2XX': { description: 'Received.' } },
    },
  },
};
