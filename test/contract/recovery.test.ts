import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { SystemCaller } from '../../src/domain/caller.ts';
import {
  createTemplate,
  createTestDatabase,
  databaseUrl,
  type TestDatabase,
  testVersion,
} from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { graphql, signIn } from '../support/graphql.ts';
import { startPostgresVersion, type TestPostgres } from '../support/postgres-versions.ts';
import { startSmsc } from '../support/smsc.ts';
import { openSql } from '../support/sql.ts';

const CLI: SystemCaller = { kind: 'system', name: 'cli' };
const SMS = { to: '+256700123456', message: 'Hello' };

const closings: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closings.splice(0).reverse()) await close();
});
const closeAtEnd = <T>(opened: T, close: (opened: T) => Promise<unknown>): T => {
  closings.push(() => close(opened));
  return opened;
};

async function databaseOf(template?: TestDatabase): Promise<TestDatabase> {
  return closeAtEnd(await createTestDatabase(template?.connection.database), (made) => made.drop());
}

async function gatewayOn(
  database: TestDatabase,
  environment: Record<string, string> = {},
): Promise<TestGateway> {
  return closeAtEnd(await startTestGateway(environment, database), (gateway) => gateway.stop());
}

/**
 * Creates a database with one waiting message, and copies it. A gateway with a carrier starts on the copy and holds
 * back all messages.
 */
async function copied(minutesAgo = 0) {
  const first = await databaseOf();
  const api = await gatewayOn(first, { ROLES: 'api' });
  const account = await api.createAccount();
  const sent = await api.call('POST', '/developers/sms', { key: account.key, body: SMS });
  expect(sent.status).toBe(200);
  await api.stop();
  if (minutesAgo > 0) {
    await using sql = await openSql(first);
    await sql.query(`UPDATE messages SET created_at = created_at - interval '${minutesAgo} minutes'`);
  }
  const smsc = closeAtEnd(await startSmsc(), (opened) => opened.stop());
  const copy = await databaseOf(first);
  const gateway = await gatewayOn(copy, { SMS_ROUTES: `*=${smsc.url}` });
  const status = async () =>
    (await gateway.call('GET', `/developers/messages/${sent.body.id}`, { key: account.key })).body;
  const release = (input: { since?: string; decision?: 'send' | 'mark' }) =>
    gateway.parts.operations.recovery.release.run(CLI, input);
  return { first, copy, gateway, account, smsc, status, release };
}

describe('a copy of the database', () => {
  it('is held: it serves reads, sends nothing and says so (R230, R231)', async () => {
    const { gateway, account, smsc, status } = await copied();
    const { key } = account;
    expect(await status()).toMatchObject({ status: 'pending', content: 'Hello' });
    for (const environment of ['production', 'sandbox'] as const) {
      const own = environment === 'production' ? key : account.sandboxKey;
      const refused = await gateway.call('POST', '/developers/sms', { key: own, body: SMS });
      expect([refused.status, refused.body.error.code]).toEqual([503, 'service_unavailable']);
      expect(refused.headers.get('retry-after')).toBe('60');
    }
    const hook = await gateway.call('POST', '/developers/webhooks', {
      key,
      body: { url: 'http://127.0.0.1:9/hook', events: ['sms.sent'] },
    });
    const tested = await gateway.call('POST', `/developers/webhooks/${hook.body.webhook.id}/test`, { key });
    expect(tested.status).toBe(503);
    const ready = await fetch(`${gateway.url}/health/ready`);
    expect([ready.status, await ready.json()]).toEqual([
      200,
      { status: 'held', reason: expect.stringMatching(/^Nothing is sent since .* copy .* release\.$/) },
    ]);
    const token = await signIn(gateway, account);
    const { body } = await graphql(gateway, '{ recovery { hold { reason text } } }', { token });
    expect(body.data.recovery.hold).toMatchObject({ reason: 'COPIED' });
    expect(smsc.received).toHaveLength(0);
  });

  it('tells what is unknown and stays held without a decision (R232)', async () => {
    const { release, status } = await copied();
    expect(await release({})).toMatchObject({
      hold: { reason: 'copied' },
      unknown: { recipients: 1, messages: 1, byChannel: { sms: 1 }, older: 0, scheduled: 0 },
      isReleased: false,
    });
    expect(await status()).toMatchObject({ status: 'pending' });
  });

  it('marks what is unknown, refunds it later, and sends from then on without a restart (R232, R218)', async () => {
    const { gateway, account, smsc, status, release } = await copied();
    expect(await release({ decision: 'mark' })).toMatchObject({ marked: 1, isReleased: true });
    expect(await status()).toMatchObject({
      status: 'failed',
      statusReason: 'refund_pending',
      recipients: [{ error: { code: 'outcome_unknown' } }],
    });
    await eventually(async () => {
      const sent = await gateway.call('POST', '/developers/sms', { key: account.key, body: SMS });
      return sent.status === 200;
    });
    await eventually(() => smsc.received.length === 1);
    expect(await (await fetch(`${gateway.url}/health/ready`)).json()).toEqual({ status: 'ready' });
  });

  it('sends what is unknown where the operator says so (R232)', async () => {
    const { smsc, status, release } = await copied();
    expect(await release({ decision: 'send' })).toMatchObject({ marked: 0, isReleased: true });
    await eventually(async () => (await status()).status !== 'pending');
    expect(smsc.received).toHaveLength(1);
  });

  it('marks only what was to leave since the time that is named (R232)', async () => {
    const { smsc, status, release } = await copied(60);
    const since = new Date(Date.now() - 30 * 60_000).toISOString();
    expect(await release({ since, decision: 'mark' })).toMatchObject({
      unknown: { recipients: 0, older: 1 },
      marked: 0,
      isReleased: true,
    });
    await eventually(async () => (await status()).status !== 'pending');
    expect(smsc.received).toHaveLength(1);
  });

  it('is not held again after its release, nor the first one at its next start (R230)', async () => {
    const { first, copy, gateway, release } = await copied();
    await release({ decision: 'send' });
    await gateway.stop();
    for (const database of [first, copy]) {
      const again = await gatewayOn(database, { ROLES: 'api' });
      expect(again.parts.holdGate.hold).toBeUndefined();
      await again.stop();
    }
  });
});

it('RECOVERY=hold holds a gateway until it is released, also after a start without it (R230)', async () => {
  const database = await databaseOf();
  const asked = await gatewayOn(database, { RECOVERY: 'hold', ROLES: 'api' });
  expect(asked.parts.holdGate.hold).toMatchObject({ reason: 'asked' });
  await asked.stop();
  const again = await gatewayOn(database, { ROLES: 'api' });
  expect(again.parts.holdGate.hold).toMatchObject({ reason: 'asked' });
  await again.parts.operations.recovery.release.run(CLI, {});
  await eventually(() => again.parts.holdGate.hold === undefined);
  const { edges } = await again.parts.operations.audit.list.run(
    { kind: 'operator', userId: '00000000-0000-0000-0000-000000000000' },
    { filter: { action: 'recovery.release' } },
  );
  expect(edges).toHaveLength(1);
});

describe('files that PostgreSQL has recovered', () => {
  /** Starts a server on a copy of the files of another one, which it recovers to the end of their log. */
  async function recovered(original: TestPostgres): Promise<TestPostgres> {
    await original.halt();
    const started = startPostgresVersion(testVersion(), {
      settings: { restore_command: 'false' },
      prepare: async (cluster) => {
        await promisify(execFile)('cp', ['-a', original.cluster, cluster]);
        await writeFile(join(cluster, 'recovery.signal'), '');
      },
    });
    return closeAtEnd(await started, (server) => server.stop());
  }

  const holdOf = async (database: TestDatabase) => {
    const gateway = await gatewayOn(database, { ROLES: 'api' });
    const { hold } = gateway.parts.holdGate;
    await gateway.stop();
    return hold;
  };

  it('are held if no worker had used them for five minutes, and not after a promotion under way (R230)', async () => {
    const server = closeAtEnd(await startPostgresVersion(testVersion()), (opened) => opened.stop());
    await createTemplate(server.connection);
    const databaseOn = ({ connection }: TestPostgres): TestDatabase => {
      const own = { ...connection, database: 'gateway_template' };
      return { connection: own, url: databaseUrl(own), drop: async () => undefined };
    };
    const original = databaseOn(server);
    const working = await gatewayOn(original);
    const aliveSince = async (database: TestDatabase, minutes: number) => {
      await using sql = await openSql(database);
      await sql.query(`UPDATE data_copy SET alive_at = now() - interval '${minutes} minutes'`);
    };
    await eventually(async () => {
      await using sql = await openSql(original);
      return (await sql.query('SELECT FROM data_copy WHERE timeline IS NOT NULL')).length === 1;
    });
    await working.stop();
    await aliveSince(original, 60);
    expect(await holdOf(original)).toBeUndefined();

    const copy = databaseOn(await recovered(server));
    await eventually(async () => {
      await using sql = await openSql(copy);
      return !(await sql.query('SELECT pg_is_in_recovery() AS still'))[0].still;
    });
    await aliveSince(copy, 4);
    expect(await holdOf(copy)).toBeUndefined();
    await aliveSince(copy, 6);
    expect(await holdOf(copy)).toMatchObject({ reason: 'recovered' });
    // A time at which it was used again does not end the hold.
    await aliveSince(copy, 0);
    const held = await gatewayOn(copy, { ROLES: 'api' });
    expect(held.parts.holdGate.hold).toMatchObject({ reason: 'recovered' });
    await held.parts.operations.recovery.release.run(CLI, {});
    await held.stop();
    await aliveSince(copy, 6);
    expect(await holdOf(copy)).toBeUndefined();
  });
});
