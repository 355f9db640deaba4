import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { withKnex } from '../support/database.ts';
import { type DnsServer, startDnsServer } from '../support/dns-server.ts';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/free-port.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { codesOf, graphql, inviteMember, signIn, signInOperator } from '../support/graphql.ts';
import { type IdentityProvider, startIdentityProvider } from '../support/identity-provider.ts';
import { eventCodes, subscribe } from '../support/live.ts';
import { type MailServer, startMailServer, textOfMail } from '../support/mail-server.ts';
import { beginSingleSignOn, finishSingleSignOn, signInBy } from '../support/single-sign-on.ts';

const VIEWER = '{ viewer { id email role acceptedAt account { id } } }';
const SET = `mutation ($issuer: String!, $clientId: String!, $clientSecret: String, $domain: String!, $roleMapping: RoleMappingInput!, $required: Boolean!) {
  setSingleSignOn(issuer: $issuer, clientId: $clientId, clientSecret: $clientSecret, domain: $domain, roleMapping: $roleMapping, required: $required) {
    domain domainProvedAt required dnsRecord { name value } breakGlassUserId
  }
}`;
const CHECK = 'mutation { checkSingleSignOnDomain { domainProvedAt } }';
const REMOVE = 'mutation { removeSingleSignOn }';
const SHOWN =
  '{ singleSignOn { issuer clientId domain required roleMapping { claim rules { value role } defaultRole } } }';
const MAPPING = {
  claim: 'groups',
  rules: [
    { value: 'admins', role: 'ADMIN' },
    { value: 'devs', role: 'DEVELOPER' },
  ],
};
let domains = 0;

describe('single sign-on of an account', () => {
  let gateway: TestGateway;
  let provider: IdentityProvider;
  let names: DnsServer;
  let mails: MailServer;
  beforeAll(async () => {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    [provider, names] = [
      await startIdentityProvider(`${url}/console/single-sign-on`),
      await startDnsServer(),
    ];
    mails = await startMailServer();
    gateway = await startTestGateway({
      EMAIL_URL: mails.url,
      EMAIL_FROM: 'gateway@platform.example',
      PORT: String(port),
      PUBLIC_URL: url,
      TRUST_PROXY: '127.0.0.0/8,::1/128',
      DNS_SERVERS: names.address,
    });
  });
  afterAll(async () => {
    await gateway?.stop();
    await provider?.stop();
    await mails?.stop();
    await names?.[Symbol.asyncDispose]();
  });

  const database = <T>(work: Parameters<typeof withKnex<T>>[1]) =>
    withKnex(gateway.database.connection, work);
  const set = (token: string, domain: string, changed: object = {}) =>
    graphql(gateway, SET, {
      token,
      variables: {
        issuer: provider.issuer,
        clientId: provider.clientId,
        clientSecret: provider.clientSecret,
        domain,
        roleMapping: MAPPING,
        required: false,
        ...changed,
      },
    });
  /** Creates an account whose provider signs in people of a new domain. */
  async function withProvider(): Promise<TestAccount & { token: string; domain: string }> {
    domains += 1;
    const domain = `company${domains}.example`;
    const account = await gateway.createAccount();
    const token = await signIn(gateway, account);
    const { dnsRecord } = (await set(token, domain)).body.data.setSingleSignOn;
    names.records.set(dnsRecord.name, ['v=spf1 -all', dnsRecord.value]);
    expect(codesOf(await graphql(gateway, CHECK, { token }))).toEqual([]);
    return { ...account, token, domain };
  }
  let people = 0;
  function person(domain: string, groups: readonly string[] = ['devs']) {
    people += 1;
    const somebody = {
      sub: `sub-${people}`,
      email: `person${people}@${domain}`,
      email_verified: true,
      groups,
    };
    provider.put(somebody);
    provider.signsIn = somebody.sub;
    return somebody;
  }
  async function tryToEnter(email: string) {
    const begun = await beginSingleSignOn(gateway, { email });
    return finishSingleSignOn(gateway, await provider.visit(begun.url), begun.cookie);
  }
  const viewerOf = async (token: string) => (await graphql(gateway, VIEWER, { token })).body.data?.viewer;
  const checkNow = async (subject: string) => {
    await database((knex) =>
      knex('single_sign_on_identities')
        .where({ subject })
        .update({ check_at: new Date(0) }),
    );
    await gateway.parts.checkSingleSignOn();
  };

  it('signs nobody in before the DNS record proves the domain, then makes members by the mapping (R356)', async () => {
    const account = await gateway.createAccount();
    const token = await signIn(gateway, account);
    const { dnsRecord, domainProvedAt } = (await set(token, 'Proved.Example')).body.data.setSingleSignOn;
    expect(domainProvedAt).toBeNull();
    expect(dnsRecord).toEqual({
      name: '_messaging-gateway.proved.example',
      value: expect.stringMatching(/^messaging-gateway-verification=[\w-]{32}$/),
    });
    const start = 'mutation ($email: String) { startSingleSignOn(email: $email) { url } }';
    const early = await graphql(gateway, start, { variables: { email: 'a@proved.example' } });
    expect(codesOf(early)).toEqual(['BAD_USER_INPUT']);
    expect(codesOf(await graphql(gateway, CHECK, { token }))).toEqual(['BAD_USER_INPUT']);
    names.records.set(dnsRecord.name, ['messaging-gateway-verification=of-somebody-else']);
    expect(codesOf(await graphql(gateway, CHECK, { token }))).toEqual(['BAD_USER_INPUT']);
    names.records.set(dnsRecord.name, [dnsRecord.value]);
    expect(
      (await graphql(gateway, CHECK, { token })).body.data.checkSingleSignOnDomain.domainProvedAt,
    ).not.toBeNull();
    const { email } = person('proved.example', ['staff', 'admins']);
    const viewer = await viewerOf(await signInBy(gateway, provider, email));
    expect(viewer).toMatchObject({ email, role: 'ADMIN', account: { id: account.accountId } });
    expect(viewer.acceptedAt).not.toBeNull();
  });

  it('lets one account prove a domain (R356)', async () => {
    const { domain } = await withProvider();
    const token = await signIn(gateway, await gateway.createAccount());
    const { dnsRecord } = (await set(token, domain)).body.data.setSingleSignOn;
    names.records.set(dnsRecord.name, [dnsRecord.value]);
    expect(codesOf(await graphql(gateway, CHECK, { token }))).toEqual(['BAD_USER_INPUT']);
  });

  it('offers the provider by the domain of what is typed, for people who exist or not (R356)', async () => {
    const { domain } = await withProvider();
    const offers = 'query ($email: String) { signInOffers(email: $email) { isForOperators host } }';
    const { host } = new URL(provider.issuer);
    for (const email of [`nobody@${domain}`, `Some.Body@${domain.toUpperCase()}`]) {
      const { body } = await graphql(gateway, offers, { variables: { email } });
      expect(body.data.signInOffers).toEqual([{ isForOperators: false, host }]);
    }
    const { body } = await graphql(gateway, offers, { variables: { email: 'a@elsewhere.example' } });
    expect(body.data.signInOffers).toEqual([]);
  });

  it('keeps the secret sealed and shows it to nobody, not in the audit log either (R356)', async () => {
    const { token, accountId } = await withProvider();
    const shown = await graphql(gateway, SHOWN, { token });
    expect(shown.body.data.singleSignOn).toMatchObject({ clientId: provider.clientId, roleMapping: MAPPING });
    const rows = await database((knex) => knex('audit_entries').where({ account_id: accountId }));
    expect(rows.map(({ action }) => action)).toEqual(
      expect.arrayContaining(['account.setSingleSignOn', 'account.proveSingleSignOnDomain']),
    );
    expect(JSON.stringify([rows, shown.text])).not.toContain(provider.clientSecret);
    const [sealed] = await database((knex) =>
      knex('single_sign_on').where({ account_id: accountId }).pluck('client_secret_sealed'),
    );
    expect(gateway.parts.secrets.open(sealed)).toBe(provider.clientSecret);
    // Without a new secret, the stored one is kept. It must never be sent to another issuer.
    const again = { clientSecret: null };
    expect(codesOf(await set(token, `x${domains}.example`, again))).toEqual([]);
    expect(
      codesOf(await set(token, `x${domains}.example`, { ...again, issuer: 'http://127.0.0.1:9' })),
    ).toEqual(['BAD_USER_INPUT']);
  });

  it('is for owners who have just confirmed themselves (R253, R356)', async () => {
    const { token, domain, accountId } = await withProvider();
    const admin = await signIn(gateway, await inviteMember(gateway, token, 'ADMIN'));
    for (const answer of [await set(admin, domain), await graphql(gateway, SHOWN, { token: admin })])
      expect(codesOf(answer)).toEqual(['FORBIDDEN']);
    await database(async (knex) => {
      await knex.raw(
        `UPDATE sessions SET verified_at = now() - interval '11 minutes'
         WHERE user_id IN (SELECT id FROM users WHERE account_id = ?)`,
        [accountId],
      );
      await knex.raw(`SELECT pg_notify('gateway_changes', 'session *')`);
    });
    await eventually(async () => String(codesOf(await set(token, domain))) === 'STEP_UP_REQUIRED');
  });

  it.each([
    ['issuer', { issuer: 'http://10.0.0.1/' }],
    ['issuer', { issuer: 'not a URL' }],
    ['domain', { domain: 'localhost' }],
    ['domain', { domain: 'a@b.example' }],
    ['roleMapping', { roleMapping: { claim: 'groups', rules: [] } }],
    [
      'roleMapping.rules.0.role',
      { roleMapping: { claim: 'groups', rules: [{ value: 'x', role: 'OPERATOR' }] } },
    ],
    ['required', { required: true }],
  ])('refuses a bad %s: %j (R356)', async (path, changed) => {
    const token = await signIn(gateway, await gateway.createAccount());
    const answer = await set(token, 'fresh.example', changed);
    expect(codesOf(answer)).toEqual(['BAD_USER_INPUT']);
    const fields = answer.body.errors[0].extensions.details.fields as { path: string }[];
    expect(fields.map((field) => field.path)).toEqual([path]);
  });

  it('never signs anybody into another account, or as an operator (R357)', async () => {
    const [own, other] = [await withProvider(), await withProvider()];
    await signInOperator(gateway);
    for (const email of [other.email, `somebody@${other.domain}`, 'operator@platform.example']) {
      const attacker = { sub: `attacker-${email}`, email, email_verified: true, groups: ['admins'] };
      provider.put({ ...attacker, roles: ['OPERATOR'] });
      provider.signsIn = attacker.sub;
      expect(codesOf(await tryToEnter(`x@${own.domain}`))).toEqual(['UNAUTHENTICATED']);
    }
    // One identity at a provider is a different person in each account.
    const both = person(own.domain);
    const first = await viewerOf(await signInBy(gateway, provider, both.email));
    provider.put({ ...both, email: `both@${other.domain}` });
    const second = await viewerOf(await signInBy(gateway, provider, `both@${other.domain}`));
    expect(first.account.id).toBe(own.accountId);
    expect(second.account.id).toBe(other.accountId);
    expect(second.id).not.toBe(first.id);
  });

  it('refuses the answer of another provider than the one where the sign-in was begun (R355)', async () => {
    const [own, other] = [await withProvider(), await withProvider()];
    const { email } = person(own.domain);
    const begun = await beginSingleSignOn(gateway, { email });
    expect(new URL(begun.url).searchParams.get('redirect_uri')).toBe(
      `${gateway.url}/console/single-sign-on/${own.accountId}`,
    );
    // A false provider leads the browser on to another provider, which returns to its own redirect URI.
    const query = await provider.visit(begun.url);
    for (const name of ['operators', other.accountId]) {
      const again = await beginSingleSignOn(gateway, { email });
      const mixed = await provider.visit(again.url);
      const refused = await finishSingleSignOn(gateway, mixed, again.cookie, undefined, name);
      expect(codesOf(refused)).toEqual(['UNAUTHENTICATED']);
      expect(refused.body.errors[0].message).toContain('Another provider answered');
      expect(codesOf(await finishSingleSignOn(gateway, mixed, again.cookie))).toEqual(['UNAUTHENTICATED']);
    }
    expect(codesOf(await finishSingleSignOn(gateway, query, begun.cookie))).toEqual([]);
  });

  describe('and access tokens', () => {
    const TOKEN = `mutation ($at: String!) {
      createAccessToken(input: { name: "t", permissions: ["member.list"], expiresAt: $at }) { token } }`;
    const tokenFor = async (session: string) => {
      const at = new Date(Date.now() + 3_600_000).toISOString();
      const made = await graphql(gateway, TOKEN, { token: session, variables: { at } });
      return made.body.data.createAccessToken.token as string;
    };
    const works = async (token: string) =>
      codesOf(await graphql(gateway, '{ members { id } }', { token })).length === 0;

    it('a token ends for good with the person at the provider (R254, R358)', async () => {
      const { token, domain } = await withProvider();
      const somebody = person(domain, ['admins']);
      const own = await tokenFor(await signInBy(gateway, provider, somebody.email));
      expect(await works(own)).toBe(true);
      provider.remove(somebody.sub);
      await checkNow(somebody.sub);
      expect(await works(own)).toBe(false);
      expect(codesOf(await graphql(gateway, REMOVE, { token }))).toEqual([]);
      expect(await works(own)).toBe(false);
    });

    it('a token whose person was not checked lately does not come back with another provider (R358)', async () => {
      const { token, domain } = await withProvider();
      const somebody = person(domain, ['admins']);
      const own = await tokenFor(await signInBy(gateway, provider, somebody.email));
      await database(async (knex) => {
        await knex('single_sign_on_identities')
          .where({ subject: somebody.sub })
          .update({ checked_at: new Date(0) });
        await knex.raw(`SELECT pg_notify('gateway_changes', 'session *')`);
      });
      await eventually(async () => !(await works(own)));
      expect(codesOf(await graphql(gateway, REMOVE, { token }))).toEqual([]);
      expect(await works(own)).toBe(false);
    });

    it('where the provider is required, tokens of people who never used it do nothing (R356)', async () => {
      const { token, domain } = await withProvider();
      const member = await tokenFor(await signIn(gateway, await inviteMember(gateway, token, 'ADMIN')));
      const owner = await tokenFor(token);
      expect(await works(member)).toBe(true);
      await set(token, domain, { required: true, clientSecret: null });
      await eventually(async () => !(await works(member)));
      expect(await works(owner)).toBe(true);
    });
  });

  describe('reads the DNS record of the domain again', () => {
    const STATE = '{ singleSignOn { domainProvedAt domainLostAt } }';
    const LOST = `{ auditLog(filter: { action: "account.loseSingleSignOnDomain" }) {
      nodes { actor { __typename } after } } }`;
    const recordOf = (domain: string) => `_messaging-gateway.${domain}`;
    const checkDomain = async (accountId: string) => {
      await database((knex) =>
        knex('single_sign_on')
          .where({ account_id: accountId })
          .update({ domain_check_at: new Date(0) }),
      );
      await gateway.parts.checkSingleSignOnDomains();
    };
    const nextCheckInHours = async (accountId: string) => {
      const [at] = await database((knex) =>
        knex('single_sign_on').where({ account_id: accountId }).pluck('domain_check_at'),
      );
      return Math.round((at.getTime() - Date.now()) / 3_600_000);
    };
    const newcomer = async (domain: string) => codesOf(await tryToEnter(person(domain).email));

    it('every day; once it is gone, nobody new signs in, the owners are told, and it can come back (R445)', async () => {
      const { token, domain, accountId, email: owner } = await withProvider();
      expect(await nextCheckInHours(accountId)).toBe(24);
      const known = person(domain);
      await signInBy(gateway, provider, known.email);
      const admin = await inviteMember(gateway, token, 'ADMIN');
      const stateOf = async () => (await graphql(gateway, STATE, { token })).body.data.singleSignOn;

      names.failing.add(recordOf(domain));
      for (let count = 0; count < 3; count += 1) await checkDomain(accountId);
      expect(await nextCheckInHours(accountId)).toBe(1);
      names.failing.delete(recordOf(domain));
      const kept = names.records.get(recordOf(domain)) ?? [];
      names.records.set(recordOf(domain), ['v=spf1 -all']);
      await checkDomain(accountId);
      expect(await nextCheckInHours(accountId)).toBe(1);
      expect((await stateOf()).domainLostAt).toBeNull();
      expect(await newcomer(domain)).toEqual([]);

      await checkDomain(accountId);
      expect(await stateOf()).toEqual({
        domainProvedAt: expect.any(String),
        domainLostAt: expect.any(String),
      });
      const refused = await tryToEnter(person(domain).email);
      expect(codesOf(refused)).toEqual(['UNAUTHENTICATED']);
      expect(refused.body.errors[0].message).toContain(`The DNS record of ${domain} is gone`);
      provider.signsIn = known.sub;
      expect((await viewerOf(await signInBy(gateway, provider, known.email))).email).toBe(known.email);
      await checkDomain(accountId);
      expect((await graphql(gateway, LOST, { token })).body.data.auditLog.nodes).toEqual([
        { actor: { __typename: 'System' }, after: { domain } },
      ]);
      const told = () =>
        mails.received.filter((mail) => mail.header('Subject')?.includes(`${domain} is gone`));
      await eventually(() => told().length > 0);
      expect(told().map(({ to }) => to)).toEqual([[owner]]);
      expect(textOfMail(told()[0]!)).toContain(recordOf(domain));
      expect(told().flatMap(({ to }) => to)).not.toContain(admin.email);

      names.records.set(recordOf(domain), kept);
      await checkDomain(accountId);
      expect((await stateOf()).domainLostAt).toBeNull();
      expect(await newcomer(domain)).toEqual([]);
    });

    it('a lost domain belongs to the account that proves it next; passwords of the other one work again (R445)', async () => {
      const { token, domain, accountId } = await withProvider();
      const member = await inviteMember(gateway, token, 'VIEWER');
      await set(token, domain, { required: true, clientSecret: null });
      const next = await signIn(gateway, await gateway.createAccount());
      const { dnsRecord } = (await set(next, domain)).body.data.setSingleSignOn;
      names.records.set(dnsRecord.name, [dnsRecord.value]);
      expect(codesOf(await graphql(gateway, CHECK, { token: next }))).toEqual(['BAD_USER_INPUT']);
      await checkDomain(accountId);
      await checkDomain(accountId);
      await expect(signIn(gateway, member)).rejects.toThrow('requires single sign-on');
      expect(codesOf(await graphql(gateway, CHECK, { token: next }))).toEqual([]);
      await signIn(gateway, member);
      const state = (await graphql(gateway, STATE, { token })).body.data.singleSignOn;
      expect(state).toEqual({ domainProvedAt: null, domainLostAt: null });
      const { nodes } = (await graphql(gateway, LOST, { token })).body.data.auditLog;
      expect(nodes[0]).toMatchObject({
        actor: { __typename: 'System' },
        after: { reason: expect.any(String) },
      });
      expect(await newcomer(domain)).toEqual([]);
    });
  });

  it.each([
    ['another role there', 'FORBIDDEN'],
    ['the person at the provider', 'UNAUTHENTICATED'],
    ['the provider, where no role is given any more', 'UNAUTHENTICATED'],
  ])('streams of a session and of an access token end with %s (R208, R358)', async (what, code) => {
    const { domain } = await withProvider();
    const somebody = person(domain, ['admins']);
    const session = await signInBy(gateway, provider, somebody.email);
    const create = `mutation ($at: String!) { createAccessToken(input: {
      name: "t", permissions: ["message.watch"], expiresAt: $at }) { token } }`;
    const variables = { at: new Date(Date.now() + 3_600_000).toISOString() };
    const { token } = (await graphql(gateway, create, { token: session, variables })).body.data
      .createAccessToken;
    const messages = 'subscription { messageUpdated { id } }';
    const streams = [await subscribe(gateway, session, messages), await subscribe(gateway, token, messages)];
    expect(streams.map(({ end }) => end)).toEqual([undefined, undefined]);
    if (what.startsWith('another')) provider.put({ ...somebody, groups: ['devs'] });
    else if (what.endsWith('any more')) provider.put({ ...somebody, groups: ['others'] });
    else provider.remove(somebody.sub);
    await checkNow(somebody.sub);
    await eventually(() => streams.every(({ end }) => end));
    expect(streams.map(({ events }) => eventCodes(events.at(-1)))).toEqual([[code], [code]]);
  });

  it('checks a share of each account at a time, and nobody without a session (R358)', async () => {
    const [many, few] = [await withProvider(), await withProvider()];
    const all = [];
    for (let count = 0; count < 8; count += 1) all.push(person(many.domain));
    const last = person(few.domain);
    for (const each of [...all, last]) {
      provider.signsIn = each.sub;
      await signInBy(gateway, provider, each.email);
    }
    const without = person(few.domain);
    const session = await signInBy(gateway, provider, without.email);
    await graphql(gateway, 'mutation { signOut }', { token: session });
    const subjects = [...all, last, without].map(({ sub }) => sub);
    await database((knex) =>
      knex('single_sign_on_identities')
        .whereIn('subject', subjects)
        .update({ check_at: new Date(0) }),
    );
    const later = new Date(Date.now() + 60_000);
    const due = await gateway.parts.stores.singleSignOn.takeDue(new Date(), later, 20, 5);
    const taken = due.map(({ identity }) => identity.subject).filter((each) => subjects.includes(each));
    expect(taken).toHaveLength(6);
    expect(taken).toContain(last.sub);
  });

  it('refuses unverified addresses, and people to whom no rule gives a role (R357)', async () => {
    const { domain } = await withProvider();
    const somebody = person(domain);
    provider.put({ ...somebody, email_verified: false });
    expect(codesOf(await tryToEnter(somebody.email))).toEqual(['UNAUTHENTICATED']);
    provider.put({ ...somebody, groups: ['others'] });
    expect(codesOf(await tryToEnter(somebody.email))).toEqual(['UNAUTHENTICATED']);
    provider.put(somebody);
    expect(codesOf(await tryToEnter(somebody.email))).toEqual([]);
  });

  it('accepts an invitation, and its one-time password ends; the role given here stays (R357)', async () => {
    const { token, domain } = await withProvider();
    const { email } = person(domain);
    const invite = `mutation ($email: String!) {
      inviteMember(email: $email, role: VIEWER) { password }
    }`;
    const { password } = (await graphql(gateway, invite, { token, variables: { email } })).body.data
      .inviteMember;
    expect(await viewerOf(await signInBy(gateway, provider, email))).toMatchObject({ email, role: 'VIEWER' });
    await expect(signIn(gateway, { email, password })).rejects.toThrow('UNAUTHENTICATED');
  });

  it.each([
    ['a person whom it made', false],
    ['a member whom it linked', true],
  ])(
    'shows that the email of %s is theirs, so failed sign-ins are reported to its account only (R206)',
    async (_, isInvited) => {
      const { token, domain } = await withProvider();
      const { email } = person(domain);
      const INVITE = 'mutation ($email: String!) { inviteMember(email: $email, role: VIEWER) { password } }';
      const invite = async (by: string) =>
        (await graphql(gateway, INVITE, { token: by, variables: { email } })).body.data.inviteMember.password;
      if (isInvited) await invite(token);
      await signInBy(gateway, provider, email);
      // Another account invites the same email, and accepts for itself.
      const spy = await signIn(gateway, await gateway.createAccount());
      const c = await invite(spy);
      const change = 'mutation ($c: String!) { changePassword(current: $c, new: "what the inviter chose") }';
      const fake = await signIn(gateway, { email, password: c });
      expect(codesOf(await graphql(gateway, change, { token: fake, variables: { c } }))).toEqual([]);
      await expect(signIn(gateway, { email, password: 'a guess' })).rejects.toThrow('UNAUTHENTICATED');
      await gateway.parts.security.flush({ isLast: true });
      const failures = '{ auditLog(filter: { action: "member.signInFailed" }) { totalCount } }';
      const countOf = async (as: string) =>
        (await graphql(gateway, failures, { token: as })).body.data.auditLog.totalCount;
      expect([await countOf(token), await countOf(spy)]).toEqual([1, 0]);
    },
  );

  it('lets nobody back whom an owner removed, unless they are invited again (R357)', async () => {
    const { token, domain } = await withProvider();
    const { email } = person(domain);
    const { id } = await viewerOf(await signInBy(gateway, provider, email));
    await graphql(gateway, 'mutation ($id: ID!) { removeMember(userId: $id) }', { token, variables: { id } });
    expect(codesOf(await tryToEnter(email))).toEqual(['UNAUTHENTICATED']);
    const invite = 'mutation ($email: String!) { inviteMember(email: $email, role: VIEWER) { password } }';
    await graphql(gateway, invite, { token, variables: { email } });
    expect((await viewerOf(await signInBy(gateway, provider, email))).id).not.toBe(id);
  });

  it('shuts passwords where it is required, but for one owner who stays (R356)', async () => {
    const { token, domain, email, password } = await withProvider();
    const member = await inviteMember(gateway, token, 'OWNER');
    const memberToken = await signIn(gateway, member);
    const again = { required: true, clientSecret: null };
    expect((await set(token, domain, again)).body.data.setSingleSignOn.required).toBe(true);
    expect(codesOf(await graphql(gateway, VIEWER, { token: memberToken }))).toEqual(['UNAUTHENTICATED']);
    await expect(signIn(gateway, member)).rejects.toThrow('requires single sign-on');
    const owner = await signIn(gateway, { email, password });
    const byProvider = person(domain, ['admins']);
    expect((await viewerOf(await signInBy(gateway, provider, byProvider.email))).role).toBe('ADMIN');
    const { id } = await viewerOf(owner);
    const demote = 'mutation ($id: ID!) { setMemberRole(userId: $id, role: VIEWER) { id } }';
    expect(codesOf(await graphql(gateway, demote, { token: owner, variables: { id } }))).toEqual([
      'BAD_USER_INPUT',
    ]);
    expect(codesOf(await graphql(gateway, REMOVE, { token: owner }))).toEqual([]);
    await signIn(gateway, member);
  });

  it('ends with its provider: sessions by it are over, and a sign-in under way too (R356)', async () => {
    const { token, domain } = await withProvider();
    const { email } = person(domain);
    const session = await signInBy(gateway, provider, email);
    const begun = await beginSingleSignOn(gateway, { email });
    const query = await provider.visit(begun.url);
    expect(codesOf(await graphql(gateway, REMOVE, { token }))).toEqual([]);
    expect(codesOf(await graphql(gateway, VIEWER, { token: session }))).toEqual(['UNAUTHENTICATED']);
    expect(codesOf(await finishSingleSignOn(gateway, query, begun.cookie))).toEqual(['UNAUTHENTICATED']);
  });

  it('follows the provider: another role revokes keys beyond it, and who is gone there is gone here (R358)', async () => {
    const { domain } = await withProvider();
    const somebody = person(domain, ['admins']);
    const token = await signInBy(gateway, provider, somebody.email);
    const create = `mutation { createApiKey(input: { name: "k", scopes: [FULL_ACCESS], environment: SANDBOX }) { key } }`;
    const { key } = (await graphql(gateway, create, { token })).body.data.createApiKey;
    expect((await gateway.call('GET', '/account', { key })).status).toBe(200);
    provider.put({ ...somebody, groups: ['devs'] });
    await checkNow(somebody.sub);
    expect((await viewerOf(token)).role).toBe('DEVELOPER');
    expect((await gateway.call('GET', '/account', { key })).status).toBe(401);
    provider.remove(somebody.sub);
    await checkNow(somebody.sub);
    expect(codesOf(await graphql(gateway, VIEWER, { token }))).toEqual(['UNAUTHENTICATED']);
  });

  it('dials no address inside, also not one that a provider names later (R356)', async () => {
    const { token, domain, accountId } = await withProvider();
    await database((knex) =>
      knex('single_sign_on').where({ account_id: accountId }).update({ issuer: 'http://10.1.2.3' }),
    );
    const start = 'mutation ($email: String) { startSingleSignOn(email: $email) { url } }';
    const answer = await graphql(gateway, start, { variables: { email: `a@${domain}` } });
    expect(codesOf(answer)).toEqual(['PROVIDER_ERROR']);
    expect(codesOf(await graphql(gateway, REMOVE, { token }))).toEqual([]);
  });
});
