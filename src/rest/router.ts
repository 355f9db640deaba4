import express, { type Request, type Response, type Router } from 'express';
import type { z } from 'zod';
import { callerOf, type Authenticator } from '../domain/api-keys/authenticate.ts';
import { refusal } from '../domain/caller.ts';
import { DomainError, type FieldFault, notFound, validationError } from '../domain/errors.ts';
import type { Operations } from '../domain/operations.ts';
import type { Logger } from '../domain/ports/logger.ts';
import type { Route } from './define-route.ts';
import { errorResponse } from './error-response.ts';
import { openApiDocument } from './openapi.ts';
import { parseJsonBody, readBody } from './request-body.ts';
import { requestIdOf } from './request-id.ts';
import { routes } from './routes/all.ts';

const MAX_BODY_BYTES = 1024 * 1024;

export interface RestOptions {
  readonly operations: Operations;
  readonly authenticator: Authenticator;
  readonly logger: Logger;
  /** The refusal that an infrastructure fault stands for, such as an unreachable database. */
  readonly faultOf: (error: unknown) => DomainError | undefined;
  /** Looks at every answer before it is sent; tests check it against the route's schema. */
  readonly onAnswer?: (route: Route, answer: unknown) => void;
}

/** The REST contract as an Express router, to be mounted at `/api/v1`. */
export function createRestRouter(options: RestOptions): Router {
  const router = express.Router({ caseSensitive: true });
  const document = JSON.stringify(openApiDocument(options.operations));
  router.get('/openapi.json', (request, response) =>
    respond(options, request, response, async () => send(response, 200, document)),
  );
  for (const route of routes) {
    router[route.method](route.path, (request, response) => serve(options, request, response, route));
  }
  router.use((request, response) => serve(options, request, response, undefined));
  return router;
}

function serve(options: RestOptions, request: Request, response: Response, route: Route | undefined) {
  return respond(options, request, response, () => answer(options, request, response, route));
}

/** Answers one request with what `work` sends or refuses; nothing that happens in it escapes. */
async function respond(options: RestOptions, request: Request, response: Response, work: () => Promise<void>) {
  const requestId = requestIdOf(request);
  response.setHeader('X-Request-Id', requestId);
  try {
    await work();
  } catch (error) {
    const refused = error instanceof DomainError ? error : options.faultOf(error);
    if (!refused) options.logger.error({ err: error, requestId }, 'request failed');
    const { status, headers, body } = errorResponse(
      refused ?? new DomainError('internal_error', `Something went wrong here. Quote request ${requestId}.`),
    );
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    send(response, status, JSON.stringify(body));
  }
}

/** The order of checks is decision 9's: key, (signature, address, rate,) scope, body. */
async function answer(options: RestOptions, request: Request, response: Response, route: Route | undefined) {
  const header = request.headers['x-api-key'];
  const credentials = await options.authenticator.authenticate(Array.isArray(header) ? header[0] : header);
  if (!route) throw notFound(`${request.method} ${request.baseUrl}${request.path}`);
  const caller = callerOf(credentials);
  const refused = refusal(route.operation(options.operations).access, caller);
  if (refused) throw refused;
  const raw = route.body ? await readBody(request, route.maxBodyBytes ?? MAX_BODY_BYTES) : undefined;
  const result = await route.handle({
    caller,
    operations: options.operations,
    params: parse(route.params, request.params, ''),
    query: parse(route.query, request.query, ''),
    body: route.body && raw ? parse(route.body, parseJsonBody(request, raw), '') : undefined,
    idempotencyKey: request.get('idempotency-key'),
  });
  for (const [name, value] of Object.entries(result.headers ?? {})) response.setHeader(name, value);
  options.onAnswer?.(route, 'json' in result ? JSON.parse(result.json) : result.body);
  send(
    response,
    result.status ?? route.successStatus ?? 200,
    'json' in result ? result.json : JSON.stringify(result.body),
  );
}

function send(response: Response, status: number, json: string): void {
  const body = Buffer.from(json);
  response.statusCode = status;
  response.setHeader('Content-Type', 'application/json; charset=utf-8');
  response.setHeader('Content-Length', body.length);
  response.end(body);
}

function parse(schema: z.ZodType | undefined, value: unknown, at: string): unknown {
  if (!schema) return undefined;
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const fields = result.error.issues.map((issue): FieldFault => {
    const path = [...(at === '' ? [] : [at]), ...issue.path.map(String)].join('.');
    return { path, message: issue.message };
  });
  throw validationError(fields);
}
