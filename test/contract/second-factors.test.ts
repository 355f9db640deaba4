import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { withKnex } from '../support/database.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { codesOf, graphql, inviteMember, signIn, signInOperator } from '../support/graphql.ts';
import { codeOf } from '../support/totp.ts';

const SIGN_IN = `mutation ($e: String!, $p: String!, $code: String) {
  signIn(email: $e, password: $p, code: $code) { token user { email } }
}`;
const ANSWER =
  'mutation ($challenge: String!, $code: String!) { answerChallenge(challenge: $challenge, code: $code) { token } }';
const START = 'mutation { startTotp { secret uri } }';
const CONFIRM = 'mutation ($code: String!) { confirmTotp(code: $code) { recoveryCodes } }';
const FACTORS = '{ factors { id kind name createdAt lastUsedAt } recoveryCodesLeft }';
const REMOVE = 'mutation ($id: ID!) { removeFactor(id: $id) }';
const RESET = 'mutation ($id: ID!) { resetFactors(userId: $id) { id } }';
const STEP_UP = 'mutation ($code: String, $password: String) { stepUp(code: $code, password: $password) }';
const POLICY =
  'mutation ($on: Boolean!) { setSecurityPolicy(requireSecondFactor: $on) { id requireSecondFactor } }';

describe('second factors', () => {
  let gateway: TestGateway;
  let account: TestAccount;
  beforeAll(async () => {
    gateway = await startTestGateway({ TRUST_PROXY: '127.0.0.0/8,::1/128' });
  });
  afterAll(() => gateway?.stop());

  /** Creates an account whose owner has an authenticator app. */
  async function withApp() {
    account = await gateway.createAccount();
    const token = await signIn(gateway, account);
    const started = await graphql(gateway, START, { token });
    const { secret } = started.body.data.startTotp;
    // A code can be used once. Sign-ins use the code of the next step, so the test may run within one step or cross
    // into the next.
    const confirmed = await graphql(gateway, CONFIRM, { token, variables: { code: codeOf(secret) } });
    const { recoveryCodes } = confirmed.body.data.confirmTotp;
    return { ...account, token, secret: secret as string, recoveryCodes: recoveryCodes as string[] };
  }
  type Person = Awaited<ReturnType<typeof withApp>>;
  let addresses = 0;
  const trySignIn = (
    { email: e, password: p }: Pick<Person, 'email' | 'password'>,
    code?: string,
    address?: string,
  ) => {
    addresses += 1;
    const headers = { 'X-Forwarded-For': address ?? `203.0.113.${addresses}` };
    return graphql(gateway, SIGN_IN, { variables: { e, p, code }, headers });
  };
  const database = <T>(work: Parameters<typeof withKnex<T>>[1]) =>
    withKnex(gateway.database.connection, work);
  /** Sets the time at which the person last entered a password or code to `minutes` minutes ago. */
  const verifiedAgo = (email: string, minutes: number) =>
    database(async (knex) => {
      await knex.raw(
        `UPDATE sessions SET verified_at = now() - interval '${minutes} minutes'
         WHERE user_id IN (SELECT id FROM users WHERE email = ?)`,
        [email],
      );
      await knex.raw(`SELECT pg_notify('gateway_changes', 'session *')`);
    });

  it('are added by a right code, with an address for a QR code and ten recovery codes (R250)', async () => {
    account = await gateway.createAccount();
    const token = await signIn(gateway, account);
    const { secret, uri } = (await graphql(gateway, START, { token })).body.data.startTotp;
    expect(uri).toBe(
      `otpauth://totp/Service:${encodeURIComponent(account.email)}?secret=${secret}&issuer=Service`,
    );
    const wrong = await graphql(gateway, CONFIRM, { token, variables: { code: '12' } });
    expect(codesOf(wrong)).toEqual(['BAD_USER_INPUT']);
    // The factor is not confirmed yet, so the password is enough to sign in.
    expect((await trySignIn(account)).body.data.signIn.user.email).toBe(account.email);
    const right = await graphql(gateway, CONFIRM, { token, variables: { code: codeOf(secret) } });
    const { recoveryCodes } = right.body.data.confirmTotp;
    expect(new Set(recoveryCodes).size).toBe(10);
    for (const code of recoveryCodes) expect(code).toMatch(/^[a-z2-9]{4}(-[a-z2-9]{4}){3}$/);
    const shown = (await graphql(gateway, FACTORS, { token })).body.data;
    expect(shown.factors).toEqual([
      expect.objectContaining({ kind: 'totp', name: 'Authenticator app', lastUsedAt: expect.any(String) }),
    ]);
    expect(shown.recoveryCodesLeft).toBe(10);
  });

  it('end the other sessions of the person when one is added (R250)', async () => {
    account = await gateway.createAccount();
    const token = await signIn(gateway, account);
    const other = await signIn(gateway, account);
    const { secret } = (await graphql(gateway, START, { token })).body.data.startTotp;
    await graphql(gateway, CONFIRM, { token, variables: { code: codeOf(secret) } });
    expect(codesOf(await graphql(gateway, '{ viewer { id } }', { token: other }))).toEqual([
      'UNAUTHENTICATED',
    ]);
    expect(codesOf(await graphql(gateway, '{ viewer { id } }', { token }))).toEqual([]);
  });

  it('are asked for after the right password, and answer the challenge (R250)', async () => {
    const person = await withApp();
    const first = await trySignIn(person);
    expect(codesOf(first)).toEqual(['SECOND_FACTOR_REQUIRED']);
    expect(first.headers.get('set-cookie')).toBeNull();
    const { challenge, kinds } = first.body.errors[0].extensions.details;
    expect(kinds).toEqual(['totp', 'recovery_code']);
    // A challenge cannot be used as a session token.
    expect(codesOf(await graphql(gateway, '{ viewer { id } }', { token: challenge }))).toEqual([
      'UNAUTHENTICATED',
    ]);
    const answered = await graphql(gateway, ANSWER, {
      variables: { challenge, code: codeOf(person.secret, 1) },
    });
    const { token } = answered.body.data.answerChallenge;
    expect((await graphql(gateway, '{ viewer { email } }', { token })).body.data.viewer.email).toBe(
      person.email,
    );
  });

  it('sign in with password and code at once (R250)', async () => {
    const person = await withApp();
    const answer = await trySignIn(person, codeOf(person.secret, 1));
    expect(answer.body.data.signIn.user.email).toBe(person.email);
  });

  it('say the same of a wrong password whether the person has one or not', async () => {
    const person = await withApp();
    const wrong = await trySignIn(
      { email: person.email, password: 'not the password' },
      codeOf(person.secret, 1),
    );
    expect(wrong.body.errors[0].message).toBe('The email or the password is wrong.');
  });

  describe('refuse', () => {
    it('a code that was taken before, also as the answer to another challenge (R250)', async () => {
      const person = await withApp();
      const code = codeOf(person.secret, 1);
      expect((await trySignIn(person, code)).body.errors).toBeUndefined();
      expect(codesOf(await trySignIn(person, code))).toEqual(['UNAUTHENTICATED']);
    });

    it('of two uses of a code at once one', async () => {
      const person = await withApp();
      const code = codeOf(person.secret, 1);
      const answers = await Promise.all([trySignIn(person, code), trySignIn(person, code)]);
      expect(answers.filter(({ body }) => body.errors === undefined)).toHaveLength(1);
    });

    it('a recovery code that was taken before, whatever its hyphens and capitals (R250)', async () => {
      const person = await withApp();
      const [code = ''] = person.recoveryCodes;
      expect((await trySignIn(person, code.toUpperCase().replaceAll('-', ' '))).body.errors).toBeUndefined();
      expect(codesOf(await trySignIn(person, code))).toEqual(['UNAUTHENTICATED']);
      const { data } = (await graphql(gateway, FACTORS, { token: person.token })).body;
      expect(data.recoveryCodesLeft).toBe(9);
    });

    it('a code of two steps ago, and one of another app', async () => {
      const person = await withApp();
      const other = await withApp();
      expect(codesOf(await trySignIn(person, codeOf(person.secret, -3)))).toEqual(['UNAUTHENTICATED']);
      expect(codesOf(await trySignIn(person, codeOf(other.secret)))).toEqual(['UNAUTHENTICATED']);
    });

    it('guesses after ten wrong codes in 15 minutes, from wherever they come, and even the right one then (R250)', async () => {
      const person = await withApp();
      for (let count = 0; count < 10; count += 1)
        expect(codesOf(await trySignIn(person, '000000'))).toEqual(['UNAUTHENTICATED']);
      expect(codesOf(await trySignIn(person, codeOf(person.secret, 1)))).toEqual(['RATE_LIMITED']);
    });

    it('an answer to a challenge that was answered, has expired, or whose password was changed', async () => {
      const person = await withApp();
      const challengeOf = async () =>
        (await trySignIn(person)).body.errors[0].extensions.details.challenge as string;
      const answer = (challenge: string, code: string) =>
        graphql(gateway, ANSWER, { variables: { challenge, code } });
      const [first = '', second = '', third = '', fourth = ''] = person.recoveryCodes;
      const answered = await challengeOf();
      expect((await answer(answered, first)).body.errors).toBeUndefined();
      expect(codesOf(await answer(answered, second))).toEqual(['UNAUTHENTICATED']);

      const late = await challengeOf();
      await database((knex) =>
        knex('sign_in_challenges').update({ expires_at: new Date(Date.now() - 1_000) }),
      );
      expect(codesOf(await answer(late, third))).toEqual(['UNAUTHENTICATED']);

      const replaced = await challengeOf();
      await gateway.parts.operations.members.resetPassword.run(
        { kind: 'system', name: 'test' },
        { email: person.email },
      );
      expect(codesOf(await answer(replaced, fourth))).toEqual(['UNAUTHENTICATED']);
    });

    it('a stolen challenge, answered with the code or the recovery code of another person (R250)', async () => {
      const [person, thief] = [await withApp(), await withApp()];
      const { challenge } = (await trySignIn(person)).body.errors[0].extensions.details;
      for (const code of [codeOf(thief.secret, 1), thief.recoveryCodes[0]!])
        expect(codesOf(await graphql(gateway, ANSWER, { variables: { challenge, code } }))).toEqual([
          'UNAUTHENTICATED',
        ]);
      const token = challenge as string;
      expect(codesOf(await graphql(gateway, START, { token }))).toEqual(['UNAUTHENTICATED']);
    });

    it('to be removed where the account requires one and it is the last (R250)', async () => {
      const person = await withApp();
      const on = await graphql(gateway, POLICY, { token: person.token, variables: { on: true } });
      expect(on.body.data.setSecurityPolicy.requireSecondFactor).toBe(true);
      const [{ id }] = (await graphql(gateway, FACTORS, { token: person.token })).body.data.factors;
      const kept = await graphql(gateway, REMOVE, { token: person.token, variables: { id } });
      expect(codesOf(kept)).toEqual(['BAD_USER_INPUT']);
      await graphql(gateway, POLICY, { token: person.token, variables: { on: false } });
      const removed = await graphql(gateway, REMOVE, { token: person.token, variables: { id } });
      expect(removed.body).toEqual({ data: { removeFactor: true } });
      expect((await trySignIn(person)).body.errors).toBeUndefined();
    });
  });

  it('let a person who must have one do nothing else before it is added (R250)', async () => {
    const owner = await withApp();
    const member = await inviteMember(gateway, owner.token, 'ADMIN');
    const token = await signIn(gateway, member);
    expect(codesOf(await graphql(gateway, '{ members { id } }', { token }))).toEqual([]);
    await graphql(gateway, POLICY, { token: owner.token, variables: { on: true } });
    const held = await graphql(gateway, '{ members { id } }', { token });
    expect(held.body.errors[0].message).toMatch(/^A second factor is required here\./);
    const { secret } = (await graphql(gateway, START, { token })).body.data.startTotp;
    await graphql(gateway, CONFIRM, { token, variables: { code: codeOf(secret) } });
    expect(codesOf(await graphql(gateway, '{ members { id } }', { token }))).toEqual([]);
  });

  it('are never shown or logged: the database has the secret sealed and the codes hashed', async () => {
    const person = await withApp();
    const rows = await database(async (knex) => [
      ...(await knex('second_factors').select()),
      ...(await knex('recovery_codes').select()),
    ]);
    const text = JSON.stringify(rows);
    expect(text).not.toContain(person.secret);
    for (const code of person.recoveryCodes) expect(text).not.toContain(code.replaceAll('-', ''));
    const { body } = await graphql(gateway, '{ auditLog(first: 100) { nodes { action before after } } }', {
      token: person.token,
    });
    expect(JSON.stringify(body)).toContain('secondFactor.add');
    expect(JSON.stringify(body)).not.toContain(person.secret);
  });

  describe('that are lost', () => {
    it('are reset by an owner for a member, which ends their sessions, and for nobody of another account (R251)', async () => {
      const owner = await withApp();
      const member = await inviteMember(gateway, owner.token, 'DEVELOPER');
      const token = await signIn(gateway, member);
      const { secret } = (await graphql(gateway, START, { token })).body.data.startTotp;
      await graphql(gateway, CONFIRM, { token, variables: { code: codeOf(secret) } });
      const stranger = await gateway.createAccount();
      const strangerToken = await signIn(gateway, stranger);
      const reset = (by: string, id: string) => graphql(gateway, RESET, { token: by, variables: { id } });
      expect(codesOf(await reset(strangerToken, member.id))).toEqual(['NOT_FOUND']);
      expect(codesOf(await reset(token, member.id))).toEqual(['FORBIDDEN']);
      expect((await reset(owner.token, member.id)).body.data.resetFactors.id).toBe(member.id);
      expect(codesOf(await graphql(gateway, '{ viewer { id } }', { token }))).toEqual(['UNAUTHENTICATED']);
      expect((await trySignIn(member)).body.errors).toBeUndefined();
    });

    it('of an operator are not reset by one operator alone, but on the command line (R251)', async () => {
      const operator = await signInOperator(gateway);
      const { user } = await gateway.parts.operations.accounts.createOperator.run(
        { kind: 'system', name: 'test' },
        { email: 'second-operator@platform.example' },
      );
      const refused = await graphql(gateway, RESET, { token: operator, variables: { id: user.id } });
      expect(codesOf(refused)).toEqual(['FORBIDDEN']);
      const password = await graphql(
        gateway,
        'mutation { resetUserPassword(email: "second-operator@platform.example") { password } }',
        { token: operator },
      );
      expect(codesOf(password)).toEqual(['FORBIDDEN']);
      const bySystem = gateway.parts.operations.secondFactors.reset.run(
        { kind: 'system', name: 'test' },
        { userId: user.id },
      );
      expect((await bySystem).id).toBe(user.id);
    });
  });

  describe('step-up', () => {
    const FULL =
      'mutation { createApiKey(input: {name: "k", scopes: [FULL_ACCESS], environment: PRODUCTION}) { apiKey { keyId } } }';
    const NARROW =
      'mutation { createApiKey(input: {name: "k", scopes: [SEND_SMS], environment: PRODUCTION}) { apiKey { keyId } } }';

    it('is asked for by what opens much, 10 minutes after the person was verified (R253)', async () => {
      account = await gateway.createAccount();
      const token = await signIn(gateway, account);
      const call = (query: string) => graphql(gateway, query, { token });
      expect(codesOf(await call(FULL))).toEqual([]);
      await verifiedAgo(account.email, 11);
      expect(codesOf(await call(FULL))).toEqual(['STEP_UP_REQUIRED']);
      expect(codesOf(await call(NARROW))).toEqual([]);
      const sandbox = await call(
        'mutation { createApiKey(input: {name: "k", scopes: [SEND_SMS], environment: SANDBOX}) { apiKey { keyId } } }',
      );
      const { keyId } = sandbox.body.data.createApiKey.apiKey;
      const open = `mutation { updateApiKey(keyId: "${keyId}", input: {environment: PRODUCTION}) { keyId } }`;
      expect(codesOf(await call(open))).toEqual(['STEP_UP_REQUIRED']);
      expect(codesOf(await call(START))).toEqual(['STEP_UP_REQUIRED']);
      expect(codesOf(await call('mutation { setRetention(contentDays: 30) { contentDays } }'))).toEqual([
        'STEP_UP_REQUIRED',
      ]);
      // `permissions` lists all rights of the role, also those that need a step-up first.
      expect((await call('{ permissions }')).body.data.permissions).toContain('account.setRetention');
    });

    it('is asked for before an export of messages, which the audit log shows without values (R253, R303)', async () => {
      account = await gateway.createAccount();
      const token = await signIn(gateway, account);
      await verifiedAgo(account.email, 11);
      const start = (filters: readonly string[]) =>
        graphql(
          gateway,
          'mutation ($filters: [String!]!) { startExport(list: RECIPIENTS, filters: $filters) }',
          {
            token,
            variables: { filters },
          },
        );
      const entries = async () =>
        (
          await graphql(
            gateway,
            '{ auditLog(filter: { action: "account.startExport" }) { nodes { after } } }',
            {
              token,
            },
          )
        ).body.data.auditLog.nodes;
      expect(codesOf(await start(['address']))).toEqual(['STEP_UP_REQUIRED']);
      expect(await entries()).toEqual([]);
      await graphql(gateway, STEP_UP, { token, variables: { password: account.password } });
      expect((await start(['address', 'status'])).body).toEqual({ data: { startExport: true } });
      expect(await entries()).toEqual([
        {
          after: expect.objectContaining({
            list: 'recipients',
            filters: ['address', 'status'],
            address: '127.0.0.1',
          }),
        },
      ]);
      for (const filters of [['x'.repeat(41)], Array.from({ length: 21 }, () => 'status')]) {
        expect(codesOf(await start(filters))).toEqual(['BAD_USER_INPUT']);
      }
      expect(await entries()).toHaveLength(1);
    });

    it('is met by the password, which must be the right one (R253)', async () => {
      account = await gateway.createAccount();
      const token = await signIn(gateway, account);
      await verifiedAgo(account.email, 11);
      const wrong = await graphql(gateway, STEP_UP, { token, variables: { password: 'not it at all' } });
      expect(codesOf(wrong)).toEqual(['BAD_USER_INPUT']);
      const right = await graphql(gateway, STEP_UP, { token, variables: { password: account.password } });
      expect(right.body).toEqual({ data: { stepUp: true } });
      expect(codesOf(await graphql(gateway, FULL, { token }))).toEqual([]);
    });

    it('takes a code, and not the password, from a person with a second factor (R253)', async () => {
      const person = await withApp();
      await verifiedAgo(person.email, 11);
      const { token, password } = person;
      expect(codesOf(await graphql(gateway, STEP_UP, { token, variables: { password } }))).toEqual([
        'BAD_USER_INPUT',
      ]);
      expect(codesOf(await graphql(gateway, FULL, { token }))).toEqual(['STEP_UP_REQUIRED']);
      const right = await graphql(gateway, STEP_UP, { token, variables: { code: codeOf(person.secret, 1) } });
      expect(right.body).toEqual({ data: { stepUp: true } });
      expect(codesOf(await graphql(gateway, FULL, { token }))).toEqual([]);
    });

    it('of a stolen session is stopped after ten guesses (R253)', async () => {
      account = await gateway.createAccount();
      const token = await signIn(gateway, account);
      await verifiedAgo(account.email, 11);
      for (let count = 0; count < 10; count += 1) {
        const headers = { 'X-Forwarded-For': `198.51.100.${count}` };
        await graphql(gateway, STEP_UP, { token, variables: { password: `guess number ${count}` }, headers });
      }
      const right = await graphql(gateway, STEP_UP, { token, variables: { password: account.password } });
      expect(codesOf(right)).toEqual(['RATE_LIMITED']);
    });
  });
});

describe('in production', () => {
  it('an operator needs a second factor; with ONE_TIME_PASSWORDS=change-only a one-time password permits nothing but to change it (R250, R252)', async () => {
    await using gateway = await startTestGateway({
      NODE_ENV: 'production',
      SMS_ROUTES: '*=simulator:',
      METRICS_TOKEN: 'metrics-token',
      ONE_TIME_PASSWORDS: 'change-only',
    });
    const { password } = await gateway.parts.operations.accounts.createOperator.run(
      { kind: 'system', name: 'test' },
      { email: 'operator@platform.example' },
    );
    const token = await signIn(gateway, { email: 'operator@platform.example', password });
    const accounts = () => graphql(gateway, '{ accounts { totalCount } }', { token });
    expect((await accounts()).body.errors[0].message).toMatch(/^You are using a temporary password\./);
    expect(
      (await graphql(gateway, '{ viewer { mustChangePassword } permissions }', { token })).body.data,
    ).toEqual({
      viewer: { mustChangePassword: true },
      permissions: ['member.changePassword', 'member.viewer', 'permission.list'],
    });
    await graphql(
      gateway,
      'mutation ($c: String!) { changePassword(current: $c, new: "a password of my own") }',
      {
        token,
        variables: { c: password },
      },
    );
    expect((await accounts()).body.errors[0].message).toMatch(/^A second factor is required here\./);
    const { secret } = (await graphql(gateway, START, { token })).body.data.startTotp;
    await graphql(gateway, CONFIRM, { token, variables: { code: codeOf(secret) } });
    expect((await accounts()).body.data.accounts.totalCount).toBe(0);
  });
});
