import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { READ_POOL_SIZE, READS_NAME } from '../../src/storage/postgres/read-pool.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { graphql, signIn } from '../support/graphql.ts';
import { countStatements } from '../support/statements.ts';

const CONTACTS = '{ contacts { nodes { id } } }';

describe("dashboards' reads (R281)", () => {
  let gateway: TestGateway;
  let account: TestAccount;
  let observer: pg.Client;
  beforeAll(async () => {
    gateway = await startTestGateway();
    account = await gateway.createAccount();
    observer = new pg.Client({ connectionString: gateway.database.url });
    await observer.connect();
  });
  afterAll(async () => {
    await observer?.end();
    await gateway?.stop();
  });

  /** Runs `work` while a lock prevents every read of the table. */
  async function withoutTable(table: string, work: () => Promise<void>): Promise<void> {
    const blocker = new pg.Client({ connectionString: gateway.database.url });
    await blocker.connect();
    try {
      await blocker.query(`BEGIN; LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE`);
      await work();
    } finally {
      await blocker.end();
    }
  }
  /** Returns the names of the connections whose statement waits for a lock. */
  async function waiting(): Promise<string[]> {
    const { rows } = await observer.query<{ name: string }>(
      `SELECT application_name AS name FROM pg_stat_activity
       WHERE datname = current_database() AND state = 'active' AND wait_event_type = 'Lock'`,
    );
    return rows.map(({ name }) => name);
  }

  it('are cancelled when the client goes away', async () => {
    const token = await signIn(gateway, account);
    await withoutTable('contacts', async () => {
      using counted = countStatements();
      const client = new AbortController();
      const asked = fetch(`${gateway.url}/graphql`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${token}` },
        body: JSON.stringify({ query: CONTACTS }),
        signal: client.signal,
      });
      await eventually(async () => (await waiting()).join() === READS_NAME);
      client.abort();
      await expect(asked).rejects.toThrow();
      await eventually(async () => (await waiting()).length === 0);
      expect(counted.texts().filter((text) => text.includes('pg_cancel_backend'))).toHaveLength(1);
    });
    // The cancellation did not break the gateway's connection for reads.
    expect((await graphql(gateway, CONTACTS, { token })).body).toEqual({ data: { contacts: { nodes: [] } } });
  });

  it('of a snapshot use the same connections', async () => {
    const token = await signIn(gateway, account);
    await withoutTable('recipients', async () => {
      const client = new AbortController();
      const asked = fetch(`${gateway.url}/graphql`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${token}` },
        body: JSON.stringify({ query: '{ recipients { nodes { to } } }' }),
        signal: client.signal,
      });
      await eventually(async () => (await waiting()).length > 0);
      expect(await waiting()).toEqual([READS_NAME]);
      client.abort();
      await expect(asked).rejects.toThrow();
      await eventually(async () => (await waiting()).length === 0);
    });
  });

  it('take no connection from sends, however many of them wait', async () => {
    const token = await signIn(gateway, account);
    await withoutTable('contacts', async () => {
      const client = new AbortController();
      const asked = Array.from({ length: 30 }, () =>
        fetch(`${gateway.url}/graphql`, {
          method: 'POST',
          headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${token}` },
          body: JSON.stringify({ query: CONTACTS }),
          signal: client.signal,
        }),
      );
      const all = Promise.allSettled(asked);
      await eventually(async () => (await waiting()).length === READ_POOL_SIZE);
      expect(new Set(await waiting())).toEqual(new Set([READS_NAME]));
      const body = { to: '+256700123451', message: 'hello' };
      const sent = await gateway.call('POST', '/developers/sms', { key: account.sandboxKey, body });
      expect(sent.status).toBe(200);
      client.abort();
      await all;
      await eventually(async () => (await waiting()).length === 0);
    });
  });

  it('are answered 503 when they take longer than 5 seconds', async () => {
    const token = await signIn(gateway, account);
    await withoutTable('contacts', async () => {
      const answer = await graphql(gateway, CONTACTS, { token });
      expect(answer.status).toBe(503);
      expect(answer.body.errors[0].extensions.code).toBe('SERVICE_UNAVAILABLE');
    });
  });
});
