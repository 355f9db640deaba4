import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestDatabase, withKnex } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { graphql, signIn } from '../support/graphql.ts';
import { contactsCsv, endOfImport, startImport } from '../support/imports.ts';

/** Number of contacts. A gateway imports 100,000 in about 15 s, but under jest it is slower. */
const ROWS = 20_000;

describe('an import of many contacts', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway();
  });
  afterAll(() => gateway?.stop());

  it('an import of many contacts ends with all of them while sends continue', async () => {
    const account = await gateway.createAccount(1_000_000);
    const token = await signIn(gateway, account);
    const id = await startImport(gateway, token, contactsCsv(ROWS));
    let hasEnded = false;
    const ended = endOfImport(gateway, token, id).finally(() => {
      hasEnded = true;
    });
    let sent = 0;
    while (!hasEnded) {
      const { status } = await gateway.call('POST', '/developers/sms', {
        key: account.key,
        body: { to: '+256700123456', message: 'Hello' },
      });
      expect(status).toBe(200);
      sent += 1;
    }
    // The import must not block the event loop. Otherwise few sends are answered before it ends.
    expect(sent).toBeGreaterThan(5);
    expect(await ended).toEqual({
      state: 'DONE',
      progress: { rowsTotal: ROWS, rowsDone: ROWS, created: ROWS, updated: 0, failed: 0 },
    });
    const [counted] = await withKnex(gateway.database.connection, (knex) =>
      knex('contacts').countDistinct('phone as phones').count('* as contacts'),
    );
    expect(counted).toEqual({ phones: ROWS, contacts: ROWS });
  });

  it('an import moves to another process when its own stops', async () => {
    const database = await createTestDatabase();
    const rows = 10_000;
    const api = await startTestGateway({ ROLES: 'api' }, database);
    const worker = await startTestGateway({ ROLES: 'worker' }, database);
    let next: TestGateway | undefined;
    try {
      const token = await signIn(api, await api.createAccount());
      const id = await startImport(api, token, contactsCsv(rows));
      const look = 'query ($id: ID!) { contactImport(id: $id) { progress { rowsDone } } }';
      const rowsDone = async (): Promise<number> =>
        (await graphql(api, look, { token, variables: { id } })).body.data.contactImport.progress.rowsDone;
      await eventually(async () => (await rowsDone()) > 0);
      await worker.stop();
      const stoppedAt = await rowsDone();
      expect(stoppedAt).toBeLessThan(rows);
      next = await startTestGateway({ ROLES: 'worker' }, database);
      expect(await endOfImport(api, token, id)).toEqual({
        state: 'DONE',
        progress: { rowsTotal: rows, rowsDone: rows, created: rows, updated: 0, failed: 0 },
      });
    } finally {
      for (const each of [worker, next, api]) await each?.stop();
      await database.drop();
    }
  });
});
