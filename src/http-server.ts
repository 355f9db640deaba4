import { createHash, timingSafeEqual } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import express, { type Express, type Request, type Response } from 'express';
import type { Gateway } from './compose.ts';
import type { Config } from './config.ts';
import type { Logger } from './domain/ports/logger.ts';
import { createMetrics } from './metrics.ts';
import { createDocsRouter } from './rest/docs.ts';
import { createRestRouter } from './rest/router.ts';

const REQUEST_TIMEOUT_MS = 60_000;
const HEADERS_TIMEOUT_MS = 15_000;
const KEEP_ALIVE_MS = 65_000;
/** A database that does not answer within this time is not ready to serve. */
const READY_TIMEOUT_MS = 3_000;

/** Everything that this process answers over HTTP. */
function createApp(gateway: Gateway, config: Config, logger: Logger): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.set('query parser', 'simple');
  app.set('trust proxy', config.trustProxy);
  const metrics = createMetrics(gateway);
  app.use((request, response, next) => {
    const startedAt = performance.now();
    response.on('finish', () => {
      metrics.observe(request.method, response.statusCode, (performance.now() - startedAt) / 1000);
    });
    next();
  });
  app.get('/health/live', (_request, response) => void response.json({ status: 'live' }));
  app.get('/health/ready', async (_request, response) => {
    try {
      await within(READY_TIMEOUT_MS, gateway.checkReady());
      response.json({ status: 'ready' });
    } catch (error) {
      logger.warn({ err: error }, 'not ready');
      response.status(503).setHeader('Retry-After', '1').json({ status: 'unavailable' });
    }
  });
  app.get('/metrics', async (request, response) => {
    if (!mayReadMetrics(request, config.metricsToken)) {
      response.status(401).setHeader('WWW-Authenticate', 'Bearer');
      response
        .type('text/plain')
        .send('Send METRICS_TOKEN as a bearer token; without one set, ask on loopback.\n');
      return;
    }
    response.type(metrics.registry.contentType).send(await metrics.registry.metrics());
  });
  app.use('/docs', createDocsRouter());
  app.use('/api/v1', createRestRouter({ ...gateway, logger }));
  app.use((_request: Request, response: Response) => {
    response.status(404).json({ error: { code: 'not_found', message: 'There is nothing at this address.' } });
  });
  return app;
}

const LOOPBACK = /^(::1$|127\.|::ffff:127\.)/;
/** Headers with which a proxy says that it speaks for somebody else. */
const FORWARDED = ['x-forwarded-for', 'x-forwarded-host', 'x-real-ip', 'forwarded', 'via'];

/** Behind a proxy on this machine every request comes from loopback, so one that was passed on does not count. */
function mayReadMetrics(request: Request, token: string | undefined): boolean {
  if (token === undefined) {
    const isPassedOn = FORWARDED.some((header) => request.headers[header] !== undefined);
    return !isPassedOn && LOOPBACK.test(request.socket.remoteAddress ?? '');
  }
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(request.get('authorization') ?? ''), digest(`Bearer ${token}`));
}

async function within<T>(timeoutMs: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${timeoutMs} ms`)), timeoutMs);
  });
  return Promise.race([work, timeout]).finally(() => clearTimeout(timer));
}

export interface HttpServer {
  /** Address to reach it at. */
  readonly url: string;
  /** Takes no new requests and resolves when those in flight are answered, or cut off after `timeoutMs`. */
  close(timeoutMs: number): Promise<void>;
}

/** Listens on the configured address. Rejects when it is taken, naming the variable to change. */
export async function startHttpServer(gateway: Gateway, config: Config, logger: Logger): Promise<HttpServer> {
  const server = createServer(createApp(gateway, config, logger));
  server.requestTimeout = REQUEST_TIMEOUT_MS;
  server.headersTimeout = HEADERS_TIMEOUT_MS;
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  await listen(server, config);
  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : config.port;
  const host = config.host.includes(':') ? `[${config.host}]` : config.host;
  return {
    url: config.publicUrl ?? `http://${host}:${port}`,
    close: (timeoutMs) =>
      new Promise((resolve) => {
        // A kept-alive connection counts as open until its peer lets go of it.
        const idle = setInterval(() => server.closeIdleConnections(), 100);
        const deadline = setTimeout(() => server.closeAllConnections(), timeoutMs);
        server.close(() => {
          clearInterval(idle);
          clearTimeout(deadline);
          resolve();
        });
        server.closeIdleConnections();
      }),
  };
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
    server.listen(config.port, config.host, resolve);
  });
}
