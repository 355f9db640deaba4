import { afterEach, describe, expect, it } from '@jest/globals';
import type { SystemCaller } from '../../src/domain/caller.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { graphql, signIn } from '../support/graphql.ts';
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
