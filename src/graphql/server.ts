import type { IncomingMessage } from 'node:http';
import { ApolloServer, type ApolloServerPlugin } from '@apollo/server';
import {
  ApolloServerPluginLandingPageDisabled,
  ApolloServerPluginUsageReportingDisabled,
} from '@apollo/server/plugin/disabled';
import { expressMiddleware } from '@as-integrations/express5';
import {
  type DocumentNode,
  type ExecutionResult,
  type FormattedExecutionResult,
  GraphQLError,
  type GraphQLSchema,
  NoSchemaIntrospectionCustomRule,
  validate,
} from 'graphql';
import type { Budgets } from '../domain/accounts/budgets.ts';
import { SESSION_MS, type Session, type Sessions, type SignedIn } from '../domain/accounts/sessions.ts';
import { refusal } from '../domain/caller.ts';
import type { DryRuns } from '../domain/dry-run.ts';
import {
  DomainError,
  payloadTooLarge,
  serviceUnavailable,
  unauthorized,
  validationError,
} from '../domain/errors.ts';
import { clientOf, shownClient } from '../domain/ip-network.ts';
import type { Operations } from '../domain/operations.ts';
import type { PasswordLinks } from '../domain/people/password-links.ts';
import type { Logger } from '../domain/ports/logger.ts';
import type { RefusalMonitor } from '../domain/refusal-monitor.ts';
import type { SecurityWatch } from '../domain/security/security-watch.ts';
import { Semaphore } from '../runtime/semaphore.ts';
import { type AnswerForm, answerFormOf, isSubscription, namesGraphql } from './answer-form.ts';
import { createContext, type GraphqlContext } from './context.ts';
import { docUrlOf } from './error-codes.ts';
import {
  domainErrorOf,
  earlyRefusal,
  formatError,
  isUnforeseen,
  markDone,
  markValueErrors,
  refusalOf,
} from './error-format.ts';
import { EventStream, MULTIPART_PARTS, SERVER_SENT_EVENTS } from './event-stream.ts';
import { EventStreams } from './event-streams.ts';
import { isContactImport } from './import-request.ts';
import { checkLimits, ERRORS_MAX, LIMITS, VALIDATION } from './limits.ts';
import { createSchema, schemaText } from './schema.ts';
import { parametersOf } from './subscription-request.ts';

const COOKIE = 'session';
/** By this prefix browsers take it over HTTPS from this very host only. */
const SECURE_COOKIE = '__Host-session';
const COOKIE_VALUE = /(?:^|;) *session=([A-Za-z0-9_-]{1,200}) *(?:;|$)/;
const SECURE_COOKIE_VALUE = /(?:^|;) *__Host-session=([A-Za-z0-9_-]{1,200}) *(?:;|$)/;
const DEVICE = 'device';
const SECURE_DEVICE = '__Host-device';
const DEVICE_VALUE = /(?:^|;) *device=([A-Za-z0-9_-]{43}) *(?:;|$)/;
const SECURE_DEVICE_VALUE = /(?:^|;) *__Host-device=([A-Za-z0-9_-]{43}) *(?:;|$)/;
const DEVICE_SECONDS = 365 * 24 * 3_600;
/** Sizes of bodies: without a session, with one, and with a file of contacts. */
const MAX_ANONYMOUS_BYTES = 16 * 1024;
const MAX_BYTES = 1024 * 1024;
const MAX_IMPORT_BYTES = 16 * 1024 * 1024;
/** A subscription's request stays in memory while its stream runs. */
const MAX_STREAM_BYTES = 100 * 1024;
const MAX_QUERY_LENGTH = 100 * 1024;
/** A longer Accept header is ignored, because Apollo parses it in quadratic time. */
const MAX_ACCEPT_LENGTH = 1_000;
/** Requests that may wait for the database at once. One connection can carry any number of them. */
const MAX_UNDER_WAY = 500;

const LINE_FEED = 10;
const CARRIAGE_RETURN = 13;

type Middleware = ReturnType<typeof expressMiddleware>;
type HttpRequest = Parameters<Middleware>[0];
type HttpResponse = Parameters<Middleware>[1];

export interface GraphqlOptions {
  readonly operations: Operations;
  readonly dryRuns: Pick<DryRuns, 'open'>;
  readonly sessions: Sessions;
  readonly passwordLinks: PasswordLinks;
  readonly security: SecurityWatch;
  readonly logger: Logger;
  /** The refusal for an infrastructure error, such as an unreachable database. */
  readonly faultOf: (error: unknown) => DomainError | undefined;
  readonly refusals: Pick<RefusalMonitor, 'note'>;
  /** The budget that each request counts on (R11). */
  readonly budgets: Pick<Budgets, 'countAnyone' | 'countRequest'>;
  /** Reads a request's body; throws `DomainError`. */
  readonly readBody: (request: IncomingMessage, maxBytes: number) => Promise<Buffer>;
  /** The body as JSON; throws `DomainError`. */
  readonly parseJson: (request: IncomingMessage, raw: Buffer) => unknown;
  readonly requestIdOf: (request: IncomingMessage) => string;
  /** True if people without a session may introspect. */
  readonly allowIntrospection: boolean;
  /** True if browsers reach the gateway over HTTPS only. */
  readonly isSecure: boolean;
  /** True if TRUST_PROXY names proxies. */
  readonly trustsProxies: boolean;
}

export interface GraphqlServer {
  /** Answers a request to `/graphql`, in the form for its operation and `Accept`. Never rejects. */
  handle(request: HttpRequest, response: HttpResponse): Promise<void>;
  /** Answers a request to `/graphql/stream` with an event stream. Never rejects. */
  stream(request: HttpRequest, response: HttpResponse): Promise<void>;
  /**
   * Answers with the schema in GraphQL's own language, to whom may introspect (R224): in production to people who are
   * signed in. Never rejects.
   */
  schema(request: HttpRequest, response: HttpResponse): Promise<void>;
  /** Ends all event streams. */
  drain(): void;
  stop(): Promise<void>;
}

/** Starts the GraphQL API. Stop it once. */
export async function startGraphqlServer(options: GraphqlOptions): Promise<GraphqlServer> {
  const { logger, faultOf } = options;
  const schema = createSchema();
  const server = new ApolloServer<GraphqlContext>({
    schema,
    nodeEnv: 'production',
    // `guard` decides, because it knows the caller.
    introspection: true,
    csrfPrevention: true,
    allowBatchedHttpRequests: false,
    persistedQueries: false,
    hideSchemaDetailsFromClientErrors: true,
    includeStacktraceInErrorResponses: false,
    // Apollo hangs when it is stopped twice.
    stopOnTerminationSignals: false,
    parseOptions: { maxTokens: LIMITS.tokens },
    validationOptions: VALIDATION,
    logger: apolloLogger(logger),
    formatError: (formatted, error) => formatError(formatted, error, faultOf),
    plugins: [
      ApolloServerPluginLandingPageDisabled(),
      ApolloServerPluginUsageReportingDisabled(),
      guard(options),
    ],
  });
  await server.start();
  let printed: string | undefined;
  const contexts = new WeakMap<HttpRequest, GraphqlContext>();
  const middleware = expressMiddleware(server, {
    context: async ({ req }) => {
      const context = contexts.get(req);
      if (!context) throw new Error('the request has no context');
      return context;
    },
  });
  const refusalOf = (error: unknown, requestId: string) => {
    const refused = domainErrorOf(error, faultOf);
    if (refused) options.refusals.note(refused);
    else logger.error({ err: error, requestId }, 'GraphQL request failed');
    const hidden = `Something went wrong here. Quote request ${requestId}.`;
    return refused ?? new DomainError('internal_error', hidden);
  };
  const tell = teller(options);
  const streams = new EventStreams({ ...options, schema, refusalOf, tell });

  const permits = new Semaphore(MAX_UNDER_WAY);
  /** Runs the part of a request that waits for the database, not for the client. Refuses when too many wait. */
  async function bounded<T>(work: () => Promise<T>): Promise<T> {
    if (!permits.tryAcquire()) throw serviceUnavailable('Too many requests are being processed. Try again.');
    try {
      return await work();
    } finally {
      permits.release();
    }
  }

  /** Runs the checks of every request, then answers with the result of `answer`. */
  async function serve(
    request: HttpRequest,
    response: HttpResponse,
    maxBytes: number,
    answer: (context: GraphqlContext) => Promise<void>,
  ): Promise<void> {
    const requestId = options.requestIdOf(request);
    response.setHeader('X-Request-Id', requestId);
    response.setHeader('Cache-Control', 'no-store');
    try {
      const context = await bounded(async () => {
        const found = await contextOf(options, request, response, requestId);
        await countRequest(options, found);
        return found;
      });
      request.body = request.method === 'POST' ? await bodyOf(options, request, context, maxBytes) : {};
      refuseLongQuery(queryOf(request));
      if ((request.headers.accept?.length ?? 0) > MAX_ACCEPT_LENGTH) delete request.headers.accept;
      await answer(context);
    } catch (error) {
      const refused = refusalOf(error, requestId);
      const { status, body } = earlyRefusal(refused);
      const { retryAfterSeconds } = refused;
      if (retryAfterSeconds !== undefined) response.setHeader('Retry-After', String(retryAfterSeconds));
      response.status(status).json(body);
    }
  }
  /** Answers a query or mutation with an event stream of one result, as graphql-sse does. */
  async function answerOnce(
    response: HttpResponse,
    context: GraphqlContext,
    form: Exclude<AnswerForm, 'json'>,
    body: unknown,
  ): Promise<void> {
    const stream = new EventStream(response, framingOf(form));
    try {
      const { query, operationName, variables } = parametersOf(body);
      const request = { query, variables, ...(operationName === null ? {} : { operationName }) };
      const answer = await server.executeOperation(request, { contextValue: context });
      if (answer.body.kind !== 'single') throw new Error('a query is answered once');
      stream.complete(answer.body.singleResult);
    } catch (error) {
      if (!(error instanceof GraphQLError)) throw error;
      stream.complete(tell({ errors: [error] }, context.requestId));
    }
  }

  /** Answers a request with a stream. */
  async function answerStream(
    request: HttpRequest,
    response: HttpResponse,
    context: GraphqlContext,
    form: Exclude<AnswerForm, 'json'>,
  ): Promise<void> {
    if (request.method !== 'POST') {
      const message = 'Send the subscription with POST, as JSON.';
      response.status(405).setHeader('Allow', 'POST');
      response.json(badRequest(message));
    } else if (isSubscription(request.body)) {
      refuseLongSubscription(request.body);
      await streams.serve(response, context, request.body, framingOf(form));
    } else {
      await bounded(() => answerOnce(response, context, form, request.body));
    }
  }

  return {
    handle(request, response) {
      const { accept } = request.headers;
      if (request.method === 'OPTIONS') return answerOptions(options, request, response);
      return serve(request, response, MAX_IMPORT_BYTES, async (context) => {
        const form = answerFormOf(
          accept,
          isSubscription(request.method === 'POST' ? request.body : request.query),
        );
        if (form === undefined) {
          response.status(406).json(badRequest(STREAM_WANTED));
        } else if (form === 'json') {
          admitOwnGet(request);
          contexts.set(request, context);
          await bounded(async () => middleware(request, response, () => undefined));
        } else {
          await answerStream(request, response, context, form);
        }
      });
    },
    // A subscription's request stays in memory while its stream runs.
    stream: (request, response) =>
      serve(request, response, MAX_STREAM_BYTES, (context) =>
        answerStream(request, response, context, 'event stream'),
      ),
    schema: (request, response) =>
      serve(request, response, MAX_STREAM_BYTES, async ({ auth }) => {
        if (!options.allowIntrospection && !auth.session) throw unauthorized(SCHEMA_HIDDEN);
        printed ??= schemaText();
        response.type('text/plain').send(printed);
      }),
    drain: () => streams.drain(),
    stop: () => server.stop(),
  };
}

/** Answers OPTIONS with the allowed methods, as REST does. No other origin may use them in a browser. */
async function answerOptions(
  { requestIdOf }: GraphqlOptions,
  request: HttpRequest,
  response: HttpResponse,
): Promise<void> {
  const allow = ['GET', 'POST', 'OPTIONS'];
  response.setHeader('X-Request-Id', requestIdOf(request)).setHeader('Allow', allow.join(', '));
  response.json({ allow });
}

function framingOf(form: Exclude<AnswerForm, 'json'>) {
  return form === 'multipart' ? MULTIPART_PARTS : SERVER_SENT_EVENTS;
}

const SCHEMA_HIDDEN = 'Sign in to read the schema.';
const STREAM_WANTED =
  'Subscriptions are answered with an event stream: send this with Accept: text/event-stream, or with ' +
  'Accept: multipart/mixed;subscriptionSpec=1.0 as Apollo Client does.';

function badRequest(message: string): FormattedExecutionResult {
  return { errors: [{ message, extensions: { code: 'BAD_REQUEST', docUrl: docUrlOf('BAD_REQUEST') } }] };
}

/**
 * Marks a GET as safe for Apollo's CSRF check when no other site can have made a browser send it: it accepts GraphQL's
 * media type, and has a token or comes from the gateway's own origin (urql queries with GET). A page cannot send
 * `Authorization` to another origin without a preflight, nor set `Sec-Fetch-Site`.
 */
function admitOwnGet({ headers }: HttpRequest): void {
  const isOwn = headers.authorization !== undefined || headers['sec-fetch-site'] === 'same-origin';
  if (isOwn && namesGraphql(headers.accept)) headers['apollo-require-preflight'] = 'true';
}

/** Prepares results for the caller: unexpected errors are logged and hidden. */
function teller({ logger, faultOf, refusals }: GraphqlOptions) {
  return (result: ExecutionResult, requestId: string): FormattedExecutionResult => {
    if (!result.errors) return result as FormattedExecutionResult;
    noteUnforeseen(result.errors, requestId, { logger, faultOf });
    const outage = outageIn(result.errors, faultOf);
    if (outage) refusals.note(outage);
    const shown = result.errors.slice(0, ERRORS_MAX);
    return { ...result, errors: shown.map((error) => formatError(error.toJSON(), error, faultOf)) };
  };
}

/** The first error that means an outage. */
function outageIn(
  errors: readonly GraphQLError[],
  faultOf: GraphqlOptions['faultOf'],
): DomainError | undefined {
  const known = errors.map((error) => refusalOf(error, faultOf));
  return known.find((refused) => refused?.code === 'service_unavailable');
}

/** Logs an unexpected error, and replaces it by the request id. */
function noteUnforeseen(
  errors: readonly GraphQLError[],
  requestId: string,
  { logger, faultOf }: Pick<GraphqlOptions, 'logger' | 'faultOf'>,
): void {
  for (const error of errors) {
    if (!isUnforeseen(error, faultOf)) continue;
    error.extensions.requestId = requestId;
    logger.error({ err: error.originalError ?? error, requestId }, 'GraphQL request failed');
  }
}

/** Refuses operations above the limits before they run, and marks errors. */
function guard({
  logger,
  faultOf,
  refusals,
  allowIntrospection,
}: GraphqlOptions): ApolloServerPlugin<GraphqlContext> {
  return {
    async requestDidStart() {
      return {
        async validationDidStart({ document }) {
          return async (errors) => markValueErrors(document, (errors ?? []) as readonly GraphQLError[]);
        },
        async didResolveOperation({ schema, document, operation, request, contextValue }) {
          if (!operation) return;
          // Subscriptions are answered elsewhere; executed here, one would run as a query.
          if (operation.operation === 'subscription') {
            throw new GraphQLError(STREAM_WANTED, {
              extensions: { code: 'BAD_REQUEST', http: { status: 400 } },
            });
          }
          if (!allowIntrospection && !contextValue.auth.session) refuseIntrospection(schema, document);
          checkLimits(schema, document, operation, request.variables ?? {});
        },
        async didEncounterErrors({ errors, operation, contextValue, response }) {
          if (operation?.operation === 'mutation') markDone(errors, faultOf);
          noteUnforeseen(errors, contextValue.requestId, { logger, faultOf });
          const known = errors.map((error) => refusalOf(error, faultOf));
          const unknown = known.find((refused) => refused?.code === 'outcome_unknown');
          if (unknown) {
            refusals.note(unknown);
            response.http.status = 503;
          }
          const outage = outageIn(errors, faultOf);
          if (!outage) return;
          refusals.note(outage);
          response.http.status = 503;
          response.http.headers.set('Retry-After', String(outage.retryAfterSeconds));
        },
        async willSendResponse({ response, contextValue: { dryRun } }) {
          await dryRun.end();
          if (response.body.kind !== 'single') return;
          const result = response.body.singleResult;
          if (dryRun.isOpen) result.extensions = { ...result.extensions, dryRun: true };
          if (result.errors) result.errors = result.errors.slice(0, ERRORS_MAX);
        },
      };
    },
  };
}

/** Apollo's own rule would be the same for everybody, and is skipped for cached documents. */
function refuseIntrospection(schema: GraphQLSchema, document: DocumentNode): void {
  const [found] = validate(schema, document, [NoSchemaIntrospectionCustomRule], { maxErrors: 1 });
  if (!found) return;
  throw new GraphQLError('Sign in to read the schema: strangers may not introspect it.', {
    nodes: found.nodes,
    extensions: { code: 'GRAPHQL_VALIDATION_FAILED', http: { status: 400 } },
  });
}

async function contextOf(
  options: GraphqlOptions,
  request: HttpRequest,
  response: HttpResponse,
  requestId: string,
): Promise<GraphqlContext> {
  warnOfProxy(options, request);
  const { token, isCookie } = tokenOf(request, options.isSecure);
  const setCookie = (value: Pick<SignedIn, 'token'> | undefined) =>
    void response.append('Set-Cookie', cookie(value?.token, options.isSecure));
  const session: Session | undefined = token === undefined ? undefined : await options.sessions.find(token);
  if (token !== undefined && !session) {
    const reason = isCookie ? 'unknown or over (cookie)' : 'unknown or over (bearer)';
    options.security.recordRefusal({ kind: 'session', reason, address: shownClient(clientOf(request.ip)) });
  }
  // Otherwise the browser would drop the cookie 12 hours after sign-in, although the session was extended.
  if (token !== undefined && isCookie && session?.isExtended) setCookie({ token });
  const device = deviceOf(request, options.isSecure);
  if (session && isCookie && device === undefined) {
    const made = await options.sessions.newDevice(session);
    if (made !== undefined) response.append('Set-Cookie', deviceCookie(made, options.isSecure));
  }
  const { operations, sessions, dryRuns, passwordLinks } = options;
  const { signal: ended } = new AbortController();
  return createContext({
    requestId,
    client: { address: clientOf(request.ip), userAgent: request.headers['user-agent'] ?? '', device },
    operations,
    dryRuns,
    sessions,
    passwordLinks,
    auth: { session },
    ended,
    setCookie,
  });
}

function tokenOf(request: HttpRequest, isSecure: boolean): { token: string | undefined; isCookie: boolean } {
  const bearer = /^Bearer +([A-Za-z0-9_-]{1,200})$/i.exec(request.headers.authorization ?? '')?.[1];
  if (bearer !== undefined) return { token: bearer, isCookie: false };
  const pattern = isSecure ? SECURE_COOKIE_VALUE : COOKIE_VALUE;
  const token = pattern.exec(request.headers.cookie ?? '')?.[1];
  return { token, isCookie: true };
}

/** Loggers that have warned: once for each process. */
const warned = new WeakSet<Logger>();

function warnOfProxy({ trustsProxies, logger }: GraphqlOptions, request: HttpRequest): void {
  if (trustsProxies || warned.has(logger) || request.headers['x-forwarded-for'] === undefined) return;
  warned.add(logger);
  logger.warn(
    {},
    'requests come through a proxy, but TRUST_PROXY is not set: failed sign-ins of all clients count for its address',
  );
}

/** The token of the device cookie, which says that somebody signed in with this browser before (R302). */
function deviceOf(request: HttpRequest, isSecure: boolean): string | undefined {
  const pattern = isSecure ? SECURE_DEVICE_VALUE : DEVICE_VALUE;
  return pattern.exec(request.headers.cookie ?? '')?.[1];
}

function deviceCookie(token: string, isSecure: boolean): string {
  const [name, place] = isSecure ? [SECURE_DEVICE, 'Path=/; Secure'] : [DEVICE, 'Path=/graphql'];
  return `${name}=${token}; ${place}; Max-Age=${DEVICE_SECONDS}; HttpOnly; SameSite=Strict`;
}

function cookie(token: string | undefined, isSecure: boolean): string {
  const maxAge = token === undefined ? 0 : SESSION_MS / 1000;
  const [name, place] = isSecure ? [SECURE_COOKIE, 'Path=/; Secure'] : [COOKIE, 'Path=/graphql'];
  return `${name}=${token ?? ''}; ${place}; Max-Age=${maxAge}; HttpOnly; SameSite=Strict`;
}

/** Counts a request for its session, or for its address without one. */
async function countRequest({ budgets }: GraphqlOptions, { auth, client }: GraphqlContext): Promise<void> {
  if (auth.session) await budgets.countRequest(auth.session);
  else await budgets.countAnyone(client.address);
}

/**
 * The body as JSON, up to the limit for this caller. Megabytes are read only from people who may import contacts, and
 * refused unless they are an import.
 */
async function bodyOf(
  options: GraphqlOptions,
  request: HttpRequest,
  { auth: { session }, operations }: GraphqlContext,
  maxBytes: number,
): Promise<unknown> {
  const mayImport = session && !refusal(operations.contactImports.start.access, session.caller);
  const most = mayImport ? MAX_IMPORT_BYTES : session ? MAX_BYTES : MAX_ANONYMOUS_BYTES;
  const raw = await options.readBody(request, Math.min(most, maxBytes));
  const body = options.parseJson(request, raw);
  if (raw.length <= MAX_BYTES) return body;
  refuseLongQuery(textIn(body));
  if (!isContactImport(body)) throw payloadTooLarge(MAX_BYTES);
  return body;
}

/** The document of a request, from its body or its query. */
function queryOf(request: HttpRequest): string | undefined {
  if (request.method === 'POST') return textIn(request.body);
  const [, search = ''] = request.originalUrl.split('?', 2);
  return new URLSearchParams(search).get('query') ?? undefined;
}

function textIn(body: unknown): string | undefined {
  const query = typeof body === 'object' && body !== null && 'query' in body ? body.query : undefined;
  return typeof query === 'string' ? query : undefined;
}

function refuseLongQuery(query = ''): void {
  const refuse = (message: string) => validationError([{ path: 'query', message }]);
  if (query.length > MAX_QUERY_LENGTH) throw refuse(`must have at most ${MAX_QUERY_LENGTH} characters`);
  if (linesOf(query) > LIMITS.lines) throw refuse(`must have at most ${LIMITS.lines} lines`);
}

/** A line ends with a line feed, a carriage return, or both in this order. */
function linesOf(text: string): number {
  let lines = 1;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    const isReturn = code === CARRIAGE_RETURN && text.charCodeAt(index + 1) !== LINE_FEED;
    if (code === LINE_FEED || isReturn) lines += 1;
  }
  return lines;
}

/** A subscription's request stays in memory while its stream runs. */
function refuseLongSubscription(body: unknown): void {
  if (Buffer.byteLength(JSON.stringify(body)) <= MAX_STREAM_BYTES) return;
  const message = `A subscription may have at most ${MAX_STREAM_BYTES} bytes.`;
  throw new DomainError('payload_too_large', message, { maximum: MAX_STREAM_BYTES });
}

function apolloLogger(logger: Logger) {
  const say = (level: 'debug' | 'info' | 'warn' | 'error') => (message: unknown) =>
    logger[level]({}, String(message));
  return { debug: say('debug'), info: say('info'), warn: say('warn'), error: say('error') };
}
