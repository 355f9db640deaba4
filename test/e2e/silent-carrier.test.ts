import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { type Smsc, startSmsc } from '../support/smsc.ts';

/**
 * Number of messages that the carrier does not answer. It is higher than the number of jobs of one route that a process
 * may hold.
 */
const SILENT = 9;

describe('a carrier that never answers some messages', () => {
  let smsc: Smsc;
  let gateway: TestGateway;
  beforeAll(async () => {
    smsc = await startSmsc({
      answer: ({ destination }) => (destination.address.startsWith('2567001') ? 'silent' : 'accept'),
    });
    gateway = await startTestGateway({ SMS_ROUTES: `*=${smsc.url}?submitTimeoutSeconds=600` });
  });
  afterAll(async () => {
    smsc?.dropConnections();
    await gateway?.stop();
    await smsc?.stop();
  });

  const send = async ({ key }: TestAccount, to: string) => {
    const { status, body } = await gateway.call('POST', '/developers/sms', {
      key,
      body: { to, message: 'Hello' },
    });
    expect(status).toBe(200);
    return body.id as string;
  };

  it('accepts the other messages meanwhile, whoever sent those without an answer', async () => {
    const [one, other] = [await gateway.createAccount(), await gateway.createAccount()];
    for (let n = 0; n < SILENT; n++) {
      await send(one, `+25670010000${n}`);
      await eventually(() => smsc.received.length === n + 1);
    }
    const id = await send(other, '+256700200000');
    await eventually(async () => {
      const { body } = await gateway.call('GET', `/developers/messages/${id}`, { key: other.key });
      return body.status === 'sent';
    });
    expect(smsc.binds).toHaveLength(1);
  });
});
