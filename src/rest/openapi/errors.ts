import { z } from 'zod';
import type { ZodOpenApiHeadersObject, ZodOpenApiResponseObject, ZodOpenApiSchemaObject } from 'zod-openapi';
import { DomainError, type ErrorCode } from '../../domain/errors.ts';
import type { Route } from '../define-route.ts';
import { ERROR_RESPONSES, errorResponse } from '../error-response.ts';
import { responseHeaders } from './headers.ts';

/** Error codes that only people with a session get. They do not use REST, so its document leaves these codes out. */
const OF_PEOPLE: readonly ErrorCode[] = ['second_factor_required', 'step_up_required'];
const CODES = (Object.keys(ERROR_RESPONSES) as ErrorCode[]).filter((code) => !OF_PEOPLE.includes(code));
const codesOf = (shape: 'A' | 'B') => CODES.filter((code) => ERROR_RESPONSES[code].shape === shape);

const accessError = z
  .object({
    statusCode: z.int(),
    error: z.enum(codesOf('A')),
    message: z.string(),
    retryAfter: z.int().min(1).optional().describe('Seconds to wait, as `Retry-After` says; with 429 only.'),
  })
  .meta({
    id: 'AccessError',
    description: 'Shape A: the answer to a request that authentication or a rate limit refused.',
  });

const requestError = z
  .object({
    error: z.object({
      code: z.enum(codesOf('B')),
      message: z.string().describe('What is wrong and what would be right, for people.'),
      details: z.looseObject({}).optional().describe('Details of the error; the members depend on the code.'),
    }),
  })
  .meta({ id: 'RequestError', description: 'Shape B: the answer to every other request that failed.' });

/**
 * Returns all error codes of a route. They are the codes that the route lists, and the codes of its access check, its
 * inputs and failures.
 */
function errorCodesOf(route: Route): readonly ErrorCode[] {
  const codes = new Set<ErrorCode>([
    ...(route.query || route.body ? (['validation_error'] as const) : []),
    ...(route.body ? (['invalid_json', 'payload_too_large', 'unsupported_media_type'] as const) : []),
    ...(route.isIdempotent ? (['idempotency_key_mismatch'] as const) : []),
    ...(route.params ? (['not_found'] as const) : []),
    ...(route.errors ?? []),
    ...([
      'unauthorized',
      'forbidden',
      'rate_limit_exceeded',
      'internal_error',
      'service_unavailable',
      'account_moved',
    ] as const),
    ...(route.method === 'get' ? [] : (['outcome_unknown', 'account_moving'] as const)),
  ]);
  return CODES.filter((code) => codes.has(code));
}

/** Returns one documented answer for each HTTP status with which `route` can fail. */
export function errorResponsesOf(route: Route): Record<string, ZodOpenApiResponseObject> {
  const byStatus = Map.groupBy(errorCodesOf(route), (code) => ERROR_RESPONSES[code].status);
  return Object.fromEntries(
    [...byStatus].map(([status, codes]) => [
      String(status),
      SHARED_ANSWERS.get(codes.join()) ?? errorAnswer(codes),
    ]),
  );
}

function errorAnswer(codes: readonly ErrorCode[], id?: string): ZodOpenApiResponseObject {
  const { shape, status } = ERROR_RESPONSES[codes[0] as ErrorCode];
  const isRetryable = status === 429 || status === 503;
  const code = { enum: [...codes] };
  const narrowed: ZodOpenApiSchemaObject =
    shape === 'A'
      ? { properties: { statusCode: { const: status }, error: code } }
      : { properties: { error: { properties: { code } } } };
  return {
    ...(id === undefined ? {} : { id }),
    description: codes.map((name) => `- \`${name}\`: ${ERROR_RESPONSES[name].when}`).join('\n'),
    headers: isRetryable ? waitingHeaders(codes) : responseHeaders(),
    content: {
      'application/json': {
        schema: {
          allOf: [
            { $ref: `#/components/schemas/${shape === 'A' ? 'AccessError' : 'RequestError'}` },
            narrowed,
          ],
        },
        examples: Object.fromEntries(codes.map((name) => [name, { value: exampleOf(name) }])),
      },
    },
  };
}

/**
 * Headers of answers with status 503. `outcome_unknown` sends no `Retry-After`, because a retry could make the change
 * twice.
 */
function waitingHeaders(codes: readonly ErrorCode[]): ZodOpenApiHeadersObject {
  if (!codes.includes('outcome_unknown')) return responseHeaders(['Retry-After']);
  if (codes.length === 1) return responseHeaders();
  const description =
    'Whole seconds to wait before a retry; absent when a retry could make the change twice.';
  return { ...responseHeaders(), 'Retry-After': { description, schema: { type: 'integer', minimum: 1 } } };
}

/** Returns an example of the error's body. Real details and waiting times differ. */
function exampleOf(code: ErrorCode): object {
  const { shape, status, when } = ERROR_RESPONSES[code];
  const retryAfterSeconds = status === 429 ? 12 : undefined;
  const message =
    shape === 'A' && status === 403 ? 'Insufficient scopes. Required one of: SEND_SMS, FULL_ACCESS' : when;
  return errorResponse(new DomainError(code, message, EXAMPLE_DETAILS[code], retryAfterSeconds)).body;
}

const EXAMPLE_DETAILS: Partial<Record<ErrorCode, Readonly<Record<string, unknown>>>> = {
  validation_error: {
    fields: [{ path: 'to', message: 'is missing: it must be text' }],
  },
  invalid_phone_number: { field: 'to', value: '12' },
  insufficient_balance: { balance: 20, required: 30, currency: 'UGX' },
  contact_exists: { id: '019a8f6e-3a5c-7c1e-9d50-2f4b8a61c7d3' },
};

/**
 * Answers that many routes share: answers with a single code, and the 503 answer of routes that change something. They
 * are components of the document, named after their codes: `not_found` becomes `NotFound`.
 */
const SHARED_ANSWERS = new Map(
  [...CODES.map((code) => [code]), CODES.filter((code) => ERROR_RESPONSES[code].status === 503)].map(
    (codes) => {
      const name = codes.join('_or_').replaceAll(/(?:^|_)(.)/g, (_, letter: string) => letter.toUpperCase());
      return [codes.join(), errorAnswer(codes, name)];
    },
  ),
);

/** The schemas of both forms of an error body. */
export const ERROR_SCHEMAS = { AccessError: accessError, RequestError: requestError };

/** The table of error codes, in Markdown. */
export function errorTable(): string {
  const rows = CODES.map((code) => {
    const { status, shape, when } = ERROR_RESPONSES[code];
    return `| ${status} | \`${code}\` | ${shape} | ${when} |`;
  });
  return ['| Status | Code | Shape | When |', '|---|---|---|---|', ...rows].join('\n');
}
