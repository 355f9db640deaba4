import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { startDatabaseProxy } from '../support/database-proxy.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { codesOf, graphql, inviteMember, signIn, signInOperator } from '../support/graphql.ts';

/** A query for which the gateway reads the session and not the person. */
const MEMBERS = '{ members { id } }';
const CHANGE = 'mutation ($c: String!, $n: String!) { changePassword(current: $c, new: $n) }';
const RESET = 'mutation ($e: String!) { resetUserPassword(email: $e) { password } }';
const SET_ROLE = 'mutation ($id: ID!) { setMemberRole(userId: $id, role: ADMIN) { role } }';
const REMOVE = 'mutation ($id: ID!) { removeMember(userId: $id) }';
const INVITE = 'mutation { inviteMember(email: "new@test.example", role: VIEWER) { password } }';
/**
 * Time limit in ms. It is shorter than the minute after which the cache reads a session again anyway. So only an
 * announcement can be in time.
 */
const HEARD_MS = 20_000;

describe('the session cache', () => {
  let gateway: TestGateway;
  let second: TestGateway;
  let owner: TestAccount;
  let ownerToken: string;
  let operator: string;
  beforeAll(async () => {
    gateway = await startTestGateway();
    second = await startTestGateway({}, gateway.database);
    owner = await gateway.createAccount();
    ownerToken = await signIn(gateway, owner);
    operator = await signInOperator(gateway);
  });
  afterAll(async () => {
    await second?.stop();
    await gateway?.stop();
  });

  const member = async () => {
    const person = await inviteMember(gateway, ownerToken, 'VIEWER');
    const token = await signIn(gateway, person);
    // These requests make both processes cache the session.
    for (const each of [gateway, second]) {
      expect(codesOf(await graphql(each, MEMBERS, { token }))).toEqual([]);
      expect(codesOf(await graphql(each, INVITE, { token }))).toEqual(['FORBIDDEN']);
    }
    return { ...person, token };
  };

  it('reads a session once for many requests', async () => {
    const { token } = await member();
    const finding = jest.spyOn(gateway.parts.stores.sessions, 'findMany');
    try {
      for (let count = 0; count < 5; count++) await graphql(gateway, MEMBERS, { token });
      expect(finding).not.toHaveBeenCalled();
      await graphql(gateway, MEMBERS, { token: 'unknown' });
      await graphql(gateway, MEMBERS, { token: 'unknown' });
      // Unknown tokens are not cached. Otherwise they could push known tokens out of the cache.
      expect(finding).toHaveBeenCalledTimes(2);
    } finally {
      finding.mockRestore();
    }
  });

  it.each<[string, (person: Awaited<ReturnType<typeof member>>) => ReturnType<typeof graphql>]>([
    ['signs out', ({ token }) => graphql(gateway, 'mutation { signOut }', { token })],
    [
      'has the password reset',
      ({ email }) => graphql(gateway, RESET, { token: operator, variables: { e: email } }),
    ],
    ['is removed', ({ id }) => graphql(gateway, REMOVE, { token: ownerToken, variables: { id } })],
    [
      'changes the password in another session',
      async ({ email, password }) => {
        const token = await signIn(gateway, { email, password });
        return graphql(gateway, CHANGE, { token, variables: { c: password, n: 'a new long password' } });
      },
    ],
  ])('drops a session in every process when the person %s', async (_what, end) => {
    const person = await member();
    expect(codesOf(await end(person))).toEqual([]);
    const { token } = person;
    expect(codesOf(await graphql(gateway, MEMBERS, { token }))).toEqual(['UNAUTHENTICATED']);
    await eventually(
      async () => codesOf(await graphql(second, MEMBERS, { token })).includes('UNAUTHENTICATED'),
      HEARD_MS,
    );
  });

  it("uses the person's current role in every process", async () => {
    const { id, token } = await member();
    await graphql(gateway, SET_ROLE, { token: ownerToken, variables: { id } });
    expect(codesOf(await graphql(gateway, INVITE, { token }))).toEqual([]);
    await eventually(
      // The email address was invited before, so this invitation is invalid. Without the role, the code would be
      // FORBIDDEN.
      async () => codesOf(await graphql(second, INVITE, { token })).includes('BAD_USER_INPUT'),
      HEARD_MS,
    );
  });

  it('reads sessions and keys again after the LISTEN connection was lost', async () => {
    const { token } = await member();
    const { key, keyId } = await gateway.createKey(owner.accountId, {});
    const proxy = await startDatabaseProxy(gateway.database.connection);
    const deaf = await startTestGateway({ DATABASE_URL: proxy.url }, gateway.database);
    try {
      expect(codesOf(await graphql(deaf, MEMBERS, { token }))).toEqual([]);
      expect((await deaf.call('GET', '/account', { key })).status).toBe(200);
      await proxy.cut();
      await graphql(gateway, 'mutation { signOut }', { token });
      await gateway.parts.operations.apiKeys.revoke.run({ kind: 'system', name: 'test' }, { keyId });
      await proxy.restore();
      await eventually(async () => (await deaf.call('GET', '/account', { key })).status === 401, HEARD_MS);
      await eventually(
        async () => codesOf(await graphql(deaf, MEMBERS, { token })).includes('UNAUTHENTICATED'),
        HEARD_MS,
      );
    } finally {
      await proxy.restore();
      await deaf.stop();
      await proxy.stop();
    }
  });
});
