import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { type CellName, type CellProcesses, startCellProcesses } from '../support/cell-processes.ts';
import { eventually } from '../support/eventually.ts';
import { buildWorkplace, query, type Workplace } from '../support/server-process.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';

jest.setTimeout(900_000);

const MOVES = 20;
/** What the CLI writes when it begins each step. A move is killed with `kill -9` at each. */
const STEPS = [
  'copying while the account works',
  'paused: sends are answered 503 with Retry-After',
  'copying the last changes',
  'the other cell has the account',
  'nothing is left here',
];
const RETRY_MS = 50;

interface Sender {
  readonly key: string;
  readonly accountId: string;
  /** The texts of the messages that were accepted, in order. */
  readonly accepted: string[];
  /** What the refusals were, such as `503 account_moving 2`. */
  readonly refusals: Map<string, number>;
  stop(): Promise<void>;
}

let workplace: Workplace;
let processes: CellProcesses;
let receiver: Awaited<ReturnType<typeof startWebhookReceiver>>;
beforeAll(async () => {
  workplace = await buildWorkplace();
  receiver = await startWebhookReceiver();
  processes = await startCellProcesses(workplace);
});
afterAll(async () => {
  await processes[Symbol.asyncDispose]();
  await receiver.stop();
  await workplace.remove();
});

async function createAccount(at: CellName): Promise<{ key: string; accountId: string }> {
  const cell = processes.cells[at];
  const email = `${crypto.randomUUID()}@test.example`;
  const created = (await cell.cli(
    ...['account', 'create', '--email', email, '--currency', 'UGX', '--balance', '10000000'],
  )) as { account: { id: string } };
  const accountId = created.account.id;
  const made = (await cell.cli('key', 'create', '--account', accountId, '--scopes', 'FULL_ACCESS')) as {
    key: string;
  };
  return { key: made.key, accountId };
}

const post = (path: string, key: string, body: object) =>
  fetch(`${processes.proxy.url}/api/v1/developers/${path}`, {
    method: 'POST',
    headers: { 'X-Api-Key': key, 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  });

/** Sends one message after the other through the proxy. What is refused is sent again, as the answer says. */
function startSender({ key, accountId }: { key: string; accountId: string }): Sender {
  const accepted: string[] = [];
  const refusals = new Map<string, number>();
  let isOver = false;
  const work = (async () => {
    for (let count = 1; !isOver; ) {
      const message = `${accountId} ${count}`;
      const answer = await post('sms', key, { to: '+256772000001', message });
      const text = await answer.text();
      if (answer.status === 200) {
        accepted.push(message);
        count += 1;
        continue;
      }
      const code = /"code":"(\w+)"/.exec(text)?.[1] ?? text.slice(0, 100);
      const refusal = `${answer.status} ${code} ${answer.headers.get('retry-after')}`;
      refusals.set(refusal, (refusals.get(refusal) ?? 0) + 1);
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
  })();
  return {
    key,
    accountId,
    accepted,
    refusals,
    async stop() {
      isOver = true;
      await work;
    },
  };
}

/** Runs a move until it has ended. With `killAt`, its process is killed at that step, and it is run again. */
async function move(accountId: string, from: CellName, killAt?: string): Promise<void> {
  if (killAt !== undefined) {
    const killed = processes.startMove(accountId, from);
    await eventually(() => {
      if (killed.stderr().includes(killAt) || killed.child.exitCode !== null) return true;
      throw new Error(`the move did not come to "${killAt}": ${killed.stderr()}`);
    }, 120_000);
    const { code, stderr } = await killed.kill();
    if (code !== null) throw new Error(`the move ended with ${code} before it was killed: ${stderr}`);
  }
  await eventually(async () => {
    const { code, stderr } = await processes.startMove(accountId, from).finished;
    if (code === 0) return true;
    // It was killed when it had ended, but for its report.
    if (killAt === STEPS.at(-1) && /has left this cell already/.test(stderr)) return true;
    // PostgreSQL sees only after the statement under way that the killed process is gone.
    if (/Another process is moving this account/.test(stderr)) return false;
    throw new Error(`the move ended with ${code}: ${stderr}`);
  }, 120_000);
}

const sql = <Row>(at: CellName, text: string, values: readonly unknown[]) =>
  query<Row>(processes.cells[at].connection, text, values);

/** Everything that the carriers of both cells got, in no order. */
const submitted = () =>
  Object.values(processes.cells).flatMap(({ smsc }) =>
    smsc.received.map(({ octets }) => octets.toString('latin1')),
  );

describe('moves behind HAProxy, with the CLI as a process', () => {
  it(`${MOVES} moves under load to and fro, of which ${STEPS.length} are killed: nothing is lost, doubled or refused but with 503 and Retry-After (R503, R504, R505, R506, R507, R509)`, async () => {
    const places: { account: { key: string; accountId: string }; at: CellName }[] = [
      { account: await createAccount('a'), at: 'a' },
      { account: await createAccount('b'), at: 'b' },
    ];
    const others = [await createAccount('a'), await createAccount('b')];
    for (const { account } of places) {
      const hook = await post('webhooks', account.key, { url: receiver.url, events: ['sms.sent'] });
      expect(hook.status).toBe(201);
    }
    const senders = places.map(({ account }) => startSender(account));
    const bystanders = others.map(startSender);
    try {
      for (let index = 0; index < MOVES; index += 1) {
        const place = places[index % places.length];
        if (!place) throw new Error('there is no such account');
        const sender = senders[index % senders.length];
        const before = sender?.accepted.length ?? 0;
        await move(place.account.accountId, place.at, STEPS[index]);
        place.at = place.at === 'a' ? 'b' : 'a';
        // It goes on in the other cell.
        await eventually(() => (sender?.accepted.length ?? 0) > before + 5);
      }
    } finally {
      // Else a fault would show as those of senders whose proxy the test has ended.
      await Promise.all([...senders, ...bystanders].map((sender) => sender.stop()));
    }

    for (const { refusals } of bystanders) expect([...refusals]).toEqual([]);
    for (const { refusals } of senders) expect([...refusals.keys()]).toEqual(['503 account_moving 2']);
    for (const { account, at } of places) {
      const { accepted } = senders.find(({ accountId }) => accountId === account.accountId) ?? {
        accepted: [],
      };
      // Each accepted message is there once, was sent once and delivered, and no refused one is there.
      const own = async (status: string) => {
        const [row] = await sql<{ count: number }>(
          at,
          `SELECT count(*)::int AS count FROM recipients r JOIN messages m ON m.id = r.message_id
           WHERE m.account_id = $1 AND ($2 = 'any' OR r.status = $2)`,
          [account.accountId, status],
        );
        return row?.count;
      };
      expect(await own('any')).toBe(accepted.length);
      await eventually(async () => (await own('delivered')) === accepted.length);
      const sent = submitted().filter((text) => text.startsWith(account.accountId));
      expect(sent.toSorted()).toEqual(accepted.toSorted());
      // The ledger has no gap, and its sum is the balance. The feed has no gap.
      const [ledger] = await sql(
        at,
        `SELECT a.balance_minor = sum(l.amount_minor) AS is_balanced,
           count(*) = a.ledger_seq AND max(l.seq) = a.ledger_seq AS is_dense,
           count(*) FILTER (WHERE l.kind = 'charge')::int AS charges
         FROM accounts a JOIN ledger_entries l ON l.account_id = a.id WHERE a.id = $1 GROUP BY a.id`,
        [account.accountId],
      );
      expect(ledger).toEqual({ is_balanced: true, is_dense: true, charges: accepted.length });
      const [feed] = await sql<{ last: number; is_dense: boolean }>(
        at,
        `SELECT f.last_seq::int AS last, count(*) = f.last_seq AND max(e.seq) = f.last_seq AS is_dense
         FROM event_feeds f JOIN events e ON e.account_id = f.account_id WHERE f.account_id = $1 GROUP BY 1, f.last_seq`,
        [account.accountId],
      );
      expect(feed?.is_dense).toBe(true);
      const events = await sql<{ count: number }>(
        at,
        "SELECT count(*)::int AS count FROM events WHERE account_id = $1 AND type = 'sms.sent'",
        [account.accountId],
      );
      expect(events[0]?.count).toBe(accepted.length);
    }
    // Each event reached its webhook once.
    const total = senders.reduce((sum, { accepted }) => sum + accepted.length, 0);
    const deliveries = () => receiver.received.map(({ headers }) => headers['x-service-delivery']);
    await eventually(() => new Set(deliveries()).size === total);
    expect(deliveries()).toHaveLength(total);
  });

  it('with cell A killed, its gateway and its PostgreSQL, B has no error under load (R501)', async () => {
    const [ofA, ofB] = [await createAccount('a'), await createAccount('b')];
    const senders = Array.from({ length: 8 }, () => startSender(ofB));
    const sent = () => senders.reduce((sum, { accepted }) => sum + accepted.length, 0);
    try {
      await eventually(() => sent() > 50);
      await processes.cells.a.kill();
      const before = sent();
      await eventually(
        async () => (await post('sms', ofA.key, { to: '+256772000001', message: 'Hello' })).status === 503,
      );
      await eventually(() => sent() > before + 500);
    } finally {
      await Promise.all(senders.map((sender) => sender.stop()));
    }
    expect(senders.flatMap(({ refusals }) => [...refusals])).toEqual([]);
    expect((await post('sms', ofA.key, { to: '+256772000001', message: 'Hello' })).status).toBe(503);
  });
});
