import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Knex } from 'knex';
import type { CliAnswer } from '../../src/cli/output.ts';
import { type CliRunner, createProgram } from '../../src/cli/program.ts';
import { withKnex } from '../support/database.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';

/** What `audit verify` prints for this gateway. */
async function auditVerify(gateway: TestGateway) {
  const answers: CliAnswer[] = [];
  const runner: CliRunner = {
    run: async (_isJson, work) => void answers.push(await work(gateway.parts)),
    doctor: async () => undefined,
  };
  await createProgram(runner).parseAsync(['audit', 'verify', '--json'], { from: 'user' });
  return answers[0];
}

describe('the audit log is tamper-evident', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway();
    // Many at once, each with before and after of its own.
    await Promise.all(Array.from({ length: 8 }, () => gateway.createAccount()));
  });
  afterAll(() => gateway?.stop());

  const verify = () => gateway.parts.operations.audit.verify.run({ kind: 'system', name: 'test' }, {});
  const database = <T>(work: (knex: Knex) => Promise<T>) => withKnex(gateway.database.connection, work);

  it('is whole, and says up to where and with which hash', async () => {
    const before = await verify();
    expect(await auditVerify(gateway)).toEqual({ json: before });
    expect(before).toMatchObject({
      isIntact: true,
      brokenAt: null,
      head: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    const rows = await database((knex) => knex('audit_entries').count());
    expect(before.entries).toBe(rows[0]?.count);
    await gateway.createAccount();
    const after = await verify();
    expect(after.entries).toBeGreaterThan(before.entries);
    expect(after.head).not.toBe(before.head);
  });

  it.each([
    [
      'an actor is changed',
      (knex: Knex) => knex('audit_entries').where({ seq: 5 }).update({ actor: 'user:nobody' }),
      5,
    ],
    [
      'a value is changed',
      (knex: Knex) => knex('audit_entries').where({ seq: 5 }).update({ after: '{"name":"x"}' }),
      5,
    ],
    ['an entry is taken out', (knex: Knex) => knex('audit_entries').where({ seq: 5 }).delete(), 5],
    [
      'two entries change places',
      (knex: Knex) =>
        knex.raw(
          'UPDATE audit_entries SET seq = -seq WHERE seq IN (5, 6); UPDATE audit_entries SET seq = 11 + seq WHERE seq < 0',
        ),
      5,
    ],
    [
      'the last entry is taken out',
      (knex: Knex) => knex.raw('DELETE FROM audit_entries WHERE seq = (SELECT seq FROM audit_chain)'),
      undefined,
    ],
  ])('notices when %s', async (_, tamper, brokenAt) => {
    const whole = await verify();
    expect(whole.isIntact).toBe(true);
    const copy = await database((knex) => knex('audit_entries').select());
    await database(async (knex) => tamper(knex));
    const at = brokenAt ?? whole.entries;
    expect(await verify()).toMatchObject({ isIntact: false, brokenAt: at });
    expect((await auditVerify(gateway))?.failure).toBe(`The audit log is broken at entry ${at}.`);
    await database(async (knex) => {
      await knex('audit_entries').delete();
      await knex('audit_entries').insert(copy);
    });
  });
});
