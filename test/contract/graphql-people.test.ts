import { createHash } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { Knex } from 'knex';
import type { DomainError } from '../../src/domain/errors.ts';
import { withKnex } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/free-port.ts';
import { startTestGateway, type TestAccount, type TestGateway, testPasswords } from '../support/gateway.ts';
import { codesOf, graphql, inviteMember, signIn, signInOperator } from '../support/graphql.ts';

const VIEWER = '{ viewer { email mustChangePassword account { id balance currency } } }';
const SIGN_IN = `mutation ($e: String!, $p: String!) {
  signIn(email: $e, password: $p) { token expiresAt user { id email role account { id } } }
}`;
const CHANGE = 'mutation ($c: String!, $n: String!) { changePassword(current: $c, new: $n) }';

const SYSTEM = { kind: 'system', name: 'test' } as const;

describe('signing in (R233)', () => {
  let gateway: TestGateway;
  let account: TestAccount;
  beforeAll(async () => {
    gateway = await startTestGateway({ TRUST_PROXY: '127.0.0.0/8,::1/128' });
    account = await gateway.createAccount();
  });
  afterEach(() => void jest.restoreAllMocks());
  afterAll(() => gateway?.stop());

  const database = <T>(work: (knex: Knex) => Promise<T>) => withKnex(gateway.database.connection, work);
  const tryPassword = (e: string, p: string, address = '203.0.113.1') =>
    graphql(gateway, SIGN_IN, { variables: { e, p }, headers: { 'X-Forwarded-For': address } });

  const invite = (token: string, email: string, role = 'VIEWER') =>
    graphql(
      gateway,
      `mutation ($email: String!, $role: Role!) {
        inviteMember(email: $email, role: $role) { user { id email role mustChangePassword acceptedAt } password }
      }`,
      { token, variables: { email, role } },
    );
  const createWith = (email: string) =>
    gateway.parts.operations.accounts.create.run(SYSTEM, { email, currency: 'UGX' });

  it('returns a session token, also as an HttpOnly, SameSite=Strict cookie', async () => {
    const answer = await tryPassword(account.email, account.password);
    expect(answer.body).toMatchObject({
      data: { signIn: { user: { email: account.email, role: 'OWNER', account: { id: account.accountId } } } },
    });
    const { token, expiresAt } = answer.body.data.signIn;
    expect(Date.parse(expiresAt) - Date.now()).toBeGreaterThan(11.9 * 3_600_000);
    const cookie = answer.headers.get('set-cookie') ?? '';
    expect(cookie).toMatch(/^session=[\w-]{43}; Path=\/graphql; Max-Age=43200; HttpOnly; SameSite=Strict$/);

    const expected = {
      data: {
        viewer: {
          email: account.email,
          mustChangePassword: true,
          account: { id: account.accountId, balance: 100_000, currency: 'UGX' },
        },
      },
    };
    expect((await graphql(gateway, VIEWER, { token })).body).toEqual(expected);
    const headers = { cookie: `other=1; ${cookie.split(';')[0]}` };
    expect((await graphql(gateway, VIEWER, { headers })).body).toEqual(expected);
  });

  it('stores only the hash of a token', async () => {
    const token = await signIn(gateway, account);
    const rows = await database((knex) => knex('sessions').select('token_hash'));
    const hashes = rows.map((row) => row.token_hash.toString('hex'));
    expect(hashes).toContain(createHash('sha256').update(token).digest('hex'));
  });

  it('marks the cookie Secure when browsers use HTTPS', async () => {
    const port = await freePort();
    const environment = { PUBLIC_URL: 'https://gateway.example', PORT: String(port) };
    await using _secure = await startTestGateway(environment, gateway.database);
    const url = `http://127.0.0.1:${port}`;
    const answer = await graphql({ url }, SIGN_IN, { variables: { e: account.email, p: account.password } });
    expect(answer.headers.get('set-cookie')).toMatch(/^__Host-session=[\w-]{43}; Path=\/; Secure; /);
  });

  it('accepts no API key on GraphQL and no session on REST (R233)', async () => {
    const answer = await graphql(gateway, VIEWER, {
      token: account.key,
      headers: { 'X-Api-Key': account.key },
    });
    expect(codesOf(answer)).toEqual(['UNAUTHENTICATED']);
    const token = await signIn(gateway, account);
    const rest = await gateway.call('GET', '/account', { headers: { Authorization: `Bearer ${token}` } });
    expect(rest.status).toBe(401);
  });

  it('signOut ends the session and clears the cookie', async () => {
    const token = await signIn(gateway, account);
    const answer = await graphql(gateway, 'mutation { signOut }', { token });
    expect(answer.body).toEqual({ data: { signOut: true } });
    expect(answer.headers.get('set-cookie')).toMatch(/^session=; Path=\/graphql; Max-Age=0;/);
    expect(codesOf(await graphql(gateway, VIEWER, { token }))).toEqual(['UNAUTHENTICATED']);
  });

  it('a session ends 12 hours after its last use', async () => {
    const token = await signIn(gateway, account);
    const token_hash = createHash('sha256').update(token).digest();
    const inHours = (hours: number) => new Date(Date.now() + hours * 3_600_000);
    const expireAt = (expires_at: Date) =>
      database(async (knex) => {
        await knex('sessions').where({ token_hash }).update({ expires_at });
        // Make the gateway drop its cached sessions.
        await knex.raw(`SELECT pg_notify('gateway_changes', 'session *')`);
      });
    await expireAt(inHours(1));
    const used = await graphql(gateway, VIEWER, { headers: { cookie: `session=${token}` } });
    expect(codesOf(used)).toEqual([]);
    expect(used.headers.get('set-cookie')).toContain('Max-Age=43200');
    const [row] = await database((knex) => knex('sessions').where({ token_hash }).select('expires_at'));
    expect(row.expires_at.getTime()).toBeGreaterThan(inHours(11.9).getTime());
    await expireAt(inHours(-0.001));
    await eventually(async () =>
      codesOf(await graphql(gateway, VIEWER, { token })).includes('UNAUTHENTICATED'),
    );
  });

  it('a changed password needs the current one, and ends the other sessions', async () => {
    const person = await gateway.createAccount();
    const [own, other] = [await signIn(gateway, person), await signIn(gateway, person)];
    const change = (c: string, n: string) => graphql(gateway, CHANGE, { token: own, variables: { c, n } });
    expect((await change('wrong', 'a new long password')).body.errors[0].extensions).toMatchObject({
      code: 'BAD_USER_INPUT',
      details: { fields: [{ path: 'current', message: 'is not the current password' }] },
    });
    expect(codesOf(await change(person.password, 'too short'))).toEqual(['BAD_USER_INPUT']);
    const same = await change(person.password, person.password);
    expect(same.body.errors[0].extensions.details.fields).toEqual([
      { path: 'new', message: 'must differ from the current one' },
    ]);
    const unchanged = await graphql(gateway, VIEWER, { token: own });
    expect(unchanged.body.data.viewer.mustChangePassword).toBe(true);
    expect((await change(person.password, 'a new long password')).body).toEqual({
      data: { changePassword: true },
    });
    const viewer = await graphql(gateway, VIEWER, { token: own });
    expect(viewer.body.data.viewer.mustChangePassword).toBe(false);
    expect(codesOf(await graphql(gateway, VIEWER, { token: other }))).toEqual(['UNAUTHENTICATED']);
    expect(codesOf(await tryPassword(person.email, person.password))).toEqual(['UNAUTHENTICATED']);
    expect(codesOf(await tryPassword(person.email, 'a new long password'))).toEqual([]);
  });

  it('an operator resets a lost password, which ends all sessions', async () => {
    const person = await gateway.createAccount();
    const own = await signIn(gateway, person);
    const token = await signInOperator(gateway);
    const reset = (email: string) =>
      graphql(
        gateway,
        `mutation ($e: String!) {
          resetUserPassword(email: $e) { user { email role mustChangePassword account { id } } password }
        }`,
        { token, variables: { e: email } },
      );
    const { user, password } = (await reset(person.email)).body.data.resetUserPassword;
    expect(user).toEqual({
      email: person.email,
      role: 'OWNER',
      mustChangePassword: true,
      account: { id: person.accountId },
    });
    expect(codesOf(await graphql(gateway, VIEWER, { token: own }))).toEqual(['UNAUTHENTICATED']);
    expect(codesOf(await tryPassword(person.email, person.password))).toEqual(['UNAUTHENTICATED']);
    const again = await graphql(gateway, VIEWER, {
      token: await signIn(gateway, { email: person.email, password }),
    });
    expect(again.body.data.viewer.mustChangePassword).toBe(true);
    const [entry] = await database((knex) =>
      knex('audit_entries').where({ action: 'member.resetPassword', account_id: person.accountId }),
    );
    expect(entry).toMatchObject({ actor: expect.stringMatching(/^user:/), before: null, after: null });
    expect(codesOf(await reset('nobody@test.example'))).toEqual(['NOT_FOUND']);
  });

  it('a reset password works at once, however often the lost one was tried from there', async () => {
    const [person, other] = [await gateway.createAccount(), await gateway.createAccount()];
    const from = '198.51.100.60';
    for (let count = 0; count < 10; count += 1) {
      await tryPassword(count % 2 ? person.email : person.email.toUpperCase(), 'guess', from);
      await tryPassword(other.email, 'guess', '198.51.100.61');
    }
    expect(codesOf(await tryPassword(person.email, person.password, from))).toEqual(['RATE_LIMITED']);
    const { password } = await gateway.parts.operations.members.resetPassword.run(
      { kind: 'system', name: 'test' },
      { email: person.email },
    );
    expect(codesOf(await tryPassword(person.email, 'guess', from))).toEqual(['UNAUTHENTICATED']);
    expect(codesOf(await tryPassword(person.email, password, from))).toEqual([]);
    const others = await tryPassword(other.email, other.password, '198.51.100.62');
    expect(codesOf(others)).toEqual(['RATE_LIMITED']);
  });

  it('no session for a password that was replaced during its check', async () => {
    const person = await gateway.createAccount();
    const { stores, sessions, operations } = gateway.parts;
    // Pause the sign-in between the password check and the creation of the session. In production, a queue of password
    // checks can cause the same delay.
    const { promise: replaced, resolve: go } = Promise.withResolvers<void>();
    const list = stores.secondFactors.list.bind(stores.secondFactors);
    jest.spyOn(stores.secondFactors, 'list').mockImplementationOnce(async (...given) => {
      await replaced;
      return list(...given);
    });
    const signingIn = sessions.signIn(person.email, person.password, { address: 'here', userAgent: '' }).then(
      ({ token }) => token,
      (error: DomainError) => error.code,
    );
    await operations.members.resetPassword.run({ kind: 'system', name: 'test' }, { email: person.email });
    go();
    expect(await signingIn).toBe('unauthorized');
  });

  it('no change of a password that was replaced during the check of the current one', async () => {
    const person = await gateway.createAccount();
    const own = await signIn(gateway, person);
    const { sessions, operations } = gateway.parts;
    const { promise: checked, resolve: tell } = Promise.withResolvers<void>();
    const { promise: replaced, resolve: go } = Promise.withResolvers<void>();
    const check = sessions.checkPassword.bind(sessions);
    jest.spyOn(sessions, 'checkPassword').mockImplementationOnce(async (...given) => {
      const known = await check(...given);
      tell();
      await replaced;
      return known;
    });
    const variables = { c: person.password, n: 'what a stranger chose' };
    const changing = graphql(gateway, CHANGE, { token: own, variables });
    await checked;
    const { password } = await operations.members.resetPassword.run(
      { kind: 'system', name: 'test' },
      { email: person.email },
    );
    go();
    expect((await changing).body.errors[0].extensions.details.fields).toEqual([
      { path: 'current', message: 'is not the current password' },
    ]);
    expect(codesOf(await tryPassword(person.email, password))).toEqual([]);
  });

  it.each(['known', 'unknown'])('refuses an email after ten failures: %s (R234)', async (kind) => {
    const person = await gateway.createAccount();
    const email = kind === 'known' ? person.email : 'nobody@test.example';
    const answers = [];
    // Each attempt has another IP address. The email address is written in upper and lower case in turn.
    for (let count = 0; count < 10; count += 1) {
      answers.push(
        await tryPassword(count % 2 ? email.toUpperCase() : email, 'guess', `198.51.100.${count}`),
      );
    }
    expect(answers.map(codesOf)).toEqual(Array(10).fill(['UNAUTHENTICATED']));
    expect(new Set(answers.map((answer) => JSON.stringify(answer.body))).size).toBe(1);
    const refused = await tryPassword(email, person.password, '198.51.100.20');
    expect(refused.body.errors[0]).toMatchObject({
      message: 'Too many sign-ins failed. Try again in 15 minutes.',
      extensions: { code: 'RATE_LIMITED', retryAfter: expect.any(Number) },
    });
    // The limit also applies in another process on the same database.
    await using second = await startTestGateway({}, gateway.database);
    const elsewhere = await graphql(second, SIGN_IN, { variables: { e: email, p: person.password } });
    expect(codesOf(elsewhere)).toEqual(['RATE_LIMITED']);
    // After 15 minutes the right password is accepted.
    await database((knex) => knex('sign_in_failures').update({ at: knex.raw(`at - interval '15 minutes'`) }));
    expect(codesOf(await tryPassword(email, person.password))).toEqual(
      kind === 'known' ? [] : ['UNAUTHENTICATED'],
    );
  });

  it('counts the sign-ins of an invited person whose email others have (R234)', async () => {
    const victim = await gateway.createAccount();
    const stranger = await signIn(gateway, await gateway.createAccount());
    // The inviting account knows the invited person's password. So it could set that password to a guess before each
    // sign-in.
    const invite = 'mutation ($e: String!) { inviteMember(email: $e, role: VIEWER) { password } }';
    const invited = await graphql(gateway, invite, { token: stranger, variables: { e: victim.email } });
    const { password } = invited.body.data.inviteMember;
    const codes: string[][] = [];
    for (let count = 0; count < 11; count += 1)
      codes.push(codesOf(await tryPassword(victim.email, password, `198.51.100.${40 + count}`)));
    expect(codes).toEqual([...Array(10).fill([]), ['RATE_LIMITED']]);
    // The limit does not reveal whether there are others.
    const alone = 'alone@test.example';
    const other = await graphql(gateway, invite, { token: stranger, variables: { e: alone } });
    const { password: right } = other.body.data.inviteMember;
    const own: string[][] = [];
    for (let count = 0; count < 11; count += 1)
      own.push(codesOf(await tryPassword(alone, right, `198.51.100.${60 + count}`)));
    expect(own).toEqual(codes);
  });

  it('does not count right passwords of invited people for their address (R234)', async () => {
    const owner = await signIn(gateway, await gateway.createAccount());
    const invite = 'mutation ($e: String!) { inviteMember(email: $e, role: VIEWER) { password } }';
    for (let count = 0; count < 12; count += 1) {
      const email = `office${count}@test.example`;
      const invited = await graphql(gateway, invite, { token: owner, variables: { e: email } });
      const { password } = invited.body.data.inviteMember;
      expect(codesOf(await tryPassword(email, password, '198.51.100.90'))).toEqual([]);
    }
  });

  it('refuses an address after ten failures, also concurrent ones (R234)', async () => {
    const address = '192.0.2.77';
    const guesses = Array.from({ length: 25 }, (_, index) =>
      tryPassword(`who${index}@test.example`, 'x', address),
    );
    const codes = (await Promise.all(guesses)).flatMap(codesOf);
    expect(codes.filter((code) => code === 'UNAUTHENTICATED')).toHaveLength(10);
    expect(codes.filter((code) => code === 'RATE_LIMITED')).toHaveLength(15);
    expect(codesOf(await tryPassword(account.email, account.password, address))).toEqual(['RATE_LIMITED']);
    expect(codesOf(await tryPassword(account.email, account.password, '192.0.2.78'))).toEqual([]);
  });

  it.each([
    ['a client whose proxy adds a port', (count: number) => `192.0.2.95:${4_000 + count}`],
    ['a network of IPv6, whose client picks its addresses', (count: number) => `2001:db8:90::${count + 1}`],
  ])('counts as one address: %s', async (_, addressOf) => {
    const codes: string[] = [];
    for (let count = 0; count < 10; count += 1) {
      codes.push(...codesOf(await tryPassword(`guess${count}@test.example`, 'x', addressOf(count))));
    }
    expect(codes).toEqual(Array(10).fill('UNAUTHENTICATED'));
    expect(codesOf(await tryPassword(account.email, account.password, addressOf(10)))).toEqual([
      'RATE_LIMITED',
    ]);
  });

  it('accepts all concurrent sign-ins from one address with the right password', async () => {
    const people = await Promise.all(Array.from({ length: 5 }, () => gateway.createAccount()));
    const attempts = Array.from({ length: 30 }, (_, index) => {
      const person = people[index % people.length] as TestAccount;
      return tryPassword(person.email, person.password, '192.0.2.79');
    });
    expect((await Promise.all(attempts)).flatMap(codesOf)).toEqual([]);
    // All attempts are for one person. Each comes from a different IP address.
    const [person] = people as [TestAccount];
    const alike = Array.from({ length: 30 }, (_, index) =>
      tryPassword(person.email, person.password, `198.51.100.${100 + index}`),
    );
    expect((await Promise.all(alike)).flatMap(codesOf)).toEqual([]);
  });

  it('answers "come again in a second" while too many sign-ins wait for their check', async () => {
    const { promise: judging, resolve: judge } = Promise.withResolvers<undefined>();
    jest.spyOn(gateway.parts.stores.users, 'findByPassword').mockReturnValue(judging);
    const outcomes: unknown[] = [];
    const attempts = Array.from({ length: 215 }, async (_, index) => {
      try {
        await gateway.parts.sessions.checkPassword(`who${index}@test.example`, 'x', {
          address: '192.0.2.81',
          userAgent: '',
        });
        outcomes.push('judged');
      } catch (error) {
        const { code, message, retryAfterSeconds } = error as DomainError;
        outcomes.push(`${code} ${message} ${retryAfterSeconds === 1}`);
      }
    });
    await eventually(() => outcomes.length === 5);
    const tooMany = 'Too many sign-ins of this email or from this address at once. Try again in a moment.';
    expect(outcomes).toEqual(Array(5).fill(`rate_limit_exceeded ${tooMany} true`));
    judge(undefined);
    await Promise.all(attempts);
    const failed = 'Too many sign-ins failed. Try again in 15 minutes.';
    expect(outcomes.slice(5).sort()).toEqual([
      ...Array(10).fill('judged'),
      ...Array(200).fill(`rate_limit_exceeded ${failed} false`),
    ]);
  });

  it('an email with İ does not sign in as the one with i', async () => {
    const { owner } = await gateway.parts.operations.accounts.create.run(
      { kind: 'system', name: 'test' },
      { email: 'minister@test.example', currency: 'UGX' },
    );
    // In lower case, PostgreSQL writes this letter as i, and JavaScript as i with a combining dot.
    expect(codesOf(await tryPassword('mİnister@test.example', owner.password))).toEqual(['UNAUTHENTICATED']);
    expect(codesOf(await tryPassword('Minister@Test.example', owner.password))).toEqual([]);
  });

  it('does not count attempts that could not be checked as failures', async () => {
    const person = await gateway.createAccount();
    const fault = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
    const users = jest.spyOn(gateway.parts.stores.users, 'findByPassword');
    for (let count = 0; count < 10; count += 1) users.mockRejectedValueOnce(fault);
    const answers = [];
    for (let count = 0; count < 10; count += 1) {
      answers.push(await tryPassword(person.email, person.password, '192.0.2.80'));
    }
    users.mockRestore();
    expect(answers.flatMap(codesOf)).toEqual(Array(10).fill('SERVICE_UNAVAILABLE'));
    expect(codesOf(await tryPassword(person.email, person.password, '192.0.2.80'))).toEqual([]);
  });

  it('does not count successful attempts', async () => {
    const person = await gateway.createAccount();
    for (let count = 0; count < 12; count += 1) {
      expect(codesOf(await tryPassword(person.email, person.password, '192.0.2.90'))).toEqual([]);
    }
  });

  it('members sign in with a one-time password; a changed role applies at once and ends their sessions (R238)', async () => {
    const owner = await signIn(gateway, account);
    const member = await inviteMember(gateway, owner, 'VIEWER');
    const token = await signIn(gateway, member);
    const invite = 'mutation { inviteMember(email: "x@test.example", role: VIEWER) { password } }';
    expect(codesOf(await graphql(gateway, invite, { token }))).toEqual(['FORBIDDEN']);

    const setRole = 'mutation ($id: ID!, $role: Role!) { setMemberRole(userId: $id, role: $role) { role } }';
    const raised = await graphql(gateway, setRole, {
      token: owner,
      variables: { id: member.id, role: 'ADMIN' },
    });
    expect(raised.body).toEqual({ data: { setMemberRole: { role: 'ADMIN' } } });
    expect(codesOf(await graphql(gateway, invite, { token }))).toEqual([]);
    // An ADMIN cannot make an OWNER, and no member can become an OPERATOR.
    const grab = await graphql(gateway, setRole, { token, variables: { id: member.id, role: 'OWNER' } });
    expect(codesOf(grab)).toEqual(['FORBIDDEN']);
    const rise = await graphql(gateway, setRole, {
      token: owner,
      variables: { id: member.id, role: 'OPERATOR' },
    });
    expect(codesOf(rise)).toEqual(['BAD_USER_INPUT']);

    const emails = async () =>
      (await graphql(gateway, '{ members { email } }', { token: owner })).body.data.members.map(
        (found: { email: string }) => found.email,
      );
    expect(await emails()).toContain(member.email);
    const remove = 'mutation ($id: ID!) { removeMember(userId: $id) }';
    const removed = await graphql(gateway, remove, { token: owner, variables: { id: member.id } });
    expect(removed.body).toEqual({ data: { removeMember: true } });
    expect(codesOf(await graphql(gateway, VIEWER, { token }))).toEqual(['UNAUTHENTICATED']);
    expect(codesOf(await tryPassword(member.email, member.password))).toEqual(['UNAUTHENTICATED']);
    expect(await emails()).not.toContain(member.email);
  });

  it('an account always keeps an OWNER', async () => {
    const owner = await gateway.createAccount();
    const token = await signIn(gateway, owner);
    const { id } = (await graphql(gateway, '{ viewer { id } }', { token })).body.data.viewer;
    const remove = await graphql(gateway, 'mutation ($id: ID!) { removeMember(userId: $id) }', {
      token,
      variables: { id },
    });
    expect(codesOf(remove)).toEqual(['BAD_USER_INPUT']);
  });

  it.each([
    ['a control character', '\u0001@x.example'],
    ['two addresses', 'a,b@x.example'],
    ['a space that nobody sees', 'a@x.example\u200b'],
    ['a name', 'A <a@x.example>'],
    ['no domain', 'a@b'],
    ['a domain that would be written otherwise', 'a@b\u00fccher.example'],
  ])('refuses an email with %s', async (_, email) => {
    const token = await signIn(gateway, account);
    const invite = 'mutation ($e: String!) { inviteMember(email: $e, role: VIEWER) { user { id } } }';
    const answer = await graphql(gateway, invite, { token, variables: { e: email } });
    expect(answer.body.errors[0].extensions).toMatchObject({
      code: 'BAD_USER_INPUT',
      details: { fields: [{ path: 'email', message: expect.stringContaining('its domain has a dot') }] },
    });
    const system = { kind: 'system', name: 'test' } as const;
    const { accounts } = gateway.parts.operations;
    await expect(accounts.create.run(system, { email, currency: 'UGX' })).rejects.toThrow('email');
    await expect(accounts.createOperator.run(system, { email })).rejects.toThrow('email');
  });

  it('adds an email once to an account, and once by an operator, also concurrently', async () => {
    const token = await signIn(gateway, account);
    const spellings = ['twin@test.example', 'Twin@test.example', 'TWIN@test.example'];
    const invited = await Promise.all(spellings.map((email) => invite(token, email)));
    expect(invited.flatMap(codesOf)).toEqual(['BAD_USER_INPUT', 'BAD_USER_INPUT']);
    const refused = invited.find((answer) => codesOf(answer).length > 0);
    expect(refused?.body.errors[0].message).toContain('member of this account, or by a person invited to it');
    const created = await Promise.allSettled(spellings.map(createWith));
    expect(created.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected', 'rejected']);
    const why = created.flatMap((each) => (each.status === 'rejected' ? [each.reason.code] : []));
    expect(why).toEqual(['validation_error', 'validation_error']);
    const accounts = await database((knex) =>
      knex('accounts').whereRaw(`lower(email) = 'twin@test.example'`),
    );
    expect(accounts).toHaveLength(1);
  });

  describe('an invitation (R206)', () => {
    const MEMBERS = '{ members { id email role invitedAt acceptedAt invitationExpiresAt } }';
    const memberOf = async (token: string, email: string) =>
      (await graphql(gateway, MEMBERS, { token })).body.data.members.find(
        (found: { email: string }) => found.email === email,
      );
    const remove = (token: string, id: string) =>
      graphql(gateway, 'mutation ($id: ID!) { removeMember(userId: $id) }', { token, variables: { id } });
    const change = (token: string, c: string, n: string) =>
      graphql(gateway, CHANGE, { token, variables: { c, n } });
    /** Sign-ins are left out, because their audit entries are written a moment later. */
    const actionsOf = (target: string) =>
      database((knex) =>
        knex('audit_entries')
          .where({ target })
          .whereNot('action', 'like', 'member.signIn%')
          .orderBy('id')
          .pluck('action'),
      );
    const age = (id: string, days: number) =>
      database((knex) =>
        knex('users')
          .where({ id })
          .update({ invited_at: knex.raw(`now() - interval '${days} days'`) }),
      );
    /** Creates an account that invites a person. Other people may have the same email address. */
    const invitedBy = async (email: string, role = 'VIEWER') => {
      const inviter = await gateway.createAccount();
      const token = await signIn(gateway, inviter);
      const { user, password } = (await invite(token, email, role)).body.data.inviteMember;
      return { inviter, token, id: user.id as string, email, password: password as string };
    };

    it('is pending until the one-time password is changed, and is shown as pending', async () => {
      const { token, id, email, password } = await invitedBy('pending@test.example');
      const invited = await memberOf(token, email);
      expect(invited).toMatchObject({ invitedAt: expect.any(String), acceptedAt: null });
      const days = (Date.parse(invited.invitationExpiresAt) - Date.parse(invited.invitedAt)) / 86_400_000;
      expect(days).toBe(3);
      const own = await signIn(gateway, { email, password });
      expect((await memberOf(token, email)).acceptedAt).toBeNull();
      expect(codesOf(await change(own, password, 'a password of their own'))).toEqual([]);
      expect(await memberOf(token, email)).toMatchObject({
        acceptedAt: expect.any(String),
        invitationExpiresAt: null,
      });
      expect(await actionsOf(id)).toEqual(['member.invite', 'member.changePassword', 'member.accept']);
      expect(codesOf(await change(own, 'a password of their own', 'and yet another one'))).toEqual([]);
      expect((await actionsOf(id)).slice(3)).toEqual(['member.changePassword']);
      await age(id, 8);
      expect(codesOf(await tryPassword(email, 'and yet another one'))).toEqual([]);
    });

    it.each([
      ['the owner of another account', async (email: string) => void (await createWith(email))],
      [
        'an operator',
        async (email: string) =>
          void (await gateway.parts.operations.accounts.createOperator.run(SYSTEM, { email })),
      ],
      ['invited elsewhere', async (email: string) => void (await invitedBy(email))],
      [
        'a member elsewhere',
        async (email: string) => {
          const { password } = await invitedBy(email);
          const own = await signIn(gateway, { email, password });
          expect(codesOf(await change(own, password, 'what they chose there'))).toEqual([]);
        },
      ],
    ])('of %s gets the same answer as any other, and costs as many hashes', async (what, make) => {
      const email = `${what.replaceAll(' ', '-')}@known.example`;
      await make(email);
      const token = await signIn(gateway, await gateway.createAccount());
      const hashing = jest.spyOn(testPasswords, 'hash');
      const answers = [
        await invite(token, email),
        await invite(token, `${'x'.repeat(email.length - 8)}@x.exam`),
      ];
      expect(hashing).toHaveBeenCalledTimes(2);
      const [known, unknown] = answers.map(({ status, body }) => {
        const { user, password } = body.data.inviteMember;
        return {
          status,
          keys: Object.keys(body),
          user: { ...user, id: 0, email: '' },
          length: password.length,
        };
      });
      expect(known).toEqual(unknown);
      const [{ password }] = answers.map(({ body }) => body.data.inviteMember) as [{ password: string }];
      hashing.mockClear();
      await database((knex) => knex('sign_in_failures').delete());
      expect(codesOf(await tryPassword(email, password, '192.0.2.101'))).toEqual([]);
      expect(codesOf(await tryPassword(email, 'wrong', '192.0.2.101'))).toEqual(['UNAUTHENTICATED']);
      expect(codesOf(await tryPassword(`no-${email}`, 'wrong', '192.0.2.101'))).toEqual(['UNAUTHENTICATED']);
      // One password check for each sign-in, however many people have the email address.
      expect(hashing).toHaveBeenCalledTimes(3);
    });

    it('does not block the email: each person has a password of their own, which decides who signs in (R206)', async () => {
      const email = 'wanted@test.example';
      const first = await invitedBy(email, 'ADMIN');
      const second = await invitedBy(email);
      const own = await signIn(gateway, first);
      expect(codesOf(await change(own, first.password, 'the password of the first'))).toEqual([]);
      const { account: created, owner } = await createWith(email);
      const accountOf = async (password: string) =>
        (await tryPassword(email, password)).body.data?.signIn.user.account.id;
      expect(await accountOf('the password of the first')).toBe(first.inviter.accountId);
      expect(await accountOf(second.password)).toBe(second.inviter.accountId);
      expect(await accountOf(owner.password)).toBe(created.id);
      await expect(createWith(email)).rejects.toMatchObject({ code: 'validation_error' });
    });

    it('does not change the password of another person with the email', async () => {
      const victim = await gateway.createAccount();
      const { password } = await invitedBy(victim.email);
      const own = await signIn(gateway, { email: victim.email, password });
      // Another person has this password and the same email address. It does not work for the caller. Choosing it must
      // succeed, because a refusal would reveal that it is somebody's password.
      expect(codesOf(await change(own, victim.password, 'some other password'))).toEqual(['BAD_USER_INPUT']);
      expect(codesOf(await change(own, password, victim.password))).toEqual([]);
      expect(codesOf(await change(own, victim.password, 'mine again, not theirs'))).toEqual([]);
      expect(codesOf(await change(own, 'mine again, not theirs', victim.password))).toEqual([]);
      const signedIn = await tryPassword(victim.email, victim.password);
      expect(signedIn.body.data.signIn.user.account.id).toBe(victim.accountId);
      const theirs = signedIn.body.data.signIn.token;
      expect(codesOf(await change(theirs, victim.password, 'the password of the owner'))).toEqual([]);
      expect(codesOf(await tryPassword(victim.email, 'the password of the owner'))).toEqual([]);
    });

    it("counts another person's password as a wrong one", async () => {
      const victim = await gateway.createAccount();
      const { password } = await invitedBy(victim.email);
      const own = await signIn(gateway, { email: victim.email, password });
      const codes: string[] = [];
      // The sign-in above counts as an attempt too, because other people have the email address.
      for (let count = 0; count < 10; count += 1) {
        // Each attempt comes from a different IP address.
        const headers = { 'X-Forwarded-For': `192.0.2.${130 + count}` };
        const variables = { c: victim.password, n: 'some other password' };
        codes.push(...codesOf(await graphql(gateway, CHANGE, { token: own, variables, headers })));
      }
      expect(codes).toEqual([...Array(9).fill('BAD_USER_INPUT'), 'RATE_LIMITED']);
    });

    it("gives no more guesses at another person's password than the ten of a stranger", async () => {
      const victim = await gateway.createAccount();
      const { password } = await invitedBy(victim.email);
      for (let count = 0; count < 9; count += 1)
        await tryPassword(victim.email, 'guess', `192.0.2.${110 + count}`);
      expect(codesOf(await tryPassword(victim.email, password, '192.0.2.120'))).toEqual([]);
      // The sign-in with the right password of the other person counts as the tenth attempt.
      expect(codesOf(await tryPassword(victim.email, 'guess', '192.0.2.122'))).toEqual(['RATE_LIMITED']);
    });

    it('can be withdrawn, and made again', async () => {
      const { token, id, email, password } = await invitedBy('withdrawn@test.example');
      const own = await signIn(gateway, { email, password });
      expect((await remove(token, id)).body).toEqual({ data: { removeMember: true } });
      expect(codesOf(await graphql(gateway, VIEWER, { token: own }))).toEqual(['UNAUTHENTICATED']);
      expect(codesOf(await tryPassword(email, password))).toEqual(['UNAUTHENTICATED']);
      expect(await actionsOf(id)).toEqual(['member.invite', 'member.remove']);
      expect(codesOf(await invite(token, email))).toEqual([]);
    });

    it("ends after 72 hours, with the invited person's sessions, and can be made again", async () => {
      const { token, id, email, password } = await invitedBy('late@test.example');
      const own = await signIn(gateway, { email, password });
      await age(id, 2.9);
      expect(codesOf(await tryPassword(email, password))).toEqual([]);
      await age(id, 3);
      expect(codesOf(await tryPassword(email, password))).toEqual(['UNAUTHENTICATED']);
      expect(await memberOf(token, email)).toBeUndefined();
      await database((knex) => knex.raw(`SELECT pg_notify('gateway_changes', 'session *')`));
      await eventually(async () =>
        codesOf(await graphql(gateway, VIEWER, { token: own })).includes('UNAUTHENTICATED'),
      );
      expect(codesOf(await remove(token, id))).toEqual(['NOT_FOUND']);
      expect(codesOf(await invite(token, email))).toEqual([]);
    });

    it('is one of at most 100 pending ones of an account', async () => {
      const { token, inviter } = await invitedBy('first-of-many@test.example');
      await database((knex) =>
        knex.raw(
          `INSERT INTO users (id, account_id, email, password_hash, role, must_change_password, created_at, invited_at,
             accepted_at)
           SELECT gen_random_uuid(), ?, 'many' || n || '@test.example', 'x', 'VIEWER', true, now(), now(), NULL
           FROM generate_series(1, 98) AS n`,
          [inviter.accountId],
        ),
      );
      expect(codesOf(await invite(token, 'hundredth@test.example'))).toEqual([]);
      const refused = await invite(token, 'one-more@test.example');
      expect(refused.body.errors[0].message).toContain('100 invitations are pending already');
    });

    it('of an OWNER leaves the account its present OWNER until it is accepted', async () => {
      const { token, inviter, email, password } = await invitedBy('second-owner@test.example', 'OWNER');
      const { id } = await memberOf(token, inviter.email);
      expect(codesOf(await remove(token, id))).toEqual(['BAD_USER_INPUT']);
      const own = await signIn(gateway, { email, password });
      expect(codesOf(await change(own, password, 'the second owner'))).toEqual([]);
      expect(codesOf(await remove(own, id))).toEqual([]);
    });

    it('an operator must name whose password to reset when several people have the email', async () => {
      const { owner, account: created } = await createWith('several@test.example');
      const reset = (input: { email: string; accountId?: string }) =>
        gateway.parts.operations.members.resetPassword.run(SYSTEM, input);
      const { inviter, email, password } = await invitedBy(owner.user.email);
      // An invitation that was not accepted yet does not reserve the email address.
      expect((await reset({ email })).user.accountId).toBe(created.id);
      const own = await signIn(gateway, { email, password });
      expect(codesOf(await change(own, password, 'the invited one'))).toEqual([]);
      await expect(reset({ email })).rejects.toMatchObject({
        code: 'validation_error',
        message: expect.stringMatching(new RegExp(`(${created.id}|${inviter.accountId})`)),
      });
      const again = await reset({ email, accountId: inviter.accountId });
      const signedIn = await tryPassword(email, again.password);
      expect(signedIn.body.data.signIn.user.account.id).toBe(inviter.accountId);
    });
  });
});
