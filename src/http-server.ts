import { createHash, timingSafeEqual } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import express, { type Express, type Request, type Response } from 'express';
import type { Gateway } from './compose.ts';
import type { Config } from './config.ts';
import type { Logger } from './domain/ports/logger.ts';
import { createMetrics } from './metrics.ts';
import { createRestRouter } from './rest/router.ts';

const REQUEST_TIMEOUT_MS = 60_000;
const HEADERS_TIMEOUT_MS = 15_000;
const KEEP_ALIVE_MS = 65_000;

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
      await gateway.checkReady();
      response.json({ status: 'ready' });
    } catch (error) {
      logger.warn({ err: error }, 'not ready');
      response.status(503).setHeader('Retry-After', '1').json({ status: 'unavailable' });
    }
  });
  app.get('/metrics', async (request, response) => {
    if (!mayReadMetrics(request, config.metricsToken)) {
      response.status(401).type('text/plain').send('Send METRICS_TOKEN as a bearer token.\n');
      return;
    }
    response.type(metrics.registry.contentType).send(await metrics.registry.metrics());
  });
  app.use('/api/v1', createRestRouter({ ...gateway, logger }));
  app.use((_request: Request, response: Response) => {
    response.status(404).json({ error: { code: 'not_found', message: 'There is nothing at this address.' } });
  });
  return app;
}

function mayReadMetrics(request: Request, token: string | undefined): boolean {
  if (token === undefined) return /^(::1|127\.|::ffff:127\.)/.test(request.socket.remoteAddress ?? '');
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(request.get('authorization') ?? ''), digest(`Bearer ${token}`));
}

export interface HttpServer {
  /** Address to reach it at. */
  readonly url: string;
  /** Takes no new requests and resolves when those in flight are answered. */
  close(): Promise<void>;
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
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeIdleConnections();
        // A kept-alive connection counts as open until its peer lets go of it.
        const timer = setInterval(() => server.closeIdleConnections(), 100);
        server.once('close', () => clearInterval(timer));
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
