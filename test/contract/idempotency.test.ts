import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { checkLedger, openSql, type TestSql } from '../support/sql.ts';

const SMS = { to: '0700123456', message: 'Hello' };
let keys = 0;
const newKey = () => `key-${keys++}`;

describe('idempotency (R19, R94, R95)', () => {
  let gateway: TestGateway;
  let second: TestGateway;
  let account: TestAccount;
  let sql: TestSql;
  beforeAll(async () => {
    gateway = await startTestGateway();
    second = await startTestGateway({}, gateway.database);
    account = await gateway.createAccount();
    sql = await openSql(gateway.database);
  });
  afterAll(async () => {
    await sql?.close();
    await second?.stop();
    await gateway?.stop();
  });

  const send = (
    body: object | string,
    { header, key = account.key, at = gateway }: { header?: string; key?: string; at?: TestGateway } = {},
  ) =>
    at.call('POST', '/developers/sms', {
      key,
      body: typeof body === 'string' ? body : { ...SMS, ...body },
      headers: header === undefined ? {} : { 'Idempotency-Key': header },
    });
  const total = async (key: string) =>
    (await gateway.call('GET', '/developers/sms/history', { key })).body.pagination.total;
  const replayed = (answer: { headers: Headers }) => answer.headers.get('Idempotency-Replayed');

  it.each([
    ['header', (value: string) => send({}, { header: value })],
    ['body', (value: string) => send({ idempotencyKey: value })],
    ['header and body alike', (value: string) => send({ idempotencyKey: value }, { header: value })],
  ])('a repeat with the same %s gets the same bytes and creates nothing', async (_, ask) => {
    const value = newKey();
    const before = await total(account.key);
    const first = await ask(value);
    const again = await ask(value);
    const otherWay = await send({}, { header: value, at: second });
    expect(first.status).toBe(200);
    expect(replayed(first)).toBeNull();
    for (const repeat of [again, otherWay]) {
      expect({ status: repeat.status, text: repeat.text }).toEqual({ status: 200, text: first.text });
      expect(replayed(repeat)).toBe('true');
    }
    expect(await total(account.key)).toBe(before + 1);
  });

  it('a repeat gets the first answer, whatever its own body says', async () => {
    const header = newKey();
    const first = await send({ to: '0700123456,0700123457', message: 'First' }, { header });
    for (const body of [
      { to: '0700999999', message: 'Another' },
      { to: 'no number' },
      { message: 'a'.repeat(1001) },
      { from: 'A B' },
      { scheduledFor: 'tomorrow' },
      { to: 12, message: null },
      '[]',
      '{broken',
    ]) {
      const repeat = await send(body, { header });
      expect({ status: repeat.status, text: repeat.text }).toEqual({ status: 200, text: first.text });
      expect(replayed(repeat)).toBe('true');
    }
    const inBody = await send({ to: 'no number', idempotencyKey: header });
    expect(inBody.text).toBe(first.text);
  });

  it('two different keys in one request are refused, also for a repeat', async () => {
    const known = newKey();
    await send({}, { header: known });
    for (const header of [known, newKey()]) {
      const { status, body } = await send({ idempotencyKey: newKey() }, { header });
      expect({ status, code: body.error?.code }).toEqual({ status: 400, code: 'idempotency_key_mismatch' });
    }
  });

  it('a key has up to 64 characters in the body and 255 in the header, with spaces and any script (R186)', async () => {
    const own = await gateway.createAccount();
    expect((await send({ idempotencyKey: 'k'.repeat(64) }, { key: own.key })).status).toBe(200);
    expect((await send({}, { header: 'h'.repeat(255), key: own.key })).status).toBe(200);
    for (const idempotencyKey of [' k ', 'k', 'ключ😀']) {
      expect(replayed(await send({ idempotencyKey }, { key: own.key }))).toBeNull();
      expect(replayed(await send({ idempotencyKey }, { key: own.key }))).toBe('true');
    }
    expect((await send({ idempotencyKey: 'k'.repeat(65) })).body.error.code).toBe('validation_error');
    expect((await send({}, { header: 'h'.repeat(256) })).body.error.code).toBe('validation_error');
    for (const idempotencyKey of ['', null, true, {}, 'a\u0000b']) {
      expect((await send({ idempotencyKey })).body.error.code).toBe('validation_error');
    }
  });

  it('keys of another account, environment or channel are independent', async () => {
    const header = newKey();
    const stranger = await gateway.createAccount();
    const answers = [
      await send({}, { header }),
      await send({}, { header, key: account.sandboxKey }),
      await send({}, { header, key: stranger.key }),
    ];
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(3);
    expect(answers.map(replayed)).toEqual([null, null, null]);
    // All keys of an account share its idempotency keys.
    const sibling = await gateway.createKey(account.accountId, { scopes: ['SEND_SMS'] });
    expect(replayed(await send({}, { header, key: sibling.key }))).toBe('true');
    const routes = await sql.query('SELECT DISTINCT route FROM idempotency_records WHERE key = $1', [header]);
    expect(routes).toEqual([{ route: 'sms' }]);
  });

  it('only successes are kept: a 402 can be retried (R173)', async () => {
    const poor = await gateway.createAccount(20);
    const header = newKey();
    const refused = await send({}, { header, key: poor.key });
    expect({ status: refused.status, details: refused.body.error.details }).toEqual({
      status: 402,
      details: { balance: 20, required: 30, currency: 'UGX' },
    });
    await gateway.parts.operations.accounts.topUp.run(
      { kind: 'system', name: 'test' },
      { accountId: poor.accountId, amount: 15 },
    );
    const paid = await send({}, { header, key: poor.key });
    expect(paid.status).toBe(200);
    expect(replayed(paid)).toBeNull();
    // The balance is empty now. The request is a repetition, so the balance is not checked.
    expect((await send({}, { header, key: poor.key })).text).toBe(paid.text);
  });

  it('a key is free after 24 hours, and not a minute earlier (R187)', async () => {
    const header = newKey();
    const first = await send({}, { header });
    const [kept] = await sql.query('SELECT expires_at FROM idempotency_records WHERE key = $1', [header]);
    expect(kept.expires_at.getTime() - Date.parse(first.body.createdAt)).toBe(24 * 3_600_000);
    const age = (to: string) =>
      sql.query(`UPDATE idempotency_records SET expires_at = now() + $2::interval WHERE key = $1`, [
        header,
        to,
      ]);
    await age('1 minute');
    expect((await send({}, { header })).text).toBe(first.text);
    await age('-1 second');
    const next = await send({}, { header });
    expect(replayed(next)).toBeNull();
    expect(next.body.id).not.toBe(first.body.id);
    expect((await send({}, { header })).text).toBe(next.text);
  });

  it('60 concurrent twins over two processes make one message, one charge and 60 equal answers', async () => {
    const owner = await gateway.createAccount(10_000);
    for (let round = 0; round < 5; round++) {
      const header = newKey();
      const twins = await Promise.all(
        Array.from({ length: 60 }, (_, index) =>
          send({}, { header, key: owner.key, at: index % 2 ? second : gateway }),
        ),
      );
      expect(new Set(twins.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
      expect(twins[0]?.status).toBe(200);
      expect(twins.filter((twin) => replayed(twin) === null)).toHaveLength(1);
    }
    expect(await total(owner.key)).toBe(5);
    const account = (await gateway.call('GET', '/account', { key: owner.key })).body;
    expect(account.balance).toBe(10_000 - 5 * 30);
    await checkLedger(sql, owner.accountId);
  });

  it('60 concurrent twins without balance are all refused', async () => {
    const poor = await gateway.createAccount(29);
    const header = newKey();
    const twins = await Promise.all(
      Array.from({ length: 60 }, (_, index) =>
        send({}, { header, key: poor.key, at: index % 2 ? second : gateway }),
      ),
    );
    expect(new Set(twins.map(({ status }) => status))).toEqual(new Set([402]));
  });
});
