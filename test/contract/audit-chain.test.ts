import { randomBytes, randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Knex } from 'knex';
import type { CliRunner } from '../../src/cli/command.ts';
import type { CliAnswer } from '../../src/cli/output.ts';
import { createProgram } from '../../src/cli/program.ts';
import { createAuditHeads } from '../../src/crypto/audit-heads.ts';
import { createSecretBox, sealedUnder } from '../../src/crypto/secret-box.ts';
import { keepSignedHead } from '../../src/domain/audit/signed-head.ts';
import { silentLogger, withKnex } from '../support/database.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { withUnitOfWork } from '../support/unit-of-work.ts';

/** Runs `audit verify` for this gateway, and returns the command's output. */
async function auditVerify(gateway: TestGateway) {
  const answers: CliAnswer[] = [];
  const runner: CliRunner = {
    run: async (_isJson, work) => void answers.push(await work(gateway.parts)),
    doctor: async () => undefined,
    mcp: async () => undefined,
    client: async () => undefined,
    withTools: async () => undefined,
    withCells: async () => undefined,
  };
  await createProgram(runner, process.stdout).parseAsync(['audit', 'verify', '--json'], { from: 'user' });
  return answers[0];
}

describe('the audit log is tamper-evident', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway();
    // Create several accounts at once. This makes concurrent audit entries, each with a different `before` and `after`.
    await Promise.all(Array.from({ length: 8 }, () => gateway.createAccount()));
  });
  afterAll(() => gateway?.stop());

  const verify = () => gateway.parts.operations.audit.verify.run({ kind: 'system', name: 'test' }, {});
  /** Runs `work` as a database superuser with triggers off, so that it can change audit entries. */
  const database = <T>(work: (knex: Knex) => Promise<T>) =>
    withKnex(gateway.database.connection, (knex) =>
      knex.transaction(async (all) => {
        await all.raw('SET LOCAL session_replication_role = replica');
        return work(all);
      }),
    );
  const audit = async () => ({
    entries: await database((knex) => knex('audit_entries').select()),
    head: await database((knex) => knex('audit_head').first()),
  });
  const putBack = ({ entries, head }: Awaited<ReturnType<typeof audit>>) =>
    database(async (knex) => {
      await knex('audit_entries').delete();
      await knex('audit_entries').insert(entries);
      await knex('audit_head').update(head);
    });
  /** Removes all entries after `seq`, and points the stored head to the entry that is now last. */
  const cutTo = (seq: number) =>
    database(async (knex) => {
      await knex('audit_entries').where('seq', '>', seq).delete();
      await knex.raw(
        'UPDATE audit_head SET (seq, hash) = (SELECT seq, hash FROM audit_entries ORDER BY seq DESC NULLS LAST LIMIT 1)',
      );
    });
  const headFile = () => join(gateway.dataDir, 'audit-head');

  it('an unchanged log verifies, with its last sequence number and hash', async () => {
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
      (knex: Knex) => knex.raw('DELETE FROM audit_entries WHERE seq = (SELECT seq FROM audit_head)'),
      undefined,
    ],
  ])('verification fails when %s', async (_, tamper, brokenAt) => {
    const whole = await verify();
    expect(whole.isIntact).toBe(true);
    const copy = await audit();
    await database(async (knex) => tamper(knex));
    const at = brokenAt ?? whole.entries;
    expect(await verify()).toMatchObject({ isIntact: false, brokenAt: at });
    expect((await auditVerify(gateway))?.failure).toBe(`The audit log is broken at entry ${at}.`);
    await putBack(copy);
  });

  it('detects a tail that was cut together with the stored end, because only the master key can sign a head', async () => {
    const [whole, copy] = [await verify(), await audit()];
    expect(whole).toMatchObject({ isIntact: true, signedUpTo: whole.entries });
    await cutTo(whole.entries - 2);
    await rm(headFile());
    const cut = { isIntact: false, entries: whole.entries - 2, brokenAt: whole.entries - 1 };
    expect(await verify()).toMatchObject(cut);
    // Try a head with a forged signature, and a text that the gateway sealed for another purpose.
    for (const sealed of ['v1.00000000.AAAA', gateway.parts.secrets.seal('["other"]')]) {
      await database((knex) => knex('audit_head').update({ sealed }));
      expect(await verify()).toMatchObject({ isIntact: false, brokenAt: null, signedUpTo: null });
      expect((await auditVerify(gateway))?.failure).toContain('The signed head of the audit log is missing');
    }
    await putBack(copy);
    expect((await verify()).isIntact).toBe(true);
  });

  it('detects with the head in DATA_DIR that an older signed head was restored with the cut', async () => {
    const older = await audit();
    await gateway.createAccount();
    const newer = await audit();
    await gateway.parts.auditHeads.idle();
    await putBack(older);
    expect(await verify()).toMatchObject({ isIntact: false, brokenAt: older.head.seq + 1 });
    expect((await auditVerify(gateway))?.failure).toMatch(
      new RegExp(
        `^The audit log ends at entry ${older.head.seq}, but the head in DATA_DIR is of entry ${newer.head.seq}\\.`,
      ),
    );
    await putBack(newer);
    expect((await verify()).isIntact).toBe(true);
  });

  it('does not mistake a rolled back change for a cut tail', async () => {
    const before = await verify();
    const failing = withUnitOfWork(gateway, (uow) =>
      uow.run(async (tx) => {
        await tx.audit.append({
          id: randomUUID(),
          accountId: null,
          at: new Date(),
          actor: 'system:test',
          action: 'test',
          target: 'x',
          before: null,
          after: null,
        });
        throw new Error('rolled back');
      }),
    );
    await expect(failing).rejects.toThrow('rolled back');
    await gateway.parts.auditHeads.idle();
    expect(await verify()).toEqual(before);
  });

  it('several processes with separate directories sign one after the other', async () => {
    const second = await startTestGateway({}, gateway.database);
    try {
      await Promise.all([gateway, second, gateway, second].map((each) => each.createAccount()));
      for (const each of [gateway, second]) {
        const found = await each.parts.operations.audit.verify.run({ kind: 'system', name: 'test' }, {});
        expect(found).toMatchObject({ isIntact: true, signedUpTo: found.entries });
      }
    } finally {
      await second.stop();
    }
  });

  it('the start signs the head again with a new master key, and keeps heads that it cannot open', async () => {
    const { parts } = gateway;
    const [oldKey, newKey] = [randomBytes(32), randomBytes(32)];
    const headsWith = (key: Buffer, previous: Buffer[] = [], lost: string[] = []) =>
      createAuditHeads(`${gateway.dataDir}/other`, createSecretBox(key, previous), lost, silentLogger);
    const { logId, end } = await parts.stores.audit.heads();
    const old = headsWith(oldKey);
    await database((knex) => knex('audit_head').update({ sealed: old.sign({ ...end, logId }) }));
    const { signed } = await parts.stores.audit.heads();
    await keepSignedHead(parts.stores, headsWith(newKey));
    expect((await parts.stores.audit.heads()).signed).toBe(signed);
    const next = headsWith(newKey, [oldKey]);
    await keepSignedHead(parts.stores, next);
    expect(next.isOutdated((await parts.stores.audit.heads()).signed ?? '')).toBe(false);
    expect(await next.kept(logId)).toMatchObject({ seq: end.seq });
    const lost = sealedUnder((await parts.stores.audit.heads()).signed ?? '');
    await keepSignedHead(parts.stores, {
      ...parts.auditHeads,
      isLost: (text) => sealedUnder(text) === lost,
    });
    expect(await verify()).toMatchObject({ isIntact: true, signedUpTo: end.seq });
  });
});
