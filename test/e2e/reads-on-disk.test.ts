import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import pg from 'pg';
import { startEmbeddedPostgres } from '../../src/storage/embedded-postgres/embedded-postgres.ts';
import { Sql, statement } from '../../src/storage/postgres/sql.ts';
import { silentLogger, withKnex } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { graphql, signIn } from '../support/graphql.ts';
import { type Subscription, subscribe } from '../support/live.ts';
import {
  buildWorkplace,
  embeddedConnection,
  postmasterPid,
  query,
  quickstartOf,
  type ServerProcess,
  startedDirectory,
  startServer,
  type Workplace,
} from '../support/server-process.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';

// Time limit of a test in ms. Each test starts processes, which takes long on a busy machine.
jest.setTimeout(180_000);

/**
 * Number of commits before the kill. They all fit into PostgreSQL's WAL buffer, so it need not write them to the disk
 * earlier.
 */
const COMMITS = 400;

/** One transaction that writes an event and a message whose text is the event's number, and notifies the gateway. */
const APPEND = `WITH feed AS (
    UPDATE event_feeds SET last_seq = last_seq + 1 WHERE account_id = $1 RETURNING last_seq
  ), appended AS (
    INSERT INTO events (account_id, seq, recorded_at, type, body, is_sandbox)
    SELECT $1, last_seq, now(), 'sms.sent', '{"number":' || last_seq || '}', false FROM feed
  ), changed AS (
    UPDATE messages SET content = last_seq::text FROM feed WHERE id = $2 RETURNING id
  )
  SELECT last_seq::int AS seq, pg_notify('gateway_live', 'message ' || $1::uuid || ' ' || id) FROM feed, changed`;

/** Writes an event with a delivery that is due, and a job that any worker may take. */
const LEAVE = `WITH feed AS (
    UPDATE event_feeds SET last_seq = last_seq + 1 WHERE account_id = $1 RETURNING last_seq
  ), appended AS (
    INSERT INTO events (account_id, seq, recorded_at, type, body, is_sandbox)
    SELECT $1, last_seq, now(), 'sms.sent', '{"number":' || last_seq || '}', false FROM feed
  ), owed AS (
    INSERT INTO webhook_deliveries (id, account_id, webhook_id, event_seq, created_at, event, status)
    SELECT $3, $1, $2, last_seq, now(), 'sms.sent', 'pending' FROM feed
  )
  INSERT INTO job_leases (id, due_at, queue, job) VALUES ($4, now(), 'webhook', $5)
  RETURNING pg_notify('gateway_left_jobs', '')`;

const END_OF_LOG = statement('test-end-of-log', 'SELECT pg_current_wal_insert_lsn() AS lsn');

describe('reads while others commit before the disk has the commit (ADR-0017) (ADR-0017)', () => {
  let workplace: Workplace;
  const servers: ServerProcess[] = [];
  beforeAll(async () => {
    workplace = await buildWorkplace();
  });
  afterAll(async () => {
    await Promise.all(servers.map((server) => server.kill()));
    await workplace?.remove();
  });

  async function start(dataDir: string, variables: Record<string, string> = {}) {
    const server = startServer(workplace, {
      DATA_DIR: dataDir,
      LOG_LEVEL: 'error',
      RATE_LIMIT_PER_MINUTE: '1000000',
      ...variables,
    });
    servers.push(server);
    return { server, url: await server.ready() };
  }

  /**
   * Prepares to kill PostgreSQL and the gateway. The returned function kills both at once, so that neither writes to
   * the disk afterwards.
   */
  async function killAll(server: ServerProcess, dataDir: string): Promise<() => Promise<unknown>> {
    const postmaster = await postmasterPid(dataDir);
    const others = await query<{ pid: number }>(
      await embeddedConnection(dataDir),
      'SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid()',
    );
    return () => {
      for (const pid of [postmaster, ...others.map(({ pid }) => pid)]) {
        try {
          process.kill(pid, 'SIGKILL');
        } catch {
          // This backend has already ended by itself.
        }
      }
      return server.kill();
    };
  }

  /** What a reader needs to read the message. Its text is the number of the last commit. */
  interface Look {
    readonly url: string;
    readonly key: string;
    readonly token: string;
    readonly messageId: string;
    /** The number of the last event of those before the commits. */
    readonly after: number;
  }
  async function get<Read>({ url, key }: Look, path: string): Promise<Read> {
    const response = await fetch(`${url}/api/v1${path}`, { headers: { 'X-Api-Key': key } });
    if (response.status !== 200) throw new Error(`${path} was answered with ${response.status}`);
    return (await response.json()) as Read;
  }
  const asked = async (look: Look, text: string) =>
    (await graphql(look, text, { token: look.token })).body.data;
  const LISTED = `{ messages(first: 1) { nodes { content } } }`;

  /** The ways to read. Each function returns the last number that it saw, or subscribes and receives it. */
  const READERS: Record<string, (look: Look) => Promise<unknown>> = {
    'the event feed': async (look) =>
      (await get<{ cursor: string }>(look, `/developers/events?after=${look.after + COMMITS - 9}`)).cursor,
    'a lookup': async (look) =>
      (await get<{ content: string }>(look, `/developers/messages/${look.messageId}`)).content,
    'a history': async (look) =>
      (await get<{ data: { content: string }[] }>(look, '/developers/sms/history')).data[0]?.content,
    'a list of GraphQL': async (look) => (await asked(look, LISTED)).messages.nodes[0].content,
    'live updates': async (look) => {
      live ??= await subscribe(look, look.token, 'subscription { messageUpdated { content } }');
      return live.events.at(-1)?.data?.messageUpdated.content;
    },
  };
  let live: Subscription | undefined;

  /** The gateway that the last crash left, on the same DATA_DIR as before. Undefined if a test failed. */
  let left: Awaited<ReturnType<typeof startCopy>> | undefined;
  async function startCopy() {
    const { dataDir, stdout } = await startedDirectory(workplace);
    const { server, url } = await start(dataDir, { ROLES: 'api' });
    const { key, accountId, email, password } = quickstartOf(stdout);
    const token = await signIn({ url }, { email, password });
    const sent = await fetch(`${url}/api/v1/developers/sms`, {
      method: 'POST',
      headers: { 'X-Api-Key': key, 'Content-Type': 'application/json' },
      body: JSON.stringify({ to: '+256700123456', message: '0' }),
    });
    const { id: messageId } = (await sent.json()) as { id: string };
    return { dataDir, server, url, key, accountId, token, messageId };
  }

  it.each(Object.keys(READERS))('%s shows nothing that a crash of both servers takes back', async (name) => {
    const gateway = left ?? (await startCopy());
    left = undefined;
    const { dataDir, server, accountId, messageId } = gateway;
    const connection = await embeddedConnection(dataDir);
    const [feed] = await query<{ last: number }>(
      connection,
      'SELECT last_seq::int AS last FROM event_feeds WHERE account_id = $1',
      [accountId],
    );
    const look = { ...gateway, after: feed?.last ?? 0 };
    const read = READERS[name] as (look: Look) => Promise<unknown>;
    await read(look);

    await stopLogWriter(connection);
    const other = new pg.Client(connection);
    other.on('error', () => undefined);
    await other.connect();
    // Commit like another gateway process, which does not wait for the disk (ADR-0017).
    await other.query('SET synchronous_commit = off');
    for (let commit = 1; commit < COMMITS; commit++) await other.query(APPEND, [accountId, messageId]);
    const kill = await killAll(server, dataDir);
    const [last] = (await other.query(APPEND, [accountId, messageId])).rows;
    await eventually(async () => Number(await read(look)) === last.seq);
    await kill();
    await other.end().catch(() => undefined);
    live?.stop();
    live = undefined;

    const next = await start(dataDir, { ROLES: 'api' });
    const [stored] = await query(
      await embeddedConnection(dataDir),
      `SELECT last_seq::int AS feed, (SELECT max(seq)::int FROM events) AS event, content
       FROM event_feeds f JOIN messages m ON m.account_id = f.account_id WHERE f.account_id = $1`,
      [accountId],
    );
    expect(stored).toEqual({ feed: last.seq, event: last.seq, content: String(last.seq) });
    left = { ...gateway, ...next };
  });

  it('a read writes nothing when all is on the disk', async () => {
    const { dataDir } = left ?? (await startCopy());
    await withKnex(await embeddedConnection(dataDir), async (knex) => {
      const sql = new Sql(knex);
      // The gateway's background work may write to the WAL between the two reads. Then try again.
      await eventually(async () => {
        const [before] = await sql.queryOnDisk<{ lsn: string }>(END_OF_LOG, []);
        for (let time = 0; time < 5; time++) await sql.queryOnDisk(END_OF_LOG, []);
        const [after] = await sql.query<{ lsn: string }>(END_OF_LOG, []);
        return before?.lsn === after?.lsn;
      });
    });
  });

  it('another process delivers an event only when it is on the disk', async () => {
    await using receiver = await startReceiver();
    const { dataDir, stdout } = await startedDirectory(workplace);
    const { server, url } = await start(dataDir, { WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8' });
    const { key, accountId } = quickstartOf(stdout);
    const registered = await fetch(`${url}/api/v1/developers/webhooks`, {
      method: 'POST',
      headers: { 'X-Api-Key': key, 'Content-Type': 'application/json' },
      body: JSON.stringify({ url: receiver.url, events: ['sms.sent'] }),
    });
    const { webhook } = (await registered.json()) as { webhook: { id: string } };
    const connection = await embeddedConnection(dataDir);
    await stopLogWriter(connection);
    const other = new pg.Client(connection);
    other.on('error', () => undefined);
    await other.connect();
    await other.query('SET synchronous_commit = off');
    // Insert the jobs as a process without workers does: it leaves them to other processes.
    const ids = Array.from({ length: 20 }, () => randomUUID());
    const kill = await killAll(server, dataDir);
    for (const id of ids) {
      const data = { webhookId: webhook.id, deliveryIds: [id], attempt: 0 };
      const job = { id: randomUUID(), data, group: { id: webhook.id } };
      await other.query(LEAVE, [accountId, webhook.id, id, job.id, JSON.stringify(job)]);
    }
    await receiver.waitFor(() => true);
    const seen = receiver.received.map(({ headers }) => headers['x-service-delivery']);
    await kill();
    await other.end().catch(() => undefined);

    await using postgres = await startPostgres(dataDir);
    const stored = await query<{ id: string }>(
      postgres.connection,
      `SELECT d.id FROM webhook_deliveries d JOIN events e ON e.account_id = d.account_id AND e.seq = d.event_seq
       WHERE d.id = ANY($1)`,
      [seen],
    );
    expect(stored.map(({ id }) => id).toSorted()).toEqual([...new Set(seen)].toSorted());
  });
});

/** Starts the PostgreSQL in a DATA_DIR, without a gateway. */
async function startPostgres(dataDir: string) {
  const postgres = await startEmbeddedPostgres({ dataDir, database: 'gateway', logger: silentLogger });
  return { connection: postgres.connection, [Symbol.asyncDispose]: () => postgres.stop() };
}

/** Starts a receiver that stops at the end of its scope. */
async function startReceiver() {
  const receiver = await startWebhookReceiver();
  return { ...receiver, [Symbol.asyncDispose]: receiver.stop };
}

/** Suspends PostgreSQL's WAL writer process. Then commits reach the disk late, as on a slow disk. */
async function stopLogWriter(connection: pg.ClientConfig): Promise<void> {
  const text = `SELECT pid FROM pg_stat_activity WHERE backend_type = 'walwriter'`;
  const [writer] = await query<{ pid: number }>(connection, text);
  if (!writer) throw new Error('PostgreSQL has no writer of its log');
  process.kill(writer.pid, 'SIGSTOP');
}
