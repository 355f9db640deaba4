import { statfs } from 'node:fs/promises';
import { Counter, collectDefaultMetrics, Gauge, Histogram } from 'prom-client';
import type { Gateway } from '../compose.ts';
import type { SystemCaller } from '../domain/caller.ts';
import { dueAt } from '../domain/messages/message.ts';
import type { ProviderState } from '../domain/ports/routing.ts';
import { uuidTime } from '../domain/uuid.ts';

/** The caller of the operations that the metrics run. */
const METRICS: SystemCaller = { kind: 'system', name: 'metrics' };
const CAN_TAKE: ReadonlySet<ProviderState> = new Set(['up', 'degraded']);

export type Metrics = ReturnType<typeof createMetrics>;

/** A number of attempts that no recipient reaches. */
const ANY_ATTEMPTS = 2 ** 31 - 1;

/**
 * Creates the metrics of this process, in the registry of the gateway. The names follow the conventions of Prometheus
 * (R345). If a part does not answer, its metrics are left out, and all others still work.
 */
export function createMetrics(
  gateway: Pick<
    Gateway,
    | 'queue'
    | 'operations'
    | 'live'
    | 'stores'
    | 'security'
    | 'refusals'
    | 'spool'
    | 'clock'
    | 'registry'
    | 'poolUse'
    | 'replica'
    | 'dataDir'
    | 'diagnostics'
  >,
) {
  const { registry } = gateway;
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
      // Without the database this metric is empty. The other metrics still work.
      const depths = await gateway.queue.depth().catch(() => ({}));
      for (const [queue, count] of Object.entries(depths)) this.set({ queue }, count);
    },
  });
  new Gauge({
    name: 'gateway_provider_up',
    help: '1 when every process that works can hand submissions to the carrier or provider; absent where none works.',
    labelNames: ['provider'],
    registers: [registry],
    async collect() {
      this.reset();
      // Read the health of providers from the database, where all workers store it. This process may have no worker,
      // and a worker process may serve no /metrics.
      const said = await gateway.operations.providers.health.run(METRICS, {}).catch(() => []);
      for (const [provider, own] of Map.groupBy(said, ({ name }) => name))
        this.set({ provider }, own.every(({ state }) => CAN_TAKE.has(state)) ? 1 : 0);
    },
  });
  new Counter({
    name: 'gateway_security_refusals_total',
    help: 'Requests with a wrong key, signature, address, session, password, callback or metrics token, by kind.',
    labelNames: ['kind'],
    registers: [registry],
    collect() {
      this.reset();
      for (const [kind, count] of gateway.security.counts) this.inc({ kind }, count);
    },
  });
  new Gauge({
    name: 'gateway_ledger_mismatch_accounts',
    help: 'Accounts whose balance is not the sum of their ledger. Anything but 0 is an alarm.',
    registers: [registry],
    async collect() {
      const count = await gateway.stores.ledgerCheck.countMismatched().catch(() => undefined);
      if (count !== undefined) this.set(count);
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
  new Counter({
    name: 'gateway_refusals_total',
    help: 'Requests that were refused with 503, by reason.',
    labelNames: ['reason'],
    registers: [registry],
    collect() {
      this.reset();
      for (const [reason, { total }] of gateway.refusals.counts()) this.inc({ reason }, total);
    },
  });
  new Gauge({
    name: 'gateway_refusing',
    help: '1 while requests are refused with 503 for the reason, 0 when they were and are no longer.',
    labelNames: ['reason'],
    registers: [registry],
    collect() {
      this.reset();
      for (const [reason, { isInProgress }] of gateway.refusals.counts())
        this.set({ reason }, isInProgress ? 1 : 0);
    },
  });
  new Gauge({
    name: 'gateway_report_spool_bytes',
    help: 'Delivery reports that this process keeps on its disk until the database takes them.',
    registers: [registry],
    collect() {
      this.set(gateway.spool.bytes);
    },
  });
  new Gauge({
    name: 'gateway_clock_skew_seconds',
    help: "How far this machine's clock is ahead of the database's; below 0 it is behind. Beyond 5 s nothing expires here.",
    registers: [registry],
    collect() {
      this.set(gateway.clock.skewMs / 1_000);
    },
  });
  new Counter({
    name: 'gateway_refused_requests_total',
    help: 'Requests that were refused, by error code. A GraphQL request counts once, by its gravest error.',
    labelNames: ['code'],
    registers: [registry],
    collect() {
      this.reset();
      for (const [code, count] of gateway.refusals.codes()) this.inc({ code }, count);
    },
  });
  const age = (since: Date) => Math.max(0, gateway.clock.now().getTime() - since.getTime()) / 1_000;
  new Gauge({
    name: 'gateway_oldest_pending_message_seconds',
    help: 'How long the oldest message waits for its submission, since it was accepted or due. 0 if none waits.',
    registers: [registry],
    async collect() {
      this.remove();
      const ids = await gateway.queue.oldestMessages().catch(() => undefined);
      const found = ids && (await gateway.stores.messages.pending(ids, ANY_ATTEMPTS).catch(() => undefined));
      if (!found) return;
      const ages = found.map(({ message, recipients }) =>
        Math.max(...recipients.map((recipient) => age(dueAt(message, recipient)))),
      );
      this.set(Math.max(0, ...ages));
    },
  });
  new Gauge({
    name: 'gateway_oldest_waiting_delivery_seconds',
    help: 'Age of the oldest webhook delivery that waits for an attempt or a retry. 0 if none waits.',
    registers: [registry],
    async collect() {
      this.remove();
      const ids = await gateway.queue.oldestDeliveries().catch(() => undefined);
      if (ids) this.set(Math.max(0, ...ids.slice(0, 1).map((id) => age(uuidTime(id)))));
    },
  });
  new Gauge({
    name: 'gateway_feed_lag_seconds',
    help: 'Time from a notification in the database until this process hears it, measured when the metrics are read.',
    registers: [registry],
    async collect() {
      this.remove();
      const startedAt = performance.now();
      const isHeard = await gateway.diagnostics.hearsNotifications().catch(() => undefined);
      if (isHeard !== undefined) this.set((performance.now() - startedAt) / 1_000);
    },
  });
  new Gauge({
    name: 'gateway_database_connections',
    help: 'Connections of this process to the database, by pool: used, idle, or the most that the pool opens.',
    labelNames: ['pool', 'state'],
    registers: [registry],
    collect() {
      for (const [pool, { used, idle, max }] of Object.entries(gateway.poolUse())) {
        this.set({ pool, state: 'used' }, used);
        this.set({ pool, state: 'idle' }, idle);
        this.set({ pool, state: 'max' }, max);
      }
    },
  });
  new Gauge({
    name: 'gateway_database_connection_waits',
    help: 'Statements and transactions that wait for a connection of a pool.',
    labelNames: ['pool'],
    registers: [registry],
    collect() {
      for (const [pool, { waiting }] of Object.entries(gateway.poolUse())) this.set({ pool }, waiting);
    },
  });
  const { replica } = gateway;
  if (replica) {
    new Gauge({
      name: 'gateway_replica_in_service',
      help: '1 while the replica serves lists, 0 while the primary serves them because the replica cannot.',
      registers: [registry],
      collect() {
        this.set(replica.isInService ? 1 : 0);
      },
    });
    new Counter({
      name: 'gateway_replica_reads_total',
      help: 'Reads of lists, searches and usage, by the server that served them: replica or primary.',
      labelNames: ['server'],
      registers: [registry],
      collect() {
        this.reset();
        for (const [server, count] of Object.entries(replica.served)) this.inc({ server }, count);
      },
    });
  }
  const disk = (name: string, help: string, blocks: 'bavail' | 'blocks') =>
    new Gauge({
      name,
      help,
      registers: [registry],
      async collect() {
        this.remove();
        const found = await statfs(gateway.dataDir).catch(() => undefined);
        if (found) this.set(found[blocks] * found.bsize);
      },
    });
  disk('gateway_disk_free_bytes', 'Room left on the disk of DATA_DIR.', 'bavail');
  disk('gateway_disk_size_bytes', 'Size of the disk of DATA_DIR.', 'blocks');
  return {
    registry,
    observe(method: string, status: number, seconds: number) {
      requests.observe({ method, status }, seconds);
      if (status >= 500) errors.inc();
    },
  };
}
