import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { generateSync } from 'otplib';
import { withKnex } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { codesOf, graphql, signIn } from '../support/graphql.ts';
import { type MailServer, startMailServer, textOfMail } from '../support/mail-server.ts';

const RESETS = '{ operatorResets { id kind user { id email } requester { id } requestedAt expiresAt } }';
const REQUEST = `mutation ($user: ID!, $kind: OperatorResetKind!) {
  requestOperatorReset(userId: $user, kind: $kind) { passwordPart reset { id kind user { id } requester { id } } }
}`;
const CONFIRM =
  'mutation ($id: ID!) { confirmOperatorReset(id: $id) { passwordPart user { id mustChangePassword } } }';
const REFUSE = 'mutation ($id: ID!) { refuseOperatorReset(id: $id) }';
const VIEWER = '{ viewer { id } }';
const SYSTEM = { kind: 'system', name: 'test' } as const;

interface Operator {
  readonly id: string;
  readonly email: string;
  readonly password: string;
  readonly token: string;
}

describe('the sign-in of an operator', () => {
  let gateway: TestGateway;
  let mails: MailServer;
  let count = 0;
  beforeAll(async () => {
    mails = await startMailServer();
    gateway = await startTestGateway({ EMAIL_URL: mails.url, EMAIL_FROM: 'gateway@platform.example' });
  });
  afterAll(async () => {
    await gateway?.stop();
    await mails?.stop();
  });

  const database = <T>(work: Parameters<typeof withKnex<T>>[1]) =>
    withKnex(gateway.database.connection, work);
  async function newOperator(isReadOnly = false): Promise<Operator> {
    count += 1;
    const email = `operator-${count}@platform.example`;
    const { user, password } = await gateway.parts.operations.accounts.createOperator.run(SYSTEM, {
      email,
      isReadOnly,
    });
    return { id: user.id, email, password, token: await signIn(gateway, { email, password }) };
  }
  /** Adds an authenticator app to the operator. */
  async function addApp({ token }: Operator): Promise<void> {
    const { secret } = (await graphql(gateway, 'mutation { startTotp { secret } }', { token })).body.data
      .startTotp;
    const code = generateSync({ secret, epoch: Math.floor(Date.now() / 1000) });
    const confirm = 'mutation ($code: String!) { confirmTotp(code: $code) { recoveryCodes } }';
    expect(codesOf(await graphql(gateway, confirm, { token, variables: { code } }))).toEqual([]);
  }
  const request = ({ token }: Operator, { id: user }: Operator, kind = 'FACTORS') =>
    graphql(gateway, REQUEST, { token, variables: { user, kind } });
  const requested = async (by: Operator, of: Operator, kind = 'FACTORS') =>
    (await request(by, of, kind)).body.data.requestOperatorReset;
  const confirm = ({ token }: Operator, id: string) =>
    graphql(gateway, CONFIRM, { token, variables: { id } });
  const refuse = ({ token }: Operator, id: string) => graphql(gateway, REFUSE, { token, variables: { id } });
  const pendingOf = async ({ token }: Operator, { id }: Operator) =>
    (await graphql(gateway, RESETS, { token })).body.data.operatorResets.filter(
      ({ user }: { user: { id: string } }) => user.id === id,
    );
  const messageOf = (answer: { body: { errors?: { message: string }[] } }) =>
    answer.body.errors?.[0]?.message;
  const mailTo = (email: string, subject: string) =>
    eventually(() =>
      mails.received.find((mail) => mail.to.includes(email) && mail.header('Subject')?.includes(subject)),
    );
  const audited = async (action: string, target: string) => {
    const entries = await database((knex) =>
      knex('audit_entries').where({ action, target }).select('actor', 'after'),
    );
    return entries as { actor: string; after: Record<string, unknown> | null }[];
  };
  /** Makes it 11 minutes ago that the operator last showed a password or a code. */
  const verifiedLongAgo = ({ id }: Operator) =>
    database(async (knex) => {
      await knex.raw(`UPDATE sessions SET verified_at = now() - interval '11 minutes' WHERE user_id = ?`, [
        id,
      ]);
      await knex.raw(`SELECT pg_notify('gateway_changes', 'session *')`);
    });

  it('is reset only on the command line where no third operator can confirm, and the message names the command (R400)', async () => {
    const [first, second] = [await newOperator(), await newOperator()];
    await newOperator(true);
    const factors = await request(first, second);
    expect(codesOf(factors)).toEqual(['FORBIDDEN']);
    expect(messageOf(factors)).toContain(`npm run cli -- user reset-factors --user ${second.id}`);
    const password = await request(first, second, 'PASSWORD');
    expect(codesOf(password)).toEqual(['FORBIDDEN']);
    expect(messageOf(password)).toContain(`npm run cli -- user password --email ${second.email}`);
    expect(await pendingOf(first, second)).toEqual([]);
  });

  it('loses its second factors when a second operator confirms, once; the person is mailed (R400)', async () => {
    const [requester, confirmer, person] = [await newOperator(), await newOperator(), await newOperator()];
    await addApp(person);
    const { reset, passwordPart } = await requested(requester, person);
    expect(passwordPart).toBeNull();
    expect(await pendingOf(confirmer, person)).toMatchObject([
      { id: reset.id, kind: 'FACTORS', user: { email: person.email }, requester: { id: requester.id } },
    ]);
    const asked = textOfMail(await mailTo(person.email, 'asks to reset'));
    expect(asked).toContain(requester.email);
    expect(asked).toContain('/console/operators');
    // Nothing has changed so far: neither the request nor its requester opens anything.
    expect(codesOf(await graphql(gateway, VIEWER, { token: person.token }))).toEqual([]);
    await expect(signIn(gateway, person)).rejects.toThrow('Give a code');
    expect(codesOf(await confirm(requester, reset.id))).toEqual(['FORBIDDEN']);
    expect(codesOf(await confirm(person, reset.id))).toEqual(['FORBIDDEN']);

    const other = await newOperator();
    const answers = await Promise.all([confirm(confirmer, reset.id), confirm(other, reset.id)]);
    expect(answers.map((answer) => codesOf(answer)).sort()).toEqual([[], ['NOT_FOUND']]);
    expect(await pendingOf(confirmer, person)).toEqual([]);
    expect(codesOf(await graphql(gateway, VIEWER, { token: person.token }))).toEqual(['UNAUTHENTICATED']);
    await signIn(gateway, person);
    await mailTo(person.email, 'second factor');
    const winner = codesOf(answers[0]!).length === 0 ? confirmer : other;
    expect(await audited('operatorReset.request', person.id)).toMatchObject([
      { actor: `user:${requester.id}`, after: { kind: 'factors', address: expect.any(String) } },
    ]);
    expect(await audited('secondFactor.reset', person.id)).toMatchObject([
      { actor: `user:${winner.id}`, after: { requestedBy: requester.id, address: expect.any(String) } },
    ]);
  });

  it('gets a new password, of which each of the two operators sees one half (R400)', async () => {
    const [requester, confirmer, person] = [await newOperator(), await newOperator(), await newOperator()];
    const { reset, passwordPart: first } = await requested(requester, person, 'PASSWORD');
    await signIn(gateway, person);
    const { user, passwordPart: second } = (await confirm(confirmer, reset.id)).body.data
      .confirmOperatorReset;
    expect(user).toEqual({ id: person.id, mustChangePassword: true });
    for (const password of [person.password, first, second, `${second}${first}`])
      await expect(signIn(gateway, { email: person.email, password })).rejects.toThrow('is wrong');
    await signIn(gateway, { email: person.email, password: `${first}${second}` });
    expect(codesOf(await graphql(gateway, VIEWER, { token: person.token }))).toEqual(['UNAUTHENTICATED']);
    await mailTo(person.email, 'was replaced');
    expect(await audited('member.resetPassword', person.id)).toMatchObject([
      { actor: `user:${confirmer.id}`, after: { requestedBy: requester.id } },
    ]);
  });

  it('stays as it is when any operator refuses, the person too if they only read (R400)', async () => {
    const [requester, other] = [await newOperator(), await newOperator()];
    const [person, reader] = [await newOperator(true), await newOperator(true)];
    const { reset } = await requested(requester, person);
    expect(codesOf(await refuse(reader, reset.id))).toEqual(['FORBIDDEN']);
    expect(codesOf(await confirm(reader, reset.id))).toEqual(['FORBIDDEN']);
    expect((await refuse(person, reset.id)).body.data).toEqual({ refuseOperatorReset: true });
    expect(codesOf(await confirm(other, reset.id))).toEqual(['NOT_FOUND']);
    expect(codesOf(await refuse(person, reset.id))).toEqual(['NOT_FOUND']);
    expect(await audited('operatorReset.refuse', person.id)).toMatchObject([
      { actor: `user:${person.id}`, after: { kind: 'factors', requestedBy: requester.id } },
    ]);
    const again = await requested(requester, person);
    expect((await refuse(other, again.reset.id)).body.data).toEqual({ refuseOperatorReset: true });
  });

  it('is requested once at a time, by others only, and for operators only (R400)', async () => {
    const [requester, other, person] = [await newOperator(), await newOperator(), await newOperator()];
    const account = await gateway.createAccount();
    const answers = await Promise.all([request(requester, person), request(other, person)]);
    expect(answers.map((answer) => codesOf(answer)).sort()).toEqual([[], ['BAD_USER_INPUT']]);
    expect(codesOf(await request(person, person))).toEqual(['FORBIDDEN']);
    const { members } = (
      await graphql(gateway, '{ members { id } }', { token: await signIn(gateway, account) })
    ).body.data;
    expect(codesOf(await request(requester, members[0]))).toEqual(['NOT_FOUND']);
    expect(codesOf(await request({ ...requester, token: await signIn(gateway, account) }, person))).toEqual([
      'FORBIDDEN',
    ]);
  });

  it('needs a step-up to request, confirm and refuse (R400, R253)', async () => {
    const [requester, confirmer, person] = [await newOperator(), await newOperator(), await newOperator()];
    const { reset } = await requested(requester, person);
    await verifiedLongAgo(requester);
    await verifiedLongAgo(confirmer);
    const answers = await Promise.all([
      request(requester, person, 'PASSWORD'),
      confirm(confirmer, reset.id),
      refuse(confirmer, reset.id),
    ]);
    expect(answers.map((answer) => codesOf(answer))).toEqual(Array(3).fill(['STEP_UP_REQUIRED']));
    const dry = 'mutation ($id: ID!) { confirmOperatorReset(id: $id, dryRun: true) { user { id } } }';
    const fresh = await newOperator();
    expect(codesOf(await graphql(gateway, dry, { token: fresh.token, variables: { id: reset.id } }))).toEqual(
      [],
    );
    expect(await pendingOf(fresh, person)).toHaveLength(1);
  });

  it('cannot be reset after 24 hours, nor when the requester is not an operator any more (R400)', async () => {
    const [requester, confirmer, person] = [await newOperator(), await newOperator(), await newOperator()];
    await addApp(person);
    const late = await requested(requester, person);
    await database((knex) =>
      knex('operator_resets').where({ id: late.reset.id }).update({ expires_at: knex.fn.now() }),
    );
    expect(codesOf(await confirm(confirmer, late.reset.id))).toEqual(['NOT_FOUND']);
    expect(await pendingOf(confirmer, person)).toEqual([]);

    const { reset } = await requested(requester, person);
    await database((knex) => knex('users').where({ id: requester.id }).update({ role: 'OPERATOR_READONLY' }));
    const refused = await confirm(confirmer, reset.id);
    expect(codesOf(refused)).toEqual(['FORBIDDEN']);
    expect(messageOf(refused)).toContain('not an operator any more');
    await database((knex) => knex('users').where({ id: requester.id }).update({ role: 'OPERATOR' }));
    // The identity provider has removed the requester, who came by it (R358).
    await database((knex) =>
      knex('single_sign_on_identities').insert({
        ...{ id: requester.id, issuer: 'https://idp.example', subject: requester.id, user_id: requester.id },
        ...{
          manages_role: true,
          checked_at: knex.fn.now(),
          check_at: knex.fn.now(),
          ended_at: knex.fn.now(),
        },
      }),
    );
    expect(codesOf(await confirm(confirmer, reset.id))).toEqual(['FORBIDDEN']);
    await expect(signIn(gateway, person)).rejects.toThrow('Give a code');
    // The second operator has lost the role meanwhile, and this process does not know it yet.
    const again = await refuse(confirmer, reset.id);
    expect(codesOf(again)).toEqual([]);
    const third = await newOperator();
    const next = await requested(third, person);
    await database((knex) => knex('users').where({ id: confirmer.id }).update({ role: 'OPERATOR_READONLY' }));
    expect(codesOf(await confirm(confirmer, next.reset.id))).toEqual(['FORBIDDEN']);
  });
});
