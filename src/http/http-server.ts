import { createServer, IncomingMessage, type Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import express, { type Express, type NextFunction, type Request, type Response, type Router } from 'express';
import { isReceiverName, RECEIVER_PATH } from '../channels/webhook/own-receiver.ts';
import type { Gateway } from '../compose.ts';
import { baseUrlOf } from '../config/base-url.ts';
import { readBrandLogo } from '../config/brand-logo.ts';
import type { Config } from '../config/config.ts';
import { readGraphqlDocuments } from '../config/graphql-documents.ts';
import { holdsIpAddress, parseForwardedAddress, parseIpNetwork } from '../domain/ip-network.ts';
import { OPT_OUT_PATH } from '../domain/messages/opt-out.ts';
import { parseCountry } from '../domain/people/country.ts';
import type { Logger } from '../domain/ports/logger.ts';
import { PersistedDocuments } from '../graphql/persisted-documents.ts';
import { type GraphqlServer, startGraphqlServer } from '../graphql/server.ts';
import { createSmsCallbackRouter } from '../rest/callbacks/sms-callbacks.ts';
import { createWebhookSimulator } from '../rest/callbacks/webhook-simulator.ts';
import { createWhatsAppCallbackRouter } from '../rest/callbacks/whatsapp-callbacks.ts';
import { parseJsonBody, readBody } from '../rest/middleware/body.ts';
import { headerOf, requestIdOf } from '../rest/middleware/request.ts';
import { addToEveryResponse, securityHeaders } from '../rest/middleware/security-headers.ts';
import type { Brand } from '../rest/pages/brand.ts';
import { createConsoleRouter } from '../rest/pages/console.ts';
import { createDocs } from '../rest/pages/docs.ts';
import { createExplorer } from '../rest/pages/explorer.ts';
import { createOptOutRouter } from '../rest/pages/opt-out.ts';
import { API_PATH, createRest, type Rest } from '../rest/router.ts';
import { type PresentRequest, withinRequest } from '../runtime/request-scope.ts';
import { closeGently } from './gentle-close.ts';
import { createMetrics, type Metrics } from './metrics.ts';
import { createProbes } from './probes.ts';
import { dropStalledReaders } from './stalled-readers.ts';

const REQUEST_TIMEOUT_MS = 30_000;
/** How often Node looks for requests that have timed out, in milliseconds. */
const TIMEOUT_CHECK_MS = 2_000;
const HEADERS_TIMEOUT_MS = 15_000;
const KEEP_ALIVE_MS = 65_000;
/**
 * Largest body of any route in bytes: an import of contacts in GraphQL. If a request with `Expect: 100-continue`
 * announces a larger body, the client is not asked to send it.
 */
const MAX_CONTINUED_BYTES = 16 * 1024 * 1024;
/**
 * Number of connections that may wait to be accepted. It is large, because even a refusal with 503 needs an accepted
 * connection.
 */
const BACKLOG = 4_096;

/** Makes the Express app with all routes that this process serves. */
function createApp(
  gateway: Gateway,
  rest: Rest,
  graphql: GraphqlServer,
  config: Config,
  logger: Logger,
  probes: Router,
): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.enable('case sensitive routing');
  app.set('query parser', 'simple');
  app.set('trust proxy', isProxyOf(config));
  // Mount the busiest routes first, because Express tries the routes in this order.
  app.use(API_PATH, rest.router);
  app.use(probes);
  const docs = createDocs();
  app.use('/docs', docs.router);
  app.get(['/llms.txt', '/llms-full.txt'], docs.llms);
  if (!config.isProduction) {
    app.use(RECEIVER_PATH.slice(0, -1), createWebhookSimulator({ ...gateway, logger }, isReceiverName));
  }
  app.all('/mcp', (request, response) => rest.mcp(request, response));
  app.get('/', openConsole);
  app.use('/console', createConsoleRouter(brandOf(config)));
  app.use('/callbacks/sms', createSmsCallbackRouter({ ...gateway, logger }));
  app.use(OPT_OUT_PATH.slice(0, -1), createOptOutRouter({ ...gateway, logger }));
  app.use('/callbacks/whatsapp', createWhatsAppCallbackRouter({ ...gateway, logger }));
  app.get('/graphql/schema.graphql', (request, response) => graphql.schema(request, response));
  const explorer = createExplorer();
  app.get('/graphql', explorer.page);
  app.get('/graphql/assets/:name', explorer.asset);
  app.all('/graphql/stream', (request, response) => graphql.stream(request, response));
  app.all('/graphql', (request, response) => graphql.handle(request, response));
  app.use((request: Request, response: Response) => rest.notFound(request, response));
  app.use((error: unknown, request: Request, response: Response, next: NextFunction) =>
    rest.fault(error, request, response, next),
  );
  return app;
}

/** Leads a browser from the address that the gateway prints to the console (R580). Programs get 404 as before. */
function openConsole(request: Request, response: Response, next: NextFunction): void {
  response.vary('Accept');
  if (request.accepts(['json', 'html']) === 'html') response.redirect(302, '/console');
  else next();
}

/** Returns a function that says whether an address is that of a proxy in TRUST_PROXY. */
function isProxyOf(config: Config): (address: string | undefined) => boolean {
  const proxies = config.trustProxy.flatMap((cidr) => parseIpNetwork(cidr) ?? []);
  // If the peer has disconnected, the socket has no IP address, and `text` is undefined.
  return (text) => {
    const address = text === undefined ? undefined : parseForwardedAddress(text);
    return address !== undefined && proxies.some((network) => holdsIpAddress(network, address));
  };
}

/**
 * Returns a function that reads the country which a proxy names in COUNTRY_HEADER. Only the peer of the connection is
 * asked: whatever a client sends itself is not believed (R487).
 */
function forwardedCountryOf(config: Config): (request: IncomingMessage) => string | undefined {
  const { countryHeader } = config;
  if (countryHeader === undefined) return () => undefined;
  const isProxy = isProxyOf(config);
  return (request) =>
    isProxy(request.socket.remoteAddress) ? parseCountry(headerOf(request, countryHeader)) : undefined;
}

/** Reads the operator's brand. Throws `ConfigError` for a logo that cannot be used. */
function brandOf({ brand }: Config): Brand {
  return { name: brand.name, accent: brand.accent, logo: readBrandLogo(brand.logo) };
}

/** Sets the request id on the request, so that the answer has the same id. */
function presentRequestOf(request: Request, arrivedAt: Date): PresentRequest {
  const requestId = requestIdOf(request);
  request.headers['x-request-id'] = requestId;
  return { requestId, traceparent: headerOf(request, 'traceparent'), arrivedAt };
}

/** Measures the time from request to answer, in seconds. */
function observe(metrics: Metrics, request: Request, response: Response): void {
  const startedAt = performance.now();
  response.on('finish', () => {
    // Do not measure streams. A stream lasts as long as its client reads.
    if (/^(text\/event-stream|multipart\/mixed)/.test(String(response.getHeader('Content-Type')))) return;
    metrics.observe(request.method, response.statusCode, (performance.now() - startedAt) / 1000);
  });
}

export interface HttpServer {
  /** The URL that clients use. */
  readonly url: string;
  /**
   * Accepts no new connections. Resolves when the requests in progress are answered. Connections without a request are
   * closed after `graceMs` milliseconds (R521), and all others after `timeoutMs`.
   */
  close(timeoutMs: number, graceMs?: number): Promise<void>;
}

/**
 * Starts listening on the configured host and port. Rejects if the port is in use. The error names the variable to
 * change.
 */
export async function startHttpServer(
  gateway: Gateway,
  config: Config,
  logger: Logger,
  metrics: Metrics = createMetrics(gateway),
): Promise<HttpServer> {
  const always = securityHeaders(config.isProduction);
  const rest = createRest({ ...gateway, logger, always });
  const graphql = await startGraphqlServer({
    ...gateway,
    logger,
    readBody,
    parseJson: parseJsonBody,
    requestIdOf,
    allowIntrospection: !config.isProduction,
    corsOrigins: config.corsOrigins,
    documents: new PersistedDocuments(readGraphqlDocuments(config.graphqlDocuments), config.isProduction),
    isSecure: config.isProduction || config.publicUrl?.startsWith('https:') === true,
    trustsProxies: config.trustProxy.length > 0,
    forwardedCountryOf: forwardedCountryOf(config),
  });
  const app = createApp(gateway, rest, graphql, config, logger, createProbes(gateway, config, metrics));
  addToEveryResponse(app.response, always);
  const { followsRequests, clock } = gateway;
  const serve = (request: Request, response: Response) => {
    if (request.headers.host === undefined && request.httpVersion === '1.1') {
      rest.refuseHostless(request, response);
    } else if (!rest.direct(request, response)) app(request, response);
  };
  const server = createServer(
    {
      connectionsCheckingInterval: TIMEOUT_CHECK_MS,
      // Node would refuse a request without Host, but its answer lacks the headers that every answer has (R4). So
      // switch Node's check off. The code below refuses such requests.
      requireHostHeader: false,
      IncomingMessage: withExpressPrototype(IncomingMessage, app.request),
      ServerResponse: withExpressPrototype(ServerResponse, app.response),
    },
    (incoming, outgoing) => {
      const [request, response] = [incoming as Request, outgoing as Response];
      observe(metrics, request, response);
      if (followsRequests)
        withinRequest(presentRequestOf(request, clock.now()), () => serve(request, response));
      else serve(request, response);
    },
  );
  const responses = lastResponses(server);
  const closing = closeGently(server);
  answerOddRequests(server, rest, responses);
  const stalledReaders = dropStalledReaders(
    server,
    (socket) => responses.get(socket)?.writableFinished === false,
  );
  server.requestTimeout = REQUEST_TIMEOUT_MS;
  server.headersTimeout = HEADERS_TIMEOUT_MS;
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  await listen(server, config);
  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : config.port;
  const url = baseUrlOf(config, port);
  gateway.servedAt(url);
  return {
    url,
    async close(timeoutMs, graceMs = 0) {
      graphql.drain();
      stalledReaders.closing();
      await closing.close(graceMs, timeoutMs);
      await graphql.stop();
    },
  };
}

/**
 * Makes a class like `kind` whose objects have Express's prototype from the start. Changing the prototype of an
 * existing object would make every later access to it slow.
 */
function withExpressPrototype<Kind extends typeof IncomingMessage | typeof ServerResponse>(
  kind: Kind,
  prototype: object,
): Kind {
  function Born(...given: unknown[]): object {
    return Reflect.construct(kind, given, Born);
  }
  Born.prototype = prototype;
  return Born as unknown as Kind;
}

/** Keeps, for each connection, the answer to its last request. */
function lastResponses(server: Server): WeakMap<Duplex, ServerResponse> {
  const responses = new WeakMap<Duplex, ServerResponse>();
  server.prependListener('request', (request, response) => responses.set(request.socket, response));
  return responses;
}

/** Answers the requests that Node would answer without the headers of every answer (R4), or would not answer at all. */
function answerOddRequests(server: Server, rest: Rest, responses: WeakMap<Duplex, ServerResponse>): void {
  server.on('clientError', (error, socket) => {
    const response = responses.get(socket);
    // An answer is partly sent. The client would read a second answer as a part of it, so close the connection instead.
    const isAnswering = response?.headersSent && !response.writableFinished;
    if (socket.writable && !isAnswering) rest.answerMalformed(error, socket);
    else socket.destroy();
  });
  server.on('connect', (_request, socket) => rest.refuseTunnel(socket));
  server.on('checkContinue', (request, response) => {
    if (!(Number(request.headers['content-length']) > MAX_CONTINUED_BYTES)) response.writeContinue();
    server.emit('request', request, response);
  });
  // The server may ignore an unknown expectation (RFC 9110, 10.1.1).
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));
}

function listen(server: Server, config: Config): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const where = `${config.host}:${config.port}`;
      const why =
        error.code === 'EADDRINUSE'
          ? `${where} is taken by another program. Set PORT to a free port.`
          : `cannot listen on ${where}: ${error.message}. Check HOST and PORT.`;
      reject(new Error(why));
    });
    server.listen({ port: config.port, host: config.host, backlog: BACKLOG }, resolve);
  });
}
