import type { IncomingMessage } from 'node:http';
import { ApolloServer, type ApolloServerPlugin, HeaderMap } from '@apollo/server';
import { ApolloServerPluginCacheControl } from '@apollo/server/plugin/cacheControl';
import {
  ApolloServerPluginInlineTraceDisabled,
  ApolloServerPluginLandingPageDisabled,
  ApolloServerPluginUsageReportingDisabled,
} from '@apollo/server/plugin/disabled';
import { ApolloServerPluginDisableSuggestions } from '@apollo/server/plugin/disableSuggestions';
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
import { REQUEST_MS } from '../domain/people/single-sign-on.ts';
import type { SingleSignOnSignIn } from '../domain/people/single-sign-on-sign-in.ts';
import type { Logger } from '../domain/ports/logger.ts';
import type { RefusalMonitor } from '../domain/refusal-monitor.ts';
import type { SecurityWatch } from '../domain/security/security-watch.ts';
import { ReadScope, withinReadScope } from '../runtime/read-scope.ts';
import { Semaphore } from '../runtime/semaphore.ts';
import {
  type AnswerForm,
  answerFormOf,
  isLiveQuery,
  isSubscription,
  namesGraphql,
  namesOnlyJson,
} from './answer-form.ts';
import { createContext, type GraphqlContext, payerOf, sessionOf } from './context.ts';
import { docUrlOf } from './error-codes.ts';
import {
  domainErrorOf,
  earlyRefusal,
  formatError,
  isUnforeseen,
  markDone,
  markValueErrors,
  outageIn,
  refusalOf,
  statusOf,
} from './error-format.ts';
import { EventStream, MULTIPART_PARTS, type ResultStream, SERVER_SENT_EVENTS } from './event-stream.ts';
import { EventStreams } from './event-streams.ts';
import { isContactImport } from './import-request.ts';
import { checkLimits, ERRORS_MAX, LIMITS, VALIDATION } from './limits.ts';
import { DOCUMENT_NOT_FOUND, namesDocument, type PersistedDocuments } from './persisted-documents.ts';
import { createSchema, schemaText } from './schema.ts';
import { SharedStreams } from './shared-streams.ts';
import { parametersOf } from './subscription-request.ts';

const COOKIE = 'session';
/** Browsers accept a cookie with this prefix only over HTTPS and only from this exact host. */
const SECURE_COOKIE = '__Host-session';
const COOKIE_VALUE = /(?:^|;) *session=([A-Za-z0-9_-]{1,200}) *(?:;|$)/;
const SECURE_COOKIE_VALUE = /(?:^|;) *__Host-session=([A-Za-z0-9_-]{1,200}) *(?:;|$)/;
const DEVICE = 'device';
const SECURE_DEVICE = '__Host-device';
const DEVICE_VALUE = /(?:^|;) *device=([A-Za-z0-9_-]{43}) *(?:;|$)/;
const SECURE_DEVICE_VALUE = /(?:^|;) *__Host-device=([A-Za-z0-9_-]{43}) *(?:;|$)/;
const SSO = 'single-sign-on';
const SECURE_SSO = '__Host-single-sign-on';
const SSO_VALUE = /(?:^|;) *single-sign-on=([A-Za-z0-9_-]{43}) *(?:;|$)/;
const SECURE_SSO_VALUE = /(?:^|;) *__Host-single-sign-on=([A-Za-z0-9_-]{43}) *(?:;|$)/;
const DEVICE_SECONDS = 365 * 24 * 3_600;
/** Largest bodies in bytes: without a session, with a session, and with a file of contacts. */
const MAX_ANONYMOUS_BYTES = 16 * 1024;
const MAX_BYTES = 1024 * 1024;
const MAX_IMPORT_BYTES = 16 * 1024 * 1024;
/** Largest subscription request in bytes. It is small, because the request stays in memory while its stream is open. */
const MAX_STREAM_BYTES = 100 * 1024;
const MAX_QUERY_LENGTH = 100 * 1024;
/**
 * Longest Accept header that is used, in characters. A longer one is ignored, because Apollo needs quadratic time to
 * parse it.
 */
const MAX_ACCEPT_LENGTH = 1_000;
/**
 * Number of requests that may wait for the database at the same time. A limit on connections would not be enough,
 * because one connection can carry any number of requests.
 */
const MAX_UNDER_WAY = 500;

/**
 * Headers that pages of other origins may send: those of the API, and those of the clients of Apollo, urql and
 * graphql-sse.
 */
const CORS_HEADERS =
  'Authorization, Content-Type, Accept, Cost-Only, Apollo-Require-Preflight, X-Apollo-Operation-Name, ' +
  'Apollographql-Client-Name, Apollographql-Client-Version, X-GraphQL-Event-Stream-Token';
/** Time for which a browser may cache the answer to a preflight request, in seconds. */
const PREFLIGHT_SECONDS = 7_200;

/** Codes of requests in the right form, whose document or variables cannot be run. */
const CANNOT_RUN: ReadonlySet<unknown> = new Set<unknown>([
  'GRAPHQL_PARSE_FAILED',
  'GRAPHQL_VALIDATION_FAILED',
  'BAD_USER_INPUT',
]);

/** Header of graphql-sse's single connection mode. */
const SHARED_TOKEN = 'X-GraphQL-Event-Stream-Token';
const OPERATION_ID_MAX_LENGTH = 100;
const OPERATION_ID_RULE = `must be a text of 1 to ${OPERATION_ID_MAX_LENGTH} characters`;

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
  readonly singleSignOn: SingleSignOnSignIn;
  readonly security: SecurityWatch;
  readonly logger: Logger;
  /**
   * Returns the refusal for an infrastructure fault, such as an unreachable database. Undefined for any other error.
   */
  readonly faultOf: (error: unknown) => DomainError | undefined;
  readonly refusals: Pick<RefusalMonitor, 'note'>;
  /** The budgets against which each request counts (R11). */
  readonly budgets: Budgets;
  /** Reads the body of a request. Throws `DomainError`. */
  readonly readBody: (request: IncomingMessage, maxBytes: number) => Promise<Buffer>;
  /** Parses the body as JSON. Throws `DomainError`. */
  readonly parseJson: (request: IncomingMessage, raw: Buffer) => unknown;
  readonly requestIdOf: (request: IncomingMessage) => string;
  /** True if callers without a session may read the schema by introspection. */
  readonly allowIntrospection: boolean;
  readonly documents: PersistedDocuments;
  /** Origins whose pages may use the API with bearer tokens. */
  readonly corsOrigins: readonly string[];
  /** True if browsers reach the gateway over HTTPS only. */
  readonly isSecure: boolean;
  /** True if TRUST_PROXY names proxies. */
  readonly trustsProxies: boolean;
  /** Returns the country of the client that a trusted proxy names. Undefined if there is none (R487). */
  readonly forwardedCountryOf: (request: IncomingMessage) => string | undefined;
}

export interface GraphqlServer {
  /** Answers a request to `/graphql`, in the form that fits its operation and its `Accept` header. Never rejects. */
  handle(request: HttpRequest, response: HttpResponse): Promise<void>;
  /** Answers a request to `/graphql/stream` with an event stream. Never rejects. */
  stream(request: HttpRequest, response: HttpResponse): Promise<void>;
  /**
   * Answers with the schema in GraphQL's schema language. Only callers who may introspect get it (R224): in production
   * these are signed-in callers. Never rejects.
   */
  schema(request: HttpRequest, response: HttpResponse): Promise<void>;
  /** Ends all event streams. */
  drain(): void;
  stop(): Promise<void>;
}

/** Starts the GraphQL API. Call `stop` only once. */
export async function startGraphqlServer(options: GraphqlOptions): Promise<GraphqlServer> {
  const { logger, faultOf } = options;
  const schema = createSchema();
  const server = new ApolloServer<GraphqlContext>({
    schema,
    nodeEnv: 'production',
    // Apollo allows introspection always. `guard` refuses it where needed, because it knows the caller.
    introspection: true,
    csrfPrevention: true,
    allowBatchedHttpRequests: false,
    persistedQueries: false,
    hideSchemaDetailsFromClientErrors: true,
    includeStacktraceInErrorResponses: false,
    // Only `stop` may stop Apollo, because Apollo hangs if it is stopped twice.
    stopOnTerminationSignals: false,
    parseOptions: { maxTokens: LIMITS.tokens },
    validationOptions: VALIDATION,
    logger: apolloLogger(logger),
    formatError: (formatted, error) => formatError(formatted, error, faultOf),
    // Name all default plugins here. Apollo imports the others during the start. That is slower, and jest refuses an
    // import between two tests.
    plugins: [
      ApolloServerPluginLandingPageDisabled(),
      ApolloServerPluginUsageReportingDisabled(),
      ApolloServerPluginInlineTraceDisabled(),
      ApolloServerPluginCacheControl(),
      ApolloServerPluginDisableSuggestions(),
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
    if (!refused) logger.error({ err: error, requestId }, 'GraphQL request failed');
    const hidden = `Something went wrong here. Quote request ${requestId}.`;
    const answered = refused ?? new DomainError('internal_error', hidden);
    options.refusals.note(answered);
    return answered;
  };
  const tell = teller(options);
  const shared = new SharedStreams();
  const streams = new EventStreams({ ...options, schema, refusalOf, tell });

  const permits = new Semaphore(MAX_UNDER_WAY);
  /**
   * Runs the part of a request that waits for the database. `work` must not wait for the client. Refuses the request if
   * too many requests wait.
   */
  async function bounded<T>(work: () => Promise<T>): Promise<T> {
    if (!permits.tryAcquire()) throw serviceUnavailable('Too many requests are being processed. Try again.');
    try {
      return await work();
    } finally {
      permits.release();
    }
  }

  /** Runs the checks that every request needs. Then calls `answer`. */
  async function serve(
    request: HttpRequest,
    response: HttpResponse,
    maxBytes: number,
    answer: (context: GraphqlContext) => Promise<void>,
  ): Promise<void> {
    if (request.method === 'OPTIONS') return answerOptions(options, request, response);
    const requestId = options.requestIdOf(request);
    response.setHeader('X-Request-Id', requestId);
    response.setHeader('Cache-Control', 'no-store');
    allowOrigin(options, request, response);
    const reads = new ReadScope(goneSignal(response));
    try {
      const context = await bounded(async () => {
        const found = await contextOf(options, request, response, requestId, reads);
        await countRequest(options, found);
        return found;
      });
      request.body = request.method === 'POST' ? await bodyOf(options, request, context, maxBytes) : {};
      if (!nameDocument(options, request, context)) {
        response.json(DOCUMENT_NOT_FOUND);
        return;
      }
      refuseLongQuery(queryOf(request));
      if ((request.headers.accept?.length ?? 0) > MAX_ACCEPT_LENGTH) delete request.headers.accept;
      await withinReadScope(reads, () => answer(context));
    } catch (error) {
      if (reads.signal.aborted) return;
      const refused = refusalOf(error, requestId);
      const { status, headers } = statusOf(refused);
      for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
      response.status(status).json(earlyRefusal(refused));
    }
  }
  /**
   * Runs an operation and sends its results to `results`. A mutation, and a query without `@live`, sends one result, as
   * in graphql-sse.
   */
  async function stream(results: ResultStream, context: GraphqlContext, body: unknown): Promise<void> {
    if (isSubscription(body) || isLiveQuery(body)) {
      throwIf(refusalOfRemembered(context));
      refuseLongSubscription(body);
      await streams.serve(results, context, body);
    } else {
      await bounded(() => answerOnce(results, context, body));
    }
  }

  async function answerOnce(results: ResultStream, context: GraphqlContext, body: unknown): Promise<void> {
    try {
      const { query, operationName, variables } = parametersOf(body);
      const request = { query, variables, ...(operationName === null ? {} : { operationName }) };
      const answer = await server.executeOperation(request, { contextValue: context });
      if (answer.body.kind !== 'single') throw new Error('a query is answered once');
      results.complete(answer.body.singleResult);
    } catch (error) {
      if (!(error instanceof GraphQLError)) throw error;
      results.complete(tell({ errors: [error] }, context.requestId));
    }
  }

  /** Answers a request with a stream in the given form. */
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
    } else {
      await stream(new EventStream(response, framingOf(form)), context, request.body);
    }
  }

  /** Answers a request of graphql-sse's single connection mode: PUT, GET, POST with a token, or DELETE. */
  async function answerShared(
    request: HttpRequest,
    response: HttpResponse,
    context: GraphqlContext,
  ): Promise<void> {
    const session = sessionOf(context);
    throwIf(refusalOfRemembered(context));
    const { searchParams } = new URL(request.originalUrl, 'http://gateway');
    const token = request.get(SHARED_TOKEN) ?? searchParams.get('token') ?? '';
    const refuse = (why: 'unknown' | 'taken', what: string) =>
      void response.status(why === 'unknown' ? 404 : 409).json(badRequest(what));
    switch (request.method) {
      case 'PUT': {
        const reserved = shared.reserve(session);
        if (typeof reserved !== 'string') throw reserved;
        response.status(201).type('text/plain').send(reserved);
        return;
      }
      case 'GET': {
        const opened = shared.open(token, session, response);
        if (opened === 'unknown') return refuse(opened, 'Reserve a stream with PUT first.');
        if (opened === 'taken') return refuse(opened, 'The stream is open already.');
        const refused = streams.keep(opened, session);
        if (refused) opened.complete(earlyRefusal(refused));
        else opened.open();
        return;
      }
      case 'DELETE':
        shared.end(token, session, searchParams.get('operationId') ?? '');
        response.status(200).end();
        return;
      default: {
        const { extensions } = Object(request.body) as { extensions?: unknown };
        const { operationId } = Object(extensions) as { operationId?: unknown };
        if (
          typeof operationId !== 'string' ||
          operationId === '' ||
          operationId.length > OPERATION_ID_MAX_LENGTH
        ) {
          throw validationError([{ path: 'extensions.operationId', message: OPERATION_ID_RULE }]);
        }
        const begun = shared.begin(token, session, operationId);
        if (begun === 'unknown')
          return refuse(begun, 'Reserve a stream with PUT, and open it with GET first.');
        if (begun === 'taken') return refuse(begun, 'An operation with this id is under way.');
        response.status(202).end();
        const reads = new ReadScope(begun.closed);
        await withinReadScope(reads, () =>
          stream(begun, createContext({ ...context, reads, ended: begun.closed }), request.body),
        ).catch((error) => begun.complete(earlyRefusal(refusalOf(error, context.requestId))));
      }
    }
  }

  return {
    handle(request, response) {
      const { accept } = request.headers;
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
    // The limit is smaller here, because a subscription's request stays in memory while its stream runs.
    stream: (request, response) =>
      serve(request, response, MAX_STREAM_BYTES, (context) =>
        isOfSharedStream(request)
          ? answerShared(request, response, context)
          : answerStream(request, response, context, 'event stream'),
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

/**
 * Answers OPTIONS with the allowed methods, as REST does. In browsers, only pages of `CORS_ORIGINS` may use these
 * methods from another origin.
 */
async function answerOptions(
  options: GraphqlOptions,
  request: HttpRequest,
  response: HttpResponse,
): Promise<void> {
  const allow = ['GET', 'POST', 'OPTIONS'];
  response.setHeader('X-Request-Id', options.requestIdOf(request)).setHeader('Allow', allow.join(', '));
  if (allowOrigin(options, request, response)) {
    response.setHeader('Access-Control-Allow-Methods', 'GET, POST, PUT, DELETE');
    response.setHeader('Access-Control-Allow-Headers', CORS_HEADERS);
    response.setHeader('Access-Control-Max-Age', String(PREFLIGHT_SECONDS));
  }
  response.json({ allow });
}

/**
 * Lets pages of `CORS_ORIGINS` read the answer. `Access-Control-Allow-Credentials` is missing, so browsers send no
 * cookie with requests that need a preflight. Returns true if the request comes from such a page.
 */
function allowOrigin(
  { corsOrigins }: GraphqlOptions,
  { headers }: HttpRequest,
  response: HttpResponse,
): boolean {
  if (corsOrigins.length > 0) response.vary('Origin');
  if (!isOfOtherOrigin(corsOrigins, headers)) return false;
  response.setHeader('Access-Control-Allow-Origin', headers.origin ?? '');
  response.setHeader('Access-Control-Expose-Headers', 'Retry-After, X-Request-Id');
  return true;
}

/** True if the request comes from a page of one of `origins`, and not from the gateway's own origin. */
function isOfOtherOrigin(origins: readonly string[], headers: HttpRequest['headers']): boolean {
  const { origin } = headers;
  return origin !== undefined && headers['sec-fetch-site'] !== 'same-origin' && origins.includes(origin);
}

/** True if the request belongs to graphql-sse's single connection mode. */
function isOfSharedStream(request: HttpRequest): boolean {
  if (['PUT', 'DELETE'].includes(request.method)) return true;
  return request.get(SHARED_TOKEN) !== undefined || (request.method === 'GET' && 'token' in request.query);
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
 * Marks a GET as safe for Apollo's CSRF check if no other site can have made the browser send it. Such a request
 * accepts GraphQL's media type. It also has a token, or it comes from the gateway's own origin (urql sends queries with
 * GET). A page cannot send `Authorization` to another origin without a preflight, and cannot set `Sec-Fetch-Site`.
 */
function admitOwnGet({ headers }: HttpRequest): void {
  const isOwn = headers.authorization !== undefined || headers['sec-fetch-site'] === 'same-origin';
  if (isOwn && namesGraphql(headers.accept)) headers['apollo-require-preflight'] = 'true';
}

/** Makes a function that prepares results for the caller. It logs unexpected errors and hides their text. */
function teller({ logger, faultOf, refusals }: GraphqlOptions) {
  return (result: ExecutionResult, requestId: string): FormattedExecutionResult => {
    if (!result.errors) return result as FormattedExecutionResult;
    noteUnforeseen(result.errors, requestId, { logger, faultOf });
    noteRefused(result.errors, { faultOf, refusals });
    const shown = result.errors.slice(0, ERRORS_MAX);
    return { ...result, errors: shown.map((error) => formatError(error.toJSON(), error, faultOf)) };
  };
}

/** Counts a refused request once, by the code of its most serious error. */
function noteRefused(
  errors: readonly GraphQLError[],
  { faultOf, refusals }: Pick<GraphqlOptions, 'faultOf' | 'refusals'>,
): void {
  const known = errors.flatMap((error) => refusalOf(error, faultOf) ?? []);
  const unforeseen = errors.some((error) => isUnforeseen(error, faultOf))
    ? new DomainError('internal_error', 'Something went wrong here.')
    : undefined;
  const gravest =
    known.find(({ code }) => code === 'outcome_unknown') ??
    known.find(({ code }) => code === 'service_unavailable') ??
    unforeseen ??
    known[0];
  if (gravest) refusals.note(gravest);
}

/** Logs unexpected errors. Adds the request id to them, which is all that the caller sees of such an error. */
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

/**
 * A plugin that refuses operations above the limits before they run. It also marks the errors of operations that ran.
 */
function guard({
  logger,
  faultOf,
  refusals,
  allowIntrospection,
  budgets,
}: GraphqlOptions): ApolloServerPlugin<GraphqlContext> {
  return {
    async requestDidStart() {
      return {
        async validationDidStart({ document }) {
          return async (errors) => markValueErrors(document, (errors ?? []) as readonly GraphQLError[]);
        },
        async didResolveOperation({ schema, document, operation, request, contextValue }) {
          if (!operation) return;
          // Refuse subscriptions here: Apollo would execute one like a query. `stream` serves them.
          if (operation.operation === 'subscription') {
            throw new GraphQLError(STREAM_WANTED, {
              extensions: { code: 'BAD_REQUEST', http: { status: 400 } },
            });
          }
          const refused = operation.operation === 'query' ? undefined : refusalOfRemembered(contextValue);
          if (refused) throw withStatus(refused);
          if (!allowIntrospection && !contextValue.auth.session) refuseIntrospection(schema, document);
          const { bill } = contextValue;
          checkLimits(schema, document, operation, request.variables ?? {}, bill);
          contextValue.reads.isReading = operation.operation === 'query';
          await bill
            .charge(budgets, payerOf(contextValue), contextValue.isCostOnly)
            .catch((error) => Promise.reject(withStatus(error)));
        },
        async responseForOperation({ contextValue, response }) {
          if (!contextValue.isCostOnly) return null;
          return { http: response.http, body: { kind: 'single', singleResult: { data: null } } };
        },
        async didEncounterErrors({ errors, operation, contextValue, response }) {
          // The client disconnected, which cancelled its operation. That is not a fault, and nobody reads the answer.
          if (contextValue.ended.aborted) return;
          const isDone = operation?.operation === 'mutation' && !contextValue.dryRun.isOpen;
          if (isDone) markDone(errors, faultOf);
          noteUnforeseen(errors, contextValue.requestId, { logger, faultOf });
          noteRefused(errors, { faultOf, refusals });
          const isUnknown = errors.some((error) => refusalOf(error, faultOf)?.code === 'outcome_unknown');
          if (isUnknown) response.http.status = 503;
          const outage = outageIn(errors, faultOf);
          if (!outage) return;
          response.http.status = 503;
          response.http.headers.set('Retry-After', String(outage.retryAfterSeconds));
        },
        async willSendResponse({ request, response, contextValue: { dryRun, bill, reads } }) {
          await dryRun.end();
          if (response.body.kind !== 'single') return;
          const result = response.body.singleResult;
          const cannotRun =
            result.errors?.every(({ extensions }) => CANNOT_RUN.has(extensions?.code)) ?? false;
          if (cannotRun && response.http.status === 400 && namesOnlyJson(request.http?.headers.get('accept')))
            response.http.status = 200;
          if (dryRun.isOpen) result.extensions = { ...result.extensions, dryRun: true };
          if (reads.isStale || reads.withoutPrimary)
            result.extensions = { ...result.extensions, stale: true };
          if (result.errors) result.errors = result.errors.slice(0, ERRORS_MAX);
          result.extensions = { ...result.extensions, cost: bill.settle(budgets) };
        },
      };
    },
  };
}

/** Returns the refusal of everything but queries, for a session that was accepted without the primary (R520). */
function refusalOfRemembered({ auth }: GraphqlContext): DomainError | undefined {
  if (!auth.session?.isRemembered) return undefined;
  const message = 'The database takes no changes at the moment: only queries are answered. Try again.';
  return serviceUnavailable(message, 1, 'database_unreachable');
}

function throwIf(refused: DomainError | undefined): void {
  if (refused) throw refused;
}

/** Adds an HTTP status to a domain error that refuses a whole operation. */
function withStatus(error: unknown): unknown {
  if (!(error instanceof DomainError)) return error;
  const { status, headers } = statusOf(error);
  return new GraphQLError(error.message, {
    originalError: error,
    extensions: { http: { status, headers: new HeaderMap(Object.entries(headers)) } },
  });
}

/**
 * Refuses introspection. Apollo's own rule cannot be used: it cannot depend on the caller, and it is skipped for cached
 * documents.
 */
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
  reads: ReadScope,
): Promise<GraphqlContext> {
  warnOfProxy(options, request);
  // A page of another origin can neither use the session cookie nor get one, even if the page is of the same site.
  const hasCookie = !isOfOtherOrigin(options.corsOrigins, request.headers);
  const { token, isCookie } = tokenOf(request, options.isSecure, hasCookie);
  const setCookie = (value: Pick<SignedIn, 'token'> | undefined) => {
    if (hasCookie) response.append('Set-Cookie', cookie(value?.token, options.isSecure));
  };
  const session: Session | undefined = token === undefined ? undefined : await options.sessions.find(token);
  if (token !== undefined && !session) {
    const reason = isCookie ? 'unknown or over (cookie)' : 'unknown or over (bearer)';
    options.security.recordRefusal({ kind: 'session', reason, address: shownClient(clientOf(request.ip)) });
  }
  // Set the cookie again if the session was extended. Otherwise the browser would drop it 12 hours after the sign-in.
  if (token !== undefined && isCookie && session?.isExtended) setCookie({ token });
  reads.withoutPrimary = session?.isRemembered === true;
  const device = hasCookie ? deviceOf(request, options.isSecure) : undefined;
  if (session && !session.isRemembered && isCookie && device === undefined) {
    const made = await options.sessions.newDevice(session);
    if (made !== undefined) response.append('Set-Cookie', deviceCookie(made, options.isSecure));
  }
  const { operations, sessions, dryRuns, passwordLinks, singleSignOn, budgets } = options;
  return createContext({
    requestId,
    client: {
      address: clientOf(request.ip),
      userAgent: request.headers['user-agent'] ?? '',
      device,
      country: options.forwardedCountryOf(request),
    },
    operations,
    dryRuns,
    sessions,
    passwordLinks,
    singleSignOn,
    singleSignOnCookie: {
      value: hasCookie ? cookieValue(request, options.isSecure ? SECURE_SSO_VALUE : SSO_VALUE) : undefined,
      set(value) {
        if (hasCookie) response.append('Set-Cookie', ssoCookie(value, options.isSecure));
      },
    },
    budgets,
    isCostOnly: request.headers['cost-only'] === 'true',
    auth: { session, mayEnter: true },
    ended: reads.signal,
    reads,
    setCookie,
  });
}

/** Returns a signal that aborts if the client disconnects before it has received the whole answer. */
function goneSignal(response: HttpResponse): AbortSignal {
  const gone = new AbortController();
  response.on('close', () => {
    if (!response.writableFinished) gone.abort();
  });
  return gone.signal;
}

function tokenOf(
  request: HttpRequest,
  isSecure: boolean,
  hasCookie: boolean,
): { token: string | undefined; isCookie: boolean } {
  const bearer = /^Bearer +([A-Za-z0-9_-]{1,200})$/i.exec(request.headers.authorization ?? '')?.[1];
  if (bearer !== undefined) return { token: bearer, isCookie: false };
  const pattern = isSecure ? SECURE_COOKIE_VALUE : COOKIE_VALUE;
  const token = hasCookie ? pattern.exec(request.headers.cookie ?? '')?.[1] : undefined;
  return { token, isCookie: true };
}

/** Loggers that have already logged the warning, so that each process warns once. */
const warned = new WeakSet<Logger>();

function warnOfProxy({ trustsProxies, logger }: GraphqlOptions, request: HttpRequest): void {
  if (trustsProxies || warned.has(logger) || request.headers['x-forwarded-for'] === undefined) return;
  warned.add(logger);
  logger.warn(
    {},
    'requests come through a proxy, but TRUST_PROXY is not set: failed sign-ins of all clients count for its address',
  );
}

/** Returns the token of the device cookie. It shows that somebody signed in with this browser before (R302). */
function deviceOf(request: HttpRequest, isSecure: boolean): string | undefined {
  return cookieValue(request, isSecure ? SECURE_DEVICE_VALUE : DEVICE_VALUE);
}

function cookieValue(request: HttpRequest, pattern: RegExp): string | undefined {
  return pattern.exec(request.headers.cookie ?? '')?.[1];
}

/**
 * Returns the cookie of a single sign-on. It can be `SameSite=Strict`: the provider redirects to the console, and the
 * console itself sends the request that finishes the sign-in.
 */
function ssoCookie(token: string | undefined, isSecure: boolean): string {
  const [name, place] = isSecure ? [SECURE_SSO, 'Path=/; Secure'] : [SSO, 'Path=/graphql'];
  const maxAge = token === undefined ? 0 : REQUEST_MS / 1000;
  return `${name}=${token ?? ''}; ${place}; Max-Age=${maxAge}; HttpOnly; SameSite=Strict`;
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

/** Counts the request against the budget of its session. Without a session it counts for the client's IP address. */
async function countRequest({ budgets }: GraphqlOptions, { auth, client }: GraphqlContext): Promise<void> {
  if (auth.session) await budgets.countRequest(auth.session);
  else await budgets.countAnyone(client.address);
}

/**
 * Reads the body as JSON, up to the size limit for this caller. Only people who may import contacts may send several
 * megabytes. A body of that size is refused if it is not an import.
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

/**
 * If the request names its document by a hash, adds the document to the request and removes the hash. Otherwise Apollo
 * would look the hash up again. Returns false if the hash is unknown.
 */
function nameDocument(
  { documents }: GraphqlOptions,
  request: HttpRequest,
  { auth }: GraphqlContext,
): boolean {
  if (request.method === 'POST') {
    const named: unknown = request.body;
    if (typeof named !== 'object' || named === null || Array.isArray(named)) return true;
    const text = documents.find(named, auth.session);
    auth.mayEnter = documents.servesSessions(text);
    if (text === undefined) return false;
    if (namesDocument(named)) {
      const { persistedQuery: _, ...extensions } = Object((named as { extensions?: unknown }).extensions);
      request.body = { ...named, query: text, extensions, documentId: undefined };
    }
    return true;
  }
  const [path, search = ''] = request.originalUrl.split('?', 2);
  const given = new URLSearchParams(search);
  const named = { ...Object.fromEntries(given), extensions: extensionsOf(given) };
  const text = documents.find(named, auth.session);
  if (text === undefined) return false;
  if (namesDocument(named)) {
    for (const name of ['extensions', 'documentId']) given.delete(name);
    given.set('query', text);
    request.url = `${path}?${given}`;
    request.originalUrl = request.url;
  }
  return true;
}

/**
 * Returns the extensions of a GET request. If they are not valid JSON, returns undefined, and Apollo then refuses the
 * request.
 */
function extensionsOf(given: URLSearchParams): unknown {
  try {
    return JSON.parse(given.get('extensions') ?? '{}');
  } catch {
    return undefined;
  }
}

/** Returns the document of a request, from its body or its query string. */
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

/** Counts lines. A line ends with a line feed, a carriage return, or a carriage return and a line feed. */
function linesOf(text: string): number {
  let lines = 1;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    const isReturn = code === CARRIAGE_RETURN && text.charCodeAt(index + 1) !== LINE_FEED;
    if (code === LINE_FEED || isReturn) lines += 1;
  }
  return lines;
}

/** Refuses a long subscription, because its request stays in memory while its stream is open. */
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
