import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { withKnex } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { codesOf, graphql, inviteMember, signIn } from '../support/graphql.ts';
import { type MailServer, type ReceivedMail, startMailServer, textOfMail } from '../support/mail-server.ts';

const REQUEST = 'mutation ($email: String!) { requestPasswordReset(email: $email) }';
const RESET =
  'mutation ($token: String!, $password: String!) { resetPassword(token: $token, password: $password) }';
const ACCEPT =
  'mutation ($token: String!, $password: String!) { acceptInvitation(token: $token, password: $password) }';
const INVITE = `mutation ($email: String!) {
  inviteMember(email: $email, role: VIEWER) { mailed password user { id email acceptedAt } }
}`;
const CHANGE = 'mutation ($c: String!, $n: String!) { changePassword(current: $c, new: $n) }';
const VIEWER = '{ viewer { email mustChangePassword acceptedAt } }';
const OWN = 'a password of my own';

const linkOf = (mail: ReceivedMail) => new URL(/http:\S+/.exec(textOfMail(mail))![0]);
const tokenOf = (mail: ReceivedMail) => linkOf(mail).searchParams.get('token')!;

describe('links by mail', () => {
  let gateway: TestGateway;
  let mails: MailServer;
  beforeAll(async () => {
    mails = await startMailServer();
    gateway = await startTestGateway({
      EMAIL_URL: mails.url,
      EMAIL_FROM: 'gateway@platform.example',
      TRUST_PROXY: '127.0.0.0/8,::1/128',
    });
  });
  afterAll(async () => {
    await gateway?.stop();
    await mails?.stop();
  });

  let addresses = 0;
  const request = (email: string, address?: string) => {
    addresses += 1;
    const headers = { 'X-Forwarded-For': address ?? `198.51.100.${addresses}` };
    return graphql(gateway, REQUEST, { variables: { email }, headers });
  };
  const use = (query: string, token: string, password: string) =>
    graphql(gateway, query, { variables: { token, password } });
  const mailsTo = (email: string) => mails.received.filter(({ to }) => to.includes(email));
  /** Waits for `count` mails to the email address, and returns the last of them. */
  const mailed = (email: string, count = 1) =>
    eventually(() => (mailsTo(email).length >= count ? mailsTo(email)[count - 1] : undefined));
  const asked = async (account: TestAccount, count = 1) => {
    expect((await request(account.email)).body).toEqual({ data: { requestPasswordReset: true } });
    return mailed(account.email, count);
  };
  const invited = async (email: string) => {
    const account = await gateway.createAccount();
    const token = await signIn(gateway, account);
    const { inviteMember } = (await graphql(gateway, INVITE, { token, variables: { email } })).body.data;
    return { ownerToken: token, ...inviteMember, mail: await mailed(email) };
  };
  const database = <T>(work: Parameters<typeof withKnex<T>>[1]) =>
    withKnex(gateway.database.connection, work);

  it('set a lost password, once, and end every session of the person (R300)', async () => {
    const account = await gateway.createAccount();
    const session = await signIn(gateway, account);
    const mail = await asked(account);
    expect(mail.from).toBe('gateway@platform.example');
    expect(mail.header('Auto-Submitted')).toBe('auto-generated');
    expect(linkOf(mail).href).toMatch(
      /^http:\/\/127\.0\.0\.1:\d+\/console\/reset-password\?token=[\w-]{43}$/,
    );
    const token = tokenOf(mail);
    expect((await use(RESET, token, OWN)).body).toEqual({ data: { resetPassword: true } });
    expect(codesOf(await graphql(gateway, VIEWER, { token: session }))).toEqual(['UNAUTHENTICATED']);
    await expect(signIn(gateway, account)).rejects.toThrow('The email or the password is wrong.');
    const own = await signIn(gateway, { email: account.email, password: OWN });
    const { viewer } = (await graphql(gateway, VIEWER, { token: own })).body.data;
    expect(viewer).toMatchObject({ email: account.email, mustChangePassword: false });
    const again = await use(RESET, token, 'another password');
    expect(again.body.errors[0].extensions.details.fields).toEqual([
      { path: 'token', message: 'The link has ended or was used already. Ask for another one.' },
    ]);
  });

  it('work once also for two requests at once (R300)', async () => {
    const account = await gateway.createAccount();
    const token = tokenOf(await asked(account));
    const answers = await Promise.all([use(RESET, token, `${OWN} 1`), use(RESET, token, `${OWN} 2`)]);
    expect(answers.map((answer) => codesOf(answer)).sort()).toEqual([[], ['BAD_USER_INPUT']]);
  });

  it('end when the password is changed otherwise, all of them (R300)', async () => {
    const account = await gateway.createAccount();
    const tokens = [tokenOf(await asked(account)), tokenOf(await asked(account, 2))];
    const token = await signIn(gateway, account);
    await graphql(gateway, CHANGE, { token, variables: { c: account.password, n: OWN } });
    for (const each of tokens) expect(codesOf(await use(RESET, each, `${OWN}!`))).toEqual(['BAD_USER_INPUT']);
  });

  it('end after an hour (R300)', async () => {
    const account = await gateway.createAccount();
    const token = tokenOf(await asked(account));
    await database((knex) =>
      knex.raw(
        `UPDATE mail_links SET expires_at = expires_at - interval '1 hour'
         WHERE user_id = (SELECT id FROM users WHERE email = ?)`,
        [account.email],
      ),
    );
    expect(codesOf(await use(RESET, token, OWN))).toEqual(['BAD_USER_INPUT']);
  });

  it('are stored as a hash only (R300)', async () => {
    const account = await gateway.createAccount();
    const token = tokenOf(await asked(account));
    const rows = await database(async (knex) => ({
      links: await knex('mail_links'),
      jobs: await knex('pgboss.job').where({ name: 'person-mail' }),
      entries: await knex('audit_entries'),
    }));
    expect(rows.links.length).toBeGreaterThan(0);
    expect(JSON.stringify(rows)).not.toContain(token);
  });

  it('are not told of by the answer: an unknown email gets the same and no mail (R300)', async () => {
    const account = await gateway.createAccount();
    const unknown = 'nobody@unknown.example';
    const answers = [await request(unknown), await request(account.email)];
    expect(answers.map(({ status, body }) => ({ status, body }))).toEqual([
      { status: 200, body: { data: { requestPasswordReset: true } } },
      { status: 200, body: { data: { requestPasswordReset: true } } },
    ]);
    // Jobs run in order: a mail to the unknown email address would arrive before the mail to the known one.
    await mailed(account.email);
    expect(mailsTo(unknown)).toEqual([]);
  });

  it('are asked for at most five times in 15 minutes, whether the email is known or not (R300)', async () => {
    const { email } = await gateway.createAccount();
    for (const each of [email, 'guessed@unknown.example']) {
      const codes: string[][] = [];
      for (let count = 0; count < 6; count += 1) codes.push(codesOf(await request(each)));
      expect(codes).toEqual([[], [], [], [], [], ['RATE_LIMITED']]);
    }
  });

  it('are asked for at most twenty times in 15 minutes from one address (R300)', async () => {
    const codes: string[][] = [];
    for (let count = 0; count < 21; count += 1)
      codes.push(codesOf(await request(`some${count}@unknown.example`, '192.0.2.9')));
    expect(codes).toEqual([...Array(20).fill([]), ['RATE_LIMITED']]);
  });

  it('go to each person with the email, and each sets the password of one (R300)', async () => {
    const account = await gateway.createAccount();
    const { mail } = await invited(account.email);
    expect((await use(ACCEPT, tokenOf(mail), OWN)).body).toEqual({ data: { acceptInvitation: true } });
    await request(account.email);
    await mailed(account.email, 3);
    const names = mailsTo(account.email)
      .slice(1)
      .map((each) => /the account (\S+) at Service/.exec(textOfMail(each))?.[1]);
    expect(new Set(names).size).toBe(2);
  });

  it('accept an invitation with a first password (R206, R300)', async () => {
    const { user, mail, mailed: isMailed } = await invited('guest@invited.example');
    expect({ isMailed, acceptedAt: user.acceptedAt }).toEqual({ isMailed: true, acceptedAt: null });
    expect(linkOf(mail).pathname).toBe('/console/accept-invitation');
    const token = tokenOf(mail);
    // The token of an invitation cannot be used to reset a password.
    expect(codesOf(await use(RESET, token, OWN))).toEqual(['BAD_USER_INPUT']);
    expect(codesOf(await use(ACCEPT, token, OWN))).toEqual([]);
    const own = await signIn(gateway, { email: user.email, password: OWN });
    const { viewer } = (await graphql(gateway, VIEWER, { token: own })).body.data;
    expect(viewer).toMatchObject({ mustChangePassword: false, acceptedAt: expect.any(String) });
    expect(codesOf(await use(ACCEPT, token, `${OWN}!`))).toEqual(['BAD_USER_INPUT']);
  });

  it('of a removed member accept nothing (R300)', async () => {
    const { ownerToken, user, mail } = await invited('removed@invited.example');
    const remove = 'mutation ($id: ID!) { removeMember(userId: $id) }';
    await graphql(gateway, remove, { token: ownerToken, variables: { id: user.id } });
    expect(codesOf(await use(ACCEPT, tokenOf(mail), OWN))).toEqual(['BAD_USER_INPUT']);
  });

  it('are sent again after an outage of the mail server (R300)', async () => {
    const account = await gateway.createAccount();
    mails.behave({ data: 451 });
    const begun = mails.begun();
    await request(account.email);
    await eventually(() => mails.begun() > begun);
    mails.behave({ data: 'accept' });
    const token = tokenOf(await mailed(account.email));
    expect(codesOf(await use(RESET, token, OWN))).toEqual([]);
  });

  it('are audited, without the token (R300)', async () => {
    const account = await gateway.createAccount();
    const token = tokenOf(await asked(account));
    await use(RESET, token, OWN);
    const entries = await database((knex) =>
      knex('audit_entries').where({ account_id: account.accountId }).orderBy('seq').select('action', 'actor'),
    );
    expect(entries.slice(-2)).toEqual([
      { action: 'member.mailPasswordReset', actor: 'system:mail' },
      { action: 'member.resetPassword', actor: expect.stringMatching(/^user:/) },
    ]);
  });

  it('set no password with the name of the email, and no common one (R301)', async () => {
    const { user, mail } = await invited('Marguerite@invited.example');
    const token = tokenOf(mail);
    const faults: string[] = [];
    for (const password of ['too short', 'x'.repeat(257), 'I am MARGUERITE!', 'Password1234']) {
      const { body } = await use(ACCEPT, token, password);
      const [fault] = body.errors[0].extensions.details.fields;
      expect(fault.path).toBe('password');
      faults.push(fault.message);
    }
    expect(faults).toEqual([
      'must have 12 to 256 characters',
      'must have 12 to 256 characters',
      'must not contain the name of your email',
      'is one of the most common passwords; choose another',
    ]);
    expect(codesOf(await use(ACCEPT, token, OWN))).toEqual([]);
    const session = await signIn(gateway, { email: user.email, password: OWN });
    const change = await graphql(gateway, CHANGE, {
      token: session,
      variables: { c: OWN, n: '1qaz2wsx3edc' },
    });
    expect(change.body.errors[0].extensions.details.fields[0].path).toBe('new');
  });

  it('tells a person by mail that somebody else removed their second factors (R251)', async () => {
    const owner = await gateway.createAccount();
    const token = await signIn(gateway, owner);
    const { id, email } = await inviteMember(gateway, token, 'VIEWER');
    await mailed(email);
    const reset = 'mutation ($id: ID!) { resetFactors(userId: $id) { id } }';
    expect(codesOf(await graphql(gateway, reset, { token, variables: { id } }))).toEqual([]);
    const mail = await mailed(email, 2);
    expect(mail.header('Subject')).toBe('Your second factor at Service was removed');
    expect(textOfMail(mail)).toContain(`The second factors of ${email} were removed by somebody else`);
  });
});

describe('without a mail server', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway();
  });
  afterAll(() => gateway?.stop());

  it('nobody is mailed, and the answer says so (R300)', async () => {
    const account = await gateway.createAccount();
    const answer = await graphql(gateway, REQUEST, { variables: { email: account.email } });
    expect(answer.body).toEqual({ data: { requestPasswordReset: false } });
    const token = await signIn(gateway, account);
    const variables = { email: 'by-hand@invited.example' };
    const { inviteMember } = (await graphql(gateway, INVITE, { token, variables })).body.data;
    expect(inviteMember.mailed).toBe(false);
    await signIn(gateway, { email: inviteMember.user.email, password: inviteMember.password });
  });

  it('a one-time password signs in for 72 hours (R252)', async () => {
    const account = await gateway.createAccount();
    const age = (hours: number) =>
      withKnex(gateway.database.connection, (knex) =>
        knex.raw(`UPDATE users SET password_set_at = now() - interval '1 hour' * ? WHERE email = ?`, [
          hours,
          account.email,
        ]),
      );
    await age(71.9);
    const token = await signIn(gateway, account);
    await age(72);
    await expect(signIn(gateway, account)).rejects.toThrow('it is valid for 72 hours. Ask for another one.');
    // A password that the person chose does not expire.
    await graphql(gateway, CHANGE, { token, variables: { c: account.password, n: OWN } });
    await age(1_000);
    await signIn(gateway, { email: account.email, password: OWN });
  });
});
