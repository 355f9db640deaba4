import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { AccountRole, MemberCaller } from '../../src/domain/caller.ts';
import { withKnex } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';

const MINIMAL = { name: 'Shop', scopes: ['SEND_SMS'], environment: 'sandbox' };
const SYSTEM = { kind: 'system', name: 'test' } as const;

let gateway: TestGateway;
let account: TestAccount;
beforeAll(async () => {
  gateway = await startTestGateway();
  account = await gateway.createAccount();
});
afterEach(() => {
  jest.restoreAllMocks();
});
afterAll(() => gateway?.stop());

const call = (method: string, path: string, body?: unknown, key = account.key) =>
  gateway.call(method, path, { key, ...(body === undefined ? {} : { body }) });
const create = (body: object = {}, key = account.key) =>
  call('POST', '/developer/keys', { ...MINIMAL, ...body }, key);
const read = (key: string) => gateway.call('GET', '/account', { key });
const inOneHour = () => new Date(Date.now() + 3_600_000).toISOString();

describe('creating a key (R1, R7, R64–R70, R115, R119)', () => {
  it('answers 201 with the documented resource and the whole key, which works', async () => {
    const answer = await create();
    expect(answer.status).toBe(201);
    expect(answer.body).toEqual({
      apiKey: {
        keyId: expect.stringMatching(/^[0-9a-f]{16}$/),
        name: 'Shop',
        scopes: ['SEND_SMS'],
        environment: 'sandbox',
        enableHmac: false,
        ipAllowlist: [],
        createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        expiresAt: null,
        lastUsedAt: null,
        revokedAt: null,
      },
      key: expect.stringMatching(new RegExp(`^msg_${answer.body.apiKey.keyId}_[0-9a-f]{40}$`)),
    });
    expect((await read(answer.body.key)).status).toBe(200);
  });

  it('returns the signing secret once, only with enableHmac', async () => {
    const answer = await create({ enableHmac: true });
    expect(answer.body.signingSecret).toMatch(/^sigsec_[A-Za-z0-9_-]{43}$/);
    expect(answer.body.apiKey.enableHmac).toBe(true);
    expect((await create({ enableHmac: false })).body).not.toHaveProperty('signingSecret');
  });

  it('stores what was given', async () => {
    const expiresAt = inOneHour();
    const ipAllowlist = ['203.0.113.0/24', '2001:db8::/32', '198.51.100.7'];
    const scopes = ['READ_MESSAGES', 'SEND_SMS', 'READ_MESSAGES'];
    const answer = await create({
      name: '名前 😀',
      expiresAt,
      ipAllowlist,
      scopes,
      environment: 'production',
    });
    expect(answer.body.apiKey).toMatchObject({
      name: '名前 😀',
      expiresAt,
      ipAllowlist,
      scopes: ['READ_MESSAGES', 'SEND_SMS'],
      environment: 'production',
    });
    expect((await create({ expiresAt: null })).body.apiKey.expiresAt).toBeNull();
  });

  it('refuses an unknown scope, and names the known ones (R3, R171)', async () => {
    for (const scope of ['send_sms', 'SEND_SMS ', '*', '__proto__', '', 'x'.repeat(5_000)]) {
      const answer = await create({ scopes: ['SEND_SMS', scope] });
      expect(answer.status).toBe(400);
      expect(answer.body.error.code).toBe('invalid_scope');
      expect(answer.body.error.message).toContain('FULL_ACCESS');
      expect(answer.text.length).toBeLessThan(500);
    }
  });

  it.each([
    ['scopes', { scopes: [] }],
    ['scopes', { scopes: 'SEND_SMS' }],
    ['scopes.0', { scopes: [1] }],
    ['name', { name: '' }],
    ['name', { name: 'x'.repeat(101) }],
    ['name', { name: 5 }],
    ['name', { name: 'a\0b' }],
    ['environment', { environment: 'prod' }],
    ['environment', { environment: null }],
    ['enableHmac', { enableHmac: 'true' }],
    ['ipAllowlist.1', { ipAllowlist: ['10.0.0.0/8', '10.0.0.0/33'] }],
    ['ipAllowlist.0', { ipAllowlist: ['example.com'] }],
    ['ipAllowlist.0', { ipAllowlist: ['fe80::1%eth0'] }],
    ['ipAllowlist', { ipAllowlist: Array<string>(101).fill('10.0.0.1') }],
    ['ipAllowlist', { ipAllowlist: '10.0.0.0/8' }],
    ['expiresAt', { expiresAt: '2020-01-01T00:00:00Z' }],
    ['expiresAt', { expiresAt: '2099-02-30T00:00:00Z' }],
    ['expiresAt', { expiresAt: '2099-01-01' }],
    ['expiresAt', { expiresAt: 4_000_000_000 }],
  ])('refuses a wrong %s: %j (R3, R5)', async (path, body) => {
    const answer = await create(body);
    expect(answer.status).toBe(400);
    expect(answer.body.error.code).toBe('validation_error');
    expect(answer.body.error.details.fields[0].path).toBe(path);
    expect(answer.body.error.details.fields[0].message).toEqual(expect.any(String));
  });

  it.each(['name', 'scopes', 'environment'])('requires a %s', async (member) => {
    const { [member]: _, ...rest } = MINIMAL as Record<string, unknown>;
    const answer = await call('POST', '/developer/keys', rest);
    expect([answer.status, answer.body.error.code]).toEqual([400, 'validation_error']);
  });
});

describe('listing keys (R7, R85)', () => {
  it('shows the keys of the account, newest first, in the envelope, without a secret', async () => {
    const owner = await gateway.createAccount();
    const made = [];
    for (const name of ['one', 'two', 'three']) made.push((await create({ name }, owner.key)).body);
    const first = await call('GET', '/developer/keys?limit=2', undefined, owner.key);
    expect(first.body.pagination).toEqual({ page: 1, limit: 2, total: 5, pages: 3 });
    expect(first.body.data.map((key: { name: string }) => key.name)).toEqual(['three', 'two']);
    const third = await call('GET', '/developer/keys?limit=2&page=3', undefined, owner.key);
    expect(third.body.data).toHaveLength(1);
    const all = await call('GET', '/developer/keys', undefined, owner.key);
    for (const { key } of made) expect(all.text).not.toContain(key.split('_')[2]);
    const others = await call('GET', '/developer/keys?limit=100');
    for (const { apiKey } of made) expect(others.text).not.toContain(apiKey.keyId);
  });

  it('shows when a key was last used', async () => {
    const { key, apiKey } = (await create()).body;
    await read(key);
    const found = await eventually(async () => {
      const { data } = (await call('GET', '/developer/keys?limit=100')).body;
      return data.find(
        (one: { keyId: string; lastUsedAt: string | null }) => one.keyId === apiKey.keyId && one.lastUsedAt,
      );
    });
    expect(Date.parse(found.lastUsedAt)).toBeGreaterThanOrEqual(Date.parse(apiKey.createdAt));
  });
});

describe('changing a key (R7, R104, R129, R130)', () => {
  it('changes what is named and nothing else', async () => {
    const { apiKey, key } = (await create({ ipAllowlist: ['127.0.0.1'] })).body;
    const put = async (body: unknown) =>
      (await call('PUT', `/developer/keys/${apiKey.keyId}`, body)).body.apiKey;
    expect(await put({ environment: 'production' })).toEqual({ ...apiKey, environment: 'production' });
    expect((await read(key)).status).toBe(200);
    const expiresAt = inOneHour();
    const rest = { name: 'New', scopes: ['READ_MESSAGES', 'FULL_ACCESS'], ipAllowlist: [], expiresAt };
    const changed = await put(rest);
    expect(changed).toMatchObject({ ...rest, environment: 'production', keyId: apiKey.keyId });
    expect((await put({ expiresAt: null })).expiresAt).toBeNull();
    expect(await put({})).toMatchObject({ name: 'New' });
    expect(await put(undefined)).toMatchObject({ name: 'New' });
    // A request may contain members that only the server sets. They are ignored.
    expect(await put({ keyId: 'x', enableHmac: true, revokedAt: inOneHour() })).toMatchObject({
      keyId: apiKey.keyId,
      enableHmac: false,
      revokedAt: null,
    });
  });

  it.each([
    [{ environment: 'Production' }, 'validation_error'],
    [{ scopes: [] }, 'validation_error'],
    [{ scopes: ['ALL'] }, 'invalid_scope'],
    [{ ipAllowlist: ['nope'] }, 'validation_error'],
    [{ expiresAt: '2001-01-01T00:00:00Z' }, 'validation_error'],
    [{ name: '' }, 'validation_error'],
  ])('refuses %j', async (body, code) => {
    const { apiKey } = (await create()).body;
    const answer = await call('PUT', `/developer/keys/${apiKey.keyId}`, body);
    expect([answer.status, answer.body.error.code]).toEqual([400, code]);
  });
});

describe('rotating a key (R7)', () => {
  it('makes a new key with the same properties, and ends the old one at once', async () => {
    const old = (await create({ enableHmac: false, ipAllowlist: ['127.0.0.0/8'], expiresAt: inOneHour() }))
      .body;
    const answer = await call('POST', `/developer/keys/${old.apiKey.keyId}/rotate`);
    expect(answer.status).toBe(201);
    const { keyId, createdAt, ...properties } = answer.body.apiKey;
    expect(keyId).not.toBe(old.apiKey.keyId);
    expect(Date.parse(createdAt)).toBeGreaterThanOrEqual(Date.parse(old.apiKey.createdAt));
    expect({ ...old.apiKey, ...properties }).toEqual(old.apiKey);
    expect((await read(answer.body.key)).status).toBe(200);
    const refused = await read(old.key);
    expect([refused.status, refused.body.message]).toEqual([401, 'The API key has expired.']);
  });

  it('keeps the old key for the overlap, then ends it', async () => {
    const old = (await create()).body;
    const path = `/developer/keys/${old.apiKey.keyId}/rotate`;
    expect((await call('POST', path, { overlapSeconds: 3_600 })).status).toBe(201);
    expect((await read(old.key)).status).toBe(200);
    const in59Minutes = Date.now() + 59 * 60_000;
    jest.spyOn(gateway.parts.clock, 'now').mockImplementation(() => new Date(in59Minutes));
    expect((await read(old.key)).status).toBe(200);
    jest.spyOn(gateway.parts.clock, 'now').mockImplementation(() => new Date(in59Minutes + 61_000));
    expect((await read(old.key)).status).toBe(401);
  });

  it('never extends the life of the old key', async () => {
    const expiresAt = new Date(Date.now() + 60_000).toISOString();
    const old = (await create({ expiresAt })).body;
    await call('POST', `/developer/keys/${old.apiKey.keyId}/rotate`, { overlapSeconds: 3_600 });
    const { data } = (await call('GET', '/developer/keys?limit=100')).body;
    const shown = data.find((key: { keyId: string }) => key.keyId === old.apiKey.keyId);
    expect(shown.expiresAt).toBe(expiresAt);
  });

  it('gives a signed key a new signing secret', async () => {
    const old = (await create({ enableHmac: true })).body;
    const rotated = (await call('POST', `/developer/keys/${old.apiKey.keyId}/rotate`, {})).body;
    expect(rotated.signingSecret).toMatch(/^sigsec_/);
    expect(rotated.signingSecret).not.toBe(old.signingSecret);
    expect(rotated.apiKey.enableHmac).toBe(true);
  });

  it('refuses a wrong overlap, and ended keys', async () => {
    const { apiKey } = (await create()).body;
    const path = `/developer/keys/${apiKey.keyId}`;
    for (const overlapSeconds of [-1, 1.5, '60', 2_592_001, null]) {
      expect((await call('POST', `${path}/rotate`, { overlapSeconds })).status).toBe(400);
    }
    await call('DELETE', path);
    const answer = await call('POST', `${path}/rotate`);
    expect([answer.status, answer.body.error.code]).toEqual([409, 'key_ended']);
    expect(answer.body.error.message).toContain('revoked');
  });
});

describe('revoking a key (R7, R119)', () => {
  it('answers with the key, ends it at once, leaves the others, and does nothing the second time', async () => {
    const [one, other] = [(await create()).body, (await create()).body];
    const path = `/developer/keys/${one.apiKey.keyId}`;
    expect((await read(one.key)).status).toBe(200);
    const answer = await call('DELETE', path);
    expect(answer.status).toBe(200);
    expect(answer.body.apiKey).toMatchObject({ keyId: one.apiKey.keyId, revokedAt: expect.any(String) });
    expect((await read(one.key)).body).toMatchObject({
      error: 'unauthorized',
      message: 'The API key has been revoked.',
    });
    expect((await read(other.key)).status).toBe(200);
    expect((await call('DELETE', path)).body.apiKey.revokedAt).toBe(answer.body.apiKey.revokedAt);
  });
});

describe('the paths of the key routes (R7, R104)', () => {
  it('work in singular and plural', async () => {
    const { apiKey } = (await call('POST', '/developers/keys', MINIMAL)).body;
    expect((await call('PUT', `/developers/keys/${apiKey.keyId}`, { name: 'Two' })).body.apiKey.name).toBe(
      'Two',
    );
    const rotated = await call('POST', `/developers/keys/${apiKey.keyId}/rotate`);
    expect(rotated.status).toBe(201);
    expect((await call('DELETE', `/developers/keys/${rotated.body.apiKey.keyId}`)).status).toBe(200);
    const [singular, plural] = [await call('GET', '/developer/keys'), await call('GET', '/developers/keys')];
    expect(plural.body.pagination).toEqual(singular.body.pagination);
  });

  it.each(['0123456789abcdef', 'x', 'ABCDEF0123456789', 'a%00b', '%F0%9F%98%80', "'--"])(
    'do not find the key %s, nor keys of another account',
    async (keyId) => {
      const other = await gateway.createAccount();
      for (const id of [keyId, other.key.split('_')[1]]) {
        const path = `/developer/keys/${id}`;
        const answers = [
          await call('PUT', path, { name: 'Mine' }),
          await call('POST', `${path}/rotate`),
          await call('DELETE', path),
        ];
        expect(answers.map(({ status }) => status)).toEqual([404, 404, 404]);
        for (const { body } of answers) expect(body.error.code).toBe('not_found');
      }
      expect((await read(other.key)).status).toBe(200);
    },
  );
});

describe('who may manage keys (R7, R128)', () => {
  const as = (role: AccountRole): MemberCaller => ({
    kind: 'member',
    accountId: account.accountId,
    userId: randomUUID(),
    role,
  });
  const keys = () => gateway.parts.operations.apiKeys;
  const make = async (caller: MemberCaller, scopes = ['SEND_SMS']) =>
    (await keys().create.run(caller, { ...MINIMAL, scopes })).apiKey;

  it('OWNER and ADMIN: all keys of the account', async () => {
    const { apiKey } = (await create()).body;
    for (const role of ['OWNER', 'ADMIN'] as const) {
      const caller = as(role);
      const own = await make(caller, ['FULL_ACCESS']);
      expect(own.createdBy).toBe(`user:${caller.userId}`);
      expect((await keys().update.run(caller, { keyId: apiKey.keyId, name: role })).name).toBe(role);
      expect((await keys().rotate.run(caller, { keyId: own.keyId })).apiKey.scopes).toEqual(['FULL_ACCESS']);
      expect((await keys().revoke.run(caller, { keyId: own.keyId })).revokedAt).not.toBeNull();
    }
  });

  it('DEVELOPER: their own keys, and none with FULL_ACCESS', async () => {
    const developer = as('DEVELOPER');
    const refusal = { code: 'forbidden' };
    const foreign = await make(as('ADMIN'));
    const own = await make(developer);
    expect((await keys().update.run(developer, { keyId: own.keyId, scopes: ['SEND_EMAIL'] })).scopes).toEqual(
      ['SEND_EMAIL'],
    );
    const rotated = (await keys().rotate.run(developer, { keyId: own.keyId })).apiKey;
    expect(rotated.createdBy).toBe(own.createdBy);
    await expect(make(developer, ['SEND_SMS', 'FULL_ACCESS'])).rejects.toMatchObject(refusal);
    const widened = { keyId: rotated.keyId, scopes: ['FULL_ACCESS'] };
    await expect(keys().update.run(developer, widened)).rejects.toMatchObject(refusal);
    await expect(keys().update.run(developer, { keyId: foreign.keyId, name: 'x' })).rejects.toMatchObject(
      refusal,
    );
    await expect(keys().rotate.run(developer, { keyId: foreign.keyId })).rejects.toMatchObject(refusal);
    await expect(keys().revoke.run(developer, { keyId: foreign.keyId })).rejects.toMatchObject(refusal);

    await keys().update.run(as('OWNER'), widened);
    await expect(keys().rotate.run(developer, { keyId: rotated.keyId })).rejects.toMatchObject(refusal);
    expect((await keys().revoke.run(developer, { keyId: rotated.keyId })).revokedAt).not.toBeNull();
  });

  it('VIEWER: may read keys, but not change them', async () => {
    const viewer = as('VIEWER');
    await expect(make(viewer)).rejects.toMatchObject({ code: 'forbidden' });
    const page = await keys().list.run(viewer, { page: { page: 1, limit: 1 } });
    expect(page.rows).toHaveLength(1);
  });

  it('operators and the system: keys of the account they name', async () => {
    const operator = { kind: 'operator', userId: randomUUID() } as const;
    const input = { ...MINIMAL, accountId: account.accountId };
    const { apiKey } = await keys().create.run(operator, input);
    expect(apiKey.accountId).toBe(account.accountId);
    await expect(keys().create.run(SYSTEM, { ...input, accountId: undefined })).rejects.toMatchObject({
      code: 'validation_error',
      message: 'accountId: must name an account',
    });
    for (const accountId of ['x', randomUUID()]) {
      await expect(keys().create.run(SYSTEM, { ...input, accountId })).rejects.toMatchObject({
        code: 'not_found',
      });
    }
    expect((await keys().revoke.run(SYSTEM, { keyId: apiKey.keyId })).revokedAt).not.toBeNull();
  });

  it('nobody: keys of another account', async () => {
    const other = await gateway.createAccount();
    const create = keys().create.run(as('OWNER'), { ...MINIMAL, accountId: other.accountId });
    await expect(create).rejects.toMatchObject({ code: 'not_found' });
    const { apiKey } = await keys().create.run(as('OWNER'), { ...MINIMAL, accountId: account.accountId });
    expect(apiKey.accountId).toBe(account.accountId);
  });
});

describe('the audit log of keys (R7)', () => {
  it('records who changed what, with old and new value, and no secret', async () => {
    const { apiKey, key, signingSecret } = (await create({ enableHmac: true })).body;
    await call('PUT', `/developer/keys/${apiKey.keyId}`, {
      environment: 'production',
      scopes: ['READ_MESSAGES'],
    });
    await call('DELETE', `/developer/keys/${apiKey.keyId}`);
    const rows = await withKnex(gateway.database.connection, (knex) =>
      knex('audit_entries').where({ target: apiKey.keyId }).orderBy('id').select(),
    );
    const actor = `key:${account.key.split('_')[1]}`;
    expect(rows).toEqual([
      expect.objectContaining({ actor, action: 'apiKey.create', before: null }),
      expect.objectContaining({
        actor,
        action: 'apiKey.update',
        before: expect.objectContaining({ environment: 'sandbox', scopes: ['SEND_SMS'] }),
        after: expect.objectContaining({ environment: 'production', scopes: ['READ_MESSAGES'] }),
      }),
      expect.objectContaining({
        action: 'apiKey.revoke',
        before: expect.objectContaining({ revokedAt: null }),
        after: expect.objectContaining({ revokedAt: expect.any(String) }),
      }),
    ]);
    expect(rows.every((row) => row.account_id === account.accountId)).toBe(true);
    const text = JSON.stringify(rows);
    expect(text).not.toContain(key.split('_')[2]);
    expect(text).not.toContain(signingSecret);
  });
});
