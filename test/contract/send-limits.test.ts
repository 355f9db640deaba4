import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { eventually } from '../support/eventually.ts';
import { type Answer, startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { codesOf, graphql, inviteMember, signIn, signInOperator } from '../support/graphql.ts';
import { stopLimitClock, withinOneHour } from '../support/limit-clock.ts';
import { openSql, type TestSql } from '../support/sql.ts';
import { countStatements } from '../support/statements.ts';

const OF_KEY = `mutation ($k: ID!, $i: KeyLimitsInput!) { setKeyLimits(keyId: $k, input: $i) {
  keyId spendPerHour spendPerDay recipientsPerDay perNumberPerHour allowedPrefixes used { spendToday } } }`;
const OF_ACCOUNT = `mutation ($a: ID!, $i: AccountLimitsInput!) { setAccountLimits(accountId: $a, input: $i) {
  keyId spendPerHour allowedPrefixes openedPrefixes } }`;
const PRICE = 30;
const SENDERS = 64;

describe('send limits', () => {
  let gateway: TestGateway;
  let other: TestGateway;
  let operator: string;
  let sql: TestSql;
  beforeAll(async () => {
    gateway = await startTestGateway();
    other = await startTestGateway({ ROLES: 'api' }, gateway.database);
    operator = await signInOperator(gateway);
    sql = await openSql(gateway.database);
    await stopLimitClock(gateway);
  });
  afterAll(async () => {
    await sql?.close();
    await other?.stop();
    await gateway?.stop();
  });

  const ask = (query: string, variables: object, token = operator): Promise<Answer> =>
    graphql(gateway, query, { token, variables });
  const limitAccount = async ({ accountId }: TestAccount, input: object) => {
    const { body } = await ask(OF_ACCOUNT, { a: accountId, i: input });
    expect(body.errors).toBeUndefined();
    return body.data.setAccountLimits;
  };
  const limitKey = async (keyId: string, input: object, token?: string) => {
    const { body } = await ask(OF_KEY, { k: keyId, i: input }, token);
    expect(body.errors).toBeUndefined();
    return body.data.setKeyLimits;
  };
  /** Lets the limits of an account count in the hour and the day of the clock. */
  const followClock = ({ accountId }: TestAccount) =>
    sql.query(`UPDATE send_limits SET hour = '-infinity', day = '-infinity' WHERE account_id = $1`, [
      accountId,
    ]);
  const send = (key: string, to = '+256700123456', at = gateway, more: object = {}) =>
    at.call('POST', '/developers/sms', { key, body: { to, message: 'Hello', ...more } });
  const balanceOf = async ({ key }: TestAccount) =>
    (await gateway.call('GET', '/account', { key })).body.balance;
  /** Sends until the other process knows the limits and refuses with `code`. */
  const heard = (key: string, code: string, to: string) =>
    eventually(async () => (await send(key, to, other)).body.error?.code === code);
  const numbers = (count: number) =>
    Array.from({ length: count }, (_, at) => `+25670${String(1_000_100 + at)}`).join(',');

  it.each(['spendPerHour', 'spendPerDay'])(
    'refuse what exceeds %s, before any charge (R370)',
    async (limit) => {
      const account = await gateway.createAccount(1_000);
      await limitAccount(account, { [limit]: 3 * PRICE });
      expect((await send(account.key, numbers(2))).status).toBe(200);
      const refused = await send(account.key, numbers(2));
      expect([refused.status, refused.body.error.code]).toEqual([402, 'spend_limit_reached']);
      expect(refused.body.error.details).toMatchObject({
        limit,
        of: 'account',
        maximum: 3 * PRICE,
        used: 2 * PRICE,
        required: 2 * PRICE,
        currency: 'UGX',
      });
      expect(Date.parse(refused.body.error.details.resetsAt)).toBeGreaterThan(Date.now());
      expect(await balanceOf(account)).toBe(1_000 - 2 * PRICE);
      expect((await send(account.key)).status).toBe(200);
      expect((await send(account.key)).status).toBe(402);
      const shown = await gateway.call('GET', '/account/limits', { key: account.key });
      expect(shown.body.limits).toMatchObject([
        {
          of: 'account',
          keyId: null,
          [limit]: 3 * PRICE,
          used: { spendToday: 3 * PRICE, recipientsToday: 3 },
        },
      ]);
    },
  );

  it('refuse recipients over recipientsPerDay, on all channels together (R370)', async () => {
    const account = await gateway.createAccount();
    await limitAccount(account, { recipientsPerDay: 3 });
    const email = { to: 'a@b.example', subject: 's', text: 't' };
    const mail = () => gateway.call('POST', '/developers/email', { key: account.key, body: email });
    expect((await send(account.key, numbers(2))).status).toBe(200);
    expect((await mail()).status).toBe(200);
    const refused = await mail();
    expect([refused.status, refused.body.error.details]).toEqual([
      402,
      expect.objectContaining({ limit: 'recipientsPerDay', maximum: 3, used: 3, required: 1 }),
    ]);
  });

  it('count the copies of an email as recipients (R370)', async () => {
    const account = await gateway.createAccount();
    await limitAccount(account, { recipientsPerDay: 5 });
    const mail = (more: object) =>
      gateway.call('POST', '/developers/email', {
        key: account.key,
        body: { to: 'a@b.example', subject: 's', text: 't', ...more },
      });
    const many = { cc: ['b@b.example', 'c@b.example'], bcc: ['d@b.example'] };
    expect((await mail(many)).status).toBe(200);
    const refused = await mail({ bcc: 'c@b.example' });
    expect([refused.status, refused.body.error.details]).toEqual([
      402,
      expect.objectContaining({ limit: 'recipientsPerDay', maximum: 5, used: 4, required: 2 }),
    ]);
    // A recipient of `to` gets no copy besides.
    expect((await mail({ cc: 'A@b.example' })).status).toBe(200);
    const { body } = await gateway.call('GET', '/account/limits', { key: account.key });
    expect(body.limits[0].used.recipientsToday).toBe(5);
  });

  it('refuse one number too many messages in an hour with 429, and names the rule (R370)', () =>
    withinOneHour(async () => {
      const account = await gateway.createAccount();
      await limitAccount(account, { perNumberPerHour: 2 });
      await followClock(account);
      const to = '+256700000001';
      expect((await send(account.key, to)).status).toBe(200);
      expect((await send(account.key, `${to},+256700000002`)).status).toBe(200);
      const refused = await send(account.key, to);
      expect([refused.status, refused.body.error]).toEqual([429, 'rate_limit_exceeded']);
      expect(refused.body.message).toMatch(/^perNumberPerHour: .*\+256700000001/);
      expect(refused.body.retryAfter).toBeGreaterThan(0);
      expect(refused.body.retryAfter).toBeLessThanOrEqual(3_600);
      expect((await send(account.key, '+256700000002')).status).toBe(200);
      expect((await send(account.key, '+256700000002')).status).toBe(429);
    }));

  it('refuse other prefixes with 400, in the sandbox and in quotes too (R370)', async () => {
    const account = await gateway.createAccount();
    await limitAccount(account, { allowedPrefixes: ['25677', '254'] });
    expect((await send(account.key, '+256772000001,+254712345678')).status).toBe(200);
    const refusals = [
      await send(account.key, '+256772000001,+256700000001'),
      await send(account.sandboxKey, '+256700000001'),
      await gateway.call('POST', '/developers/sms/quote', {
        key: account.key,
        body: { to: '+256700000001', message: 'Hello' },
      }),
    ];
    for (const { status, body } of refusals) {
      expect([status, body.error.code, body.error.details]).toEqual([
        400,
        'destination_not_allowed',
        expect.objectContaining({ value: '+256700000001', limit: 'allowedPrefixes', of: 'account' }),
      ]);
    }
  });

  it('of a key and of its account both hold, and the lowest wins (R370)', async () => {
    const account = await gateway.createAccount();
    const limited = await gateway.createKey(account.accountId, {});
    await limitAccount(account, { spendPerDay: 3 * PRICE });
    await limitKey(limited.keyId, { spendPerDay: 2 * PRICE });
    expect((await send(limited.key)).status).toBe(200);
    expect((await send(limited.key)).status).toBe(200);
    expect((await send(limited.key)).body.error.details).toMatchObject({ of: 'key', maximum: 2 * PRICE });
    expect((await send(account.key)).status).toBe(200);
    expect((await send(account.key)).body.error.details).toMatchObject({ of: 'account', maximum: 3 * PRICE });
    expect((await send(account.sandboxKey)).status).toBe(200);
    const shown = await gateway.call('GET', '/account/limits', { key: limited.key });
    expect(shown.body.limits.map(({ of }: { of: string }) => of)).toEqual(['account', 'key']);
  });

  it('let a repeat with an idempotency key have its stored answer (R370)', async () => {
    const account = await gateway.createAccount();
    await limitAccount(account, { spendPerDay: PRICE });
    const first = await send(account.key, undefined, gateway, { idempotencyKey: 'once' });
    const again = await send(account.key, undefined, gateway, { idempotencyKey: 'once' });
    expect([first.status, again.status, again.text]).toEqual([200, 200, first.text]);
    expect((await send(account.key)).status).toBe(402);
  });

  it.each([
    ['spendPerHour', 10 * PRICE],
    ['spendPerDay', 10 * PRICE],
    ['recipientsPerDay', 10],
    ['perNumberPerHour', 10],
  ])(`of %s are exact with ${SENDERS} senders in two processes (R371)`, async (limit, maximum) => {
    const account = await gateway.createAccount();
    await limitAccount(account, { [limit]: maximum, allowedPrefixes: ['256'] });
    await heard(account.key, 'destination_not_allowed', '+254712345678');
    const answers = await Promise.all(
      Array.from({ length: SENDERS }, (_, at) =>
        send(account.key, '+256700123456', at % 2 === 0 ? gateway : other),
      ),
    );
    const accepted = answers.filter(({ status }) => status === 200).length;
    expect(accepted).toBe(10);
    expect(await balanceOf(account)).toBe(100_000 - 10 * PRICE);
  });

  describe.each([
    ['spendPerHour', 10 * PRICE],
    ['spendPerDay', 10 * PRICE],
    ['recipientsPerDay', 10],
    ['perNumberPerHour', 10],
  ])('of %s', (limit, maximum) => {
    /** Sends with many senders at the same time, with each of `keys` in both processes. Returns what was accepted. */
    const race = async (keys: readonly string[], to = '+256700123456') => {
      const answers = await Promise.all(
        Array.from({ length: SENDERS }, (_, at) =>
          send(
            keys[at % keys.length] as string,
            to,
            Math.floor(at / keys.length) % 2 === 0 ? gateway : other,
          ),
        ),
      );
      const refused = answers.filter(({ status }) => status !== 200);
      expect(new Set(refused.map(({ status }) => status))).toEqual(
        new Set([limit === 'perNumberPerHour' ? 429 : 402]),
      );
      return answers.length - refused.length;
    };

    it(`a key is held exactly with ${SENDERS} senders in two processes, and its account is not (R371)`, async () => {
      const account = await gateway.createAccount();
      const limited = await gateway.createKey(account.accountId, {});
      await limitKey(limited.keyId, { [limit]: maximum, allowedPrefixes: ['256'] });
      await heard(limited.key, 'destination_not_allowed', '+254712345678');
      expect(await race([limited.key])).toBe(10);
      expect(await balanceOf(account)).toBe(100_000 - 10 * PRICE);
      expect((await send(account.key)).status).toBe(200);
    });

    it(`keys that share limits are held together, with ${SENDERS} senders in two processes (R371, R373)`, async () => {
      const account = await gateway.createAccount();
      const parent = await gateway.createKey(account.accountId, {});
      await limitKey(parent.keyId, { [limit]: maximum, allowedPrefixes: ['256'] });
      const body = { name: 'child', scopes: ['SEND_SMS'], environment: 'production' };
      const child = await gateway.call('POST', '/developer/keys', { key: parent.key, body });
      expect(child.status).toBe(201);
      for (const key of [parent.key, child.body.key]) {
        await heard(key, 'destination_not_allowed', '+254712345678');
      }
      expect(await race([parent.key, child.body.key])).toBe(10);
      expect(await balanceOf(account)).toBe(100_000 - 10 * PRICE);
    });

    it(`an account and its key are held by the lower one, with ${SENDERS} senders (R370, R371)`, async () => {
      const account = await gateway.createAccount();
      const limited = await gateway.createKey(account.accountId, {});
      await limitAccount(account, { [limit]: maximum });
      await limitKey(limited.keyId, { [limit]: maximum / 2, allowedPrefixes: ['256'] });
      await heard(limited.key, 'destination_not_allowed', '+254712345678');
      expect(await race([limited.key])).toBe(5);
      expect(await race([account.key])).toBe(5);
    });
  });

  it('of prefixes and of one number hold on WhatsApp, exactly and together with SMS (R370, R371)', async () => {
    const account = await gateway.createAccount();
    await limitAccount(account, { perNumberPerHour: 10, allowedPrefixes: ['256'] });
    const template = { type: 'template', template: { name: 'hello', language: 'en' } };
    const write = (to: string, at = gateway) =>
      at.call('POST', '/developers/whatsapp', { key: account.key, body: { to, ...template } });
    await eventually(async () => (await write('+254712345678', other)).status === 400);
    const refused = await write('+254712345678');
    expect(refused.body.error).toMatchObject({
      code: 'destination_not_allowed',
      details: { limit: 'allowedPrefixes', value: '+254712345678' },
    });
    const to = '+256700123456';
    const answers = await Promise.all(
      Array.from({ length: SENDERS }, (_, at) => {
        const process = at % 2 === 0 ? gateway : other;
        return at % 4 < 2 ? write(to, process) : send(account.key, to, process);
      }),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(10);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(SENDERS - 10);
  });

  it('count neither sandbox sends nor refusals, and a new hour begins at 0 (R371)', () =>
    withinOneHour(async () => {
      const account = await gateway.createAccount(PRICE * 2);
      await limitAccount(account, { spendPerHour: 2 * PRICE, perNumberPerHour: 5 });
      await send(account.sandboxKey);
      expect((await send(account.key, numbers(3))).status).toBe(402);
      expect((await send(account.key)).status).toBe(200);
      expect((await send(account.key, numbers(2))).status).toBe(402);
      const { body } = await gateway.call('GET', '/account/limits', { key: account.key });
      expect(body.limits[0].used).toEqual({ spendThisHour: PRICE, spendToday: PRICE, recipientsToday: 1 });
      await sql.query(
        `UPDATE send_limits SET hour = date_trunc('hour', now(), 'UTC') - interval '1 hour' WHERE id = $1`,
        [account.accountId],
      );
      const later = await gateway.call('GET', '/account/limits', { key: account.key });
      expect(later.body.limits[0].used).toEqual({ spendThisHour: 0, spendToday: PRICE, recipientsToday: 1 });
      expect((await send(account.key)).status).toBe(200);
      const counted = await gateway.call('GET', '/account/limits', { key: account.key });
      expect(counted.body.limits[0].used).toMatchObject({ spendThisHour: PRICE, spendToday: 2 * PRICE });
    }));

  it('are lowered but not raised by administrators, and set by operators (R372)', async () => {
    const account = await gateway.createAccount();
    const owner = await signIn(gateway, account);
    const own = (input: object) => ask(OF_ACCOUNT, { a: account.accountId, i: input }, owner);
    await limitAccount(account, { spendPerHour: 500, allowedPrefixes: ['256'], openedPrefixes: ['881'] });
    expect((await own({ spendPerHour: 400, allowedPrefixes: ['25677'] })).body.data.setAccountLimits).toEqual(
      {
        keyId: null,
        spendPerHour: 400,
        allowedPrefixes: ['25677'],
        openedPrefixes: ['881'],
      },
    );
    for (const raised of [
      { spendPerHour: 401 },
      { spendPerHour: null },
      { allowedPrefixes: ['256'] },
      { allowedPrefixes: null },
      { openedPrefixes: ['881', '882'] },
    ]) {
      expect(codesOf(await own(raised))).toEqual(['FORBIDDEN']);
    }
    expect((await own({ openedPrefixes: [] })).body.data.setAccountLimits.openedPrefixes).toEqual([]);
    const raised = await limitAccount(account, { spendPerHour: null });
    expect(raised).toMatchObject({ spendPerHour: null, allowedPrefixes: ['25677'] });
    const developer = await signIn(gateway, await inviteMember(gateway, owner, 'DEVELOPER'));
    const { keyId } = await gateway.createKey(account.accountId, {});
    const byDeveloper = await ask(OF_KEY, { k: keyId, i: { spendPerDay: 1 } }, developer);
    expect(codesOf(byDeveloper)).toEqual(['FORBIDDEN']);
    const logged = await graphql(gateway, '{ auditLog(first: 20) { nodes { action after } } }', {
      token: owner,
    });
    const actions = logged.body.data.auditLog.nodes.filter(
      ({ action }: { action: string }) => action === 'account.setLimits',
    );
    expect(actions[0].after).toMatchObject({ spendPerHour: null, allowedPrefixes: ['25677'] });
  });

  it('of an account are lowered over REST by a production key with FULL_ACCESS (R372)', async () => {
    const account = await gateway.createAccount();
    const put = (body: object, key = account.key) => gateway.call('PUT', '/account/limits', { key, body });
    const set = await put({ spendPerDay: 500, allowedPrefixes: ['256'] });
    expect([set.status, set.body.limits]).toEqual([
      200,
      expect.objectContaining({ of: 'account', keyId: null, spendPerDay: 500, allowedPrefixes: ['256'] }),
    ]);
    for (const raised of [{ spendPerDay: 501 }, { spendPerDay: null }, { openedPrefixes: ['881'] }]) {
      expect((await put(raised)).status).toBe(403);
    }
    expect((await put({ spendPerDay: 400 }, account.sandboxKey)).status).toBe(403);
    const narrow = await gateway.createKey(account.accountId, { scopes: ['SEND_SMS', 'MANAGE_CONTACTS'] });
    expect((await put({ spendPerDay: 400 }, narrow.key)).status).toBe(403);
    expect((await put({ spendPerDay: -1 })).body.error.code).toBe('validation_error');
    expect((await send(account.key, '+254712345678')).status).toBe(400);
    await limitAccount(account, { spendPerDay: null });
    expect((await put({ spendPerDay: 30 })).status).toBe(200);
    expect((await send(account.key)).status).toBe(200);
    expect((await send(account.key)).status).toBe(402);
  });

  it('take effect in every process with the next request (R372, R9)', async () => {
    const account = await gateway.createAccount();
    expect((await send(account.key, '+254712345678', other)).status).toBe(200);
    await limitAccount(account, { allowedPrefixes: ['256'] });
    expect((await send(account.key, '+254712345678')).status).toBe(400);
    await heard(account.key, 'destination_not_allowed', '+254712345678');
  });

  it('name each fault of the input (R372)', async () => {
    const account = await gateway.createAccount();
    const input = { spendPerDay: -1, recipientsPerDay: -5, allowedPrefixes: ['+256'] };
    const { body } = await ask(OF_ACCOUNT, { a: account.accountId, i: input });
    const paths = body.errors[0].extensions.details.fields.map(({ path }: { path: string }) => path);
    expect(paths.sort()).toEqual(['input.allowedPrefixes.0', 'input.recipientsPerDay', 'input.spendPerDay']);
  });

  it('bind the keys that a limited key makes, with the same counts (R373)', async () => {
    const account = await gateway.createAccount();
    const limited = await gateway.createKey(account.accountId, {});
    await limitKey(limited.keyId, { spendPerDay: 2 * PRICE });
    const body = { name: 'child', scopes: ['SEND_SMS', 'FULL_ACCESS'], environment: 'production' };
    const child = await gateway.call('POST', '/developer/keys', { key: limited.key, body });
    expect(child.status).toBe(201);
    expect((await send(limited.key)).status).toBe(200);
    expect((await send(child.body.key)).status).toBe(200);
    expect((await send(child.body.key)).status).toBe(402);
    const raise = await gateway.call('PUT', `/developer/keys/${limited.keyId}/limits`, {
      key: child.body.key,
      body: { spendPerDay: null },
    });
    expect(raise.status).toBe(403);
    const own = await gateway.call('PUT', `/developer/keys/${limited.keyId}/limits`, {
      key: child.body.key,
      body: { recipientsPerDay: 1 },
    });
    expect([own.status, own.body.limits]).toEqual([
      200,
      expect.objectContaining({ keyId: limited.keyId, spendPerDay: 2 * PRICE, recipientsPerDay: 1 }),
    ]);
    // After the rotation, the limits belong to the new key.
    const path = `/developer/keys/${limited.keyId}/rotate`;
    const rotated = await gateway.call('POST', path, { key: account.key, body: { overlapSeconds: 60 } });
    expect(rotated.status).toBe(201);
    expect((await send(rotated.body.key)).status).toBe(402);
    const raised = await limitKey(rotated.body.apiKey.keyId, {
      spendPerDay: 3 * PRICE,
      recipientsPerDay: null,
    });
    expect(raised.used.spendToday).toBe(2 * PRICE);
    expect((await send(rotated.body.key)).status).toBe(200);
    expect((await send(limited.key)).status).toBe(402);
    expect((await send(account.key)).status).toBe(200);
  });

  it('bind the keys that a key made before it was limited, and those that they made (R373)', async () => {
    const account = await gateway.createAccount();
    const { key: parent, keyId } = await gateway.createKey(account.accountId, {});
    const make = async (key: string) => {
      const body = { name: 'made', scopes: ['FULL_ACCESS'], environment: 'production' };
      const made = await gateway.call('POST', '/developer/keys', { key, body });
      expect(made.status).toBe(201);
      return made.body.key as string;
    };
    const child = await make(parent);
    const grandchild = await make(child);
    const stranger = await make(account.key);
    // Both processes know the keys as keys without limits.
    for (const key of [child, grandchild])
      for (const process of [gateway, other]) expect((await send(key, undefined, process)).status).toBe(200);
    await limitKey(keyId, { spendPerDay: 2 * PRICE, allowedPrefixes: ['256'] });
    await heard(grandchild, 'destination_not_allowed', '+254712345678');
    expect((await send(child)).status).toBe(200);
    expect((await send(grandchild, undefined, other)).status).toBe(200);
    for (const key of [parent, child, grandchild]) expect((await send(key)).status).toBe(402);
    expect((await send(stranger)).status).toBe(200);
    const raise = await gateway.call('PUT', `/developer/keys/${keyId}/limits`, {
      key: grandchild,
      body: { spendPerDay: null },
    });
    expect(raise.status).toBe(403);
  });

  it('keep a key from making another one beside its limit at the same moment (R373)', async () => {
    const account = await gateway.createAccount();
    const { key, keyId } = await gateway.createKey(account.accountId, {});
    const body = { name: 'made', scopes: ['SEND_SMS'], environment: 'production' };
    const [, ...made] = await Promise.all([
      limitKey(keyId, { allowedPrefixes: ['256'] }),
      ...Array.from({ length: 20 }, (_, at) =>
        (at % 2 === 0 ? gateway : other).call('POST', '/developer/keys', { key, body }),
      ),
    ]);
    expect(made.map(({ status }) => status)).toEqual(Array(20).fill(201));
    await eventually(async () => {
      const answers = await Promise.all(made.map((each) => send(each.body.key, '+254712345678')));
      return answers.every(({ status }) => status === 400);
    });
  });

  it('bind a rotated key with its first send, also in a process that has not heard of it (R560)', async () => {
    const account = await gateway.createAccount();
    const limited = await gateway.createKey(account.accountId, {});
    await limitKey(limited.keyId, { spendPerDay: 3 * PRICE, allowedPrefixes: ['256'] });
    await heard(limited.key, 'destination_not_allowed', '+254712345678');
    expect((await send(limited.key, undefined, other)).status).toBe(200);
    const { emit } = pg.Client.prototype;
    const unheard: (() => void)[] = [];
    pg.Client.prototype.emit = function (name: string | symbol, ...given: unknown[]) {
      if (name !== 'notification') return emit.call(this, name, ...given);
      unheard.push(() => emit.call(this, name, ...given));
      return true;
    };
    try {
      const rotate = async (keyId: string) => {
        const path = `/developer/keys/${keyId}/rotate`;
        const { body } = await gateway.call('POST', path, { key: account.key });
        return body;
      };
      const second = await rotate(limited.keyId);
      expect((await send(second.key, '+254712345678', other)).body.error?.code).toBe(
        'destination_not_allowed',
      );
      expect((await send(second.key, undefined, other)).status).toBe(200);
      const third = await rotate(second.apiKey.keyId);
      expect((await send(third.key, undefined, other)).status).toBe(200);
      expect((await send(third.key, undefined, other)).status).toBe(402);
      expect(await balanceOf(account)).toBe(100_000 - 3 * PRICE);
      expect(unheard.length).toBeGreaterThan(0);
      using statements = countStatements();
      expect((await send(third.key, undefined, other)).status).toBe(402);
      const reads = statements.texts().filter((text) => /FROM send_limits l WHERE l.account_id/.test(text));
      expect(reads).toEqual([]);
    } finally {
      pg.Client.prototype.emit = emit;
      for (const hear of unheard) hear();
    }
  });

  it('refuse premium-rate, shared-cost and satellite numbers until an operator opens them (R374)', async () => {
    const account = await gateway.createAccount();
    for (const [to, range] of [
      ['+19002345678', 'premium-rate'],
      ['+4918012345678', 'shared-cost'],
      ['+881612345678', 'satellite'],
      ['+80812345678', 'shared-cost'],
      ['+8821612345678', 'satellite'],
      ['+256901234567', 'premium-rate'],
      ['0903234567', 'premium-rate'],
    ] as const) {
      const { status, body } = await send(account.key, to);
      expect([status, body.error.code, body.error.details.range]).toEqual([
        400,
        'destination_not_allowed',
        range,
      ]);
    }
    // Numbers with a digit too many or too few. Carriers route them by prefix.
    for (const [to, range] of [
      ['+3725123456', undefined],
      ['+37290012345', 'premium-rate'],
      ['+27860123456', 'shared-cost'],
      ['+2786012345', 'shared-cost'],
      ['+44909123456', 'premium-rate'],
      ['+26490012345', undefined],
      ['+256904234567', undefined],
    ] as const) {
      const { status, body } = await send(account.key, to);
      expect([to, status, body.error?.details.range]).toEqual([to, range ? 400 : 200, range]);
    }
    await limitAccount(account, { openedPrefixes: ['881', '1900'] });
    expect((await send(account.key, '+19002345678,+881612345678')).status).toBe(200);
    expect((await send(account.key, '+8821612345678')).status).toBe(400);
    expect((await send(account.key, '+256791234567,+14155550100,+447700900123')).status).toBe(200);
  });

  it('in production, only Ugandan numbers have a price until an operator sets one (R375)', async () => {
    const live = await startTestGateway(
      { NODE_ENV: 'production', SMS_ROUTES: '*=simulator:', METRICS_TOKEN: 'token-of-the-metrics-page' },
      gateway.database,
    );
    try {
      const account = await live.createAccount();
      expect((await send(account.key, '+256700123456', live)).status).toBe(200);
      const refused = await send(account.key, '+254712345678', live);
      expect([refused.status, refused.body.error.code]).toEqual([400, 'unpriced_destination']);
      expect((await send(account.key, '+254712345678')).status).toBe(200);
      const set =
        'mutation { setPrice(input: { currency: "UGX", channel: SMS, amount: 30 }) { prefix isConfirmed } }';
      const { body } = await ask(set, {});
      expect(body.data.setPrice).toEqual({ prefix: '', isConfirmed: true });
      await eventually(async () => (await send(account.key, '+254712345678', live)).status === 200);
    } finally {
      await live.stop();
    }
  });
});
