import { createHash, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';
import express, { type Request, type Response, type Router } from 'express';
import type { Gateway } from '../compose.ts';
import type { Config } from '../config/config.ts';
import { clientOf, shownClient } from '../domain/ip-network.ts';
import { requestIdOf } from '../rest/middleware/request.ts';
import { addToEveryResponse, securityHeaders } from '../rest/middleware/security-headers.ts';
import type { Metrics } from './metrics.ts';

const REQUEST_TIMEOUT_MS = 10_000;

/**
 * The routes with which an operator's tools watch the process: `/health/live`, `/health/ready` and `/metrics` (R244).
 */
export function createProbes(gateway: Gateway, config: Config, metrics: Metrics): Router {
  const router = express.Router({ caseSensitive: true });
  router.get('/health/live', (_request, response) => void response.json({ status: 'live' }));
  router.get('/health/ready', (request, response) => answerReady(gateway, request, response));
  router.get('/metrics', async (request, response) => {
    response.setHeader('Cache-Control', 'no-store');
    if (config.isProduction && config.metricsToken === undefined) {
      response
        .status(403)
        .type('text/plain')
        .send('Set METRICS_TOKEN: production shows metrics to who has it only.\n');
      return;
    }
    if (!mayReadMetrics(request, config.metricsToken)) {
      const address = shownClient(clientOf(request.ip));
      gateway.security.recordRefusal({ kind: 'metrics_token', reason: 'no or another token', address });
      response.status(401).setHeader('WWW-Authenticate', 'Bearer');
      response
        .type('text/plain')
        .send('Send METRICS_TOKEN as a bearer token; without one set, ask on loopback.\n');
      return;
    }
    response.type(metrics.registry.contentType).send(await metrics.registry.metrics());
  });
  return router;
}

async function answerReady({ readiness }: Gateway, request: Request, response: Response): Promise<void> {
  response.setHeader('X-Request-Id', requestIdOf(request));
  response.setHeader('Cache-Control', 'no-store');
  const verdict = await readiness.check();
  if (verdict.isReady) {
    const { held, degraded } = verdict;
    if (held) response.json({ status: 'held', ...held });
    else response.json(degraded ? { status: 'degraded', ...degraded } : { status: 'ready' });
    return;
  }
  const { check, reason } = verdict;
  response.status(503).setHeader('Retry-After', '1');
  response.json({ status: 'unavailable', check, reason });
}

const LOOPBACK = /^(::1$|127\.|::ffff:127\.)/;
/** Headers that a proxy adds when it forwards a request. */
const FORWARDED = ['x-forwarded-for', 'x-forwarded-host', 'x-real-ip', 'forwarded', 'via'];

/**
 * True if the request may read the metrics. With a token configured, the request must have it. Without one, only
 * requests from this machine may read them. A forwarded request does not count as local: a proxy on this machine makes
 * every request come from loopback.
 */
function mayReadMetrics(request: Request, token: string | undefined): boolean {
  if (token === undefined) {
    const isPassedOn = FORWARDED.some((header) => request.headers[header] !== undefined);
    return !isPassedOn && LOOPBACK.test(request.socket.remoteAddress ?? '');
  }
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(request.get('authorization') ?? ''), digest(`Bearer ${token}`));
}

/**
 * Serves only the probes, on METRICS_PORT. A process with `ROLES=worker` has no other listener. Rejects if the port is
 * in use. The error names the variable to change.
 */
export async function startProbeServer(
  gateway: Gateway,
  config: Config & { readonly metricsPort: number },
  metrics: Metrics,
): Promise<{ close(): Promise<void> }> {
  const app = express();
  app.disable('x-powered-by');
  addToEveryResponse(app.response, securityHeaders(config.isProduction));
  app.use(createProbes(gateway, config, metrics));
  const server = createServer(app);
  server.requestTimeout = REQUEST_TIMEOUT_MS;
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) =>
      reject(
        new Error(
          `cannot listen on ${config.host}:${config.metricsPort}: ${error.message}. Set METRICS_PORT to a free port.`,
        ),
      ),
    );
    server.listen({ port: config.metricsPort, host: config.host }, resolve);
  });
  return {
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
