import type { IncomingMessage } from 'node:http';
import { ApolloServer, type ApolloServerPlugin } from '@apollo/server';
import {
  ApolloServerPluginLandingPageDisabled,
  ApolloServerPluginUsageReportingDisabled,
} from '@apollo/server/plugin/disabled';
import { expressMiddleware } from '@as-integrations/express5';
import { type ExecutionResult, type FormattedExecutionResult, GraphQLError } from 'graphql';
import { SESSION_MS, type Session, type Sessions, type SignedIn } from '../domain/accounts/sessions.ts';
import { DomainError, serviceUnavailable, validationError } from '../domain/errors.ts';
import { clientOf } from '../domain/ip-network.ts';
import type { Operations } from '../domain/operations.ts';
import type { Logger } from '../domain/ports/logger.ts';
import { createContext, type GraphqlContext } from './context.ts';
import { domainErrorOf, earlyRefusal, formatError, isUnforeseen, markValueErrors } from './error-format.ts';
import { EventStreams } from './event-streams.ts';
import { checkLimits, LIMITS } from './limits.ts';
import { createSchema } from './schema.ts';

const COOKIE = 'session';
/** Nobody who has not signed in needs more; a member may hand over a file of contacts. */
const MAX_ANONYMOUS_BYTES = 100 * 1024;
const MAX_BYTES = 16 * 1024 * 1024;
const MAX_QUERY_LENGTH = 100 * 1024;
const MAX_ERRORS_SHOWN = 10;
/** Requests that may wait for the database at once; one connection may bring any number of them. */
const MAX_UNDER_WAY = 500;

type Middleware = ReturnType<typeof expressMiddleware>;
type HttpRequest = Parameters<Middleware>[0];
type HttpResponse = Parameters<Middleware>[1];

export interface GraphqlOptions {
  readonly operations: Operations;
  readonly sessions: Sessions;
  readonly logger: Logger;
  /** The refusal that an infrastructure fault stands for, such as an unreachable database. */
  readonly faultOf: (error: unknown) => DomainError | undefined;
  /** Reads a request's body as JSON; throws `DomainError`. */
  readonly readJson: (request: IncomingMessage, maxBytes: number) => Promise<unknown>;
  readonly requestIdOf: (request: IncomingMessage) => string;
  readonly allowIntrospection: boolean;
  /** Whether browsers reach the gateway over HTTPS only. */
  readonly isSecure: boolean;
}

export interface GraphqlServer {
  /** Answers one request to `/graphql`; never rejects. */
  handle(request: HttpRequest, response: HttpResponse): Promise<void>;
  /** Answers one request to `/graphql/stream`, or one to `/graphql` that asks for an event stream; never rejects. */
  stream(request: HttpRequest, response: HttpResponse): Promise<void>;
  /** Ends the event streams, which would go on for as long as somebody reads. */
  drain(): void;
  stop(): Promise<void>;
}

/** Starts the GraphQL API (graphql-names.md). It is stopped once. */
export async function startGraphqlServer(options: GraphqlOptions): Promise<GraphqlServer> {
  const { logger, faultOf } = options;
  const schema = createSchema();
  const server = new ApolloServer<GraphqlContext>({
    schema,
    nodeEnv: 'production',
    introspection: options.allowIntrospection,
    csrfPrevention: true,
    allowBatchedHttpRequests: false,
    persistedQueries: false,
    hideSchemaDetailsFromClientErrors: true,
    includeStacktraceInErrorResponses: false,
    // Stopped twice, Apollo hangs.
    stopOnTerminationSignals: false,
    parseOptions: { maxTokens: LIMITS.tokens },
    logger: apolloLogger(logger),
    formatError: (formatted, error) => formatError(formatted, error, faultOf),
    plugins: [
      ApolloServerPluginLandingPageDisabled(),
      ApolloServerPluginUsageReportingDisabled(),
      guard(options),
    ],
  });
  await server.start();
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
    return refused ?? new DomainError('internal_error', hidden);
  };
  const streams = new EventStreams({ ...options, schema, refusalOf, tell: teller(options) });

  let underWay = 0;
  /** Does a part of a request that may wait for the database, and not for the client; refuses it where too many do. */
  async function bounded<T>(work: () => Promise<T>): Promise<T> {
    if (underWay >= MAX_UNDER_WAY) {
      throw serviceUnavailable('More requests are under way than can be answered in time. Try again.');
    }
    underWay += 1;
    try {
      return await work();
    } finally {
      underWay -= 1;
    }
  }

  /** Answers with what `answer` makes of the body, after the checks that every request must pass. */
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
      const context = await bounded(() => contextOf(options, request, response, requestId));
      const mostBytes = context.auth.session ? maxBytes : MAX_ANONYMOUS_BYTES;
      request.body = request.method === 'POST' ? await options.readJson(request, mostBytes) : {};
      refuseLongQuery(request.body);
      await answer(context);
    } catch (error) {
      const { status, body } = earlyRefusal(refusalOf(error, requestId));
      if (status === 503) response.setHeader('Retry-After', '1');
      response.status(status).json(body);
    }
  }
  return {
    handle: (request, response) =>
      serve(request, response, MAX_BYTES, async (context) => {
        contexts.set(request, context);
        await bounded(async () => middleware(request, response, () => undefined));
      }),
    async stream(request, response) {
      if (request.method !== 'POST') {
        const message = 'Send the subscription with POST, as JSON.';
        response.status(405).setHeader('Allow', 'POST');
        response.json({ errors: [{ message, extensions: { code: 'BAD_REQUEST' } }] });
        return;
      }
      // What is asked is kept for as long as the stream goes on.
      await serve(request, response, MAX_ANONYMOUS_BYTES, (context) =>
        streams.serve(response, context, request.body),
      );
    },
    drain: () => streams.drain(),
    stop: () => server.stop(),
  };
}

/** Gives results as the caller reads them: what nobody foresaw is logged and not shown. */
function teller({ logger, faultOf }: GraphqlOptions) {
  return (result: ExecutionResult, requestId: string): FormattedExecutionResult => {
    if (!result.errors) return result as FormattedExecutionResult;
    noteUnforeseen(result.errors, requestId, { logger, faultOf });
    const shown = result.errors.slice(0, MAX_ERRORS_SHOWN);
    return { ...result, errors: shown.map((error) => formatError(error.toJSON(), error, faultOf)) };
  };
}

/** Logs what nobody foresaw, and marks it with the request id to quote. */
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

/** Refuses what is over the limits before it runs, marks errors and hides none but the unforeseen. */
function guard({ logger, faultOf }: GraphqlOptions): ApolloServerPlugin<GraphqlContext> {
  return {
    async requestDidStart() {
      return {
        async validationDidStart({ document }) {
          return async (errors) => markValueErrors(document, (errors ?? []) as readonly GraphQLError[]);
        },
        async didResolveOperation({ schema, document, operation, request }) {
          if (!operation) return;
          if (operation.operation === 'subscription') {
            const message = 'Subscriptions are event streams: send this with Accept: text/event-stream.';
            throw new GraphQLError(message, { extensions: { code: 'BAD_REQUEST', http: { status: 400 } } });
          }
          checkLimits(schema, document, operation, request.variables ?? {});
        },
        async didEncounterErrors({ errors, contextValue, response }) {
          noteUnforeseen(errors, contextValue.requestId, { logger, faultOf });
          const refusals = errors.map((error) => domainErrorOf(error, faultOf));
          const outage = refusals.find((refused) => refused?.code === 'service_unavailable');
          if (!outage) return;
          response.http.status = 503;
          response.http.headers.set('Retry-After', String(outage.retryAfterSeconds));
        },
        async willSendResponse({ response }) {
          if (response.body.kind !== 'single') return;
          const result = response.body.singleResult;
          if (result.errors) result.errors = result.errors.slice(0, MAX_ERRORS_SHOWN);
        },
      };
    },
  };
}

async function contextOf(
  options: GraphqlOptions,
  request: HttpRequest,
  response: HttpResponse,
  requestId: string,
): Promise<GraphqlContext> {
  const { token, isCookie } = tokenOf(request);
  const setCookie = (value: Pick<SignedIn, 'token'> | undefined) =>
    void response.append('Set-Cookie', cookie(value?.token, options.isSecure));
  const session: Session | undefined = token === undefined ? undefined : await options.sessions.find(token);
  // The cookie would otherwise end in the browser 12 hours after sign-in, however much it was used.
  if (token !== undefined && isCookie && session?.isExtended) setCookie({ token });
  const { operations, sessions } = options;
  const { signal: ended } = new AbortController();
  return createContext({
    requestId,
    client: clientOf(request.ip),
    operations,
    sessions,
    auth: { session },
    ended,
    setCookie,
  });
}

function tokenOf(request: HttpRequest): { token: string | undefined; isCookie: boolean } {
  const bearer = /^Bearer +([A-Za-z0-9_-]{1,200})$/i.exec(request.headers.authorization ?? '')?.[1];
  if (bearer !== undefined) return { token: bearer, isCookie: false };
  const token = /(?:^|;) *session=([A-Za-z0-9_-]{1,200}) *(?:;|$)/.exec(request.headers.cookie ?? '')?.[1];
  return { token, isCookie: true };
}

function cookie(token: string | undefined, isSecure: boolean): string {
  const maxAge = token === undefined ? 0 : SESSION_MS / 1000;
  return `${COOKIE}=${token ?? ''}; Path=/graphql; Max-Age=${maxAge}; HttpOnly; SameSite=Strict${isSecure ? '; Secure' : ''}`;
}

function refuseLongQuery(body: unknown): void {
  const query = typeof body === 'object' && body !== null && 'query' in body ? body.query : undefined;
  if (typeof query === 'string' && query.length > MAX_QUERY_LENGTH) {
    const message = `must have at most ${MAX_QUERY_LENGTH} characters`;
    throw validationError([{ path: 'query', message }]);
  }
}

function apolloLogger(logger: Logger) {
  const say = (level: 'debug' | 'info' | 'warn' | 'error') => (message: unknown) =>
    logger[level]({}, String(message));
  return { debug: say('debug'), info: say('info'), warn: say('warn'), error: say('error') };
}
