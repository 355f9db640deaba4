/** Tests that addresses which a mail server does not know are suppressed. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { type MailAnswer, type MailServer, startMailServer } from '../support/mail-server.ts';

const REFUSALS: Readonly<Record<string, MailAnswer>> = {
  'Gone@example.com': { code: 550, text: '5.1.1 User unknown' },
  'moved@example.com': { code: 551, text: '5.1.6 The mailbox has moved' },
  'null@example.com': { code: 556, text: '5.1.10 The domain accepts no mail' },
  'policy@example.com': { code: 550, text: '5.7.1 Blocked by policy' },
  'full@example.com': { code: 552, text: '5.2.2 Mailbox full' },
  'words@example.com': { code: 550, text: 'rejected: see 5.1.1' },
  'other@example.com': { code: 550, text: '5.1.12 Something new' },
  'plain@example.com': 550,
};

describe('hard bounces', () => {
  let server: MailServer;
  let gateway: TestGateway;
  let account: TestAccount;
  let stranger: TestAccount;
  beforeAll(async () => {
    server = await startMailServer({ rcpt: (to) => REFUSALS[to] ?? 'accept' });
    gateway = await startTestGateway({ EMAIL_URL: server.url, EMAIL_FROM: 'ACME <no-reply@acme.example>' });
    account = await gateway.createAccount();
    stranger = await gateway.createAccount();
  });
  afterAll(async () => {
    await gateway?.stop();
    await server?.stop();
  });

  const send = (to: string, key = account.key, more: object = {}) => {
    const body = { to, subject: 'Your receipt', text: 'Thank you', ...more };
    return gateway.call('POST', '/developers/email', { key, body });
  };
  const settled = (id: string, key = account.key) =>
    eventually(async () => {
      const { body } = await gateway.call('GET', `/developers/messages/${id}`, { key });
      const states = body.recipients.map(({ status }: { status: string }) => status);
      return !states.includes('pending') && body;
    });
  const suppressions = async (key = account.key) => {
    const { body } = await gateway.call('GET', '/developers/suppressions', { key });
    return body.data;
  };

  it('suppress an address that the mail server does not know, and no other (R382)', async () => {
    const body = { channel: 'email', address: 'moved@example.com', scope: 'marketing' };
    await gateway.call('POST', '/developers/suppressions', { key: account.key, body });
    const sent = await send(['ann@example.com', ...Object.keys(REFUSALS)].join());
    const message = await settled(sent.body.id);
    expect(message.recipients.map(({ status }: { status: string }) => status)).toEqual([
      'sent',
      ...Object.keys(REFUSALS).map(() => 'failed'),
    ]);
    const found = await suppressions();
    expect(found.map(({ address }: { address: string }) => address).sort()).toEqual([
      'gone@example.com',
      'moved@example.com',
      'null@example.com',
    ]);
    for (const suppression of found) {
      expect(suppression).toMatchObject({ channel: 'email', scope: 'all', source: 'bounce' });
      expect(suppression.reason).toMatch(/^55\d 5\.1\.\d+ /);
    }
    const again = await send('gone@example.com, ann@example.com');
    expect(again.body).toMatchObject({ to: ['ann@example.com'], metadata: { suppressedSkipped: 1 } });
    expect((await send('GONE@example.com')).body.error.code).toBe('all_recipients_suppressed');
  });

  it('bind one account, and are removed like others (R377, R382)', async () => {
    expect((await send('gone@example.com', stranger.key)).status).toBe(200);
    for (const { id } of await suppressions()) {
      await gateway.call('DELETE', `/developers/suppressions/${id}`, { key: account.key });
    }
    expect((await send('Gone@example.com')).status).toBe(200);
    await eventually(async () => (await suppressions()).length === 1);
  });

  it('a refusal of the whole mail is no hard bounce (R382)', async () => {
    server.behave({ data: { code: 550, text: '5.1.1 User unknown' } });
    const sent = await send('ben@example.com', stranger.key);
    const message = await settled(sent.body.id, stranger.key);
    expect(message.recipients[0]).toMatchObject({ status: 'failed', error: { code: '550' } });
    expect(await suppressions(stranger.key)).toEqual([]);
  });
});
