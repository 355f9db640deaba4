import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { eventually } from '../support/eventually.ts';
import {
  buildWorkplace,
  embeddedConnection,
  query,
  quickstartOf,
  runCli,
  type ServerProcess,
  startServer,
  type Workplace,
} from '../support/server-process.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';

// Time limit of a test in ms. Each test starts processes, which takes long on a busy machine.
jest.setTimeout(180_000);

const KILLS = 5;
const ANSWERS_BEFORE_KILL = 60;
const CLIENTS = 8;

let workplace: Workplace;
const servers: ServerProcess[] = [];
beforeAll(async () => {
  workplace = await buildWorkplace();
});
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.kill()));
});
afterAll(() => workplace.remove());

interface Sender {
  readonly url: string;
  readonly key: string;
  /** Ids of messages answered with 200. */
  readonly accepted: Set<string>;
}

/**
 * Sends from several clients at once until the server no longer answers. Calls `afterAnswers` once after `count`
 * answers.
 */
async function sendUntilGone(sender: Sender, count: number, afterAnswers: () => void): Promise<void> {
  let answers = 0;
  const client = async () => {
    for (;;) {
      const last = String(Math.floor(Math.random() * 1e8)).padStart(8, '0');
      const answer = await fetch(`${sender.url}/api/v1/developers/sms`, {
        method: 'POST',
        headers: { 'X-Api-Key': sender.key, 'Content-Type': 'application/json' },
        body: JSON.stringify({ to: `+2567${last}`, message: 'under load' }),
      })
        .then(async (response) => ({
          status: response.status,
          body: (await response.json()) as { id: string },
        }))
        .catch(() => undefined);
      if (!answer) return;
      expect(answer).toMatchObject({ status: 200 });
      sender.accepted.add(answer.body.id);
      answers += 1;
      if (answers === count) afterAnswers();
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
}

describe('kill -9 of the server, five times in a row', () => {
  it('loses no accepted message, charges each once and calls its webhook', async () => {
    const receiver = await startWebhookReceiver();
    try {
      const dataDir = await workplace.directory('crash');
      const variables = {
        DATA_DIR: dataDir,
        WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
        RATE_LIMIT_PER_MINUTE: '1000000',
        LOG_LEVEL: 'error',
      };
      const start = async () => {
        const server = startServer(workplace, variables);
        servers.push(server);
        return { server, url: await server.ready() };
      };
      let { server, url } = await start();
      const { key, accountId } = quickstartOf(server.stdout());
      const topup = await runCli(
        workplace,
        ['account', 'topup', '--account', accountId, '--amount', '10000000'],
        {
          DATA_DIR: dataDir,
        },
      );
      expect(topup).toMatchObject({ code: 0, stderr: '' });
      const registered = await fetch(`${url}/api/v1/developers/webhooks`, {
        method: 'POST',
        headers: { 'X-Api-Key': key, 'Content-Type': 'application/json' },
        body: JSON.stringify({ url: receiver.url, events: ['sms.sent', 'sms.failed'] }),
      });
      expect(registered.status).toBe(201);

      const accepted = new Set<string>();
      for (let kill = 0; kill < KILLS; kill++) {
        const before = accepted.size;
        const gone = server;
        await sendUntilGone({ url, key, accepted }, ANSWERS_BEFORE_KILL, () => void gone.kill());
        await gone.finished;
        expect(accepted.size - before).toBeGreaterThanOrEqual(ANSWERS_BEFORE_KILL);
        ({ server, url } = await start());
      }

      const connection = await embeddedConnection(dataDir);
      await eventually(async () => {
        const [row] = await query<{ pending: number }>(
          connection,
          `SELECT count(*)::int AS pending FROM recipients WHERE status = 'pending'`,
        );
        return row?.pending === 0;
      });
      const messages = await query<{
        id: string;
        status: string;
        cost: number;
        charges: number;
        charged: number;
      }>(
        connection,
        `SELECT m.id, (SELECT status FROM recipients WHERE message_id = m.id) AS status, m.cost_minor::int AS cost, count(l.*)::int AS charges, coalesce(-sum(l.amount_minor), 0)::int AS charged
         FROM messages m LEFT JOIN ledger_entries l ON l.message_id = m.id AND l.kind = 'charge' GROUP BY m.id`,
      );
      const stored = new Map(messages.map((message) => [message.id, message]));
      expect([...accepted].filter((id) => !stored.has(id))).toEqual([]);
      for (const message of messages) {
        expect(message).toMatchObject({ charges: 1, charged: message.cost });
        expect(['sent', 'delivered', 'failed']).toContain(message.status);
      }
      const [account] = await query<{ balance: number; ledger: number }>(
        connection,
        `SELECT balance_minor::int AS balance, (SELECT sum(amount_minor)::int FROM ledger_entries) AS ledger FROM accounts`,
      );
      expect(account?.balance).toBe(account?.ledger);

      // Each event is delivered at least once. An event that is delivered again has the same delivery id.
      const told = () => new Map(receiver.received.map((hook) => [hook.body.messageId, hook.body.event]));
      await eventually(() => [...stored.keys()].every((id) => told().has(id)));
      const deliveries = new Map<string, Set<unknown>>();
      for (const { headers, body } of receiver.received) {
        const of = `${body.messageId} ${body.event}`;
        deliveries.set(of, (deliveries.get(of) ?? new Set()).add(headers['x-service-delivery']));
      }
      expect([...deliveries.values()].filter((ids) => ids.size > 1)).toEqual([]);
      await server.stop();
    } finally {
      await receiver.stop();
    }
  });
});
