import { afterAll, describe, expect, it } from '@jest/globals';
import { crashAWorker, killWorkers } from '../support/crashing-workers.ts';
import { createTestDatabase, withKnex } from '../support/database.ts';
import { startTestGateway } from '../support/gateway.ts';
import { graphql, signIn } from '../support/graphql.ts';
import { contactsCsv, endOfImport, startImport } from '../support/imports.ts';

const ROWS = 2_500;
const closers: (() => Promise<unknown>)[] = [];

describe('kill -9 during an import of contacts', () => {
  afterAll(async () => {
    killWorkers();
    for (const close of closers) await close();
  });

  it('loses no row and imports none twice: another worker continues after the last committed batch', async () => {
    const database = await createTestDatabase();
    closers.unshift(() => database.drop());
    const api = await startTestGateway({ ROLES: 'api' }, database);
    closers.unshift(() => api.stop());
    const account = await api.createAccount();
    const token = await signIn(api, account);
    // The last row has the phone number of an early row. The worker that died had already finished the batch with that
    // row.
    const id = await startImport(api, token, `${contactsCsv(ROWS)}\r\nAgain,0700000007,,,,`);
    await crashAWorker('third batch of contacts written, not committed', database);
    const look = `query ($id: ID!) { contactImport(id: $id) { state progress { rowsDone created } } }`;
    const stopped = (await graphql(api, look, { token, variables: { id } })).body.data.contactImport;
    expect(stopped).toEqual({ state: 'RUNNING', progress: { rowsDone: 1_000, created: 1_000 } });

    const worker = await startTestGateway({ ROLES: 'worker' }, database);
    closers.unshift(() => worker.stop());
    expect(await endOfImport(api, token, id)).toEqual({
      state: 'DONE',
      progress: { rowsTotal: ROWS + 1, rowsDone: ROWS + 1, created: ROWS, updated: 0, failed: 1 },
    });
    const errors = 'query ($id: ID!) { contactImport(id: $id) { errors { nodes { row code message } } } }';
    const report = (await graphql(api, errors, { token, variables: { id } })).body.data.contactImport;
    expect(report.errors.nodes).toEqual([
      { row: ROWS + 2, code: 'DUPLICATE_ROW', message: 'Line 9 is about the same phone.' },
    ]);
    const [counted] = await withKnex(database.connection, (knex) =>
      knex('contacts').countDistinct('phone as phones').count('* as contacts'),
    );
    expect(counted).toEqual({ phones: ROWS, contacts: ROWS });
  });
});
