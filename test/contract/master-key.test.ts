import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { runCliHere } from '../support/cli.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';

const [OLD, NEW, STRANGE] = [7, 8, 9].map((byte) => Buffer.alloc(32, byte).toString('base64')) as [
  string,
  string,
  string,
];

describe('the master key at the start, with secrets in the database', () => {
  let first: TestGateway;
  let account: TestAccount;
  let receiver: Awaited<ReturnType<typeof startWebhookReceiver>>;
  let webhookId: string;

  beforeAll(async () => {
    first = await startTestGateway({ MASTER_KEY: OLD });
    account = await first.createAccount();
    // While the database has no sealed value, a process with any master key may start.
    await (await startTestGateway({ MASTER_KEY: STRANGE }, first.database)).stop();
    receiver = await startWebhookReceiver();
    const made = await first.call('POST', '/developers/webhooks', {
      key: account.key,
      body: { url: receiver.url, events: ['sms.sent'] },
    });
    webhookId = made.body.webhook.id;
  });
  afterAll(async () => {
    await receiver.stop();
    await first.stop();
  });

  const started = (variables: Record<string, string>) => startTestGateway(variables, first.database);
  const refusalOf = (variables: Record<string, string>) =>
    started(variables).then(
      async (gateway) => {
        await gateway.stop();
        return 'none';
      },
      (error: Error) => error.message,
    );
  const webhook = (gateway: TestGateway, action: string) =>
    gateway.call('POST', `/developers/webhooks/${webhookId}/${action}`, { key: account.key });

  it('a key that opens no secret is refused, because it would seal new secrets beside them', async () => {
    expect(await refusalOf({ MASTER_KEY: STRANGE })).toMatch(/^MASTER_KEY .*MASTER_KEY_PREVIOUS/);
  });

  it('a wrong key changes nothing: it neither holds the data nor adds to the audit log (R570)', async () => {
    const settings = { MASTER_KEY: STRANGE, RECOVERY: 'hold' };
    expect(await refusalOf(settings)).toMatch(/^MASTER_KEY /);
    const doctor = await runCliHere(['doctor'], {
      ...settings,
      DATABASE_URL: first.database.url,
      DATA_DIR: first.dataDir,
    });
    expect(doctor.stdout).toMatch(/^FAIL {2}master key/m);
    await using gateway = await started({ MASTER_KEY: OLD });
    expect(gateway.parts.holdGate.hold).toBeUndefined();
    const found = await gateway.parts.operations.audit.verify.run({ kind: 'system', name: 'test' }, {});
    expect(found).toMatchObject({ isIntact: true, brokenAt: null });
  });

  it('a new key works beside the old one', async () => {
    await using gateway = await started({ MASTER_KEY: NEW, MASTER_KEY_PREVIOUS: OLD });
    expect((await webhook(gateway, 'test')).body).toMatchObject({ success: true });
  });

  it('processes change the key one by one: each knows both keys before one seals with the new', async () => {
    await using before = await started({ MASTER_KEY: OLD, MASTER_KEY_PREVIOUS: NEW });
    await using after = await started({ MASTER_KEY: NEW, MASTER_KEY_PREVIOUS: OLD });
    for (const by of [before, after, before]) {
      expect((await webhook(by, 'rotate-secret')).status).toBe(200);
      for (const gateway of [before, after]) {
        expect((await webhook(gateway, 'test')).body).toMatchObject({ success: true });
      }
    }
  });

  it('with a key declared lost the gateway starts, and rotated secrets repair it', async () => {
    const [, lost = ''] = /MASTER_KEY_LOST=(\w+)/.exec(await refusalOf({ MASTER_KEY: STRANGE })) ?? [];
    {
      await using gateway = await started({ MASTER_KEY: STRANGE, MASTER_KEY_LOST: lost });
      expect((await webhook(gateway, 'rotate-secret')).status).toBe(200);
      expect((await webhook(gateway, 'test')).body).toMatchObject({ success: true });
    }
    expect(await refusalOf({ MASTER_KEY: STRANGE })).toBe('none');
  });
});
