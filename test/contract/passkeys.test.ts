import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Authenticator, type Misbehaviour } from '../support/authenticator.ts';
import { withKnex } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/free-port.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { codesOf, graphql, inviteMember, signIn } from '../support/graphql.ts';
import { startMailServer, textOfMail } from '../support/mail-server.ts';

const START = 'mutation { startPasskey }';
const FINISH =
  'mutation ($passkey: JSONObject!) { finishPasskey(passkey: $passkey, name: "My key") { recoveryCodes } }';
const START_SIGN_IN = 'mutation { startPasskeySignIn }';
const SIGN_IN_ALONE =
  'mutation ($passkey: JSONObject!) { signInWithPasskey(passkey: $passkey) { token user { email } } }';
const SIGN_IN = 'mutation ($e: String!, $p: String!) { signIn(email: $e, password: $p) { token } }';
const ANSWER = `mutation ($challenge: String!, $passkey: JSONObject!) {
  answerChallenge(challenge: $challenge, passkey: $passkey) { token }
}`;
const STEP_UP = 'mutation ($passkey: JSONObject!) { stepUp(passkey: $passkey) }';
const ELSEWHERE = 'https://gateway.evil.example';

describe('passkeys', () => {
  let gateway: TestGateway;
  let origin: string;
  beforeAll(async () => {
    const port = await freePort();
    origin = `http://localhost:${port}`;
    gateway = await startTestGateway({ PORT: String(port), PUBLIC_URL: origin });
  });
  afterAll(() => gateway?.stop());

  const ask = (query: string, variables: object = {}, token?: string) =>
    graphql(gateway, query, { variables, ...(token === undefined ? {} : { token }) });
  async function add(token: string, how: Misbehaviour = {}) {
    const authenticator = new Authenticator(origin);
    const options = (await ask(START, {}, token)).body.data.startPasskey;
    const answer = await ask(FINISH, { passkey: authenticator.create(options, how) }, token);
    return { authenticator, options, answer };
  }
  /** Creates an account whose owner has a passkey. */
  async function withPasskey() {
    const account: TestAccount = await gateway.createAccount();
    const token = await signIn(gateway, account);
    const { authenticator, answer } = await add(token);
    expect(codesOf(answer)).toEqual([]);
    return { ...account, token, authenticator, codes: answer.body.data.finishPasskey.recoveryCodes };
  }
  const optionsForAnybody = async () => (await ask(START_SIGN_IN)).body.data.startPasskeySignIn;

  it('are added, and sign in alone (R304)', async () => {
    const { email, token, authenticator, codes } = await withPasskey();
    expect(codes).toHaveLength(10);
    const { factors } = (await ask('{ factors { kind name } }', {}, token)).body.data;
    expect(factors).toEqual([{ kind: 'passkey', name: 'My key' }]);
    const options = await optionsForAnybody();
    expect(options).toMatchObject({ rpId: 'localhost', userVerification: 'required' });
    const answer = await ask(SIGN_IN_ALONE, { passkey: authenticator.get(options) });
    expect(answer.body.data.signInWithPasskey.user.email).toBe(email);
    const own = answer.body.data.signInWithPasskey.token;
    expect(codesOf(await ask('{ viewer { id } }', {}, own))).toEqual([]);
    // A second passkey creates no new recovery codes.
    const second = await add(own);
    expect(second.answer.body.data.finishPasskey.recoveryCodes).toEqual([]);
  });

  it('answer the challenge that follows the password (R250, R304)', async () => {
    const { email: e, password: p, authenticator } = await withPasskey();
    const first = await ask(SIGN_IN, { e, p });
    expect(codesOf(first)).toEqual(['SECOND_FACTOR_REQUIRED']);
    const { challenge, kinds, passkey: options } = first.body.errors[0].extensions.details;
    expect(kinds).toEqual(['passkey', 'recovery_code']);
    expect(options.allowCredentials).toHaveLength(1);
    const passkey = authenticator.get(options);
    // The passkey signed another challenge. So it does not complete this sign-in, even with the right password.
    const other = (await ask(SIGN_IN, { e, p })).body.errors[0].extensions.details.challenge;
    expect(codesOf(await ask(ANSWER, { challenge: other, passkey }))).toEqual(['UNAUTHENTICATED']);
    // A thief of the challenge answers it with an own passkey.
    const thief = await withPasskey();
    const stolen = { challenge, passkey: thief.authenticator.get(options) };
    expect(codesOf(await ask(ANSWER, stolen))).toEqual(['UNAUTHENTICATED']);
    const answered = await ask(ANSWER, { challenge, passkey: authenticator.get(options) });
    expect(codesOf(answered)).toEqual([]);
    expect(codesOf(await ask(ANSWER, { challenge, passkey: authenticator.get(options) }))).toEqual([
      'UNAUTHENTICATED',
    ]);
  });

  it('confirm who the person is (R253, R304)', async () => {
    const { token, authenticator } = await withPasskey();
    const passkey = authenticator.get(await optionsForAnybody());
    expect((await ask(STEP_UP, { passkey }, token)).body).toEqual({ data: { stepUp: true } });
    const stranger = await withPasskey();
    const foreign = stranger.authenticator.get(await optionsForAnybody());
    expect(codesOf(await ask(STEP_UP, { passkey: foreign }, token))).toEqual(['BAD_USER_INPUT']);
  });

  it.each<[string, Misbehaviour]>([
    ['another origin', { origin: ELSEWHERE }],
    ['another site', { rpId: 'gateway.evil.example' }],
    ['an authenticator that has not verified the person', { isUnverified: true }],
    ['another challenge', { challenge: Buffer.alloc(32, 1).toString('base64url') }],
    ['another key', { isForged: true }],
    ['a copy, whose counter has not grown', { counter: 1 }],
  ])('are refused of %s (R304)', async (_, how) => {
    const { email: e, password: p, authenticator } = await withPasskey();
    const alone = authenticator.get(await optionsForAnybody(), how);
    expect(codesOf(await ask(SIGN_IN_ALONE, { passkey: alone }))).toEqual(['UNAUTHENTICATED']);
    const { challenge, passkey } = (await ask(SIGN_IN, { e, p })).body.errors[0].extensions.details;
    const second = { challenge, passkey: authenticator.get(passkey, how) };
    expect(codesOf(await ask(ANSWER, second))).toEqual(['UNAUTHENTICATED']);
  });

  it.each<[string, Misbehaviour]>([
    ['another origin', { origin: ELSEWHERE }],
    ['another site', { rpId: 'gateway.evil.example' }],
    ['an authenticator that has not verified the person', { isUnverified: true }],
    ['another challenge', { challenge: Buffer.alloc(32, 1).toString('base64url') }],
  ])('are not added of %s (R304)', async (_, how) => {
    const token = await signIn(gateway, await gateway.createAccount());
    expect(codesOf((await add(token, how)).answer)).toEqual(['BAD_USER_INPUT']);
    expect((await ask('{ factors { id } }', {}, token)).body.data.factors).toEqual([]);
  });

  it('are taken once: an answer that is sent again is refused, also at the same time (R304)', async () => {
    const { authenticator } = await withPasskey();
    // Like most authenticators, this one does not increase its counter.
    const passkey = authenticator.get(await optionsForAnybody(), { counter: 7 });
    const answers = await Promise.all([1, 2, 3].map(() => ask(SIGN_IN_ALONE, { passkey })));
    expect(answers.flatMap(codesOf)).toEqual(['UNAUTHENTICATED', 'UNAUTHENTICATED']);
    expect(codesOf(await ask(SIGN_IN_ALONE, { passkey }))).toEqual(['UNAUTHENTICATED']);
  });

  it('are added by the person who began, once (R304)', async () => {
    const [token, thief] = [
      await signIn(gateway, await gateway.createAccount()),
      await signIn(gateway, await gateway.createAccount()),
    ];
    const options = (await ask(START, {}, token)).body.data.startPasskey;
    const passkey = new Authenticator(origin).create(options);
    expect(codesOf(await ask(FINISH, { passkey }, thief))).toEqual(['BAD_USER_INPUT']);
    expect(codesOf(await ask(FINISH, { passkey }, token))).toEqual([]);
    expect(codesOf(await ask(FINISH, { passkey }, token))).toEqual(['BAD_USER_INPUT']);
  });

  it('of a removed person, and removed ones, sign nobody in (R304)', async () => {
    const owner = await gateway.createAccount();
    const ownerToken = await signIn(gateway, owner);
    const member = await inviteMember(gateway, ownerToken, 'VIEWER');
    const { authenticator } = await add(await signIn(gateway, member));
    await ask('mutation ($id: ID!) { removeMember(userId: $id) }', { id: member.id }, ownerToken);
    const passkey = authenticator.get(await optionsForAnybody());
    expect(codesOf(await ask(SIGN_IN_ALONE, { passkey }))).toEqual(['UNAUTHENTICATED']);

    const person = await withPasskey();
    const [{ id }] = (await ask('{ factors { id } }', {}, person.token)).body.data.factors;
    await ask('mutation ($id: ID!) { removeFactor(id: $id) }', { id }, person.token);
    const removed = person.authenticator.get(await optionsForAnybody());
    expect(codesOf(await ask(SIGN_IN_ALONE, { passkey: removed }))).toEqual(['UNAUTHENTICATED']);
  });

  it('that are no answers are refused in words (R304)', async () => {
    for (const passkey of [{}, { id: 'x', response: null }, { id: 1, response: { clientDataJSON: 'e30' } }])
      expect(codesOf(await ask(SIGN_IN_ALONE, { passkey }))).toEqual(['UNAUTHENTICATED']);
  });

  it('wait at most 5 minutes for their answer (R304)', async () => {
    const { authenticator } = await withPasskey();
    const passkey = authenticator.get(await optionsForAnybody());
    await withKnex(gateway.database.connection, (knex) =>
      knex.raw(`UPDATE passkey_challenges SET expires_at = expires_at - interval '5 minutes'`),
    );
    expect(codesOf(await ask(SIGN_IN_ALONE, { passkey }))).toEqual(['UNAUTHENTICATED']);
  });
});

it('passkeys need a host name (R304)', async () => {
  await using gateway = await startTestGateway();
  const token = await signIn(gateway, await gateway.createAccount());
  const { errors } = (await graphql(gateway, START, { token })).body;
  expect(errors[0].message).toContain('Browsers take passkeys of a host name only, such as localhost');
});

describe('invitations', () => {
  it('are accepted by a passkey, once, and the one-time password ends (R300, R304)', async () => {
    const mails = await startMailServer();
    await using _closed = { [Symbol.asyncDispose]: () => mails.stop() };
    const port = await freePort();
    const origin = `http://localhost:${port}`;
    await using gateway = await startTestGateway({
      PORT: String(port),
      PUBLIC_URL: origin,
      EMAIL_URL: mails.url,
    });
    const ask = (query: string, variables: object, token?: string) =>
      graphql(gateway, query, { variables, ...(token === undefined ? {} : { token }) });
    const owner = await signIn(gateway, await gateway.createAccount());
    const { email, password } = await inviteMember(gateway, owner, 'VIEWER');
    const mail = await eventually(() => mails.received.find(({ to }) => to.includes(email)));
    const token = /token=([\w-]+)/.exec(textOfMail(mail))?.[1] ?? '';
    const start = 'mutation ($token: String!) { startInvitationPasskey(token: $token) }';
    const accept = `mutation ($token: String!, $passkey: JSONObject!) {
      acceptInvitationWithPasskey(token: $token, passkey: $passkey) { recoveryCodes }
    }`;
    expect(codesOf(await ask(start, { token: 'not a token' }))).toEqual(['BAD_USER_INPUT']);
    const options = (await ask(start, { token })).body.data.startInvitationPasskey;
    const elsewhere = new Authenticator(ELSEWHERE).create(options);
    expect(codesOf(await ask(accept, { token, passkey: elsewhere }))).toEqual(['BAD_USER_INPUT']);
    const authenticator = new Authenticator(origin);
    const again = (await ask(start, { token })).body.data.startInvitationPasskey;
    const passkey = authenticator.create(again);
    const accepted = await ask(accept, { token, passkey });
    expect(accepted.body.data.acceptInvitationWithPasskey.recoveryCodes).toHaveLength(10);
    expect(codesOf(await ask(accept, { token, passkey }))).toEqual(['BAD_USER_INPUT']);
    await expect(signIn(gateway, { email, password })).rejects.toThrow('UNAUTHENTICATED');
    const forSignIn = (await ask(START_SIGN_IN, {})).body.data.startPasskeySignIn;
    const signedIn = await ask(SIGN_IN_ALONE, { passkey: authenticator.get(forSignIn) });
    expect(signedIn.body.data.signInWithPasskey.user.email).toBe(email);
  });
});
