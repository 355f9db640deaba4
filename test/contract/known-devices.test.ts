import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { withKnex } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { codesOf, graphql, signIn } from '../support/graphql.ts';
import { type MailServer, startMailServer, textOfMail } from '../support/mail-server.ts';

const SIGN_IN = 'mutation ($e: String!, $p: String!) { signIn(email: $e, password: $p) { token } }';
const VIEWER = '{ viewer { email } }';
const FIREFOX = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';

describe('known devices', () => {
  let gateway: TestGateway;
  let mails: MailServer;
  beforeAll(async () => {
    mails = await startMailServer();
    gateway = await startTestGateway({ EMAIL_URL: mails.url, TRUST_PROXY: '127.0.0.0/8,::1/128' });
  });
  afterAll(async () => {
    await gateway?.stop();
    await mails?.stop();
  });

  const tryPassword = (email: string, password: string, address: string, headers: object = {}) =>
    graphql(gateway, SIGN_IN, {
      variables: { e: email, p: password },
      headers: { 'X-Forwarded-For': address, ...headers },
    });
  /** Signs in as a browser does, and returns its device cookie. */
  async function browserOf({ email, password }: TestAccount, address: string) {
    const signedIn = await tryPassword(email, password, address);
    const [session] = signedIn.headers.getSetCookie();
    const cookie = session!.split(';')[0]!;
    const asked = await graphql(gateway, VIEWER, { headers: { Cookie: cookie } });
    const [device] = asked.headers.getSetCookie();
    expect(device).toMatch(/^device=[\w-]{43}; Path=\/graphql; Max-Age=31536000; HttpOnly; SameSite=Strict$/);
    // The cookie is set once for each session. Otherwise a client that stores no cookies would create a new device with
    // each request.
    const again = await graphql(gateway, VIEWER, { headers: { Cookie: cookie } });
    expect(again.headers.getSetCookie()).toEqual([]);
    return device!.split(';')[0]!;
  }

  it('are not locked out by guesses from elsewhere, and have ten guesses of their own (R302)', async () => {
    const account = await gateway.createAccount();
    const device = await browserOf(account, '192.0.2.1');
    for (let count = 0; count < 10; count += 1)
      await tryPassword(account.email, 'guess', `198.51.100.${count}`);
    const { email, password } = account;
    expect(codesOf(await tryPassword(email, password, '198.51.100.99'))).toEqual(['RATE_LIMITED']);
    expect(codesOf(await tryPassword(email, password, '192.0.2.1', { Cookie: device }))).toEqual([]);
    const codes: string[] = [];
    for (let count = 0; count < 11; count += 1)
      codes.push(...codesOf(await tryPassword(email, 'guess', `192.0.2.${count}`, { Cookie: device })));
    expect(codes).toEqual([...Array(10).fill('UNAUTHENTICATED'), 'RATE_LIMITED']);
  });

  it('count for nobody else: another email, or a made-up cookie, gets no budget (R302)', async () => {
    const [account, other] = [await gateway.createAccount(), await gateway.createAccount()];
    const device = await browserOf(account, '192.0.2.2');
    for (const cookie of [device, `device=${'x'.repeat(43)}`]) {
      const victim = cookie === device ? other : await gateway.createAccount();
      const codes: string[] = [];
      for (let count = 0; count < 11; count += 1) {
        const address = `203.0.113.${count + (cookie === device ? 0 : 20)}`;
        codes.push(...codesOf(await tryPassword(victim.email, 'guess', address, { Cookie: cookie })));
      }
      expect(codes.at(-1)).toBe('RATE_LIMITED');
      expect(codesOf(await tryPassword(victim.email, victim.password, '203.0.113.99'))).toEqual([
        'RATE_LIMITED',
      ]);
    }
  });

  it('give no budget against other people who have the same email (R234, R302)', async () => {
    const [victim, attacker] = [await gateway.createAccount(), await gateway.createAccount()];
    // Any account may invite any email address. It then knows the one-time password of the invited person.
    const invite = 'mutation ($e: String!) { inviteMember(email: $e, role: VIEWER) { password } }';
    const invited = await graphql(gateway, invite, {
      token: await signIn(gateway, attacker),
      variables: { e: victim.email },
    });
    const own = { ...attacker, email: victim.email, password: invited.body.data.inviteMember.password };
    const [first, second] = [await browserOf(own, '192.0.2.30'), await browserOf(own, '192.0.2.31')];
    const guess = (password: string, cookie: string, address: string) =>
      tryPassword(victim.email, password, address, { Cookie: cookie });
    for (let count = 0; count < 10; count += 1) await guess('guess', first, `203.0.113.${40 + count}`);
    expect(codesOf(await guess(victim.password, second, '203.0.113.60'))).toEqual(['UNAUTHENTICATED']);
    expect(codesOf(await tryPassword(victim.email, victim.password, '203.0.113.61'))).toEqual([
      'RATE_LIMITED',
    ]);
    // The device belongs to the attacker's own person, who is not locked out.
    expect(codesOf(await guess(own.password, second, '203.0.113.62'))).toEqual([]);
  });

  it('are kept as hashes, forty for a person (R302)', async () => {
    const account = await gateway.createAccount();
    for (let count = 0; count < 42; count += 1)
      await tryPassword(account.email, account.password, `192.0.2.${100 + count}`);
    const kept = await withKnex(gateway.database.connection, (knex) =>
      knex('known_devices').whereIn('user_id', knex('users').where({ email: account.email }).select('id')),
    );
    expect(kept).toHaveLength(40);
  });

  it('are told to the person by mail when they are new, but for the first one (R302)', async () => {
    const { email, password } = await gateway.createAccount();
    const mailsTo = () => mails.received.filter(({ to }) => to.includes(email));
    await tryPassword(email, password, '192.0.2.60');
    await tryPassword(email, password, '192.0.2.60');
    await tryPassword(email, password, '192.0.2.61', { 'User-Agent': FIREFOX });
    const mail = await eventually(() => mailsTo()[0]);
    expect(mail.header('Subject')).toBe('A new device signed in at Service');
    expect(textOfMail(mail)).toMatch(
      /from a device that is new: Firefox on Linux, from 192\.0\.2\.61, at \d{4}-\d\d-\d\d \d\d:\d\d UTC/,
    );
    await tryPassword(email, password, '192.0.2.61', { 'User-Agent': FIREFOX });
    await tryPassword(email, password, '192.0.2.62');
    await eventually(() => mailsTo().length >= 2);
    expect(mailsTo().map((each) => /from (192\S+),/.exec(textOfMail(each))?.[1])).toEqual([
      '192.0.2.61',
      '192.0.2.62',
    ]);
  });
});
