import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../support/eventually.ts';
import { type Answer, startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { codesOf, graphql, signIn, signInOperator } from '../support/graphql.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';

describe('administration over GraphQL (R238)', () => {
  let gateway: TestGateway;
  let receiver: Awaited<ReturnType<typeof startWebhookReceiver>> | undefined;
  let account: TestAccount;
  let token: string;
  let operator: string;
  beforeAll(async () => {
    gateway = await startTestGateway();
    receiver = await startWebhookReceiver();
    account = await gateway.createAccount();
    token = await signIn(gateway, account);
    operator = await signInOperator(gateway);
  });
  afterAll(async () => {
    await gateway?.stop();
    await receiver?.stop();
  });

  const ask = (query: string, variables: object = {}, as = token): Promise<Answer> =>
    graphql(gateway, query, { token: as, variables });
  const data = async (query: string, variables: object = {}, as = token) => {
    const answer = await ask(query, variables, as);
    if (answer.body.errors) throw new Error(answer.text);
    return answer.body.data;
  };

  it('creates, changes, rotates and revokes keys, which then work on REST', async () => {
    const expiresAt = new Date(Date.now() + 86_400_000).toISOString();
    const { createApiKey: made } = await data(
      `mutation ($e: DateTime) { createApiKey(input: { name: "ci", scopes: [SEND_SMS, READ_MESSAGES], environment: SANDBOX,
        enableHmac: false, ipAllowlist: ["127.0.0.0/8"], expiresAt: $e }) {
        key signingSecret apiKey { keyId name scopes environment enableHmac ipAllowlist rateLimit { perMinute perSecond } expiresAt revokedAt } } }`,
      { e: expiresAt },
    );
    expect(made).toMatchObject({
      signingSecret: null,
      apiKey: {
        scopes: ['SEND_SMS', 'READ_MESSAGES'],
        environment: 'SANDBOX',
        ipAllowlist: ['127.0.0.0/8'],
        rateLimit: { perMinute: null, perSecond: null },
        expiresAt,
        revokedAt: null,
      },
    });
    const { keyId } = made.apiKey;
    const works = async (key: string) => (await gateway.call('GET', '/account', { key })).status;
    expect(await works(made.key)).toBe(200);

    const update =
      'mutation ($k: ID!, $i: UpdateApiKeyInput!) { updateApiKey(keyId: $k, input: $i) { name scopes expiresAt environment } }';
    const { updateApiKey } = await data(update, {
      k: keyId,
      i: { scopes: ['READ_CONTACTS'], expiresAt: null },
    });
    expect(updateApiKey).toEqual({
      name: 'ci',
      scopes: ['READ_CONTACTS'],
      expiresAt: null,
      environment: 'SANDBOX',
    });

    const { rotateApiKey: next } = await data(
      'mutation ($k: ID!) { rotateApiKey(keyId: $k, overlapSeconds: 60) { key apiKey { keyId scopes } } }',
      { k: keyId },
    );
    expect(next.apiKey.scopes).toEqual(['READ_CONTACTS']);
    expect([await works(made.key), await works(next.key)]).toEqual([200, 200]);

    await data('mutation ($k: ID!) { revokeApiKey(keyId: $k) { revokedAt } }', { k: next.apiKey.keyId });
    expect(await works(next.key)).toBe(401);
    const { apiKeys } = await data('{ apiKeys { keyId revokedAt } }');
    expect(apiKeys).toContainEqual({ keyId: next.apiKey.keyId, revokedAt: expect.any(String) });

    const limit =
      'mutation ($k: ID!) { setRateLimit(keyId: $k, perMinute: 7) { rateLimit { perMinute perSecond } } }';
    expect(codesOf(await ask(limit, { k: keyId }))).toEqual(['FORBIDDEN']);
    expect((await data(limit, { k: keyId }, operator)).setRateLimit.rateLimit).toEqual({
      perMinute: 7,
      perSecond: null,
    });
    expect((await gateway.call('GET', '/account', { key: made.key })).headers.get('x-ratelimit-limit')).toBe(
      '7',
    );
  });

  it('registers, tests, changes and deletes webhooks, and redelivers', async () => {
    const { registerWebhook: made } = await data(
      'mutation ($i: RegisterWebhookInput!) { registerWebhook(input: $i) { secret webhook { id isActive maxRetries events } } }',
      { i: { url: receiver?.url, events: ['sms.sent'], description: 'mine', maxRetries: 0 } },
    );
    expect(made).toMatchObject({
      secret: expect.stringMatching(/^whsec_/),
      webhook: { maxRetries: 0, isActive: true },
    });
    const { id } = made.webhook;
    const { sendTestEvent } = await data(
      'mutation ($id: ID!) { sendTestEvent(webhookId: $id) { id event status attempts webhook { id } } }',
      { id },
    );
    expect(sendTestEvent).toMatchObject({
      event: 'webhook.test',
      status: 'SUCCESS',
      attempts: 1,
      webhook: { id },
    });
    const { webhookDelivery, webhookHeaders } = await data(
      'query ($id: ID!) { webhookDelivery(id: $id) { payload attemptLog { httpStatus } } webhookHeaders { signature event delivery } }',
      { id: sendTestEvent.id },
    );
    expect(webhookDelivery).toMatchObject({
      payload: { event: 'webhook.test', data: { webhookId: id } },
      attemptLog: [{ httpStatus: 200 }],
    });
    expect(receiver?.received[0]?.headers).toMatchObject({
      [webhookHeaders.signature.toLowerCase()]: expect.stringMatching(/^t=/),
      [webhookHeaders.event.toLowerCase()]: 'webhook.test',
      [webhookHeaders.delivery.toLowerCase()]: sendTestEvent.id,
    });
    const { redeliver } = await data('mutation ($id: ID!) { redeliver(deliveryId: $id) { id } }', {
      id: sendTestEvent.id,
    });
    expect(redeliver.id).toBe(sendTestEvent.id);
    const { rotateWebhookSecret } = await data(
      'mutation ($id: ID!) { rotateWebhookSecret(id: $id) { secret } }',
      { id },
    );
    expect(rotateWebhookSecret.secret).not.toBe(made.secret);
    const { updateWebhook } = await data(
      'mutation ($id: ID!) { updateWebhook(id: $id, input: { isActive: false, description: null }) { isActive description url } }',
      { id },
    );
    expect(updateWebhook).toEqual({ isActive: false, description: null, url: receiver?.url });
    await data('mutation ($id: ID!) { updateWebhook(id: $id, input: { isActive: true }) { id } }', { id });
    const recover =
      'mutation ($id: ID!) { redeliverFailed(webhookId: $id, since: "2026-01-01T00:00:00Z") { queued } }';
    expect((await data(recover, { id })).redeliverFailed).toEqual({ queued: 0 });
    const tooLong = await ask(
      'mutation ($id: ID!, $text: String!) { updateWebhook(id: $id, input: { description: $text }) { id } }',
      { id, text: 'x'.repeat(501) },
    );
    expect(tooLong.body.errors[0].extensions.details.fields).toEqual([
      { path: 'input.description', message: 'must have at most 500 characters' },
    ]);
    const unknown = await ask(
      'mutation { registerWebhook(input: { url: "https://x.example", events: ["sms.gone"] }) { secret } }',
    );
    expect(codesOf(unknown)).toEqual(['INVALID_EVENT_TYPE']);
    expect(await data('mutation ($id: ID!) { deleteWebhook(id: $id) }', { id })).toEqual({
      deleteWebhook: true,
    });
    expect(codesOf(await ask('query ($id: ID!) { webhook(id: $id) { id } }', { id }))).toEqual(['NOT_FOUND']);
    const kept = 'query ($id: ID!) { webhookDelivery(id: $id) { event webhook { id } } }';
    expect(await data(kept, { id: sendTestEvent.id })).toEqual({
      webhookDelivery: { event: 'webhook.test', webhook: null },
    });
    const { eventTypes } = await data('{ eventTypes { event channel description sample } }');
    // The contract's eleven, and four about the account itself (R483).
    expect(eventTypes).toHaveLength(15);
  });

  it('sends an SMS once for an idempotency key, estimates its price, and cancels a scheduled one', async () => {
    const estimate =
      '{ estimateSms(input: { to: "0700123456,0700123456,x", message: "Hi €" }) { recipientsProcessed invalidNumbers duplicatesRemoved encoding segments smsCount unicodeCharacters { char index } cost currency balance sufficientBalance } }';
    expect((await data(estimate)).estimateSms).toMatchObject({
      recipientsProcessed: 1,
      invalidNumbers: ['x'],
      duplicatesRemoved: 1,
      encoding: 'GSM-7',
      cost: 30,
      currency: 'UGX',
      sufficientBalance: true,
    });
    const send =
      'mutation ($i: SendSmsInput!) { sendSms(input: $i) { id status cost to scheduledFor environment apiKey { keyId } } }';
    const input = { to: '0700123456', message: 'Hello', idempotencyKey: 'once' };
    const first = (await data(send, { i: input })).sendSms;
    expect(first).toMatchObject({
      // The carrier may have answered already, so the message may have any of these states.
      status: expect.stringMatching(/^(PENDING|SENT|DELIVERED)$/),
      cost: 30,
      to: ['+256700123456'],
      environment: 'PRODUCTION',
      apiKey: null,
    });
    const again = (await data(send, { i: { ...input, message: '' } })).sendSms;
    expect(again.id).toBe(first.id);
    const scheduledFor = new Date(Date.now() + 3_600_000).toISOString();
    const later = (await data(send, { i: { to: '0700123456', message: 'Later', scheduledFor } })).sendSms;
    expect(later).toMatchObject({ status: 'PENDING', scheduledFor });
    const cancel = 'mutation ($id: ID!) { cancelMessage(id: $id) { status recipients { error { code } } } }';
    expect((await data(cancel, later)).cancelMessage).toEqual({
      status: 'FAILED',
      recipients: [{ error: { code: 'canceled' } }],
    });
    await eventually(
      async () =>
        (await data('query ($id: ID!) { message(id: $id) { status } }', first)).message.status ===
        'DELIVERED',
    );
    expect(codesOf(await ask(cancel, first))).toEqual(['MESSAGE_NOT_CANCELABLE']);
    const long = await ask(send, { i: { ...input, idempotencyKey: 'x'.repeat(65) } });
    expect(codesOf(long)).toEqual(['BAD_USER_INPUT']);
    expect(codesOf(await ask(send, { i: { to: 'x', message: 'Hi' } }))).toEqual(['INVALID_PHONE_NUMBER']);
  });

  it('sends on every other channel, and manages devices', async () => {
    const email = `mutation ($headers: JSONObject) { sendEmail(input: {
      to: "ann@example.com", subject: "Hi", text: "Hello", headers: $headers, environment: SANDBOX
    }) { channel to content sandbox metadata { recipientsProcessed } } }`;
    expect(codesOf(await ask(email, { headers: { Subject: 'another' } }))).toEqual(['BAD_USER_INPUT']);
    // nodemailer would write lists and objects into the header unchanged, with their line breaks.
    for (const value of [
      1,
      null,
      true,
      ['x'],
      [{ prepared: true, value: 'x\r\nBcc: evil@evil.example' }],
      {},
    ]) {
      const refused = await ask(email, { headers: { 'X-Order': value } });
      expect(codesOf(refused)).toEqual(['BAD_USER_INPUT']);
      expect(refused.body.errors[0].message).toBe('input.headers.X-Order: must be text');
    }
    expect((await data(email, { headers: { 'X-Order': '1' } })).sendEmail).toEqual({
      channel: 'EMAIL',
      to: ['ann@example.com'],
      content: 'Hello',
      sandbox: true,
      metadata: { recipientsProcessed: 1 },
    });
    const { registerDevice } = await data(
      'mutation { registerDevice(input: { token: "abc123", platform: ANDROID, userId: "u1", environment: SANDBOX }) { id platform userId } }',
    );
    expect(registerDevice).toMatchObject({ platform: 'ANDROID', userId: 'u1' });
    expect((await data('{ devices(environment: SANDBOX) { totalCount nodes { id } } }')).devices).toEqual({
      totalCount: 1,
      nodes: [{ id: registerDevice.id }],
    });
    const { sendPush } = await data(
      'mutation { sendPush(input: { to: "u1", title: "T", body: "B", data: { a: "1" }, priority: HIGH, environment: SANDBOX }) { channel status } }',
    );
    expect(sendPush).toEqual({ channel: 'PUSH', status: 'SENT' });
    for (const ttl of [-5, 2_419_201]) {
      const push = `mutation { sendPush(input: { to: "u1", title: "T", body: "B", ttlSeconds: ${ttl}, environment: SANDBOX }) { id } }`;
      expect(codesOf(await ask(push))).toEqual(['BAD_USER_INPUT']);
    }
    const { sendWhatsApp } = await data(
      'mutation { sendWhatsApp(input: { to: "+256700123456", type: TEMPLATE, template: { name: "hello", language: "en_US" }, environment: SANDBOX }) { channel } }',
    );
    expect(sendWhatsApp).toEqual({ channel: 'WHATSAPP' });
    expect(await data('mutation ($id: ID!) { removeDevice(id: $id) }', registerDevice)).toEqual({
      removeDevice: true,
    });
    const { messages } = await data(
      '{ messages(first: 100, filter: { environment: SANDBOX }) { nodes { channel } } }',
    );
    expect(messages.nodes.map((node: { channel: string }) => node.channel)).toEqual([
      'WHATSAPP',
      'PUSH',
      'EMAIL',
    ]);
  });

  it('shows a message as REST does, under the same names', async () => {
    await data(
      'mutation { registerDevice(input: { token: "abc456", platform: ANDROID, userId: "u2", environment: SANDBOX }) { id } }',
    );
    const bodies: Record<string, object> = {
      email: { to: 'ann@example.com', subject: 'Hi', text: 'Hello' },
      push: { to: 'u2', title: 'T', body: 'B' },
      whatsapp: { to: '+256700123456', type: 'template', template: { name: 'hello', language: 'en_US' } },
      sms: { to: '+256700123456', message: 'Hello' },
    };
    for (const [channel, body] of Object.entries(bodies)) {
      const sent = await gateway.call('POST', `/developers/${channel}`, { key: account.sandboxKey, body });
      expect(sent.status).toBe(200);
      const { body: rest } = await gateway.call('GET', `/developers/messages/${sent.body.id}`, {
        key: account.key,
      });
      const { message } = await data(
        `query ($id: ID!) { message(id: $id) { id sid to from content cost currency sandbox createdAt subject title
          type readAt metadata { ${Object.keys(rest.metadata).join(' ')} }
          recipients { to sid cost refunded error { code } } } }`,
        { id: rest.id },
      );
      for (const [name, value] of Object.entries(message)) {
        if (name === 'recipients') {
          const shown = rest.recipients.map(({ status: _, ...recipient }: { status: string }) => recipient);
          expect(value).toEqual(shown);
        } else {
          const shown = name === 'type' ? rest.type?.toUpperCase() : rest[name];
          expect([channel, name, value]).toEqual([channel, name, shown ?? null]);
        }
      }
    }
  });

  it('limits references, names, prices and balances from operators', async () => {
    const topUp =
      'mutation ($n: Float!, $r: String) { topUpAccount(accountId: $a, amount: $n, reference: $r) { balance } }'.replace(
        '$a',
        JSON.stringify(account.accountId),
      );
    const refused = async (query: string, variables: object = {}) => {
      const answer = await ask(query, variables, operator);
      expect(codesOf(answer)).toEqual(['BAD_USER_INPUT']);
      return answer.body.errors[0].message as string;
    };
    for (const r of ['', ' ', 'x'.repeat(201)]) {
      expect(await refused(topUp, { n: 1, r })).toBe(
        'reference: must have 1 to 200 characters, or be left out',
      );
    }
    expect(await refused(topUp, { n: 10 ** 15 + 1 })).toBe('amount: must be at most 1000000000000000 UGX');
    expect(await refused(topUp, { n: 10 ** 15 })).toBe(
      'amount: would make the balance larger than 1000000000000000 UGX',
    );
    const price = (amount: number) =>
      `mutation { setPrice(input: { currency: "UGX", channel: SMS, prefix: "999", amount: ${amount} }) { amount } }`;
    expect(await refused(price(1_000_000_001))).toBe('input.amount: must be at most 1000000000 UGX');
    expect(await refused(price(-1))).toBe('input.amount: must be at least 0 UGX');
    const create = (name: string) =>
      `mutation { createAccount(input: { email: "bounds@shop.example", currency: "UGX", name: "${name}" }) { id } }`;
    for (const name of ['', `${'a'.repeat(200)}😀`]) {
      expect(await refused(create(name))).toBe('input.name: must have 1 to 200 characters');
    }
    // The refusal must not name `name`, because this request does not contain that field.
    const email = `long@${`${'a'.repeat(60)}.`.repeat(4)}example`;
    const { createAccount } = await data(
      'mutation ($e: String!) { createAccount(input: { email: $e, currency: "UGX" }) { email name } }',
      { e: email },
      operator,
    );
    expect(createAccount).toEqual({ email, name: email.slice(0, 200) });
  });

  it('moves money only for operators, once for each reference, and audits it', async () => {
    const topUp =
      'mutation ($a: ID!, $n: Float!, $r: String) { topUpAccount(accountId: $a, amount: $n, reference: $r) { balance } }';
    const create =
      'mutation { createAccount(input: { email: "new@shop.example", currency: "USD", balance: 12.5 }) { id balance currency ownerPassword } }';
    expect(codesOf(await ask(create))).toEqual(['FORBIDDEN']);
    const { createAccount: made } = await data(create, {}, operator);
    expect(made).toMatchObject({ balance: 12.5, currency: 'USD' });
    const owner = await signIn(gateway, { email: 'new@shop.example', password: made.ownerPassword });
    const pay = { a: made.id, n: 7.25, r: 'invoice 1' };
    expect(codesOf(await ask(topUp, pay, owner))).toEqual(['FORBIDDEN']);
    const paid = await Promise.all([1, 2, 3].map(() => data(topUp, pay, operator)));
    expect(paid).toEqual(Array(3).fill({ topUpAccount: { balance: 19.75 } }));
    // The same payment reference with another amount is not a repetition, so it is refused.
    const other = await ask(topUp, { ...pay, n: 70.25 }, operator);
    expect(codesOf(other)).toEqual(['BAD_USER_INPUT']);
    expect(other.body.errors[0].message).toMatch(
      /^reference: is the reference of the payment of 7\.25 USD booked at 20\S+Z; use a new reference for another payment$/,
    );
    const { ledger } = await data('{ ledger { nodes { kind amount balanceAfter reference } } }', {}, owner);
    expect(ledger.nodes).toEqual([
      { kind: 'TOPUP', amount: 7.25, balanceAfter: 19.75, reference: 'invoice 1' },
      { kind: 'OPENING', amount: 12.5, balanceAfter: 12.5, reference: null },
    ]);
    const { auditLog } = await data(
      '{ auditLog(filter: { action: "account.topUp" }) { nodes { actor { ... on System { name } } after } } }',
      {},
      owner,
    );
    expect(auditLog.nodes).toEqual([
      { actor: { name: 'operator' }, after: { amount: 7.25, reference: 'invoice 1' } },
    ]);
    const { accounts } = await data(
      '{ accounts(search: "shop.ex") { totalCount nodes { id balance } } }',
      {},
      operator,
    );
    expect(accounts).toEqual({ totalCount: 1, nodes: [{ id: made.id, balance: 19.75 }] });
    const { account: found } = await data(
      'query ($id: ID) { account(id: $id) { email ownerPassword } }',
      { id: made.id },
      operator,
    );
    expect(found).toEqual({ email: 'new@shop.example', ownerPassword: null });
  });

  it('sets prices for later sends, once for each reference', async () => {
    const set = 'mutation ($i: SetPriceInput!) { setPrice(input: $i) { currency channel prefix amount } }';
    const price = (amount: number, reference: string) => ({
      i: { currency: 'UGX', channel: 'SMS', prefix: '25671', amount, reference },
    });
    const estimate = '{ estimateSms(input: { to: "0712345678", message: "Hi" }) { cost } }';
    const cost = async () => (await data(estimate)).estimateSms.cost;
    expect(await cost()).toBe(30);
    expect((await data(set, price(45, 'spring'), operator)).setPrice.amount).toBe(45);
    expect(await cost()).toBe(45);
    await data(set, price(50, 'summer'), operator);
    // An old change of price that is sent again must not undo a newer one.
    await data(set, price(45, 'spring'), operator);
    for (const other of [price(46, 'spring'), { i: { ...price(45, 'spring').i, prefix: '25672' } }]) {
      const refused = await ask(set, other, operator);
      expect(codesOf(refused)).toEqual(['BAD_USER_INPUT']);
      expect(refused.body.errors[0].message).toBe(
        'input.reference: is the reference of the change of UGX sms 25671 to 45; use a new reference for another change',
      );
    }
    expect(await cost()).toBe(50);
    expect((await data('{ prices { prefix amount } }')).prices).toContainEqual({
      prefix: '25671',
      amount: 50,
    });
    const { auditLog } = await data(
      '{ auditLog(filter: { action: "price.set" }) { nodes { target { type id } before after } } }',
      {},
      operator,
    );
    expect(auditLog.nodes).toEqual([
      {
        target: { type: 'PRICE', id: 'UGX sms 25671' },
        before: { amount: 45 },
        after: { amount: 50, reference: 'summer' },
      },
      {
        target: { type: 'PRICE', id: 'UGX sms 25671' },
        before: null,
        after: { amount: 45, reference: 'spring' },
      },
    ]);
    expect(codesOf(await ask(set, price(0.5, 'half'), operator))).toEqual(['BAD_USER_INPUT']);
  });
});
