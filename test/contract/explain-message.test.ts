import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { codesOf, graphql, signIn } from '../support/graphql.ts';

const QUERY = `query ($id: ID!) { explainMessage(id: $id) {
  cause summary causes { cause text recipients } evidence { at kind recipient text } actions { action text }
  retryCost retryCostMoney { amount } currency message { id }
} }`;

describe('explanations of messages (R274)', () => {
  let gateway: TestGateway;
  let account: TestAccount;
  let token: string;
  beforeAll(async () => {
    gateway = await startTestGateway();
    account = await gateway.createAccount();
    token = await signIn(gateway, account);
  });
  afterAll(() => gateway?.stop());

  const send = async (to: string, key = account.key) => {
    const body = { to, message: 'hello' };
    return (await gateway.call('POST', '/developers/sms', { key, body })).body.id as string;
  };
  const explain = async (id: string, key = account.key) =>
    (await gateway.call('GET', `/developers/messages/${id}?explain=true`, { key })).body;
  const explained = (id: string, cause: string) =>
    eventually(async () => {
      const { explanation } = await explain(id);
      expect(explanation.cause).toBe(cause);
      return explanation;
    });

  it('of a rejected message say why, what shows it, and what a retry costs', async () => {
    const id = await send('+256700000001,+256700110001');
    const explanation = await explained(id, 'rejected');
    expect(explanation).toMatchObject({
      causes: [{ cause: 'rejected', recipients: 2, text: expect.stringContaining('so it was refunded') }],
      evidence: [
        { kind: 'answer', recipient: expect.any(String), text: expect.stringMatching(/^SIM_REJECTED: /) },
        { kind: 'answer' },
      ],
      actions: [{ action: 'check_recipient' }, { action: 'send_again' }],
      retryCost: 60,
      currency: 'UGX',
    });
  });

  it('of an undeliverable message name the report', async () => {
    const explanation = await explained(await send('+256700000002'), 'undeliverable');
    expect(explanation.evidence.map(({ kind }: { kind: string }) => kind)).toEqual(['answer', 'report']);
    expect(explanation.summary).toContain('It was charged.');
    expect(explanation.retryCost).toBe(30);
  });

  it('have the same words in GraphQL and REST', async () => {
    const id = await send('+256700000002');
    const rest = await explained(id, 'undeliverable');
    const { body } = await graphql(gateway, QUERY, { token, variables: { id } });
    const { message, retryCostMoney, ...words } = body.data.explainMessage;
    expect(message.id).toBe(id);
    expect(retryCostMoney).toEqual({ amount: '30' });
    // GraphQL writes enum values in capitals, REST does not.
    const inCapitals = JSON.parse(JSON.stringify(rest), (name, value) =>
      ['cause', 'kind', 'action'].includes(name) ? value.toUpperCase() : value,
    );
    expect(words).toEqual(inCapitals);
  });

  it('of a scheduled and of a sandbox message say what they wait for', async () => {
    const body = {
      to: '+256700000009',
      message: 'later',
      scheduledFor: new Date(Date.now() + 3_600_000).toISOString(),
    };
    const scheduled = await gateway.call('POST', '/developers/sms', { key: account.key, body });
    expect((await explain(scheduled.body.id)).explanation).toMatchObject({
      cause: 'scheduled',
      actions: [{ action: 'wait' }, { action: 'cancel' }],
      retryCost: null,
    });
    const id = await send('+256700000009', account.sandboxKey);
    expect((await explain(id)).explanation).toMatchObject({ cause: 'sandbox', retryCost: null });
  });

  it('change nothing else, and come only when asked for', async () => {
    const id = await send('+256700000009', account.sandboxKey);
    const plain = await gateway.call('GET', `/developers/messages/${id}`, { key: account.key });
    const { explanation, ...others } = await explain(id);
    expect(others).toEqual(plain.body);
    expect(explanation).toBeDefined();
    const other = await gateway.call('GET', `/developers/messages/${id}?explain=maybe`, { key: account.key });
    expect([other.status, other.body.error.code]).toEqual([400, 'validation_error']);
  });

  it('show webhook deliveries to those who may see them', async () => {
    await gateway.call('POST', '/developers/webhooks', {
      key: account.key,
      body: { url: 'http://127.0.0.1:9/', events: ['sms.failed'], maxRetries: 0 },
    });
    const id = await send('+256700000001');
    await eventually(async () => {
      const { explanation } = await explain(id);
      return explanation.actions.at(-1)?.action === 'redeliver_webhook';
    });
    const reader = await gateway.createKey(account.accountId, { scopes: ['READ_MESSAGES'] });
    const { explanation } = await explain(id, reader.key);
    expect(explanation.evidence.map(({ kind }: { kind: string }) => kind)).toEqual(['answer']);
  });

  it('are of messages that the caller may see', async () => {
    const stranger = await signIn(gateway, await gateway.createAccount());
    const variables = { id: await send('+256700000009') };
    const answer = await graphql(gateway, QUERY, { token: stranger, variables });
    expect(codesOf(answer)).toEqual(['NOT_FOUND']);
  });
});
