import type { Duplex } from 'node:stream';
import express, { type NextFunction, type Request, type Response, type Router } from 'express';
import type { z } from 'zod';
import type { DefaultLimits } from '../domain/accounts/budgets.ts';
import type { Authenticator } from '../domain/api-keys/authenticate.ts';
import { refusal } from '../domain/caller.ts';
import {
  DomainError,
  type ErrorCode,
  notFound,
  serviceUnavailable,
  validationError,
} from '../domain/errors.ts';
import type { Operations } from '../domain/operations.ts';
import type { Logger } from '../domain/ports/logger.ts';
import type { RateLimiter } from '../domain/ports/rate-limiter.ts';
import type { Clock } from '../domain/ports/system.ts';
import type { RefusalMonitor } from '../domain/refusal-monitor.ts';
import type { RequestLog } from '../domain/requests/request-log.ts';
import type { SecurityWatch } from '../domain/security/security-watch.ts';
import type { Route, RouteAnswer } from './define-route.ts';
import { errorResponse } from './error-response.ts';
import type { RouteCallContext } from './mcp/call-route.ts';
import { Admission, type Seen } from './middleware/admission.ts';
import { bufferedBody, csvBody, parseJsonBody, readBody } from './middleware/body.ts';
import { ExactRoutes } from './middleware/exact-routes.ts';
import { LoadShedder } from './middleware/load-shedder.ts';
import { answerMalformed, statusOfParserError } from './middleware/malformed-request.ts';
import { parse } from './middleware/parse.ts';
import { replayIfRefused } from './middleware/replay-if-refused.ts';
import { findTextFault, headerOf, requestIdOf } from './middleware/request.ts';
import { type AnswerHeaders, sendJson, sendText } from './middleware/send-json.ts';
import { openApiDocument } from './openapi/document.ts';
import { routes } from './routes/all.ts';

const MAX_BODY_BYTES = 1024 * 1024;
/**
 * Number of requests that may wait for the database: about 100 ms of work. If the database becomes ten times slower,
 * the last request waits about a second.
 */
const MAX_CONCURRENT_REQUESTS = 500;

export interface RestOptions {
  readonly operations: Operations;
  readonly authenticator: Authenticator;
  readonly rateLimiter: RateLimiter;
  readonly rateLimits: DefaultLimits;
  readonly security: SecurityWatch;
  readonly clock: Clock;
  readonly logger: Logger;
  /**
   * Returns the refusal for an infrastructure fault, such as an unreachable database. Undefined for any other error.
   */
  readonly faultOf: (error: unknown) => DomainError | undefined;
  /** Headers of every answer. The router needs them for answers that it writes to a plain socket. */
  readonly always: Readonly<Record<string, string>>;
  readonly refusals: Pick<RefusalMonitor, 'note'>;
  readonly requestLog: Pick<RequestLog, 'note'>;
  /** Number of requests that may wait for the database at the same time. Further requests are refused at once. */
  readonly maxConcurrentRequests?: number;
}

/** The facts about a request that its answer and the request log (R415) need. */
interface Exchange extends Seen {
  readonly requestId: string;
  /** When the request arrived, in ms of a monotonic clock. */
  readonly startedMs: number;
  rawBody: Buffer | undefined;
  /** The body of the answer. */
  json: string | undefined;
  errorCode: ErrorCode | null;
  isSend: boolean;
}

/** Handles a request. */
type Work<Result> = (request: Request, response: Response, exchange: Exchange) => Result;

/** Where the REST API is mounted (R36). */
export const API_PATH = '/api/v1';

/** The parts of the REST API, for Express and for Node's HTTP server. */
export interface Rest {
  /** All routes, to be mounted at `API_PATH`. */
  readonly router: Router;
  /** Answers a request for a route without path parameters, without Express. Returns false for any other request. */
  direct(request: Request, response: Response): boolean;
  /** Answers requests of the Model Context Protocol (R325). */
  mcp(request: Request, response: Response): void;
  /** Answers requests for unknown paths. */
  notFound(request: Request, response: Response): void;
  /** Answers errors that Express itself throws, such as a path that cannot be decoded. */
  fault(error: unknown, request: Request, response: Response, next: NextFunction): void;
  /** Refuses an HTTP/1.1 request without a Host header (RFC 9112, 3.2). */
  refuseHostless(request: Request, response: Response): void;
  /** Answers requests that Node's parser refused, and requests that did not arrive in time. */
  answerMalformed(error: Error, socket: Duplex): void;
  /** Refuses the method CONNECT, because the gateway is not a proxy. */
  refuseTunnel(socket: Duplex): void;
}

export function createRest(options: RestOptions): Rest {
  const { operations } = options;
  const shedder = new LoadShedder(options.maxConcurrentRequests ?? MAX_CONCURRENT_REQUESTS);
  const admission = new Admission(options);
  const serve = (work: Work<Promise<void>>) => {
    return (request: Request, response: Response) =>
      shedder.tryAdmit()
        ? respond(options, admission, shedder, request, response, work)
        : refuseBusy(options, admission, request, response);
  };
  const anyone = (work: Work<void>) =>
    serve(async (request, response, exchange) => {
      await admission.countByAddress(request, exchange.headers);
      work(request, response, exchange);
    });
  /** Serves a request with a valid key. Also used for unknown paths, because the key is the first check (R9). */
  const withKey = (work: Work<void>) =>
    serve(async (request, response, exchange) => {
      await admission.admit(request, exchange, {
        readBody: () => shedder.releaseWhile(readBody(request, MAX_BODY_BYTES)),
        isWebhookRegistration: false,
      });
      work(request, response, exchange);
    });

  const router = express.Router({ caseSensitive: true });
  const exactRoutes = new ExactRoutes(API_PATH);
  const document = JSON.stringify(openApiDocument(operations));
  router.get(
    '/openapi.json',
    anyone((request, response, { headers }) => sendJson(request, response, 200, document, headers)),
  );
  const methodsOf = new Map<string, string[]>();
  for (const route of routes) {
    for (const path of [route.path, ...(route.aliases ?? [])]) {
      const answerRoute = serve((request, response, exchange) =>
        answer(options, admission, shedder, request, response, exchange, route),
      );
      router[route.method](path, answerRoute);
      exactRoutes.add(route.method, path, answerRoute);
      methodsOf.set(path, [...(methodsOf.get(path) ?? []), route.method.toUpperCase()]);
    }
  }
  for (const [path, methods] of methodsOf) {
    const allowed = [...methods, ...(methods.includes('GET') ? ['HEAD'] : []), 'OPTIONS'];
    router.all(
      path,
      withKey((request, response, { headers }) => answerMethod(request, response, headers, allowed)),
    );
  }
  router.use(withKey((request) => refuseAddress(request)));
  router.use((error: unknown, request: Request, response: Response, _next: NextFunction) =>
    withKey(() => refuseUndecodable(error, request))(request, response),
  );

  return {
    router,
    direct: (request, response) => exactRoutes.handle(request, response),
    mcp: serve((request, response, exchange) =>
      answerMcp(options, admission, shedder, request, response, exchange),
    ),
    notFound: anyone((request) => refuseAddress(request)),
    fault(error, request, response, _next) {
      if (response.headersSent) request.socket.destroy();
      else void anyone(() => refuseUndecodable(error, request))(request, response);
    },
    refuseHostless: anyone(() => {
      throw new DomainError('validation_error', 'An HTTP/1.1 request must have a Host header.');
    }),
    answerMalformed: (error, socket) =>
      answerMalformed(socket, statusOfParserError(error), {
        ...options.always,
        ...admission.uncountedHeaders(),
      }),
    refuseTunnel: (socket) =>
      answerMalformed(socket, 404, { ...options.always, ...admission.uncountedHeaders() }),
  };
}

/** Answers one request with what `work` sends, or with the error that it throws. Never rejects. */
async function respond(
  options: RestOptions,
  admission: Admission,
  shedder: LoadShedder,
  request: Request,
  response: Response,
  work: Work<Promise<void>>,
): Promise<void> {
  const startedMs = performance.now();
  const requestId = requestIdOf(request);
  const headers: AnswerHeaders = { 'X-Request-Id': requestId, 'Cache-Control': 'no-store' };
  const exchange: Exchange = {
    headers,
    requestId,
    startedMs,
    key: undefined,
    rawBody: undefined,
    json: undefined,
    errorCode: null,
    isSend: false,
  };
  try {
    await work(request, response, exchange);
  } catch (error) {
    const refused = refusedFor(options, error, requestId);
    const answered = errorResponse(refused);
    exchange.errorCode = refused.code;
    exchange.json = JSON.stringify(answered.body);
    sendJson(request, response, answered.status, exchange.json, {
      ...admission.uncountedHeaders(refused.retryAfterSeconds),
      ...headers,
      ...answered.headers,
    });
  } finally {
    shedder.release();
    logRequest(options, request, response, exchange);
  }
}

/** The request log gets no body that is larger than this, in bytes, because it would not store it. */
const LOGGED_BODY_BYTES = 16_384;

/**
 * Adds the request to the request log of its account (R415). A request that has not shown a key's secret belongs to no
 * account and is not logged.
 */
function logRequest(
  { requestLog }: RestOptions,
  request: Request,
  response: Response,
  exchange: Exchange,
): void {
  const { key, json, rawBody, requestId, errorCode, isSend } = exchange;
  if (!key) return;
  requestLog.note(key.accountId, response.statusCode >= 400, () => ({
    key: { accountId: key.accountId, keyId: key.keyId, environment: key.environment },
    method: request.method,
    target: request.originalUrl,
    status: response.statusCode,
    errorCode,
    durationMs: Math.round(performance.now() - exchange.startedMs),
    address: addressOf(request),
    requestId,
    idempotencyKey: headerOf(request, 'idempotency-key'),
    requestBytes: rawBody?.length ?? 0,
    requestBody: rawBody && rawBody.length <= LOGGED_BODY_BYTES ? rawBody.toString() : undefined,
    responseBody: json !== undefined && json.length <= LOGGED_BODY_BYTES ? json : undefined,
    isSend,
  }));
}

/** Returns the refusal that the client gets for `error`. Logs errors that are not expected. */
function refusedFor(
  { faultOf, refusals, logger }: RestOptions,
  error: unknown,
  requestId: string,
): DomainError {
  const known = error instanceof DomainError ? error : faultOf(error);
  if (!known) logger.error({ err: error, requestId }, 'request failed');
  const refused =
    known ?? new DomainError('internal_error', `Something went wrong here. Quote request ${requestId}.`);
  refusals.note(refused);
  return refused;
}

/** Longest text of an IP address. */
const ADDRESS_MAX_LENGTH = 45;

/**
 * Returns the client's IP address, for the counts of a key's requests. A text that is too long is dropped, because a
 * proxy may have sent any text.
 */
function addressOf({ ip = '' }: Request): string {
  return ip.length <= ADDRESS_MAX_LENGTH ? ip : '';
}

/** Answers a request for a route. Checks in the order of R9: admission, then scope, then body. */
async function answer(
  options: RestOptions,
  admission: Admission,
  shedder: LoadShedder,
  request: Request,
  response: Response,
  exchange: Exchange,
  route: Route,
): Promise<void> {
  const { operations } = options;
  const { headers } = exchange;
  exchange.isSend = route.isIdempotent ?? false;
  const maxBodyBytes = route.maxBodyBytes ?? MAX_BODY_BYTES;
  const read = () => shedder.releaseWhile(readBody(request, maxBodyBytes));
  const { caller, rawBody } = await admission.admit(request, exchange, {
    readBody: read,
    isWebhookRegistration: route.isWebhookRegistration ?? false,
  });
  const operation = route.operation(operations);
  const refused = refusal(operation.access, caller);
  if (refused) throw refused;
  options.authenticator.noteRequest(caller, operation, addressOf(request));
  if (findTextFault(request.params)) refuseAddress(request);
  const idempotencyKey = headerOf(request, 'idempotency-key');
  const raw = route.body && (rawBody ?? bufferedBody(request, maxBodyBytes) ?? (await read()));
  exchange.rawBody = raw;
  let result: RouteAnswer<unknown>;
  try {
    result = await route.handle({
      caller,
      operations,
      params: route.params && parse(route.params, request.params),
      query: route.query && parse(route.query, request.query),
      body: route.body && raw && parseBody(route, route.body, request, raw),
      idempotencyKey,
    });
  } catch (error) {
    const sources = { header: idempotencyKey, rawBody: raw };
    result = await replayIfRefused(route, { caller, operations }, sources, error);
  }
  const status = result.status ?? route.successStatus ?? 200;
  const sent = result.headers ? { ...headers, ...result.headers } : headers;
  if (route.csvOf && 'body' in result && !acceptsOnlyJson(request)) {
    sendText(request, response, status, route.csvOf(result.body), sent, 'text/csv; charset=utf-8');
    return;
  }
  const json = 'json' in result ? result.json : JSON.stringify(result.body);
  exchange.json = json;
  sendJson(request, response, status, json, sent);
}

/**
 * Answers a request of the Model Context Protocol. The package is loaded at the first request, because most gateways
 * never get one.
 */
async function answerMcp(
  options: RestOptions,
  admission: Admission,
  shedder: LoadShedder,
  request: Request,
  response: Response,
  exchange: Exchange,
): Promise<void> {
  const { operations } = options;
  const { headers } = exchange;
  const read = () => shedder.releaseWhile(readBody(request, MAX_BODY_BYTES));
  // Clients of the protocol send the key as a bearer token, not in X-Api-Key.
  const [, bearer] = /^Bearer (msg_\w+)$/.exec(headerOf(request, 'authorization') ?? '') ?? [];
  request.headers['x-api-key'] ??= bearer;
  const { caller, rawBody } = await admission.admit(request, exchange, {
    readBody: read,
    isWebhookRegistration: false,
  });
  if (request.method !== 'POST') {
    headers.Allow = 'POST';
    const error = { code: -32000, message: 'Send each message with POST. There are no sessions.' };
    sendJson(request, response, 405, JSON.stringify({ jsonrpc: '2.0', id: null, error }), headers);
    return;
  }
  exchange.rawBody = rawBody ?? (await read());
  const body = parseJsonBody(request, exchange.rawBody);
  // Refuse batches. Otherwise one request, which counts once against the rate limit, could send any number of messages.
  if (Array.isArray(body)) throw validationError([{ path: '', message: 'Send one message a request.' }]);
  const protocol = await import('./mcp/mcp-server.ts');
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  const refusalOf = (error: unknown) => refusedFor(options, error, exchange.requestId);
  const note: RouteCallContext['note'] = (operation) =>
    options.authenticator.noteRequest(caller, operation, addressOf(request));
  await protocol.answerMcp({ operations, note, caller, refusalOf }, request, response, body);
}

const REFUSED_BUSY = serviceUnavailable('Too many requests are being processed. Try again.');
const BUSY = errorResponse(REFUSED_BUSY);
const BUSY_BODY = JSON.stringify(BUSY.body);

/** Refuses a request under overload. It does as little work as possible, so that a refusal stays cheap. */
function refuseBusy(
  { refusals }: RestOptions,
  admission: Admission,
  request: Request,
  response: Response,
): void {
  refusals.note(REFUSED_BUSY);
  response
    .writeHead(BUSY.status, {
      ...admission.uncountedHeaders(1),
      ...BUSY.headers,
      'X-Request-Id': requestIdOf(request),
      'Cache-Control': 'no-store',
      'Content-Type': 'application/json; charset=utf-8',
      'Content-Length': Buffer.byteLength(BUSY_BODY),
    })
    .end(BUSY_BODY);
}

/** Answers OPTIONS for a known path, and refuses methods that the path does not have (R3: `not_found`). */
function answerMethod(
  request: Request,
  response: Response,
  headers: AnswerHeaders,
  allowed: readonly string[],
): void {
  headers.Allow = allowed.join(', ');
  if (request.method !== 'OPTIONS') refuseAddress(request);
  sendJson(request, response, 200, JSON.stringify({ allow: allowed }), headers);
}

/**
 * Answers an error that Express threw. A 4xx error means that the path cannot be decoded: `not_found`. Any other error
 * is a fault of the gateway.
 */
function refuseUndecodable(error: unknown, request: Request): never {
  const status = error instanceof Error && 'status' in error ? Number(error.status) : 500;
  if (status >= 400 && status < 500) refuseAddress(request);
  throw error;
}

function refuseAddress(request: Request): never {
  const path = request.originalUrl.replace(/[?#].*$/s, '');
  throw notFound(`${request.method} ${path}`);
}

/** True if `Accept` names JSON and not CSV. The SDKs do so. */
function acceptsOnlyJson(request: Request): boolean {
  const accept = headerOf(request, 'accept') ?? '';
  return /application\/json/i.test(accept) && !/text\/csv/i.test(accept);
}

/** Parses the body. If the body is empty and the route's body is optional, the route gets `undefined` (R5). */
function parseBody(route: Route, schema: z.ZodType, request: Request, raw: Buffer): unknown {
  const csv = route.takesCsv && csvBody(request, raw);
  if (csv !== undefined) return parse(schema, { csv });
  if (raw.length === 0 && schema.safeParse(undefined).success) return parse(schema, undefined);
  return parse(schema, parseJsonBody(request, raw));
}
