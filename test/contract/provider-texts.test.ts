import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/free-port.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';

/** A port on which nothing listens. */
let port: number;
let gateway: TestGateway;
let account: TestAccount;
beforeAll(async () => {
  port = await freePort();
  gateway = await startTestGateway({
    SMS_ROUTES: `*=smpp://esme-of-operator:secret@127.0.0.1:${port}`,
    EMAIL_URL: `smtp://user-of-operator:secret@127.0.0.1:${port}`,
  });
  account = await gateway.createAccount();
});
afterAll(() => gateway?.stop());

it.each([
  ['an SMS', 'sms', { to: '+256700123456', message: 'Hello' }, /no SMPP session is bound.*ECONNREFUSED …/],
  [
    'an email',
    'email',
    { to: 'bob@shop.example', subject: 'Hello', text: 'Hello' },
    /the mail server cannot be used: .*ECONNREFUSED …/,
  ],
])(
  'the timeline of %s says why it waits, without the account and host of the operator (R256)',
  async (_what, channel, body, why) => {
    const sent = await gateway.call('POST', `/developers/${channel}`, { key: account.key, body });
    expect(sent.status).toBe(200);
    const timeline = await eventually(async () => {
      const { body: message } = await gateway.call('GET', `/developers/messages/${sent.body.id}`, {
        key: account.key,
      });
      return message.timeline.length > 1 && JSON.stringify(message.timeline);
    });
    expect(timeline).toMatch(why);
    expect(timeline).not.toMatch(new RegExp(`of-operator|127\\.0\\.0\\.1|${port}`));
  },
);

it('the health of a provider tells operators its account and host (R256)', () => {
  const shown = JSON.stringify(gateway.parts.routing.health());
  expect(shown).toContain(`smpp:esme-of-operator@127.0.0.1:${port}`);
  expect(shown).toMatch(/connect ECONNREFUSED 127\.0\.0\.1/);
});
