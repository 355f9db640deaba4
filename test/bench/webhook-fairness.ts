import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net';
import { request } from 'undici';
import { type BenchContext, type BenchResult, type BenchServer, median } from './context.ts';

const MESSAGES = 300;
const DEAD_EVENTS = 10_000;
const RECIPIENTS_PER_SEND = 1_000;
const DEAD_ENDPOINTS = 200;
const EVENTS_FOR_EACH = 50;

/** Row 9: latency of a live endpoint's events while 10,000 events wait for endpoints that never answer. */
export async function run(context: BenchContext): Promise<BenchResult[]> {
  const live = await startLive();
  const dead = await startDead();
  const server = await context.startServer();
  try {
    const call = caller(server);
    const { webhook } = await call('POST', '/developers/webhooks', { url: live.url, events: ['sms.sent'] });
    const liveOn = (isActive: boolean) => call('PUT', `/developers/webhooks/${webhook.id}`, { isActive });
    const measure = async () => {
      const delays: number[] = [];
      for (let index = 0; index < MESSAGES; index += 1) {
        const at = performance.now();
        const { id } = await call('POST', '/developers/sms', {
          to: '+256700123456',
          message: `Message ${index}`,
        });
        delays.push((await live.arrival(id)) - at);
      }
      return median(delays);
    };

    await measure();
    const before = await measure();

    await liveOn(false);
    const gone = await call('POST', '/developers/webhooks', { url: dead.url, events: ['sms.sent'] });
    await sendMany(call, DEAD_EVENTS);
    await waitForDeliveries(call, gone.webhook.id, DEAD_EVENTS);
    context.log(`  ${DEAD_EVENTS} events wait for a dead endpoint`);
    // Change the dead endpoint's events: otherwise each measured message would add an event for it. Its backlog stays.
    await call('PUT', `/developers/webhooks/${gone.webhook.id}`, { events: ['email.sent'] });
    await liveOn(true);
    const cpuBefore = (await server.usage()).cpuSeconds;
    const besideOne = await measure();
    const cpuMs = (((await server.usage()).cpuSeconds - cpuBefore) * 1000) / MESSAGES;
    const wires = dead.open();
    context.log(`  alone ${before.toFixed(1)} ms, beside one dead endpoint ${besideOne.toFixed(1)} ms`);

    await call('PUT', `/developers/webhooks/${gone.webhook.id}`, { events: ['sms.sent'] });
    // Registration allows at most 10 webhooks, so further dead endpoints are inserted into the table directly.
    await liveOn(false);
    await context.withClient(server.database, (client) =>
      client.query(
        `INSERT INTO webhooks (id, account_id, url, events, max_retries, secret_sealed, created_at)
         SELECT gen_random_uuid(), account_id, url, events, max_retries, secret_sealed, created_at
         FROM webhooks, generate_series(2, $2) WHERE id = $1`,
        [gone.webhook.id, DEAD_ENDPOINTS],
      ),
    );
    await sendMany(call, EVENTS_FOR_EACH);
    await waitForDeliveries(call, gone.webhook.id, DEAD_EVENTS + EVENTS_FOR_EACH);
    context.log(`  ${DEAD_ENDPOINTS} dead endpoints have ${EVENTS_FOR_EACH} events each`);
    await context.withClient(server.database, (client) =>
      client.query(`UPDATE webhooks SET events = '{email.sent}' WHERE url = $1`, [dead.url]),
    );
    await liveOn(true);
    const besideMany = await measure();
    const wiresOfMany = dead.open();

    // Measure again without the dead endpoints, because the machine's speed may have changed.
    await context.withClient(server.database, (client) =>
      client.query('UPDATE webhooks SET deleted_at = now() WHERE url = $1', [dead.url]),
    );
    while (dead.open() > 0) await new Promise((resolve) => setTimeout(resolve, 50));
    const after = await measure();
    const alone = (before + after) / 2;
    context.log(
      `  alone again ${after.toFixed(1)} ms, beside ${DEAD_ENDPOINTS} dead endpoints ${besideMany.toFixed(1)} ms`,
    );

    return [
      { name: 'POST → webhook, nobody else, p50', value: alone, unit: 'ms' },
      {
        row: 9,
        name: `POST → webhook beside ${DEAD_EVENTS} events for a dead endpoint, p50`,
        value: besideOne,
        unit: 'ms',
        baseline: alone,
        ratio: besideOne / alone,
        reach: '≤ 1.5',
        note: `${wires} connections to the dead one; ${cpuMs.toFixed(1)} ms of CPU a message`,
      },
      {
        row: 9,
        name: `the same beside ${DEAD_ENDPOINTS} dead endpoints with ${EVENTS_FOR_EACH} events each, p50`,
        value: besideMany,
        unit: 'ms',
        baseline: alone,
        ratio: besideMany / alone,
        reach: '≤ 1.5',
        note: `${wiresOfMany} connections to the dead ones`,
      },
    ];
  } finally {
    dead.stop();
    await server.stop();
    live.stop();
  }
}

// biome-ignore lint/suspicious/noExplicitAny: whatever the answer holds
type Call = (method: 'GET' | 'POST' | 'PUT', path: string, body?: object) => Promise<any>;

function caller(server: BenchServer): Call {
  return async (method, path, body) => {
    const answer = await request(`${server.url}/api/v1${path}`, {
      method,
      headers: { 'x-api-key': server.key, 'content-type': 'application/json' },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    const json = await answer.body.json();
    if (answer.statusCode >= 300) throw new Error(`${path}: ${answer.statusCode} ${JSON.stringify(json)}`);
    return json;
  };
}

async function sendMany(call: Call, count: number): Promise<void> {
  for (let sent = 0; sent < count; sent += RECIPIENTS_PER_SEND) {
    // Numbers that end in 0004: the simulator sends no delivery reports during the measurement.
    const to = Array.from(
      { length: Math.min(RECIPIENTS_PER_SEND, count - sent) },
      (_, index) => `+2567${String(sent + index).padStart(4, '0')}0004`,
    );
    await call('POST', '/developers/sms', { to: to.join(','), message: 'For the dead' });
  }
}

async function waitForDeliveries(call: Call, id: string, count: number): Promise<void> {
  for (;;) {
    const { pagination } = await call('GET', `/developers/webhooks/${id}/deliveries?limit=1`);
    if (pagination.total >= count) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Starts the live endpoint. It accepts every event at once and records the time of its arrival. */
async function startLive() {
  const cameAt = new Map<string, number>();
  const waiting = new Map<string, (at: number) => void>();
  const server = createServer(async (incoming, answer) => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk);
    const at = performance.now();
    const { messageId } = JSON.parse(Buffer.concat(chunks).toString());
    cameAt.set(messageId, at);
    waiting.get(messageId)?.(at);
    answer.end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    async arrival(messageId: string): Promise<number> {
      return cameAt.get(messageId) ?? new Promise((resolve) => waiting.set(messageId, resolve));
    },
    stop() {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** Starts the dead endpoint. It accepts connections and requests, and never answers. */
async function startDead() {
  const sockets = new Set<Socket>();
  const server = createTcpServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
    socket.resume();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    open: () => sockets.size,
    stop() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}
