import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { codesOf, graphql, signIn } from '../support/graphql.ts';
import { openSql, type TestSql } from '../support/sql.ts';

const SYSTEM = { kind: 'system', name: 'test' } as const;
const HOUR_MS = 3_600_000;

interface Made {
  readonly key: string;
  readonly keyId: string;
  readonly path: string;
}

let gateway: TestGateway;
let account: TestAccount;
let sql: TestSql;
beforeAll(async () => {
  gateway = await startTestGateway();
  account = await gateway.createAccount();
  sql = await openSql(gateway.database);
});
afterEach(() => {
  jest.restoreAllMocks();
});
afterAll(async () => {
  await sql?.close();
  await gateway?.stop();
});

const call = (method: string, path: string, body?: unknown, key = account.key) =>
  gateway.call(method, path, { key, ...(body === undefined ? {} : { body }) });
const create = (body: object, key?: string) =>
  call(
    'POST',
    '/developer/keys',
    { name: 'key', scopes: ['FULL_ACCESS'], environment: 'production', ...body },
    key,
  );
const made = (body: { key: string; apiKey: { keyId: string } }): Made => ({
  key: body.key,
  keyId: body.apiKey.keyId,
  path: `/developer/keys/${body.apiKey.keyId}`,
});
const make = async (body: object = {}, key?: string): Promise<Made> => {
  const answer = await create(body, key);
  if (answer.status !== 201) throw new Error(answer.text);
  return made(answer.body);
};
const rotate = async (of: Made, key: string, overlapSeconds = 3_600): Promise<Made> => {
  const answer = await call('POST', `${of.path}/rotate`, { overlapSeconds }, key);
  if (answer.status !== 201) throw new Error(answer.text);
  return made(answer.body);
};
const statusOf = async ({ key }: Made) => (await gateway.call('GET', '/account', { key })).status;
const inMs = (ms: number) => new Date(Date.now() + ms).toISOString();
/** Returns the status and error of an answer, and the limit that the message of a 403 names. */
const limitOf = (answer: { status: number; body: { error?: string; message?: string } }) => [
  answer.status,
  answer.body.error,
  /^Your key has the ([A-Za-z.]+) /.exec(answer.body.message ?? '')?.[1],
];
const forbidden = (limit: string) => [403, 'forbidden', limit];
const ended = (answer: { status: number; body: { error?: { code?: string } } }) => [
  answer.status,
  answer.body.error?.code,
];

describe('a key gives at most what it has (R7, R202)', () => {
  const end = inMs(HOUR_MS);
  it.each<[string, object, object, object]>([
    ['environment', { environment: 'sandbox' }, { environment: 'production' }, { environment: 'sandbox' }],
    ['ipAllowlist', { ipAllowlist: ['127.0.0.0/8'] }, {}, { ipAllowlist: ['127.0.0.1', '127.1.0.0/16'] }],
    [
      'ipAllowlist',
      { ipAllowlist: ['127.0.0.0/8'] },
      { ipAllowlist: ['127.0.0.1', '10.0.0.1'] },
      { ipAllowlist: ['127.0.0.0/8'] },
    ],
    [
      'ipAllowlist',
      { ipAllowlist: ['127.0.0.0/8', '10.0.0.0/8'] },
      { ipAllowlist: ['0.0.0.0/0'] },
      { ipAllowlist: ['10.1.0.0/16'] },
    ],
    ['expiresAt', { expiresAt: end }, {}, { expiresAt: end }],
    ['expiresAt', { expiresAt: end }, { expiresAt: inMs(2 * HOUR_MS) }, { expiresAt: inMs(HOUR_MS / 2) }],
  ])('%s: a key with %j cannot give %j, but %j', async (limit, own, beyond, within) => {
    const { key, path } = await make(own);
    const environment = { environment: 'production', ...own, ...within };
    expect(limitOf(await create({ ...own, ...cleared(limit), ...beyond }, key))).toEqual(forbidden(limit));
    const lesser = await make({ ...own, ...environment }, key);
    const widened = { ...cleared(limit), ...beyond };
    expect(limitOf(await call('PUT', lesser.path, widened, key))).toEqual(forbidden(limit));
    expect(limitOf(await call('PUT', path, widened, key))).toEqual(forbidden(limit));
    // A key may tighten its own limits.
    expect((await call('PUT', path, within, key)).status).toBe(200);
  });

  it('changes no key beyond its own limits, and reveals no secret of one', async () => {
    const wide = await make();
    const { key } = await make({ ipAllowlist: ['127.0.0.0/8'], expiresAt: inMs(HOUR_MS) });
    expect(limitOf(await call('PUT', wide.path, { name: 'mine' }, key))).toEqual(forbidden('ipAllowlist'));
    expect(limitOf(await call('POST', `${wide.path}/rotate`, {}, key))).toEqual(forbidden('ipAllowlist'));
    expect(await statusOf(wide)).toBe(200);
    // A key may revoke a key with wider limits, because that only removes rights.
    expect((await call('DELETE', wide.path, undefined, key)).status).toBe(200);
  });

  it('passes its own rate limit on, and gets no key with a higher one', async () => {
    const own = await make();
    const free = await make();
    const limits = { keyId: own.keyId, perMinute: 50, perSecond: 7 };
    await gateway.parts.operations.apiKeys.setRateLimit.run(SYSTEM, limits);
    const [child, rotated] = [await make({}, own.key), await rotate(own, own.key)];
    for (const { keyId } of [child, rotated]) {
      const [row] = await sql.query('SELECT per_minute, per_second FROM api_keys WHERE key_id = $1', [keyId]);
      expect(row).toEqual({ per_minute: 50, per_second: 7 });
    }
    // The key without a limit of its own has the plan's, 100,000. That is more than the child's limit.
    for (const answer of [
      await call('POST', `${free.path}/rotate`, {}, child.key),
      await call('PUT', free.path, { name: 'mine' }, child.key),
    ]) {
      expect(limitOf(answer)).toEqual(forbidden('rateLimit.perMinute'));
    }
    await gateway.parts.operations.apiKeys.setRateLimit.run(SYSTEM, {
      ...limits,
      keyId: free.keyId,
      perMinute: 40,
    });
    expect((await call('PUT', free.path, { name: 'mine' }, child.key)).status).toBe(200);
  });

  it("with a rate limit above the plan's, manages the keys of the plan", async () => {
    const own = await make();
    const limits = { keyId: own.keyId, perMinute: 200_000, perSecond: null };
    await gateway.parts.operations.apiKeys.setRateLimit.run(SYSTEM, limits);
    const other = await make();
    expect((await call('PUT', other.path, { name: 'renamed' }, own.key)).status).toBe(200);
  });

  it('without such limits, manages all keys of its account', async () => {
    const { key } = await make();
    const limited = await make({ ipAllowlist: ['127.0.0.0/8'], expiresAt: inMs(HOUR_MS) }, key);
    const all = { ipAllowlist: [], expiresAt: null, environment: 'sandbox' };
    expect((await call('PUT', limited.path, all, key)).body.apiKey).toMatchObject(all);
    expect((await call('PUT', limited.path, { environment: 'production' }, key)).status).toBe(200);
    expect((await call('POST', `${limited.path}/rotate`, {}, key)).status).toBe(201);
  });

  it('is limited by what it has at the moment of the change, not of the request', async () => {
    const { keyId, path } = await make();
    const caller = {
      kind: 'api-key',
      accountId: account.accountId,
      keyId,
      scopes: ['FULL_ACCESS'],
      environment: 'production',
    } as const;
    const give = () =>
      gateway.parts.operations.apiKeys.create.run(caller, {
        name: 'late',
        scopes: ['FULL_ACCESS'],
        environment: 'production',
      });
    await call('PUT', path, { ipAllowlist: ['127.0.0.1'] });
    await expect(give()).rejects.toMatchObject({
      code: 'forbidden',
      message: expect.stringContaining('ipAllowlist'),
    });
    await call('PUT', path, { ipAllowlist: [], scopes: ['SEND_SMS'] });
    await expect(give()).rejects.toMatchObject({
      code: 'forbidden',
      message: expect.stringContaining('scopes'),
    });
    await call('DELETE', path);
    await expect(give()).rejects.toMatchObject({ code: 'unauthorized' });
  });

  /** Returns the input that removes a limit. */
  function cleared(limit: string): object {
    return limit === 'ipAllowlist' ? { ipAllowlist: [] } : limit === 'expiresAt' ? { expiresAt: null } : {};
  }
});

describe('a sandbox key and production keys (R7, R129, R130)', () => {
  it('sees and changes sandbox keys only', async () => {
    const owner = await gateway.createAccount();
    const production = await make({}, owner.key);
    const sandbox = await make({ environment: 'sandbox' }, owner.key);
    const list = async (key: string, query = '') => {
      const { body } = await call('GET', `/developer/keys${query}`, undefined, key);
      return {
        environments: body.data.map((one: { environment: string }) => one.environment),
        total: body.pagination.total,
      };
    };
    expect(await list(owner.sandboxKey)).toEqual({ environments: ['sandbox', 'sandbox'], total: 2 });
    expect(await list(owner.sandboxKey, '?limit=1&page=2')).toEqual({ environments: ['sandbox'], total: 2 });
    expect((await list(owner.key)).total).toBe(4);
    for (const answer of [
      await call('PUT', production.path, { name: 'mine' }, owner.sandboxKey),
      await call('PUT', production.path, { environment: 'sandbox' }, owner.sandboxKey),
      await call('POST', `${production.path}/rotate`, {}, owner.sandboxKey),
      await call('DELETE', production.path, undefined, owner.sandboxKey),
      await call('DELETE', `${production.path}?descendants=true`, undefined, owner.sandboxKey),
    ]) {
      expect(ended(answer)).toEqual([404, 'not_found']);
    }
    expect(await statusOf(production)).toBe(200);
    expect((await call('PUT', sandbox.path, { name: 'ours' }, owner.sandboxKey)).status).toBe(200);
    expect((await call('DELETE', sandbox.path, undefined, owner.sandboxKey)).status).toBe(200);
  });

  it('makes no production key, and turns none into one', async () => {
    const owner = await gateway.createAccount();
    const sandbox = await make({ environment: 'sandbox' }, owner.sandboxKey);
    const itself = `/developer/keys/${owner.sandboxKey.split('_')[1]}`;
    for (const answer of [
      await create({}, owner.sandboxKey),
      await call('PUT', sandbox.path, { environment: 'production' }, owner.sandboxKey),
      await call('PUT', itself, { environment: 'production' }, owner.sandboxKey),
    ]) {
      expect(limitOf(answer)).toEqual(forbidden('environment'));
    }
    const rotated = await call('POST', `${itself}/rotate`, {}, owner.sandboxKey);
    expect(rotated.body.apiKey.environment).toBe('sandbox');
  });

  it('does not revoke a descendant that was turned to production', async () => {
    const root = await make({ environment: 'sandbox' });
    const child = await make({ environment: 'sandbox' }, root.key);
    const turned = await make({ environment: 'sandbox' }, root.key);
    await call('PUT', turned.path, { environment: 'production' });
    const answer = await call('DELETE', `${root.path}?descendants=true`, undefined, account.sandboxKey);
    expect(idsOf(answer.body.revokedKeys)).toEqual([root.keyId, child.keyId]);
    expect(await statusOf(turned)).toBe(200);
  });
});

describe('ended keys stay ended (R7, R203)', () => {
  /** For each way in which a key can end: a function that makes a key and ends it so. */
  const endings: Record<string, () => Promise<Made>> = {
    revoked: async () => {
      const one = await make();
      await call('DELETE', one.path);
      return one;
    },
    expired: async () => {
      const one = await make();
      await sql.query(`UPDATE api_keys SET expires_at = now() - interval '1 second' WHERE key_id = $1`, [
        one.keyId,
      ]);
      return one;
    },
    rotated: async () => {
      const one = await make();
      await rotate(one, account.key, 0);
      return one;
    },
  };

  it.each(Object.keys(endings))('%s: it cannot be changed, rotated or revived, but revoked', async (how) => {
    const one = await (endings[how] as () => Promise<Made>)();
    for (const answer of [
      await call('PUT', one.path, { expiresAt: null }),
      await call('PUT', one.path, { expiresAt: inMs(HOUR_MS) }),
      await call('PUT', one.path, { name: 'new' }),
      await call('PUT', one.path, {}),
      await call('POST', `${one.path}/rotate`, {}),
    ]) {
      expect(ended(answer)).toEqual([409, 'key_ended']);
      expect(answer.body.error.message).toContain(how);
    }
    const setRate = { keyId: one.keyId, perMinute: 5, perSecond: null };
    await expect(gateway.parts.operations.apiKeys.setRateLimit.run(SYSTEM, setRate)).rejects.toMatchObject({
      code: 'key_ended',
    });
    const first = await call('DELETE', one.path);
    expect([first.status, first.body.apiKey.revokedAt]).toEqual([200, expect.any(String)]);
    expect((await call('DELETE', one.path)).body).toEqual(first.body);
    expect(await statusOf({ ...one, key: one.key })).toBe(401);
  });

  it('the end of a rotation can come sooner, not later, for any caller', async () => {
    const old = await make();
    await rotate(old, account.key, 3_600);
    for (const key of [account.key, old.key]) {
      for (const expiresAt of [null, inMs(2 * HOUR_MS)]) {
        const answer = await call('PUT', old.path, { expiresAt }, key);
        expect(ended(answer)).toEqual([409, 'key_ended']);
        expect(answer.body.error.message).toContain('it can end sooner, not later');
      }
    }
    // The old key works until the end of its rotation. Until then it can be changed.
    expect((await call('PUT', old.path, { ipAllowlist: ['127.0.0.1'] })).status).toBe(200);
    const sooner = inMs(HOUR_MS / 2);
    expect((await call('PUT', old.path, { expiresAt: sooner })).body.apiKey.expiresAt).toBe(sooner);
    expect(ended(await call('PUT', old.path, { expiresAt: inMs(HOUR_MS * 0.9) }))).toEqual([
      409,
      'key_ended',
    ]);
    expect(ended(await call('POST', `${old.path}/rotate`, {}))).toEqual([409, 'key_ended']);
    const past = Date.parse(sooner) + 1_000;
    jest.spyOn(gateway.parts.clock, 'now').mockImplementation(() => new Date(past));
    expect(await statusOf(old)).toBe(401);
    expect(ended(await call('PUT', old.path, { expiresAt: null }))).toEqual([409, 'key_ended']);
  });

  it('a key that ends before its overlap can be rotated', async () => {
    const end = inMs(60_000);
    const old = await make({ expiresAt: end });
    await rotate(old, account.key, 3_600);
    expect(ended(await call('PUT', old.path, { expiresAt: inMs(HOUR_MS) }))).toEqual([409, 'key_ended']);
    expect(ended(await call('POST', `${old.path}/rotate`, {}))).toEqual([409, 'key_ended']);
  });

  it('a key in its overlap gives nothing that outlives it', async () => {
    const old = await make();
    await rotate(old, account.key, 600);
    expect(limitOf(await create({}, old.key))).toEqual(forbidden('expiresAt'));
    expect((await create({ expiresAt: inMs(60_000) }, old.key)).status).toBe(201);
  });
});

describe('revoking a key with its descendants (R7, R119, R204)', () => {
  it('revokes what it made and rotated, in turn, with an audit entry each, and nothing else', async () => {
    const leaked = await make();
    const child = await make({}, leaked.key);
    const grandchild = await make({ scopes: ['SEND_SMS'], environment: 'sandbox' }, child.key);
    const gone = await make({}, leaked.key);
    await call('DELETE', gone.path);
    const bystander = await make();
    // The leaked key rotates another key, and so its holder gets a new secret.
    const taken = await rotate(bystander, leaked.key);
    const replaced = await rotate(grandchild, account.key);
    const successor = await rotate(leaked, leaked.key);
    const ofSuccessor = await make({}, successor.key);
    expect(await statusOf(leaked)).toBe(200);

    const answer = await call('DELETE', `${leaked.path}?descendants=true`);
    expect(answer.status).toBe(200);
    expect(answer.body.apiKey).toMatchObject({ keyId: leaked.keyId, revokedAt: expect.any(String) });
    const tree = [leaked, child, grandchild, taken, replaced, successor, ofSuccessor];
    expect(idsOf(answer.body.revokedKeys).sort()).toEqual(tree.map(({ keyId }) => keyId).sort());
    for (const { revokedAt } of answer.body.revokedKeys) expect(revokedAt).toEqual(expect.any(String));
    for (const one of tree) expect(await statusOf(one)).toBe(401);
    expect(await statusOf(bystander)).toBe(200);
    const entries = await sql.query(
      `SELECT target FROM audit_entries WHERE action = 'apiKey.revoke' AND target = ANY($1) AND actor = $2`,
      [tree.map(({ keyId }) => keyId), `key:${account.key.split('_')[1]}`],
    );
    expect(entries.map(({ target }) => target).sort()).toEqual(tree.map(({ keyId }) => keyId).sort());
    // The second request finds no key to revoke.
    expect((await call('DELETE', `${leaked.path}?descendants=true`)).body.revokedKeys).toEqual([]);
  });

  it('spares the successor that replaced a leaked key', async () => {
    const leaked = await make();
    const child = await make({}, leaked.key);
    const successor = await rotate(leaked, account.key);
    const answer = await call('DELETE', `${leaked.path}?descendants=true`);
    expect(idsOf(answer.body.revokedKeys)).toEqual([leaked.keyId, child.keyId]);
    expect(await statusOf(successor)).toBe(200);
  });

  it('happens only on request, also later', async () => {
    const leaked = await make();
    const child = await make({}, leaked.key);
    for (const query of ['', '?descendants=false']) {
      const { body } = await call('DELETE', `${leaked.path}${query}`);
      expect(Object.keys(body)).toEqual(['apiKey']);
    }
    expect(await statusOf(child)).toBe(200);
    const later = await call('DELETE', `${leaked.path}?descendants=true`);
    expect(idsOf(later.body.revokedKeys)).toEqual([child.keyId]);
    expect(await statusOf(child)).toBe(401);
    const unclear = await call('DELETE', `${leaked.path}?descendants=yes`);
    expect([unclear.status, unclear.body.error.code]).toEqual([400, 'validation_error']);
  });

  it('includes a key that is made at the same moment', async () => {
    const leaked = await make();
    const making = Array.from({ length: 8 }, () => create({}, leaked.key));
    const answer = await call('DELETE', `${leaked.path}?descendants=true`);
    expect(answer.status).toBe(200);
    for (const { status, body } of await Promise.all(making)) {
      expect([201, 401]).toContain(status);
      if (status === 201) expect(await statusOf(made(body))).toBe(401);
    }
  });

  it('is announced to the other processes', async () => {
    await using second = await startTestGateway({}, gateway.database);
    const leaked = await make();
    const child = await make({}, leaked.key);
    const elsewhere = async () => (await second.call('GET', '/account', { key: child.key })).status;
    expect(await elsewhere()).toBe(200);
    await call('DELETE', `${leaked.path}?descendants=true`);
    await eventually(async () => (await elsewhere()) === 401);
  });
});

function idsOf(keys: readonly { keyId: string }[]): string[] {
  return keys.map(({ keyId }) => keyId);
}

describe('the number of keys of an account (R565)', () => {
  it('is bounded, so that no key makes itself requests without end', async () => {
    const own = await gateway.createAccount();
    const first = await make({}, own.key);
    await sql.query(
      `INSERT INTO api_keys (key_id, account_id, name, secret_hash, scopes, environment, created_by, created_at, issued_by,
         expires_at)
       SELECT substr(md5($1 || n), 1, 16), account_id, name, secret_hash, scopes, environment, created_by, created_at, issued_by,
         CASE WHEN n > 996 THEN now() - interval '1 hour' END
       FROM api_keys, generate_series(1, 1100) n WHERE key_id = $1`,
      [first.keyId],
    );
    // With the two keys of the account and `first`, 999 work. Those that have expired do not count.
    await make({}, own.key);
    const refused = await create({}, own.key);
    expect([refused.status, refused.body.error]).toMatchObject([400, { code: 'validation_error' }]);
    expect(refused.body.error.message).toContain('1000 keys that work');
    const overlap = await call('POST', `${first.path}/rotate`, { overlapSeconds: 60 }, own.key);
    expect(overlap.status).toBe(400);
    expect(await statusOf(first)).toBe(200);
    const mutation = `mutation { createApiKey(input: {name: "k", scopes: [SEND_SMS], environment: PRODUCTION}) { key } }`;
    const token = await signIn(gateway, own);
    expect(codesOf(await graphql(gateway, mutation, { token }))).toEqual(['BAD_USER_INPUT']);
    // A rotation at once makes room for its own key, also in an emergency.
    const second = await rotate(first, own.key, 0);
    expect([await statusOf(first), await statusOf(second)]).toEqual([401, 200]);
    expect((await call('DELETE', second.path, undefined, own.key)).status).toBe(200);
    expect((await create({}, own.key)).status).toBe(201);
    // Other accounts are not concerned.
    expect((await create({})).status).toBe(201);
  });
});
