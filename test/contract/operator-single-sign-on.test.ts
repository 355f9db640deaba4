import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { withKnex } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { type FalseIssuer, startFalseIssuer } from '../support/false-issuer.ts';
import { freePort } from '../support/free-port.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { codesOf, graphql, signIn, signInOperator } from '../support/graphql.ts';
import { type IdentityProvider, startIdentityProvider } from '../support/identity-provider.ts';
import { beginSingleSignOn, finishSingleSignOn, signInBy } from '../support/single-sign-on.ts';

const VIEWER = '{ viewer { id email role mustChangePassword } }';
const OPERATOR = { sub: 'op-1', email: 'anna@platform.example', email_verified: true, roles: ['OPERATOR'] };

describe('single sign-on of operators', () => {
  let gateway: TestGateway;
  let provider: IdentityProvider;
  beforeAll(async () => {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    provider = await startIdentityProvider(`${url}/console/single-sign-on`);
    gateway = await startTestGateway({
      PORT: String(port),
      PUBLIC_URL: url,
      TRUST_PROXY: '127.0.0.0/8,::1/128',
      OIDC_ISSUER: provider.issuer,
      OIDC_CLIENT_ID: provider.clientId,
      OIDC_CLIENT_SECRET: provider.clientSecret,
      REQUIRE_SECOND_FACTOR: 'operators',
    });
  });
  afterAll(async () => {
    await gateway?.stop();
    await provider?.stop();
  });

  const enter = async (person = OPERATOR) => {
    provider.put(person);
    provider.signsIn = person.sub;
    return signInBy(gateway, provider);
  };
  const database = <T>(work: Parameters<typeof withKnex<T>>[1]) =>
    withKnex(gateway.database.connection, work);
  /** Makes the check of the person with this subject due, so that the worker checks now. */
  const checkNow = (subject: string) =>
    database(async (knex) => {
      await knex('single_sign_on_identities')
        .where({ subject })
        .update({ check_at: new Date(0) });
    }).then(() => gateway.parts.checkSingleSignOn());

  it('makes an operator with the role of the claim, who needs no other factor (R355)', async () => {
    const token = await enter();
    const { viewer } = (await graphql(gateway, VIEWER, { token })).body.data;
    const { permissions } = (await graphql(gateway, '{ permissions }', { token })).body.data;
    expect(viewer).toMatchObject({ email: OPERATOR.email, role: 'OPERATOR', mustChangePassword: false });
    expect(permissions).toContain('account.create');
    const again = await enter();
    expect((await graphql(gateway, VIEWER, { token: again })).body.data.viewer.id).toBe(viewer.id);
    const audit = await database((knex) =>
      knex('audit_entries').where({ target: viewer.id }).orderBy('seq').pluck('action'),
    );
    expect(audit[0]).toBe('member.join');
  });

  it('is named to sign-in pages by the host of the provider, whatever is typed (R355)', async () => {
    const offers = 'query ($email: String) { signInOffers(email: $email) { isForOperators host } }';
    const { host } = new URL(provider.issuer);
    for (const email of [undefined, OPERATOR.email, 'nobody@nowhere.example', 'no email']) {
      const { body } = await graphql(gateway, offers, { variables: { email } });
      expect(body.data.signInOffers).toEqual([{ isForOperators: true, host }]);
    }
  });

  it('sets a strict cookie that only the finishing request can read (R355)', async () => {
    const { cookies } = await beginSingleSignOn(gateway, {});
    expect(cookies).toEqual([
      expect.stringMatching(
        /^single-sign-on=[\w-]{43}; Path=\/graphql; Max-Age=600; HttpOnly; SameSite=Strict$/,
      ),
    ]);
  });

  it('links an operator of before by the verified email, and keeps the role given here (R357)', async () => {
    const { email } = await withOperator();
    const token = await enter({
      sub: 'op-linked',
      email,
      email_verified: true,
      roles: ['OPERATOR_READONLY'],
    });
    expect((await graphql(gateway, VIEWER, { token })).body.data.viewer).toMatchObject({
      email,
      role: 'OPERATOR',
    });
    // The provider gave this email address to another person.
    provider.put({ sub: 'op-heir', email, email_verified: true, roles: ['OPERATOR'] });
    provider.signsIn = 'op-heir';
    const refused = await tryToEnter();
    expect(codesOf(refused)).toEqual(['UNAUTHENTICATED']);
  });

  async function withOperator() {
    const email = 'operator@platform.example';
    await signInOperator(gateway);
    return { email };
  }
  async function tryToEnter() {
    const begun = await beginSingleSignOn(gateway, {});
    return finishSingleSignOn(gateway, await provider.visit(begun.url), begun.cookie);
  }

  describe('refuses', () => {
    it('an email that the provider has not verified (R357)', async () => {
      provider.put({ ...OPERATOR, sub: 'op-2', email: 'eve@platform.example', email_verified: false });
      provider.signsIn = 'op-2';
      const refused = await tryToEnter();
      expect(codesOf(refused)).toEqual(['UNAUTHENTICATED']);
      expect(refused.body.errors[0].message).toContain('has not verified your email');
    });

    it('a person without a role in the claim (R355)', async () => {
      provider.put({ ...OPERATOR, sub: 'op-3', email: 'bob@platform.example', roles: ['STAFF'] });
      provider.signsIn = 'op-3';
      expect(codesOf(await tryToEnter())).toEqual(['UNAUTHENTICATED']);
    });

    it('an owner of an account who has the same email: that is another person (R357)', async () => {
      const account = await gateway.createAccount();
      provider.put({ sub: 'op-4', email: account.email, email_verified: true, roles: ['OPERATOR'] });
      provider.signsIn = 'op-4';
      expect(codesOf(await tryToEnter())).toEqual(['UNAUTHENTICATED']);
      const token = await signIn(gateway, account);
      expect((await graphql(gateway, VIEWER, { token })).body.data.viewer.role).toBe('OWNER');
    });

    it('the state of another browser, and an answer without the cookie (R355)', async () => {
      provider.put(OPERATOR);
      provider.signsIn = OPERATOR.sub;
      const [attacker, victim] = [await beginSingleSignOn(gateway, {}), await beginSingleSignOn(gateway, {})];
      const query = await provider.visit(attacker.url);
      expect(codesOf(await finishSingleSignOn(gateway, query, victim.cookie))).toEqual(['UNAUTHENTICATED']);
      expect(codesOf(await finishSingleSignOn(gateway, query, undefined))).toEqual(['UNAUTHENTICATED']);
      expect(codesOf(await finishSingleSignOn(gateway, query, attacker.cookie))).toEqual([]);
    });

    it('a code that was used before (R355)', async () => {
      const begun = await beginSingleSignOn(gateway, {});
      const query = await provider.visit(begun.url);
      expect(codesOf(await finishSingleSignOn(gateway, query, begun.cookie))).toEqual([]);
      expect(codesOf(await finishSingleSignOn(gateway, query, begun.cookie))).toEqual(['UNAUTHENTICATED']);
      // It also fails with a new state. The code verifier is another one, and the provider knows that the code was
      // used.
      const other = await beginSingleSignOn(gateway, {});
      const mixed = new URLSearchParams(query);
      mixed.set('state', new URL(other.url).searchParams.get('state') ?? '');
      expect(codesOf(await finishSingleSignOn(gateway, String(mixed), other.cookie))).toEqual([
        'UNAUTHENTICATED',
      ]);
    });

    it('an answer of another issuer in the URL (R355)', async () => {
      const begun = await beginSingleSignOn(gateway, {});
      const query = new URLSearchParams(await provider.visit(begun.url));
      query.set('iss', 'http://127.0.0.1:1');
      expect(codesOf(await finishSingleSignOn(gateway, String(query), begun.cookie))).toEqual([
        'UNAUTHENTICATED',
      ]);
    });

    it.each([
      '//evil.example',
      '/\\evil.example',
      'https://evil.example/',
      'javascript:alert(1)',
      '/\t/evil.example',
      '',
    ])('to go to %j afterwards (R355)', async (next) => {
      const start = 'mutation ($next: String) { startSingleSignOn(next: $next) { url } }';
      expect(codesOf(await graphql(gateway, start, { variables: { next } }))).toEqual(['BAD_USER_INPUT']);
    });

    it('more than 40 beginnings from one address in 15 minutes (R355)', async () => {
      const start = 'mutation { startSingleSignOn { url } }';
      const headers = { 'X-Forwarded-For': '203.0.113.77' };
      const codes: string[] = [];
      for (let count = 0; count < 41; count += 1)
        codes.push(...codesOf(await graphql(gateway, start, { headers })));
      expect(codes).toEqual(['RATE_LIMITED']);
    });
  });

  it('goes to the path that was asked for (R355)', async () => {
    provider.put(OPERATOR);
    provider.signsIn = OPERATOR.sub;
    const begun = await beginSingleSignOn(gateway, { next: '/accounts?search=x' });
    const answer = await finishSingleSignOn(gateway, await provider.visit(begun.url), begun.cookie);
    expect(answer.body.data.finishSingleSignOn.next).toBe('/accounts?search=x');
  });

  it('takes tokens of a rotated key at once (R355)', async () => {
    await enter();
    await provider.rotateKeys();
    const token = await enter();
    expect(codesOf(await graphql(gateway, VIEWER, { token }))).toEqual([]);
  });

  it('ends sessions and access tokens of whom the provider has removed, at the next check (R358)', async () => {
    const person = { ...OPERATOR, sub: 'op-leaver', email: 'leaver@platform.example' };
    const token = await enter(person);
    const create = `mutation ($until: String!) {
      createAccessToken(input: { name: "x", permissions: ["account.list"], expiresAt: $until }) { token }
    }`;
    const until = new Date(Date.now() + 86_400_000).toISOString();
    const made = await graphql(gateway, create, { token, variables: { until } });
    const accessToken = made.body.data.createAccessToken.token;
    const ACCOUNTS = '{ accounts(first: 1) { totalCount } }';
    await checkNow(person.sub);
    expect(codesOf(await graphql(gateway, VIEWER, { token }))).toEqual([]);
    provider.remove(person.sub);
    await checkNow(person.sub);
    expect(codesOf(await graphql(gateway, VIEWER, { token }))).toEqual(['UNAUTHENTICATED']);
    expect(codesOf(await graphql(gateway, ACCOUNTS, { token: accessToken }))).toEqual(['UNAUTHENTICATED']);
    // Back at the provider, they sign in as the same person. They need another access token.
    const back = await enter(person);
    expect(codesOf(await graphql(gateway, VIEWER, { token: back }))).toEqual([]);
    expect(codesOf(await graphql(gateway, ACCOUNTS, { token: accessToken }))).toEqual(['UNAUTHENTICATED']);
  });

  it('follows a change of the role at the provider (R358)', async () => {
    const person = { ...OPERATOR, sub: 'op-mover', email: 'mover@platform.example' };
    const token = await enter(person);
    provider.put({ ...person, roles: ['OPERATOR_READONLY'] });
    await checkNow(person.sub);
    expect((await graphql(gateway, VIEWER, { token })).body.data.viewer.role).toBe('OPERATOR_READONLY');
    provider.put({ ...person, roles: [] });
    await checkNow(person.sub);
    expect(codesOf(await graphql(gateway, VIEWER, { token }))).toEqual(['UNAUTHENTICATED']);
  });

  it('ends sessions without a word of the provider for 55 minutes (R358)', async () => {
    const person = { ...OPERATOR, sub: 'op-silent', email: 'silent@platform.example' };
    const token = await enter(person);
    await database(async (knex) => {
      await knex.raw(
        `UPDATE single_sign_on_identities SET checked_at = now() - interval '56 minutes', check_at = now() + interval '1 hour'
         WHERE subject = ?`,
        [person.sub],
      );
      await knex.raw(`SELECT pg_notify('gateway_changes', 'session *')`);
    });
    await eventually(
      async () => String(codesOf(await graphql(gateway, VIEWER, { token }))) === 'UNAUTHENTICATED',
    );
  });

  it('confirms the person for what needs a step-up, by a fresh sign-in of the same person (R359)', async () => {
    const token = await enter();
    await database(async (knex) => {
      await knex.raw(`UPDATE sessions SET verified_at = now() - interval '11 minutes'`);
      await knex.raw(`SELECT pg_notify('gateway_changes', 'session *')`);
    });
    const START_TOTP = 'mutation { startTotp { secret } }';
    await eventually(
      async () => String(codesOf(await graphql(gateway, START_TOTP, { token }))) === 'STEP_UP_REQUIRED',
    );
    const another = { ...OPERATOR, sub: 'op-other', email: 'other@platform.example' };
    provider.put(another);
    provider.signsIn = another.sub;
    const wrong = await beginSingleSignOn(gateway, { confirm: true, token });
    const query = await provider.visit(wrong.url);
    expect(codesOf(await finishSingleSignOn(gateway, query, wrong.cookie, token))).toEqual([
      'UNAUTHENTICATED',
    ]);
    provider.signsIn = OPERATOR.sub;
    const right = await beginSingleSignOn(gateway, { confirm: true, token });
    expect(new URL(right.url).searchParams.get('max_age')).toBe('0');
    const answer = await finishSingleSignOn(gateway, await provider.visit(right.url), right.cookie, token);
    expect(answer.body.data.finishSingleSignOn).toEqual({ session: null, next: '/' });
    expect(codesOf(await graphql(gateway, START_TOTP, { token }))).toEqual([]);
  });

  it('keeps refresh tokens sealed (R358)', async () => {
    await enter();
    const sealed = await database((knex) => knex('single_sign_on_identities').pluck('refresh_token_sealed'));
    expect(sealed.length).toBeGreaterThan(0);
    for (const text of sealed) if (text !== null) expect(gateway.parts.secrets.open(text)).not.toBe(text);
  });
});

describe('single sign-on refuses ID tokens', () => {
  let gateway: TestGateway;
  let issuer: FalseIssuer;
  beforeAll(async () => {
    issuer = await startFalseIssuer();
    gateway = await startTestGateway({
      OIDC_ISSUER: issuer.issuer,
      OIDC_CLIENT_ID: 'gateway',
      OIDC_CLIENT_SECRET: 'secret',
    });
  });
  afterAll(async () => {
    await gateway?.stop();
    await issuer?.[Symbol.asyncDispose]();
  });

  /** Finishes a sign-in with an ID token that `forge` makes from valid claims. */
  async function attempt(forge: (claims: Record<string, unknown>) => string) {
    const begun = await beginSingleSignOn(gateway, {});
    const asked = new URL(begun.url).searchParams;
    const now = Math.floor(Date.now() / 1000);
    issuer.idToken = forge({
      iss: issuer.issuer,
      aud: 'gateway',
      sub: 'somebody',
      nonce: asked.get('nonce'),
      iat: now,
      exp: now + 300,
      email: 'somebody@platform.example',
      email_verified: true,
      roles: ['OPERATOR'],
    });
    return codesOf(await finishSingleSignOn(gateway, `code=abc&state=${asked.get('state')}`, begun.cookie));
  }

  it('never when they are right', async () => {
    expect(await attempt((claims) => issuer.signed(claims))).toEqual([]);
  });

  it.each<[string, (claims: Record<string, unknown>) => string]>([
    ['of another issuer', (claims) => issuer.signed({ ...claims, iss: 'https://other.example' })],
    ['for another client', (claims) => issuer.signed({ ...claims, aud: 'another' })],
    ['with another nonce', (claims) => issuer.signed({ ...claims, nonce: 'of-another-sign-in' })],
    ['without a nonce', (claims) => issuer.signed({ ...claims, nonce: undefined })],
    ['that have expired', (claims) => issuer.signed({ ...claims, exp: 1_700_000_000 })],
    ['signed by a key that is not published', (claims) => issuer.signedByAnother(claims)],
    ['without a signature (alg none)', (claims) => issuer.unsigned(claims)],
    ['signed with the public key as a secret (HS256)', (claims) => issuer.signedWithPublicKey(claims)],
    ['whose claims were changed', (claims) => changed(issuer.signed(claims))],
  ])('%s (R355)', async (_name, forge) => {
    expect(await attempt(forge)).toEqual(['UNAUTHENTICATED']);
    // It is also refused if the issuer itself announces such algorithms.
    issuer.algorithms = ['RS256', 'none', 'HS256'];
    expect(await attempt(forge)).toEqual(['UNAUTHENTICATED']);
    issuer.algorithms = ['RS256'];
  });

  function changed(token: string): string {
    const [header, claims = '', signature] = token.split('.');
    const told = JSON.parse(Buffer.from(claims, 'base64url').toString());
    const other = Buffer.from(JSON.stringify({ ...told, sub: 'somebody else' })).toString('base64url');
    return `${header}.${other}.${signature}`;
  }
});
