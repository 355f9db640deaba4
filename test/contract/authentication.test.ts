import { existsSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { signRequest } from '../../src/domain/api-keys/request-signature.ts';
import { SCOPES } from '../../src/domain/caller.ts';
import { routes } from '../../src/rest/routes/all.ts';
import { silentLogger, withKnex } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { type RawAnswer, rawExchange, rawRequest } from '../support/raw-http.ts';

interface Vector {
  readonly id: string;
  readonly kind: string;
  readonly note: string;
  readonly input: {
    readonly key: string;
    readonly secret: string;
    readonly method: string;
    readonly path: string;
    readonly timestamp: string;
    readonly bodyBase64: string;
    readonly body: string;
    readonly serverTime: number;
    readonly serverTimes: readonly number[];
    readonly signature: string;
    readonly a: { readonly path: string; readonly timestamp: string };
  };
  readonly expect: { readonly signature: string; readonly sha256OfSecret: string; readonly kid: string };
}

const SHARED = new URL('../../../shared/corpus/vectors.json', import.meta.url);
const OWN = new URL('../fixtures/corpus/vectors.json', import.meta.url);
const vectors: Vector[] = JSON.parse(readFileSync(existsSync(SHARED) ? SHARED : OWN, 'utf8'));
const ofKind = (kind: string) =>
  vectors
    .filter((vector) => vector.kind === kind)
    .map((vector) => [`${vector.id} ${vector.note}`, vector] as const);
const SECRET = 'TEST-signing-secret-0000000000000000000000000000';
const SMS = '{"to":"+256700123456","message":"Hello"}';
const JSON_TYPE = { 'content-type': 'application/json' };

let gateway: TestGateway;
/** A second gateway process on the same database. */
let second: TestGateway;
let account: TestAccount;

beforeAll(async () => {
  gateway = await startTestGateway();
  second = await startTestGateway({}, gateway.database);
  account = await gateway.createAccount();
});
afterEach(() => {
  jest.restoreAllMocks();
});
afterAll(async () => {
  await second?.stop();
  await gateway?.stop();
});

function setTime(unixSeconds: number): void {
  for (const { parts } of [gateway, second])
    jest.spyOn(parts.clock, 'now').mockReturnValue(new Date(unixSeconds * 1000));
}

/** Creates a key with the signing secret `secret`, which is stored as the gateway stores secrets. */
async function signingKey(secret = SECRET, ipAllowlist: string[] = []): Promise<string> {
  const { key, keyId } = await gateway.createKey(account.accountId, { enableHmac: true, ipAllowlist });
  const sealed = gateway.parts.secrets.seal(secret);
  await withKnex(gateway.database.connection, (knex) =>
    knex('api_keys').where({ key_id: keyId }).update({ signing_secret_sealed: sealed }),
  );
  return key;
}

interface Signed {
  readonly key: string;
  readonly method?: string;
  readonly path?: string;
  readonly timestamp: string;
  readonly signature: string;
  readonly body?: Buffer | string;
  readonly at?: TestGateway;
}

function sendSigned({
  key,
  method = 'POST',
  path = '/api/v1/developers/sms',
  at = gateway,
  ...rest
}: Signed) {
  const { timestamp, signature, body = SMS } = rest;
  const headers = { ...JSON_TYPE, 'x-api-key': key, 'x-timestamp': timestamp, 'x-signature': signature };
  return rawRequest(at.url, { method, path, headers, ...(body.length > 0 ? { body } : {}) });
}

/** Returns a request that is signed with the current time. */
function freshlySigned(method: string, path: string, body = '', secret = SECRET) {
  const timestamp = String(Math.floor(Date.now() / 1000));
  return {
    method,
    path,
    timestamp,
    signature: signRequest(secret, method, path, timestamp, Buffer.from(body)),
    body,
  };
}

function expectUnauthorized(answer: RawAnswer): void {
  expect(answer.status).toBe(401);
  expect(answer.body).toEqual({ statusCode: 401, error: 'unauthorized', message: expect.any(String) });
}

describe('the API key (R2, R64, R66, R114–R116)', () => {
  it.each(['X-Api-Key', 'x-api-key', 'X-API-KEY'])('is read from the header %s', async (name) => {
    const answer = await rawRequest(gateway.url, {
      method: 'GET',
      path: '/api/v1/account',
      headers: { [name]: account.key },
    });
    expect(answer.status).toBe(200);
    expect(answer.body.id).toBe(account.accountId);
  });

  it('is required: without it 401 names the header', async () => {
    const answer = await gateway.call('GET', '/account');
    expect(answer.status).toBe(401);
    expect(answer.body).toEqual({
      statusCode: 401,
      error: 'unauthorized',
      message: 'Send your API key in the X-Api-Key header.',
    });
  });

  it.each(ofKind('api-key-negative'))('%s is refused', async (_, { input }) => {
    if (/[\r\n]/.test(input.key)) {
      const { text } = await rawExchange(
        gateway.url,
        `GET /api/v1/account HTTP/1.1\r\nHost: a\r\nX-Api-Key: ${input.key}\r\nConnection: close\r\n\r\n`,
      );
      expect(text).toMatch(/^HTTP\/1\.1 40[01] /);
      return;
    }
    const headers = { 'x-api-key': input.key };
    expectUnauthorized(await rawRequest(gateway.url, { method: 'GET', path: '/api/v1/account', headers }));
  });

  it.each(ofKind('api-key-format'))(
    '%s authenticates when it is stored as the hash of its secret half',
    async (_, vector) => {
      const { key } = vector.input;
      // The slot of the key must be one of its gateway, if the tests run with cells.
      await using own = await startTestGateway(
        { CELL_SLOTS: vector.expect.kid.slice(0, 3) },
        gateway.database,
      );
      await own.parts.stores.apiKeys.insert(
        {
          keyId: vector.expect.kid,
          accountId: account.accountId,
          name: 'vector',
          scopes: ['FULL_ACCESS'],
          environment: 'sandbox',
          enableHmac: false,
          ipAllowlist: [],
          rateLimit: { perMinute: null, perSecond: null },
          createdAt: new Date(),
          issuedBy: 'system:test',
          rotatedAt: null,
          createdBy: 'system:test',
          expiresAt: null,
          lastUsedAt: null,
          revokedAt: null,
          replaces: null,
        },
        Buffer.from(vector.expect.sha256OfSecret, 'hex'),
        null,
      );
      expect((await own.call('GET', '/account', { key })).status).toBe(200);
      // The key exists now. A wrong secret with the right key id is refused.
      const wrong = `msg_${vector.expect.kid}_${'0'.repeat(40)}`;
      expect((await own.call('GET', '/account', { key: wrong })).status).toBe(401);
    },
  );

  it('is stored without its secret half', async () => {
    const { key, keyId, signingSecret } = await gateway.createKey(account.accountId, { enableHmac: true });
    const row = await withKnex(gateway.database.connection, (knex) =>
      knex('api_keys').where({ key_id: keyId }).first(knex.raw('api_keys::text AS stored')),
    );
    const secret = key.split('_')[2] ?? '';
    expect(row.stored).toContain(keyId);
    expect(row.stored).not.toContain(secret);
    expect(row.stored).not.toContain(Buffer.from(secret).toString('hex'));
    expect(row.stored).not.toContain(signingSecret);
  });

  it('is refused after its end, with that reason', async () => {
    const { parts } = gateway;
    const { key } = await parts.operations.apiKeys.create.run(
      { kind: 'system', name: 'test' },
      {
        accountId: account.accountId,
        name: 'short',
        scopes: ['FULL_ACCESS'],
        environment: 'sandbox',
        expiresAt: new Date(Date.now() + 60_000).toISOString(),
      },
    );
    expect((await gateway.call('GET', '/account', { key })).status).toBe(200);
    setTime(Date.now() / 1000 + 61);
    const answer = await gateway.call('GET', '/account', { key });
    expect(answer.status).toBe(401);
    expect(answer.body.message).toBe('The API key has expired.');
  });
});

describe('request signing (R10, R69, R131–R134, R191)', () => {
  it('a client that disconnects during its body is counted, and not logged as an error', async () => {
    const faults = jest.spyOn(silentLogger, 'error');
    const take = jest.spyOn(gateway.parts.rateLimiter, 'take');
    const reading = jest.spyOn(gateway.parts.authenticator, 'checkSignature');
    const { key } = await gateway.createKey(account.accountId, { enableHmac: true });
    const { hostname, port } = new URL(gateway.url);
    const socket = connect(Number(port), hostname);
    socket.on('error', () => undefined);
    const timestamp = Math.floor(gateway.parts.clock.now().getTime() / 1000);
    socket.write(
      `POST /api/v1/developers/sms HTTP/1.1\r\nHost: gateway\r\nX-Forwarded-For: 192.0.2.1\r\nX-Api-Key: ${key}\r\nX-Timestamp: ${timestamp}\r\n` +
        `X-Signature: ${'a'.repeat(64)}\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{`,
    );
    await eventually(() => reading.mock.calls.length > 0);
    socket.resetAndDestroy();
    await eventually(() => faults.mock.calls.length > 0 || take.mock.calls.length > 0);
    expect(faults.mock.calls).toEqual([]);
    expect(take.mock.calls.map(([bucket]) => bucket)).toEqual(['address:unknown']);
  });

  it('the signing secret is `sigsec_` and 32 random bytes, returned once', async () => {
    const { signingSecret } = await gateway.createKey(account.accountId, { enableHmac: true });
    expect(signingSecret).toMatch(/^sigsec_[A-Za-z0-9_-]{43}$/);
    const unsigned = await gateway.createKey(account.accountId, {});
    expect(unsigned.signingSecret).toBeNull();
  });

  it('every request of a signed key needs a signature; 401 names the missing header (R116)', async () => {
    const key = await signingKey();
    const { timestamp, signature } = freshlySigned('GET', '/api/v1/account');
    const messageFor = async (headers: Record<string, string>) => {
      const answer = await gateway.call('GET', '/account', { key, headers });
      expect(answer.status).toBe(401);
      return answer.body.message;
    };
    expect(await messageFor({})).toContain('Missing: x-signature, x-timestamp.');
    expect(await messageFor({ 'x-timestamp': timestamp })).toContain('Missing: x-signature.');
    expect(await messageFor({ 'x-signature': signature })).toContain('Missing: x-timestamp.');
  });

  it.each(ofKind('request-signature'))('%s is accepted', async (_, { input, expect: { signature } }) => {
    setTime(Number(input.timestamp));
    const key = await signingKey(input.secret);
    const query = input.path.endsWith('/history') ? '?page=2&limit=50' : '';
    const answer = await sendSigned({
      ...input,
      key,
      path: input.path + query,
      signature,
      body: Buffer.from(input.bodyBase64, 'base64'),
    });
    expect(answer.status).not.toBe(401);
    expect(answer.status).toBeLessThan(500);
  });

  it.each(ofKind('request-signature-negative'))('%s is refused', async (_, { input }) => {
    setTime(input.serverTime);
    const key = await signingKey(input.secret);
    expectUnauthorized(await sendSigned({ ...input, key }));
  });

  it.each(ofKind('request-signature-boundary'))('%s', async (_, { input }) => {
    for (const serverTime of input.serverTimes) {
      setTime(serverTime);
      expect((await sendSigned({ ...input, key: await signingKey() })).status).toBe(200);
    }
  });

  it.each(ofKind('request-signature-concat'))('%s', async (_, { input }) => {
    setTime(1_700_000_000);
    const { path, timestamp } = input.a;
    const signature = signRequest(SECRET, 'POST', path, timestamp, Buffer.from(''));
    expectUnauthorized(await sendSigned({ key: await signingKey(), path, timestamp, signature, body: '' }));
  });

  it('the signed path has the prefix, and no query', async () => {
    const key = await signingKey();
    const signed = freshlySigned('GET', '/api/v1/developers/sms/history');
    const answer = await sendSigned({ ...signed, key, path: `${signed.path}?limit=1` });
    expect(answer.status).toBe(200);
    expectUnauthorized(
      await sendSigned({ ...freshlySigned('GET', '/account'), key, path: '/api/v1/account' }),
    );
  });

  it('a used signature is refused, in this process and in others', async () => {
    const key = await signingKey();
    const signed = { ...freshlySigned('GET', '/api/v1/account'), key };
    expect((await sendSigned(signed)).status).toBe(200);
    expectUnauthorized(await sendSigned(signed));
    const elsewhere = await sendSigned({ ...signed, at: second });
    expectUnauthorized(elsewhere);
    expect(elsewhere.body.message).toContain('used before');
  });

  it('one of 20 equal concurrent requests over two processes passes', async () => {
    const key = await signingKey();
    const signed = { ...freshlySigned('POST', '/api/v1/developers/sms', SMS), key };
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) => sendSigned({ ...signed, at: index % 2 ? gateway : second })),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 401)).toHaveLength(19);
  });

  it('a signature is used up even if the request then fails', async () => {
    const key = await signingKey();
    const signed = { ...freshlySigned('POST', '/api/v1/developers/sms', '{"to":"abc"}'), key };
    expect((await sendSigned(signed)).status).toBe(400);
    expectUnauthorized(await sendSigned(signed));
  });

  it('a signature of one key is not valid for another, and is deleted when its time has passed', async () => {
    const [one, other] = [await signingKey(), await signingKey()];
    const signed = freshlySigned('GET', '/api/v1/account');
    expect((await sendSigned({ ...signed, key: one })).status).toBe(200);
    expect((await sendSigned({ ...signed, key: other })).status).toBe(200);
    const remembered = () =>
      withKnex(gateway.database.connection, async (knex) => {
        const rows = await knex('spent_signatures')
          .where({ key_id: one.split('_')[1] ?? '' })
          .select('retained_until');
        return rows.map((row) => row.retained_until.getTime() / 1000 - Number(signed.timestamp));
      });
    setTime(Number(signed.timestamp) + 120);
    await gateway.parts.authenticator.forgetSpentSignatures();
    expect(await remembered()).toEqual([121]);
    setTime(Number(signed.timestamp) + 121);
    await gateway.parts.authenticator.forgetSpentSignatures();
    expect(await remembered()).toEqual([]);
  });
});

describe('IP allowlists (R70, R118)', () => {
  const from = async (at: TestGateway, key: string, headers: Record<string, string> = {}) =>
    (await at.call('GET', '/account', { key, headers })).status;
  const keyFor = async (...ipAllowlist: string[]) =>
    (await gateway.createKey(account.accountId, { ipAllowlist })).key;

  it('a client inside passes, others get 403 in shape A (R2)', async () => {
    expect(await from(gateway, await keyFor('127.0.0.0/8'))).toBe(200);
    expect(await from(gateway, await keyFor('10.0.0.0/8', '127.0.0.1'))).toBe(200);
    const refused = await gateway.call('GET', '/account', {
      key: await keyFor('10.0.0.0/8', '2001:db8::/32'),
    });
    expect(refused.status).toBe(403);
    expect(refused.body).toEqual({
      statusCode: 403,
      error: 'forbidden',
      message: "The request comes from outside the API key's IP allowlist.",
    });
  });

  it('IPv4 rules match IPv4 clients of an IPv6 socket, and IPv6 rules match IPv6 clients', async () => {
    await using both = await startTestGateway({ HOST: '::' }, gateway.database);
    const { port } = new URL(both.url);
    const status = async (host: string, key: string) => {
      const headers = { 'x-api-key': key };
      return (await rawRequest(`http://${host}:${port}`, { method: 'GET', path: '/api/v1/account', headers }))
        .status;
    };
    expect(await status('127.0.0.1', await keyFor('127.0.0.0/8'))).toBe(200);
    expect(await status('127.0.0.1', await keyFor('::/0'))).toBe(403);
    expect(await status('[::1]', await keyFor('::1/128'))).toBe(200);
    expect(await status('[::1]', await keyFor('0.0.0.0/0'))).toBe(403);
  });

  it('X-Forwarded-For and similar headers are ignored from untrusted peers (R245)', async () => {
    const key = await keyFor('203.0.113.0/24');
    for (const name of ['x-forwarded-for', 'x-real-ip', 'forwarded', 'true-client-ip', 'cf-connecting-ip']) {
      expect(await from(gateway, key, { [name]: '203.0.113.7' })).toBe(403);
    }
  });

  it('with trusted proxies (TRUST_PROXY) the rightmost untrusted address counts (R245)', async () => {
    await using behind = await startTestGateway(
      { TRUST_PROXY: '127.0.0.0/8, 192.0.2.0/24' },
      gateway.database,
    );
    const key = await keyFor('203.0.113.0/24', '2001:db8::/32');
    const by = (chain: string) => from(behind, key, { 'x-forwarded-for': chain });
    expect(await by('203.0.113.7')).toBe(200);
    expect(await by('::ffff:203.0.113.7')).toBe(200);
    expect(await by('2001:db8::9')).toBe(200);
    expect(await by('198.51.100.1, 203.0.113.7')).toBe(200);
    expect(await by('203.0.113.7, 192.0.2.8, 127.0.0.9')).toBe(200);
    expect(await by('203.0.113.7, 198.51.100.1')).toBe(403);
    expect(await by('203.0.113.7, 198.51.100.1, 192.0.2.8')).toBe(403);
    // Some proxies write the client's port after its IP address.
    expect(await by('203.0.113.7:4711')).toBe(200);
    expect(await by('[2001:db8::9]:4711')).toBe(200);
    expect(await by('[2001:db8::9]')).toBe(200);
    expect(await by('203.0.113.7:4711, 192.0.2.8:80')).toBe(200);
    expect(await by('203.0.113.7, 198.51.100.1:203')).toBe(403);
    expect(await by('203.0.113.7, garbage')).toBe(403);
    expect(await by('203.0.113.007')).toBe(403);
    expect(await from(behind, key)).toBe(403);
  });
});

describe('scopes (R8, R22, R117, R120–R128)', () => {
  it('each route needs the scopes of its operation or FULL_ACCESS, and 403 names them', async () => {
    const { operations } = gateway.parts;
    for (const scope of SCOPES) {
      const { key } = await gateway.createKey(account.accountId, { scopes: [scope] });
      for (const route of routes) {
        const { scopes = [] } = route.operation(operations).access;
        const mayPass = scope === 'FULL_ACCESS' || scopes === 'any' || scopes.includes(scope);
        const path = `/api/v1${route.path.replaceAll(/:\w+/g, 'x')}`;
        const method = route.method.toUpperCase();
        const answer = await rawRequest(gateway.url, {
          method,
          path,
          headers: { 'x-api-key': key, ...JSON_TYPE },
        });
        if (mayPass) {
          expect([method, path, scope, answer.status]).not.toEqual([method, path, scope, 403]);
          continue;
        }
        expect([method, path, scope, answer.status]).toEqual([method, path, scope, 403]);
        expect(answer.body.error).toBe('forbidden');
        expect(answer.body.message).toMatch(
          /^Insufficient scopes\. Required one of: ([A-Z_]+, )*FULL_ACCESS$/,
        );
        for (const wanted of scopes) expect(answer.body.message).toContain(wanted);
      }
    }
  });

  it.each(SCOPES)('%s may read the account (R103)', async (scope) => {
    const { key } = await gateway.createKey(account.accountId, { scopes: [scope] });
    const answer = await gateway.call('GET', '/account', { key });
    expect(answer.status).toBe(200);
    expect(Object.keys(answer.body).sort()).toEqual(['balance', 'currency', 'email', 'id']);
  });
});

describe('the order of checks (R9)', () => {
  const outside = ['203.0.113.0/24'];

  it('revoked comes before the signature, the signature before the address', async () => {
    const key = await signingKey(SECRET, outside);
    const missing = await gateway.call('GET', '/account', { key });
    expect(missing.status).toBe(401);
    expect(missing.body.message).toContain('x-signature');
    expect((await sendSigned({ ...freshlySigned('GET', '/api/v1/account'), key })).status).toBe(403);
    await gateway.call('DELETE', `/developer/keys/${key.split('_')[1]}`, { key: account.key });
    const revoked = await gateway.call('GET', '/account', { key });
    expect(revoked.body.message).toBe('The API key has been revoked.');
  });

  it('the address comes before the rate limit, the rate limit before the scope, the scope before the body', async () => {
    const system = { kind: 'system', name: 'test' } as const;
    const limited = async (ipAllowlist: string[]) => {
      const created = await gateway.createKey(account.accountId, { scopes: ['READ_MESSAGES'], ipAllowlist });
      await gateway.parts.operations.apiKeys.setRateLimit.run(system, {
        keyId: created.keyId,
        perMinute: 2,
        perSecond: null,
      });
      return created.key;
    };
    const post = (key: string) => gateway.call('POST', '/developers/sms', { key, body: '{' });
    const elsewhere = await limited(outside);
    for (let count = 0; count < 4; count++) expect((await post(elsewhere)).status).toBe(403);
    const inside = await limited([]);
    expect((await post(inside)).body.message).toContain('Insufficient scopes');
    expect((await post(inside)).status).toBe(403);
    expect((await post(inside)).status).toBe(429);
  });

  it('the key comes before an unknown path', async () => {
    expect((await gateway.call('GET', '/nothing/here')).status).toBe(401);
    expect((await gateway.call('GET', '/nothing/here', { key: account.key })).status).toBe(404);
    expect((await gateway.call('GET', '/developers/sms/%ZZ')).status).toBe(401);
  });
});

describe('changes of a key (R9, R104, R129, R130)', () => {
  it('apply at once in the process that made them and within a second in others', async () => {
    const { key, keyId } = await gateway.createKey(account.accountId, {
      scopes: ['SEND_SMS'],
      environment: 'sandbox',
    });
    const send = async (at: TestGateway) =>
      at.call('POST', '/developers/sms', { key, body: { to: '0700123456', message: 'Hello' } });
    const change = async (body: object) => {
      const answer = await gateway.call('PUT', `/developer/keys/${keyId}`, { key: account.key, body });
      expect(answer.status).toBe(200);
    };
    for (const at of [gateway, second]) expect((await send(at)).body.sandbox).toBe(true);

    await change({ environment: 'production' });
    expect((await send(gateway)).body).toMatchObject({ sandbox: false, cost: 30, status: 'pending' });
    await eventually(async () => (await send(second)).body.sandbox === false);

    await change({ scopes: ['READ_MESSAGES'] });
    expect((await send(gateway)).status).toBe(403);
    await eventually(async () => (await send(second)).status === 403);

    await change({ scopes: ['SEND_SMS'], ipAllowlist: ['203.0.113.7'] });
    expect((await send(gateway)).body.message).toContain('allowlist');
    await eventually(async () => (await send(second)).body.message?.includes('allowlist'));

    await gateway.call('DELETE', `/developer/keys/${keyId}`, { key: account.key });
    expect((await send(gateway)).status).toBe(401);
    await eventually(async () => (await send(second)).status === 401);
  });
});
