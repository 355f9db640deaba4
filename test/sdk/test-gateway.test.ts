import { execFile } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startTestGateway } from '../../sdk/typescript/src/testing.ts';
import { buildWorkplace, type Workplace } from '../support/server-process.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';

describe('startTestGateway, for tests of programs that use a gateway', () => {
  let workplace: Workplace;
  beforeAll(async () => {
    workplace = await buildWorkplace();
  });
  afterAll(() => workplace?.remove());

  it('starts one of its own with two keys, which delivers and calls webhooks on this machine, and goes', async () => {
    process.env.DATABASE_URL = 'postgres://nobody@127.0.0.1:1/none';
    const started = await startTestGateway({
      directory: workplace.build,
      environment: { SERVICE_NAME: 'ACME', NODE_COMPILE_CACHE: join(workplace.build, 'compiled') },
    }).finally(() => delete process.env.DATABASE_URL);
    const { gateway, sandbox } = started;
    const receiver = await startWebhookReceiver();
    const { secret } = await gateway.webhooks.register({ url: receiver.url, events: ['sms.sent'] });
    const sent = await gateway.sms.send({ to: gateway.testing.numbers.delivered, message: 'Hello' });
    expect((await gateway.testing.settled(sent.id)).status).toBe('delivered');
    const hook = await receiver.waitFor(({ body }) => body.messageId === sent.id);
    expect(hook.headers).toHaveProperty('x-acme-signature');
    expect(await gateway.webhooks.verify(hook.raw, hook.headers, secret)).toMatchObject({
      event: 'sms.sent',
    });
    expect(await sandbox.sms.send({ to: '0700123456', message: 'Hello' })).toMatchObject({ sandbox: true });
    await receiver.stop();
    await started.stop();
    await expect(gateway.account.get({ maxRetries: 0 })).rejects.toMatchObject({ code: 'network_error' });
  });

  it('says what it wrote when it does not start, and leaves nothing behind', async () => {
    const homes = async () => (await readdir(tmpdir())).filter((name) => name.startsWith('test-gateway-'));
    const before = await homes();
    await expect(
      startTestGateway({ directory: workplace.build, environment: { PORT: 'none' } }),
    ).rejects.toThrow(/ended with 1.*Cannot start:.*PORT/s);
    expect((await homes()).filter((name) => !before.includes(name))).toEqual([]);
  });

  it('says where it looked when there is no gateway', async () => {
    // Runs in a separate process with another directory, because this process would find the gateway of this
    // repository.
    const program = `import(${JSON.stringify(new URL('../../sdk/typescript/src/testing.ts', import.meta.url))})
      .then(({ startTestGateway }) => startTestGateway())
      .catch((error) => console.log(error.message));`;
    const { stdout } = await promisify(execFile)(process.execPath, ['--eval', program], { cwd: tmpdir() });
    expect(stdout).toContain('set MESSAGING_GATEWAY_DIR to its folder');
  });
});
