import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { withKnex } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestAccount, type TestGateway, testPasswords } from '../support/gateway.ts';
import { codesOf, graphql, inviteMember, signIn, signInOperator } from '../support/graphql.ts';
import { subscribe } from '../support/live.ts';

const FIREFOX = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';
const SIGN_IN = 'mutation ($e: String!, $p: String!) { signIn(email: $e, password: $p) { token } }';
const SESSIONS = '{ sessions { id current device address createdAt lastSeenAt expiresAt } }';
const CREATE = `mutation ($input: CreateAccessTokenInput!) {
  createAccessToken(input: $input) { token accessToken { id name permissions expiresAt lastUsedAt revokedAt } }
}`;
const inDays = (days: number) => new Date(Date.now() + days * 24 * 3_600_000).toISOString();

let gateway: TestGateway;
let account: TestAccount;
beforeAll(async () => {
  gateway = await startTestGateway();
  account = await gateway.createAccount();
});
afterAll(() => gateway?.stop());
const database = <T>(work: Parameters<typeof withKnex<T>>[1]) => withKnex(gateway.database.connection, work);

async function signInWith(
  userAgent: string,
  { email, password }: Pick<TestAccount, 'email' | 'password'> = account,
) {
  const answer = await graphql(gateway, SIGN_IN, {
    variables: { e: email, p: password },
    headers: { 'User-Agent': userAgent },
  });
  return answer.body.data.signIn.token as string;
}

describe('sessions', () => {
  it('begin anew at each sign-in: one that was planted in the browser stays what it was (R249)', async () => {
    const [victim, attacker] = [await gateway.createAccount(), await gateway.createAccount()];
    const emailOf = async (token: string) =>
      (await graphql(gateway, '{ viewer { email } }', { token })).body.data?.viewer?.email;
    const made = 'A'.repeat(43);
    for (const planted of [await signIn(gateway, attacker), made]) {
      const before = await emailOf(planted);
      const answer = await graphql(gateway, SIGN_IN, {
        variables: { e: victim.email, p: victim.password },
        headers: { Cookie: `session=${planted}` },
      });
      const { token } = answer.body.data.signIn;
      expect(token).not.toBe(planted);
      const cookie = answer.headers.getSetCookie().find((line) => line.startsWith('session='));
      expect(cookie?.split(';')[0]).toBe(`session=${token}`);
      expect(await emailOf(token)).toBe(victim.email);
      expect(await emailOf(planted)).toBe(before);
    }
    expect(await emailOf(made)).toBeUndefined();
  });

  it('take as much work to refuse for an unknown email as for a wrong password (R206)', async () => {
    const known = await gateway.createAccount();
    const hash = jest.spyOn(testPasswords, 'hash');
    const hashesFor = async (email: string) => {
      hash.mockClear();
      const answer = await graphql(gateway, SIGN_IN, { variables: { e: email, p: 'a wrong password' } });
      expect(codesOf(answer)).toEqual(['UNAUTHENTICATED']);
      return hash.mock.calls.filter(([password]) => password === 'a wrong password').length;
    };
    try {
      expect(await hashesFor(known.email)).toBe(1);
      expect(await hashesFor(`nobody-${known.email}`)).toBe(1);
    } finally {
      hash.mockRestore();
    }
  });

  it('are listed for their person, with device, address and times (R249)', async () => {
    const person = await gateway.createAccount();
    await signInWith(FIREFOX, person);
    const token = await signInWith('curl/8.5.0', person);
    const { sessions } = (await graphql(gateway, SESSIONS, { token })).body.data;
    expect(sessions).toEqual([
      expect.objectContaining({ current: true, device: 'curl', address: '127.0.0.1' }),
      expect.objectContaining({ current: false, device: 'Firefox on Linux' }),
    ]);
    expect(JSON.stringify(sessions)).not.toContain(token);
  });

  it('end one by one, or all others, and never those of somebody else (R249)', async () => {
    const person = await gateway.createAccount();
    const [first, second, third] = [
      await signInWith(FIREFOX, person),
      await signInWith(FIREFOX, person),
      await signInWith(FIREFOX, person),
    ];
    const listed = async (token: string) => (await graphql(gateway, SESSIONS, { token })).body.data.sessions;
    const isOver = async (token: string) =>
      codesOf(await graphql(gateway, '{ viewer { id } }', { token }))[0] === 'UNAUTHENTICATED';
    const current = (await listed(second)).find((session: { current: boolean }) => session.current);
    const end = 'mutation ($id: ID!) { endSession(id: $id) }';
    const stranger = await signIn(gateway, account);
    const refused = await graphql(gateway, end, { token: stranger, variables: { id: current.id } });
    expect(codesOf(refused)).toEqual(['NOT_FOUND']);
    await graphql(gateway, end, { token: first, variables: { id: current.id } });
    expect(await isOver(second)).toBe(true);
    expect(await isOver(third)).toBe(false);
    await graphql(gateway, 'mutation { endOtherSessions }', { token: first });
    expect(await isOver(third)).toBe(true);
    expect(await isOver(first)).toBe(false);
    expect(await listed(first)).toHaveLength(1);
  });

  it('end 7 days after they began, however much they are used (R249)', async () => {
    const person = await gateway.createAccount();
    const token = await signIn(gateway, person);
    const [row] = await database((knex) =>
      knex('sessions').orderBy('created_at', 'desc').limit(1).select('created_at', 'ends_at'),
    );
    expect(row.ends_at - row.created_at).toBe(7 * 24 * 3_600_000);
    await database(async (knex) => {
      await knex('sessions').update({ ends_at: new Date(Date.now() + 3_600_000), last_seen_at: new Date(0) });
      await knex.raw(`SELECT pg_notify('gateway_changes', 'session *')`);
    });
    await graphql(gateway, '{ viewer { id } }', { token });
    const [used] = (await graphql(gateway, SESSIONS, { token })).body.data.sessions;
    expect(Date.parse(used.expiresAt) - Date.now()).toBeLessThanOrEqual(3_600_000);
    await database(async (knex) => {
      await knex('sessions').update({ ends_at: new Date() });
      await knex.raw(`SELECT pg_notify('gateway_changes', 'session *')`);
    });
    expect(codesOf(await graphql(gateway, '{ viewer { id } }', { token }))).toEqual(['UNAUTHENTICATED']);
  });
});

describe('access tokens', () => {
  const create = async (token: string, permissions: readonly string[], expiresAt = inDays(30)) =>
    graphql(gateway, CREATE, { token, variables: { input: { name: 'Dashboard', permissions, expiresAt } } });

  it('are shown once, stored as a hash, and do what they name and nothing else (R254)', async () => {
    const owner = await signIn(gateway, account);
    const made = (await create(owner, ['member.list'])).body.data.createAccessToken;
    expect(made.token).toMatch(/^gat_[\w-]{43}$/);
    expect(made.accessToken).toMatchObject({
      name: 'Dashboard',
      permissions: ['member.list'],
      revokedAt: null,
    });
    const rows = await database((knex) => knex('access_tokens').select());
    expect(JSON.stringify(rows)).not.toContain(made.token);
    const { token } = made;
    expect((await graphql(gateway, '{ members { email } }', { token })).body.data.members).toEqual([
      { email: account.email },
    ]);
    expect(codesOf(await graphql(gateway, '{ viewer { id } }', { token }))).toEqual(['FORBIDDEN']);
    const list = '{ accessTokens { id lastUsedAt } }';
    const [known] = (await graphql(gateway, list, { token: owner })).body.data.accessTokens;
    expect(known).toEqual({ id: made.accessToken.id, lastUsedAt: expect.any(String) });
    // REST does not accept session tokens, only API keys.
    expect((await gateway.call('GET', '/account', { key: token })).status).toBe(401);
  });

  it('name only what the person may do, and nothing that sessions are for; all faults are told at once (R254)', async () => {
    const owner = await signIn(gateway, account);
    const answer = await graphql(gateway, CREATE, {
      token: owner,
      variables: {
        input: {
          name: ' ',
          permissions: ['member.list', 'account.create', 'session.endOthers', 'account.setRetention'],
          expiresAt: inDays(366),
        },
      },
    });
    expect(answer.body.errors[0].extensions.details.fields.map(({ path }: { path: string }) => path)).toEqual(
      ['name', 'permissions.1', 'permissions.2', 'permissions.3', 'expiresAt'].map((path) => `input.${path}`),
    );
  });

  it('never go beyond the role of their person, and end with the person (R254)', async () => {
    const owner = await signIn(gateway, account);
    const member = await inviteMember(gateway, owner, 'ADMIN');
    const memberToken = await signIn(gateway, member);
    const { token } = (await create(memberToken, ['member.remove', 'member.list'])).body.data
      .createAccessToken;
    const other = await inviteMember(gateway, owner, 'VIEWER');
    const remove = (id: string) =>
      graphql(gateway, 'mutation ($id: ID!) { removeMember(userId: $id) }', { token, variables: { id } });
    expect(codesOf(await remove(other.id))).toEqual([]);
    await graphql(gateway, 'mutation ($id: ID!) { setMemberRole(userId: $id, role: VIEWER) { id } }', {
      token: owner,
      variables: { id: member.id },
    });
    expect(codesOf(await remove(other.id))).toEqual(['FORBIDDEN']);
    expect(codesOf(await graphql(gateway, '{ members { id } }', { token }))).toEqual([]);
    await graphql(gateway, 'mutation ($id: ID!) { removeMember(userId: $id) }', {
      token: owner,
      variables: { id: member.id },
    });
    expect(codesOf(await graphql(gateway, '{ members { id } }', { token }))).toEqual(['UNAUTHENTICATED']);
  });

  it('never invite: only a person who was verified may (R253, R254)', async () => {
    const owner = await signIn(gateway, account);
    const refused = await create(owner, ['member.invite']);
    expect(refused.body.errors[0].extensions.details.fields).toEqual([
      { path: 'input.permissions.0', message: 'is not a permission that you can give a token' },
    ]);
    await database(async (knex) => {
      await knex('sessions').update({ verified_at: new Date(0) });
      await knex.raw(`SELECT pg_notify('gateway_changes', 'session *')`);
    });
    const invite = 'mutation { inviteMember(email: "later@test.example", role: VIEWER) { password } }';
    expect(codesOf(await graphql(gateway, invite, { token: owner }))).toEqual(['STEP_UP_REQUIRED']);
  });

  it('end when the password of their person is reset, and stay when the person changes it (R254)', async () => {
    const person = await gateway.createAccount();
    const session = await signIn(gateway, person);
    const { token } = (await create(session, ['member.list'])).body.data.createAccessToken;
    const works = async () => codesOf(await graphql(gateway, '{ members { id } }', { token }));
    const change = 'mutation ($o: String!, $n: String!) { changePassword(current: $o, new: $n) }';
    const variables = { o: person.password, n: 'a long enough sentence' };
    expect(codesOf(await graphql(gateway, change, { token: session, variables }))).toEqual([]);
    expect(await works()).toEqual([]);
    await gateway.parts.operations.members.resetPassword.run(
      { kind: 'system', name: 'test' },
      { email: person.email },
    );
    expect(await works()).toEqual(['UNAUTHENTICATED']);
  });

  it('do nothing while their person must add a second factor (R250, R254)', async () => {
    const person = await gateway.createAccount();
    const session = await signIn(gateway, person);
    const { token } = (await create(session, ['member.list'])).body.data.createAccessToken;
    await database(async (knex) => {
      await knex('accounts').where({ id: person.accountId }).update({ require_second_factor: true });
      await knex.raw(`SELECT pg_notify('gateway_changes', 'session *')`);
    });
    await eventually(async () => codesOf(await graphql(gateway, '{ members { id } }', { token })).length > 0);
    const refused = await graphql(gateway, '{ members { id } }', { token });
    expect(refused.body.errors[0]).toMatchObject({
      message: expect.stringContaining('A second factor is required'),
      extensions: { code: 'FORBIDDEN' },
    });
  });

  it('end when they are revoked, at once, also for a stream that runs (R254)', async () => {
    const owner = await signIn(gateway, account);
    const made = (await create(owner, ['live.messages', 'member.list'])).body;
    // The list of permissions contains the operations of live updates.
    const permissions = (await graphql(gateway, '{ permissions }', { token: owner })).body.data
      .permissions as string[];
    const live = permissions.filter((name) => name.startsWith('live.'));
    const { token, accessToken } = (
      made.data?.createAccessToken ? made : (await create(owner, [...live, 'message.find'])).body
    ).data.createAccessToken;
    const stream = await subscribe(gateway, token, 'subscription { messageUpdated { id } }');
    expect(stream.end).toBeUndefined();
    await graphql(gateway, 'mutation ($id: ID!) { revokeAccessToken(id: $id) { id revokedAt } }', {
      token: owner,
      variables: { id: accessToken.id },
    });
    expect(codesOf(await graphql(gateway, '{ members { id } }', { token }))).toEqual(['UNAUTHENTICATED']);
    await eventually(() => stream.end !== undefined);
    stream.stop();
  });

  it('are not found by an id that no token can have (R254)', async () => {
    const owner = await signIn(gateway, account);
    const revoke = 'mutation ($id: ID!) { revokeAccessToken(id: $id) { id } }';
    for (const id of ['', '0', 'none', `${account.accountId}0`]) {
      expect(codesOf(await graphql(gateway, revoke, { token: owner, variables: { id } }))).toEqual([
        'NOT_FOUND',
      ]);
    }
  });

  it('cannot be made with an access token, nor step up (R253, R254)', async () => {
    const owner = await signIn(gateway, account);
    const { token } = (await create(owner, ['apiKey.create'])).body.data.createAccessToken;
    expect(codesOf(await create(token, ['apiKey.create']))).toEqual(['FORBIDDEN']);
    const full =
      'mutation { createApiKey(input: {name: "k", scopes: [FULL_ACCESS], environment: PRODUCTION}) { apiKey { keyId } } }';
    expect(codesOf(await graphql(gateway, full, { token }))).toEqual(['FORBIDDEN']);
    const stepUp = 'mutation ($p: String!) { stepUp(password: $p) }';
    const refused = await graphql(gateway, stepUp, { token, variables: { p: account.password } });
    expect(codesOf(refused)).toEqual(['FORBIDDEN']);
    const narrow =
      'mutation { createApiKey(input: {name: "k", scopes: [SEND_SMS], environment: PRODUCTION}) { apiKey { keyId } } }';
    expect(codesOf(await graphql(gateway, narrow, { token }))).toEqual([]);
  });

  it('of an operator read what operators read', async () => {
    const operator = await signInOperator(gateway);
    const { token } = (await create(operator, ['account.list'])).body.data.createAccessToken;
    expect(
      (await graphql(gateway, '{ accounts { totalCount } }', { token })).body.data.accounts.totalCount,
    ).toBeGreaterThan(0);
  });
});
