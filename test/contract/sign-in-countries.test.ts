/** Tests the countries of sign-ins: a real MMDB file, a header of a proxy, and the alerts about new countries. */
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { Knex } from 'knex';
import { Authenticator } from '../support/authenticator.ts';
import { writeCountryFile } from '../support/country-file.ts';
import { withKnex } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/free-port.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { codesOf, graphql, inviteMember } from '../support/graphql.ts';
import { type IdentityProvider, startIdentityProvider } from '../support/identity-provider.ts';
import { type MailServer, startMailServer, textOfMail } from '../support/mail-server.ts';
import { signInBy } from '../support/single-sign-on.ts';
import { codeOf } from '../support/totp.ts';

type Person = Pick<TestAccount, 'email' | 'password'>;
type Headers = Readonly<Record<string, string>>;

const SIGN_IN = `mutation ($e: String!, $p: String!, $code: String) {
  signIn(email: $e, password: $p, code: $code) { token } }`;
const SESSIONS = '{ sessions { id country address } }';
const ALERTS = `query ($filter: AlertFilter) { alerts(filter: $filter) {
  nodes { id accountId kind state summary detail resolvedAt } } }`;
const CONFIRM = 'mutation ($id: ID!) { confirmSignIn(alertId: $id) { id state } }';
const RULES = '{ alertRules { kind isAvailable } }';
const FIREFOX = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';
const KENYA = '192.0.2.1';
const FRANCE = '198.51.100.1';
const NOWHERE = '203.0.113.1';
const COUNTRIES = {
  '192.0.2.0/24': 'KE',
  '198.51.100.0/24': 'FR',
  '2001:db8:1::/48': 'FR',
  // The sign-in by a provider comes without a proxy here.
  '127.0.0.0/8': 'ZA',
};
const DAY_MS = 24 * 3_600_000;
const SYSTEM = { kind: 'system', name: 'test' } as const;

describe('the countries of sign-ins', () => {
  let gateway: TestGateway;
  let mails: MailServer;
  let provider: IdentityProvider;
  let directory: string;
  let origin: string;
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'countries-'));
    const path = join(directory, 'countries.mmdb');
    writeCountryFile(path, COUNTRIES);
    mails = await startMailServer();
    const port = await freePort();
    origin = `http://localhost:${port}`;
    provider = await startIdentityProvider(`${origin}/console/single-sign-on`);
    gateway = await startTestGateway({
      EMAIL_URL: mails.url,
      TRUST_PROXY: '127.0.0.0/8,::1/128',
      COUNTRY_DATABASE: path,
      COUNTRY_HEADER: 'CF-IPCountry',
      PORT: String(port),
      PUBLIC_URL: origin,
      OIDC_ISSUER: provider.issuer,
      OIDC_CLIENT_ID: provider.clientId,
      OIDC_CLIENT_SECRET: provider.clientSecret,
    });
  });
  afterAll(async () => {
    await gateway?.stop();
    await provider?.stop();
    await mails?.stop();
    await rm(directory, { recursive: true, force: true });
  });
  afterEach(() => {
    mails.received.length = 0;
  });

  const sql = <T>(work: (knex: Knex) => Promise<T>) => withKnex(gateway.database.connection, work);
  const run = (query: string, token: string, variables: object = {}) =>
    graphql(gateway, query, { token, variables });
  const tokenOf = (answer: Awaited<ReturnType<typeof graphql>>) => {
    expect(codesOf(answer)).toEqual([]);
    return answer.body.data.signIn.token as string;
  };
  const enter = async (
    { email: e, password: p }: Person,
    address: string,
    { headers = {}, code, of = gateway }: { headers?: Headers; code?: string; of?: TestGateway } = {},
  ) =>
    tokenOf(
      await graphql(of, SIGN_IN, {
        variables: { e, p, code },
        headers: { 'X-Forwarded-For': address, ...headers },
      }),
    );
  /** Returns the country of the newest session. */
  const countryOf = async (token: string, of = gateway) => {
    const { sessions } = (await graphql(of, SESSIONS, { token })).body.data;
    return sessions[0].country as string | null;
  };
  const alertsOf = async (token: string, filter: object = {}) =>
    (await run(ALERTS, token, { filter: { kind: 'SIGN_IN_NEW_COUNTRY', ...filter } })).body.data.alerts.nodes;
  const mailsTo = (email: string) => mails.received.filter(({ to }) => to.includes(email));
  const mailTo = (email: string, subject: string) =>
    mails.waitFor(({ to, header }) => to.includes(email) && header('Subject')?.startsWith(subject) === true);
  const round = async () => {
    await eventually(() => gateway.parts.alerts.watchCarriers(0));
    await eventually(() => gateway.parts.alerts.watchAccounts(0));
  };
  /** Creates an account whose owner has signed in from Kenya. */
  async function settled() {
    const account = await gateway.createAccount();
    return { ...account, token: await enter(account, KENYA) };
  }

  describe('are known', () => {
    it('from a file, for IPv4 and IPv6, and are null for other addresses (R487)', async () => {
      const account = await gateway.createAccount();
      const found: (string | null)[] = [];
      for (const address of [KENYA, FRANCE, '2001:db8:1::7', '2001:db8:2::7', NOWHERE, 'nonsense'])
        found.push(await countryOf(await enter(account, address)));
      expect(found).toEqual(['KE', 'FR', 'FR', null, null, null]);
    });

    it('from the new file after it is replaced, and from the last good one if it is damaged (R487)', async () => {
      const path = join(directory, 'replaced.mmdb');
      writeCountryFile(path, COUNTRIES);
      await using own = await startTestGateway({
        TRUST_PROXY: '127.0.0.0/8,::1/128',
        COUNTRY_DATABASE: path,
      });
      const account = await own.createAccount();
      const found = async () => countryOf(await enter(account, NOWHERE, { of: own }), own);
      expect(await found()).toBeNull();
      writeCountryFile(`${path}.new`, { ...COUNTRIES, '203.0.113.0/24': 'UG' });
      await rename(`${path}.new`, path);
      expect(await found()).toBe('UG');
      await writeFile(path, 'no database');
      expect(await found()).toBe('UG');
      await rm(path);
      expect(await found()).toBe('UG');
      writeCountryFile(path, { '203.0.113.0/24': 'TZ' });
      expect(await found()).toBe('TZ');
    });

    it('from the header of a proxy, before the file; anything but a country is ignored (R487)', async () => {
      const account = await gateway.createAccount();
      const found = async (country: string) =>
        countryOf(await enter(account, KENYA, { headers: { 'CF-IPCountry': country } }));
      expect(await found('UG')).toBe('UG');
      expect(await found('rw')).toBe('RW');
      for (const value of [
        '',
        'XX',
        'T1',
        'K',
        'KEN',
        'UG, RW',
        'U1',
        '"UG"',
        'ÜG',
        'UG;x',
        'x'.repeat(2_000),
      ])
        expect([value, await found(Buffer.from(value).toString('latin1'))]).toEqual([value, 'KE']);
    });

    it('not from a header of anybody who is no trusted proxy (R487)', async () => {
      await using own = await startTestGateway({
        TRUST_PROXY: '10.0.0.0/8',
        COUNTRY_HEADER: 'CF-IPCountry',
        EMAIL_URL: mails.url,
      });
      const account = await own.createAccount();
      const headers = (country: string) => ({ headers: { 'CF-IPCountry': country }, of: own });
      const token = await enter(account, '10.0.0.1', headers('KE'));
      await enter(account, '10.0.0.1', headers('FR'));
      expect(await countryOf(token, own)).toBeNull();
      expect((await graphql(own, ALERTS, { token, variables: {} })).body.data.alerts.nodes).toEqual([]);
    });

    it('never without a file and a header: the rule says that it cannot open alerts (R487, R488)', async () => {
      await using own = await startTestGateway({ TRUST_PROXY: '127.0.0.0/8,::1/128' });
      const account = await own.createAccount();
      const token = await enter(account, KENYA, { headers: { 'CF-IPCountry': 'KE' }, of: own });
      await enter(account, FRANCE, { headers: { 'CF-IPCountry': 'FR' }, of: own });
      expect(await countryOf(token, own)).toBeNull();
      const unavailable = async (of: TestGateway, session: string) =>
        (await graphql(of, RULES, { token: session })).body.data.alertRules
          .filter(({ isAvailable }: { isAvailable: boolean }) => !isAvailable)
          .map(({ kind }: { kind: string }) => kind);
      expect(await unavailable(own, token)).toEqual(['SIGN_IN_NEW_COUNTRY']);
      const { rules } = (await own.call('GET', '/developers/alert-rules', { key: account.key })).body;
      expect(rules).toContainEqual(
        expect.objectContaining({ kind: 'sign_in_new_country', isAvailable: false, threshold: null }),
      );
      const { token: known } = await settled();
      expect(await unavailable(gateway, known)).toEqual([]);
    });

    it('not from a file that is missing, or about something else: then the gateway does not start (R487)', async () => {
      const path = join(directory, 'networks.mmdb');
      writeCountryFile(path, COUNTRIES, 'Test-ASN');
      await expect(startTestGateway({ COUNTRY_DATABASE: path }, gateway.database)).rejects.toThrow(
        `COUNTRY_DATABASE cannot be used: ${path}: it is Test-ASN, and must be a database of countries or cities.`,
      );
      await expect(
        startTestGateway({ COUNTRY_DATABASE: join(directory, 'missing.mmdb') }, gateway.database),
      ).rejects.toThrow(/^COUNTRY_DATABASE cannot be used: .*ENOENT/);
      await writeFile(path, 'no database');
      await expect(startTestGateway({ COUNTRY_DATABASE: path }, gateway.database)).rejects.toThrow(
        `COUNTRY_DATABASE cannot be used: ${path}: it is no file in the MMDB format, or a part of one.`,
      );
      await expect(
        startTestGateway({ COUNTRY_HEADER: 'CF-IPCountry', TRUST_PROXY: '' }, gateway.database),
      ).rejects.toThrow('COUNTRY_HEADER is believed only from the proxies in TRUST_PROXY, which is not set.');
      await expect(
        startTestGateway({ COUNTRY_HEADER: 'two words', TRUST_PROXY: '10.0.0.0/8' }, gateway.database),
      ).rejects.toThrow('COUNTRY_HEADER is "two words", but must be the name of a header');
    });
  });

  describe('open an alert when they are new', () => {
    it('and mail the person and the owners, once; not from the first one, nor from known ones (R488)', async () => {
      const account = await settled();
      const member = await inviteMember(gateway, account.token, 'VIEWER');
      // The first sign-in, and the first one with a country.
      await enter(member, NOWHERE);
      const viewer = await enter(member, KENYA);
      expect(await alertsOf(account.token)).toEqual([]);
      mails.received.length = 0;

      await enter(member, FRANCE, { headers: { 'User-Agent': FIREFOX } });
      const [alert, ...others] = await alertsOf(account.token);
      expect(others).toEqual([]);
      expect(alert).toMatchObject({
        accountId: account.accountId,
        kind: 'SIGN_IN_NEW_COUNTRY',
        state: 'OPEN',
        summary: `${member.email} signed in from France, where they had not signed in for 180 days. Device: Firefox on Linux. Address: 198.51.100.1.`,
        detail: {
          userId: member.id,
          country: 'FR',
          device: 'Firefox on Linux',
          address: FRANCE,
          sessionId: expect.any(String),
          signedInAt: expect.any(String),
        },
      });
      const subject = 'A sign-in from a new country';
      const own = textOfMail(await mailTo(member.email, subject));
      expect(own).toContain(alert.summary);
      expect(own).toMatch(
        /Country: France \(FR\)\. Time: \d{4}-\d\d-\d\d \d\d:\d\d UTC\. Address: 198\.51\.100\.1\. Device: Firefox on Linux\./,
      );
      expect(own).toContain(`If it was you, choose "It was me": ${origin}/console/alerts`);
      expect(own).toContain(`end all other sessions, then change your password: ${origin}/console/security`);
      const theirs = textOfMail(await mailTo(account.email, subject));
      expect(theirs).toContain(alert.summary);
      expect(theirs).not.toContain('If it was you');

      for (const address of [FRANCE, KENYA, '2001:db8:1::7']) await enter(member, address);
      await round();
      expect(await alertsOf(viewer)).toHaveLength(1);
      expect((await alertsOf(viewer, { state: 'OPEN' }))[0].id).toBe(alert.id);
      // The new device from France is told by the mail about the country.
      await mailTo(member.email, 'A new device signed in');
      const told = mailsTo(member.email).map((mail) => [
        mail.header('Subject')?.split(':')[0],
        textOfMail(mail).includes('Firefox'),
      ]);
      expect(told.filter(([, isFirefox]) => isFirefox)).toEqual([[subject, true]]);
    });

    it('and after 180 days without a sign-in from there, again (R488)', async () => {
      const account = await settled();
      const age = (country: string, days: number) =>
        sql((knex) =>
          knex('sign_in_countries')
            .where({ country })
            .whereIn('user_id', knex('users').where({ email: account.email }).select('id'))
            .update({ last_seen_at: new Date(Date.now() - days * DAY_MS) }),
        );
      await enter(account, FRANCE);
      await age('KE', 179);
      await enter(account, KENYA);
      expect(await alertsOf(account.token)).toHaveLength(1);
      await age('KE', 181);
      await enter(account, KENYA);
      expect(await alertsOf(account.token)).toHaveLength(2);
      // What is older is not kept.
      await age('FR', 181);
      await enter(account, KENYA);
      const kept = await sql((knex) =>
        knex('sign_in_countries')
          .whereIn('user_id', knex('users').where({ email: account.email }).select('id'))
          .pluck('country'),
      );
      expect(kept).toEqual(['KE']);
    });

    it('and at most 100 countries of a person are kept, those of the last sign-ins (R488)', async () => {
      const account = await settled();
      const own = (knex: Knex) => knex('users').where({ email: account.email }).select('id');
      const [user] = await sql((knex) => own(knex));
      const older = Array.from({ length: 100 }, (_, at) => ({
        user_id: user.id,
        country: String.fromCharCode(65 + Math.floor(at / 26), 65 + (at % 26)),
        last_seen_at: new Date(Date.now() - (at + 1) * DAY_MS),
      }));
      await sql((knex) => knex('sign_in_countries').insert(older));
      await enter(account, FRANCE);
      const kept = await sql((knex) =>
        knex('sign_in_countries').whereIn('user_id', own(knex)).pluck('country'),
      );
      // Kenya is of the sign-in before, so the two oldest are gone.
      expect(kept.toSorted()).toEqual(
        ['FR', 'KE', ...older.slice(0, -2).map(({ country }) => country)].toSorted(),
      );
    });

    it('by a second factor and by a passkey too (R488)', async () => {
      const account = await settled();
      const { secret } = (await run('mutation { startTotp { secret } }', account.token)).body.data.startTotp;
      await run('mutation ($code: String!) { confirmTotp(code: $code) { recoveryCodes } }', account.token, {
        code: codeOf(secret),
      });
      const { email: e, password: p } = account;
      const headers = { 'X-Forwarded-For': FRANCE };
      const first = await graphql(gateway, SIGN_IN, { variables: { e, p }, headers });
      // The password alone is no sign-in.
      expect(codesOf(first)).toEqual(['SECOND_FACTOR_REQUIRED']);
      expect(await alertsOf(account.token)).toEqual([]);
      const { challenge } = first.body.errors[0].extensions.details;
      const answered = await graphql(
        gateway,
        'mutation ($challenge: String!, $code: String!) { answerChallenge(challenge: $challenge, code: $code) { token } }',
        { variables: { challenge, code: codeOf(secret, 1) }, headers },
      );
      expect(codesOf(answered)).toEqual([]);
      expect(await alertsOf(account.token)).toHaveLength(1);

      const authenticator = new Authenticator(origin);
      const options = (await run('mutation { startPasskey }', account.token)).body.data.startPasskey;
      const added = await run(
        'mutation ($passkey: JSONObject!) { finishPasskey(passkey: $passkey) { recoveryCodes } }',
        account.token,
        { passkey: authenticator.create(options) },
      );
      expect(codesOf(added)).toEqual([]);
      const asked = (await graphql(gateway, 'mutation { startPasskeySignIn }')).body.data.startPasskeySignIn;
      const alone = await graphql(
        gateway,
        'mutation ($passkey: JSONObject!) { signInWithPasskey(passkey: $passkey) { token } }',
        {
          variables: { passkey: authenticator.get(asked) },
          headers: { 'X-Forwarded-For': NOWHERE, 'CF-IPCountry': 'TZ' },
        },
      );
      expect(codesOf(alone)).toEqual([]);
      const countries = (await alertsOf(account.token)).map(
        ({ detail }: { detail: { country: string } }) => detail.country,
      );
      expect(countries).toEqual(['TZ', 'FR']);
    });

    it('of an operator, also by single sign-on: other operators see it (R488)', async () => {
      const email = 'anna@platform.example';
      const operators = gateway.parts.operations.accounts;
      const anna = await operators.createOperator.run(SYSTEM, { email });
      const ben = await operators.createOperator.run(SYSTEM, { email: 'ben@platform.example' });
      const operator = await enter({ email: 'ben@platform.example', password: ben.password }, KENYA);
      await enter({ email, password: anna.password }, KENYA);
      provider.put({ sub: 'op-1', email, email_verified: true, roles: ['OPERATOR'] });
      provider.signsIn = 'op-1';
      const own = await signInBy(gateway, provider);
      const [alert] = await alertsOf(operator);
      expect(alert).toMatchObject({ accountId: null, state: 'OPEN', detail: { country: 'ZA' } });
      await mailTo(email, 'A sign-in from a new country');
      await mailTo('ben@platform.example', 'A sign-in from a new country');
      await round();
      expect((await alertsOf(operator))[0].state).toBe('OPEN');
      expect(codesOf(await run(CONFIRM, operator, { id: alert.id }))).toEqual(['NOT_FOUND']);
      expect(codesOf(await run(CONFIRM, own, { id: alert.id }))).toEqual([]);
      expect((await alertsOf(operator))[0].state).toBe('RESOLVED');
      const account = await settled();
      expect(await alertsOf(account.token)).toEqual([]);
    });

    it('once, however many sign-ins there are at the same time (R481, R488)', async () => {
      const account = await settled();
      await Promise.all([1, 2, 3, 4, 5].map(() => enter(account, FRANCE)));
      expect(await alertsOf(account.token)).toHaveLength(1);
    });

    it('in the account of the sign-in only, if a person has several accounts (R488)', async () => {
      const [mine, other] = [await settled(), await settled()];
      const invite = 'mutation ($e: String!) { inviteMember(email: $e, role: VIEWER) { password } }';
      const invited = await run(invite, other.token, { e: mine.email });
      const there = { email: mine.email, password: invited.body.data.inviteMember.password };
      await enter(there, KENYA);
      await enter(mine, FRANCE);
      expect(await alertsOf(mine.token)).toHaveLength(1);
      expect(await alertsOf(other.token)).toEqual([]);
      await enter(there, FRANCE);
      expect(await alertsOf(mine.token)).toHaveLength(1);
      expect(await alertsOf(other.token)).toHaveLength(1);
    });

    it('that no API key sees, whatever its scopes are (R488)', async () => {
      const account = await settled();
      await enter(account, FRANCE);
      expect(await alertsOf(account.token)).toHaveLength(1);
      for (const query of ['', '?kind=sign_in_new_country']) {
        const { status, body } = await gateway.call('GET', `/developers/alerts${query}`, {
          key: account.key,
        });
        expect([status, body.data, body.pagination.total]).toEqual([200, [], 0]);
      }
    });

    it('unless its rule is switched off: then new devices are mailed as ever (R302, R484, R488)', async () => {
      const account = await settled();
      const set = 'mutation ($input: AlertRuleInput!) { setAlertRule(input: $input) { isEnabled mailTo } }';
      const rule = (input: object) =>
        run(set, account.token, { input: { kind: 'SIGN_IN_NEW_COUNTRY', ...input } });
      expect(codesOf(await rule({ isEnabled: false }))).toEqual([]);
      await enter(account, FRANCE);
      expect(await alertsOf(account.token)).toEqual([]);
      await mailTo(account.email, 'A new device signed in');

      // The person is told also where nobody else is.
      await rule({ isEnabled: true, mailTo: [] });
      const member = await inviteMember(gateway, account.token, 'ADMIN');
      await enter(member, KENYA);
      await enter(member, FRANCE);
      await mailTo(member.email, 'A sign-in from a new country');
      expect(mailsTo(account.email).filter((mail) => textOfMail(mail).includes(member.email))).toEqual([]);
    });
  });

  describe('are confirmed', () => {
    it('by the person and nobody else, audited, which resolves the alert and is mailed (R488, R303)', async () => {
      const account = await settled();
      const member = await inviteMember(gateway, account.token, 'VIEWER');
      const viewer = await enter(member, KENYA);
      await enter(member, FRANCE);
      const [{ id }] = await alertsOf(account.token);
      await mailTo(member.email, 'A sign-in from a new country');
      for (const [token, alertId] of [
        [account.token, id],
        [viewer, account.accountId],
        [viewer, 'no-id'],
      ])
        expect(codesOf(await run(CONFIRM, token, { id: alertId }))).toEqual(['NOT_FOUND']);
      expect((await alertsOf(account.token))[0].state).toBe('OPEN');
      const names = (await run('{ permissions }', viewer)).body.data.permissions as string[];
      expect(names).toContain('session.confirmSignIn');
      // An access token may belong to whoever signed in.
      const create = `mutation ($input: CreateAccessTokenInput!) { createAccessToken(input: $input) { token } }`;
      const input = {
        name: 'x',
        permissions: ['session.confirmSignIn'],
        expiresAt: new Date(Date.now() + DAY_MS).toISOString(),
      };
      expect(codesOf(await run(create, viewer, { input }))).toEqual(['BAD_USER_INPUT']);

      const confirmed = await run(CONFIRM, viewer, { id });
      expect(confirmed.body.data.confirmSignIn).toEqual({ id, state: 'RESOLVED' });
      expect((await run(CONFIRM, viewer, { id })).body.data.confirmSignIn.state).toBe('RESOLVED');
      for (const email of [member.email, account.email]) {
        const mail = await mailTo(email, 'Resolved: A sign-in from a new country');
        expect(textOfMail(mail)).toMatch(/The person has confirmed this sign-in, at \d{4}/);
      }
      const audit = await run('{ auditLog(first: 5) { nodes { action after } } }', account.token);
      const entries = audit.body.data.auditLog.nodes.filter(
        ({ action }: { action: string }) => action === 'session.confirmSignIn',
      );
      expect(entries).toEqual([
        {
          action: 'session.confirmSignIn',
          after: { country: 'FR', alertId: id, address: '127.0.0.1', device: expect.any(String) },
        },
      ]);
    });

    it('by nobody: the alert is resolved after 7 days, and a mail says so (R488)', async () => {
      const account = await settled();
      await enter(account, FRANCE);
      const [{ id }] = await alertsOf(account.token);
      const openedAgo = (ms: number) =>
        sql((knex) =>
          knex('alerts')
            .where({ id })
            .update({ opened_at: new Date(Date.now() - ms) }),
        );
      await openedAgo(7 * DAY_MS - 3_600_000);
      await round();
      expect((await alertsOf(account.token))[0].state).toBe('OPEN');
      await openedAgo(7 * DAY_MS);
      await round();
      expect((await alertsOf(account.token))[0].state).toBe('RESOLVED');
      const mail = await mailTo(account.email, 'Resolved: A sign-in from a new country');
      expect(textOfMail(mail)).toContain('Nobody has confirmed this sign-in within 7 days.');
    });
  });
});
