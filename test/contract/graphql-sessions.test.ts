import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { generateSync } from 'otplib';
import { withKnex } from '../support/database.ts';
import { startDatabaseProxy } from '../support/database-proxy.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { codesOf, graphql, inviteMember, signIn, signInOperator } from '../support/graphql.ts';
import {
  askSharedStream,
  eventCodes,
  openSharedStream,
  STREAM_TOKEN,
  type Subscription,
  subscribe,
} from '../support/live.ts';

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

const MESSAGES = 'subscription { messageUpdated { id } }';

/**
 * Every way of following an account (a stream of its own, an operation on a shared stream, requests), by a session and by
 * an access token, in both processes, against everything that ends a session, a person or a role.
 */
describe('streams and access tokens end with', () => {
  let gateway: TestGateway;
  let second: TestGateway;
  let operator: string;
  beforeAll(async () => {
    gateway = await startTestGateway();
    second = await startTestGateway({}, gateway.database);
    operator = await signInOperator(gateway);
  });
  afterAll(async () => {
    await second?.stop();
    await gateway?.stop();
  });

  type Person = Awaited<ReturnType<typeof person>>;
  /** Returns a member of a new account, who has a session and an access token. */
  async function person() {
    const owner = await signIn(gateway, await gateway.createAccount());
    const member = await inviteMember(gateway, owner, 'ADMIN');
    const session = await signIn(gateway, member);
    const create = `mutation ($at: String!) { createAccessToken(input: {
      name: "t", permissions: ["member.list", "message.watch"], expiresAt: $at }) { token accessToken { id } } }`;
    const variables = { at: new Date(Date.now() + 3_600_000).toISOString() };
    const made = (await graphql(gateway, create, { token: session, variables })).body.data.createAccessToken;
    return { ...member, owner, session, token: made.token as string, tokenId: made.accessToken.id as string };
  }
  const call = async (query: string, token: string, variables: object = {}) => {
    const answer = await graphql(gateway, query, { token, variables });
    expect(codesOf(answer)).toEqual([]);
    return answer.body.data;
  };
  /** Ends a session or an access token as time does, and makes the processes read it again. */
  const expire = (table: 'sessions' | 'access_tokens', where: object) =>
    withKnex(gateway.database.connection, async (knex) => {
      await knex(table)
        .where(where)
        .update({ expires_at: new Date(0) });
      await knex.raw(`SELECT pg_notify('gateway_changes', 'session *')`);
    });
  /** Opens a stream of its own and an operation on a shared stream. Returns how each has ended, if it has. */
  async function follow(at: TestGateway, as: string) {
    const own: Subscription = await subscribe(at, as, MESSAGES);
    const reserved = await (await askSharedStream(at, as, 'PUT')).text();
    const shared = await openSharedStream(at, as, reserved);
    const body = { query: MESSAGES, extensions: { operationId: 'a' } };
    const begun = await askSharedStream(at, as, 'POST', { headers: { [STREAM_TOKEN]: reserved }, body });
    expect(begun.status).toBe(202);
    return {
      ends: () => [
        own.end ? String(eventCodes(own.events.at(-1))) : 'open',
        shared.seen.hasEnded ? (/"code":"(\w+)"/.exec(shared.seen.text)?.[1] ?? 'ended') : 'open',
      ],
      stop() {
        own.stop();
        shared.stop();
      },
    };
  }
  const answerTo = async (at: TestGateway, as: string) =>
    codesOf(await graphql(at, MEMBERS, { token: as }))[0] ?? 'open';

  it('what is checked more than once a second (R208)', async () => {
    const stream = await subscribe(gateway, (await person()).session, MESSAGES);
    const checks: number[] = [];
    const { sessions } = gateway.parts.stores;
    const find = sessions.findMany.bind(sessions);
    const finding = jest.spyOn(sessions, 'findMany').mockImplementation((...args) => {
      checks.push(performance.now());
      return find(...args);
    });
    try {
      await eventually(() => checks.length >= 5);
      // The shortest pause counts, because a busy machine makes some pauses longer.
      const pauses = checks.slice(1).map((at, index) => at - (checks[index] ?? 0));
      expect(Math.min(...pauses)).toBeLessThan(1_000);
    } finally {
      finding.mockRestore();
      stream.stop();
    }
  });

  const OVER = 'UNAUTHENTICATED';
  it.each<
    [
      what: string,
      /** What the streams and the next requests of the session and of the access token answer. */
      ends: { session: [stream: string, request: string]; token: [stream: string, request: string] },
      change: (person: Person) => Promise<unknown>,
    ]
  >([
    [
      'a session that signs out; a token stays',
      { session: [OVER, OVER], token: ['open', 'open'] },
      ({ session }) => call('mutation { signOut }', session),
    ],
    [
      'a session that its person ends elsewhere; a token stays',
      { session: [OVER, OVER], token: ['open', 'open'] },
      async (member) => call('mutation { endOtherSessions }', await signIn(gateway, member)),
    ],
    [
      'a session whose time is over; a token stays',
      { session: [OVER, OVER], token: ['open', 'open'] },
      ({ id }) => expire('sessions', { user_id: id }),
    ],
    [
      'the sessions of before a changed password; a token stays',
      { session: [OVER, OVER], token: ['open', 'open'] },
      async (member) =>
        call(CHANGE, await signIn(gateway, member), { c: member.password, n: 'a new long password' }),
    ],
    [
      'a password that is reset',
      { session: [OVER, OVER], token: [OVER, OVER] },
      ({ email }) => call(RESET, operator, { e: email }),
    ],
    [
      'a second factor that is added elsewhere; a token stays',
      { session: [OVER, OVER], token: ['open', 'open'] },
      async (member) => {
        const other = await signIn(gateway, member);
        const { secret } = (await call('mutation { startTotp { secret } }', other)).startTotp;
        const confirm = 'mutation ($code: String!) { confirmTotp(code: $code) { recoveryCodes } }';
        return call(confirm, other, { code: generateSync({ secret }) });
      },
    ],
    [
      'second factors that an owner resets; a token stays',
      { session: [OVER, OVER], token: ['open', 'open'] },
      ({ id, owner }) => call('mutation ($id: ID!) { resetFactors(userId: $id) { id } }', owner, { id }),
    ],
    [
      'a person who is removed',
      { session: [OVER, OVER], token: [OVER, OVER] },
      ({ id, owner }) => call(REMOVE, owner, { id }),
    ],
    [
      'a role that changes; requests go on with the new role',
      { session: ['FORBIDDEN', 'open'], token: ['FORBIDDEN', 'open'] },
      ({ id, owner }) =>
        call('mutation ($id: ID!) { setMemberRole(userId: $id, role: VIEWER) { role } }', owner, { id }),
    ],
    [
      'a second factor that becomes required',
      { session: ['FORBIDDEN', 'FORBIDDEN'], token: ['FORBIDDEN', 'FORBIDDEN'] },
      ({ owner }) => call('mutation { setSecurityPolicy(requireSecondFactor: true) { id } }', owner),
    ],
    [
      'a token that is revoked; the session stays',
      { session: ['open', 'open'], token: [OVER, OVER] },
      ({ session, tokenId }) =>
        call('mutation ($id: ID!) { revokeAccessToken(id: $id) { id } }', session, { id: tokenId }),
    ],
    [
      'a token whose time is over; the session stays',
      { session: ['open', 'open'], token: [OVER, OVER] },
      ({ tokenId }) => expire('access_tokens', { id: tokenId }),
    ],
  ])('%s (R208, R249, R254)', async (_what, ends, change) => {
    const member = await person();
    const places = [gateway, second].flatMap((at) => [
      { at, as: member.session, expected: ends.session },
      { at, as: member.token, expected: ends.token },
    ]);
    for (const { at, as } of places) expect(await answerTo(at, as)).toBe('open');
    const followed = await Promise.all(places.map(({ at, as }) => follow(at, as)));
    try {
      expect(followed.map((each) => each.ends())).toEqual(places.map(() => ['open', 'open']));
      await change(member);
      const now = async () => ({
        streams: followed.map((each) => each.ends()),
        requests: await Promise.all(places.map(({ at, as }) => answerTo(at, as))),
      });
      const then = {
        streams: places.map(({ expected: [stream] }) => [stream, stream]),
        requests: places.map(({ expected: [, request] }) => request),
      };
      await eventually(async () => expect(await now()).toEqual(then) === undefined, HEARD_MS);
    } finally {
      for (const each of followed) each.stop();
    }
  });
});
