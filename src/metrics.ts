import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { Gateway } from './compose.ts';

export type Metrics = ReturnType<typeof createMetrics>;

/** The process's metrics, in the names of the Prometheus conventions. */
export function createMetrics(gateway: Pick<Gateway, 'queue' | 'routing' | 'live'>) {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const requests = new Histogram({
    name: 'gateway_http_request_duration_seconds',
    help: 'Time from the arrival of a request to its answer, by method and status.',
    labelNames: ['method', 'status'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10],
    registers: [registry],
  });
  const errors = new Counter({
    name: 'gateway_http_errors_total',
    help: 'Requests that ended in a 5xx.',
    registers: [registry],
  });
  new Gauge({
    name: 'gateway_queue_jobs',
    help: 'Jobs that wait or are held, by queue.',
    labelNames: ['queue'],
    registers: [registry],
    async collect() {
      this.reset();
      // Without a database the other metrics still tell.
      const depths = await gateway.queue.depth().catch(() => ({}));
      for (const [queue, count] of Object.entries(depths)) this.set({ queue }, count);
    },
  });
  new Gauge({
    name: 'gateway_provider_up',
    help: '1 when the carrier or provider can take submissions.',
    labelNames: ['provider'],
    registers: [registry],
    collect() {
      for (const { name, state } of gateway.routing.health())
        this.set({ provider: name }, state === 'up' ? 1 : 0);
    },
  });
  new Gauge({
    name: 'gateway_live_subscribers',
    help: 'Subscriptions that this process feeds.',
    registers: [registry],
    collect() {
      this.set(gateway.live.size);
    },
  });
  new Gauge({
    name: 'gateway_live_waiting_objects',
    help: 'Changed objects that subscribers have not taken yet; each keeps 1,000 at the most.',
    registers: [registry],
    collect() {
      this.set(gateway.live.waiting);
    },
  });
  return {
    registry,
    observe(method: string, status: number, seconds: number) {
      requests.observe({ method, status }, seconds);
      if (status >= 500) errors.inc();
    },
  };
}
