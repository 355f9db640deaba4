import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { silentLogger } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { codesOf, graphql, signIn } from '../support/graphql.ts';
import { type MailServer, startMailServer, textOfMail } from '../support/mail-server.ts';

const METRICS_TOKEN = 'a-token-for-metrics';
const SIGN_IN = 'mutation ($e: String!, $p: String!) { signIn(email: $e, password: $p) { token } }';

describe('attempts with wrong secrets (R213)', () => {
  let gateway: TestGateway;
  let account: TestAccount;
  let mails: MailServer;
  const lines: Record<string, unknown>[] = [];
  beforeAll(async () => {
    jest
      .spyOn(silentLogger, 'warn')
      .mockImplementation((fields, message) => void lines.push({ ...fields, message }));
    gateway = await startTestGateway({
      METRICS_TOKEN,
      SMS_ROUTES: '*=twilio://AC1:one@127.0.0.1:1',
      WHATSAPP_APP_SECRET: 'app-secret',
      WHATSAPP_VERIFY_TOKEN: 'verify',
    });
    account = await gateway.createAccount();
    mails = await startMailServer();
  });
  afterAll(async () => {
    await gateway?.stop();
    await mails?.stop();
    jest.restoreAllMocks();
  });

  const refusals = async (kind: string) => {
    const headers = { Authorization: `Bearer ${METRICS_TOKEN}` };
    const text = await (await fetch(`${gateway.url}/metrics`, { headers })).text();
    return Number(
      new RegExp(`^gateway_security_refusals_total\\{kind="${kind}"\\} (\\d+)$`, 'm').exec(text)?.[1],
    );
  };
  const password = (email: string, given: string) =>
    graphql(gateway, SIGN_IN, { variables: { e: email, p: given } });
  const guess = (path: string, init: RequestInit = {}) =>
    fetch(gateway.url + path, { method: 'POST', ...init });
  const secret = '5'.repeat(40);

  it.each<[string, string, (keyId: string) => Promise<unknown>, object]>([
    [
      'an unknown key',
      'api_key',
      () => gateway.call('GET', '/account', { key: `msg_${'f'.repeat(16)}_${secret}` }),
      { reason: 'unknown' },
    ],
    [
      'a key with another secret',
      'api_key',
      (keyId) => gateway.call('GET', '/account', { key: `msg_${keyId}_${secret}` }),
      { reason: 'wrong secret', keyId: expect.any(String) },
    ],
    [
      'no key at all',
      'api_key',
      () => gateway.call('GET', '/account', { key: secret }),
      { reason: 'malformed' },
    ],
    [
      'a session token',
      'session',
      () => graphql(gateway, '{ viewer { id } }', { token: secret }),
      { reason: 'unknown or over (bearer)' },
    ],
    [
      'an unknown email',
      'password',
      () => password('nobody@test.example', secret),
      { reason: 'unknown email' },
    ],
    [
      'a carrier’s callback',
      'callback',
      () => guess('/callbacks/sms/twilio', { body: `MessageSid=${secret}` }),
      { reason: 'twilio: wrong signature or token' },
    ],
    [
      'a callback of WhatsApp',
      'callback',
      () =>
        guess('/callbacks/whatsapp', { body: '{}', headers: { 'X-Hub-Signature-256': `sha256=${secret}` } }),
      { reason: 'whatsapp: wrong signature' },
    ],
    [
      'a handshake of WhatsApp',
      'callback',
      () =>
        fetch(
          `${gateway.url}/callbacks/whatsapp?hub.mode=subscribe&hub.verify_token=${secret}&hub.challenge=1`,
        ),
      { reason: 'whatsapp: wrong verify token' },
    ],
    [
      'a token for metrics',
      'metrics_token',
      () => fetch(`${gateway.url}/metrics`, { headers: { Authorization: `Bearer ${secret}` } }),
      { reason: 'no or another token' },
    ],
  ])('%s is counted and logged, without the secret', async (_what, kind, attempt, said) => {
    const before = await refusals(kind);
    lines.length = 0;
    await attempt(account.key.split('_')[1] ?? '');
    expect(await refusals(kind)).toBe(before + 1);
    expect(lines).toEqual([{ security: kind, address: '127.0.0.1', message: 'refused', ...said }]);
    expect(JSON.stringify(lines)).not.toMatch(/5{40}|nobody@/);
  });

  it('a wrong signature is counted and logged', async () => {
    const { key, keyId } = await gateway.createKey(account.accountId, { enableHmac: true });
    lines.length = 0;
    const before = await refusals('signature');
    await gateway.call('GET', '/account', { key });
    const timestamp = String(Math.floor(Date.now() / 1000));
    const headers = { 'x-timestamp': timestamp, 'x-signature': '0'.repeat(64) };
    await gateway.call('GET', '/account', { key, headers });
    expect(await refusals('signature')).toBe(before + 2);
    expect(lines).toMatchObject([
      { security: 'signature', reason: 'missing', keyId },
      { security: 'signature', reason: 'bad_signature', keyId },
    ]);
  });

  describe('in the audit log', () => {
    const viewerOf = async (owner: TestAccount) => {
      const token = await signIn(gateway, owner);
      return (await graphql(gateway, '{ viewer { id } }', { token })).body.data.viewer.id as string;
    };

    it('sign-ins, failures and the lockout are recorded once for each address and window', async () => {
      const owner = await gateway.createAccount();
      const other = await gateway.createAccount();
      const id = await viewerOf(owner);
      for (let n = 0; n < 11; n++) await password(owner.email, secret);
      expect(await refusals('lockout')).toBeGreaterThan(0);
      // The IP address is locked out. So read the audit log directly, without a sign-in.
      const seen = () =>
        gateway.parts.operations.audit.list.run(
          { kind: 'member', accountId: owner.accountId, userId: id, role: 'OWNER' },
          { first: 50, filter: { target: id } },
        );
      const rows = await eventually(async () => {
        const found = (await seen()).edges.map(({ node }) => node);
        return found.length >= 3 && found;
      });
      const after = expect.objectContaining({ address: '127.0.0.1', count: expect.any(Number) });
      expect(rows.map(({ actor, action, after: said }) => [actor, action, said]).sort()).toEqual([
        ['system:sign-in', 'member.lockedOut', after],
        ['system:sign-in', 'member.signInFailed', after],
        [`user:${id}`, 'member.signIn', after],
      ]);
      expect(rows.every((row) => row.accountId === owner.accountId)).toBe(true);
      const { edges: elsewhere } = await gateway.parts.operations.audit.list.run(
        { kind: 'member', accountId: other.accountId, userId: id, role: 'OWNER' },
        { first: 50, filter: { action: 'member.signInFailed' } },
      );
      expect(elsewhere).toEqual([]);
      const { isIntact } = await gateway.parts.operations.audit.verify.run(
        { kind: 'system', name: 'test' },
        {},
      );
      expect(isIntact).toBe(true);
    });

    it('they are recorded for the account concerned, not for one that only invited the same email', async () => {
      await using fresh = await startTestGateway();
      const owner = await fresh.createAccount();
      const inviter = await fresh.createAccount();
      const token = await signIn(fresh, inviter);
      const invite = `mutation { inviteMember(email: "${owner.email}", role: VIEWER) { password } }`;
      const { body } = await graphql(fresh, invite, { token });
      const failuresOf = async (asked: string) => {
        const query = '{ auditLog(filter: { action: "member.signInFailed" }) { nodes { accountId } } }';
        return (await graphql(fresh, query, { token: asked })).body.data.auditLog.nodes;
      };
      await graphql(fresh, SIGN_IN, { variables: { e: owner.email, p: secret } });
      const own = await signIn(fresh, owner);
      await eventually(async () => (await failuresOf(own)).length === 1);
      // The invited person accepts. The account that invited still gets no access to the other account's people.
      const { password: shown } = body.data.inviteMember;
      const fake = await signIn(fresh, { email: owner.email, password: shown });
      const change = 'mutation ($c: String!, $n: String!) { changePassword(current: $c, new: $n) }';
      const variables = { c: shown, n: 'another password of theirs' };
      expect((await graphql(fresh, change, { token: fake, variables })).body.data.changePassword).toBe(true);
      await graphql(fresh, SIGN_IN, { variables: { e: owner.email, p: `${secret}2` } });
      await fresh.parts.security.flush({ isLast: true });
      expect((await failuresOf(own)).length).toBeGreaterThan(1);
      expect(await failuresOf(token)).toEqual([]);
    });

    const FAILURES = '{ auditLog(filter: { action: "member.signInFailed" }) { nodes { accountId } } }';
    const CHANGE = 'mutation ($c: String!, $n: String!) { changePassword(current: $c, new: $n) }';
    const INVITE = 'mutation ($e: String!) { inviteMember(email: $e, role: VIEWER) { password } }';
    const failuresOf = async (at: TestGateway, token: string) =>
      (await graphql(at, FAILURES, { token })).body.data.auditLog.nodes;
    /** Invites the email address, and accepts with the one-time password, as its inviter can. */
    async function acceptedWithoutMail(at: TestGateway, token: string, email: string) {
      const { password: shown } = (await graphql(at, INVITE, { token, variables: { e: email } })).body.data
        .inviteMember;
      const person = await signIn(at, { email, password: shown });
      const variables = { c: shown, n: 'a password that the inviter chose' };
      expect((await graphql(at, CHANGE, { token: person, variables })).body.data.changePassword).toBe(true);
    }

    it('they are recorded for the account whose person has shown that the email is theirs, and for no inviter of it (R206)', async () => {
      await using fresh = await startTestGateway({
        EMAIL_URL: mails.url,
        EMAIL_FROM: 'gateway@platform.example',
      });
      const email = 'victim@test.example';
      const [inviter, employer] = [await fresh.createAccount(), await fresh.createAccount()];
      const [spy, own] = [await signIn(fresh, inviter), await signIn(fresh, employer)];
      await acceptedWithoutMail(fresh, spy, email);
      await graphql(fresh, INVITE, { token: own, variables: { e: email } });
      await graphql(fresh, SIGN_IN, { variables: { e: email, p: secret } });
      await fresh.parts.security.flush({ isLast: true });
      expect([await failuresOf(fresh, spy), await failuresOf(fresh, own)]).toEqual([[], []]);
      // The person accepts the employer's invitation by its mail. The other account hides nothing by its invitation.
      const links = await eventually(() => {
        const texts = mails.received.filter(({ to }) => to.includes(email)).map(textOfMail);
        return texts.length === 2 && texts.map((text) => /token=([\w-]{43})/.exec(text)?.[1]);
      });
      const accept = 'mutation ($t: String!, $p: String!) { acceptInvitation(token: $t, password: $p) }';
      const answers = [];
      for (const t of links)
        answers.push(await graphql(fresh, accept, { variables: { t, p: 'a password of their own' } }));
      // The link of the inviter ended when its password was changed.
      expect(answers.map((answer) => codesOf(answer)).sort()).toEqual([[], ['BAD_USER_INPUT']]);
      await graphql(fresh, SIGN_IN, { variables: { e: email, p: `${secret}2` } });
      await fresh.parts.security.flush({ isLast: true });
      expect(await failuresOf(fresh, own)).toHaveLength(1);
      expect(await failuresOf(fresh, spy)).toEqual([]);
    });

    it('where no mails are sent, they are recorded for the only person with the email (R206)', async () => {
      await using fresh = await startTestGateway();
      const email = 'member@test.example';
      const [employer, other] = [await fresh.createAccount(), await fresh.createAccount()];
      const [own, elsewhere] = [await signIn(fresh, employer), await signIn(fresh, other)];
      await acceptedWithoutMail(fresh, own, email);
      await graphql(fresh, SIGN_IN, { variables: { e: email, p: secret } });
      await fresh.parts.security.flush({ isLast: true });
      expect(await failuresOf(fresh, own)).toHaveLength(1);
      await graphql(fresh, INVITE, { token: elsewhere, variables: { e: email } });
      await graphql(fresh, SIGN_IN, { variables: { e: email, p: `${secret}2` } });
      await fresh.parts.security.flush({ isLast: true });
      expect(await failuresOf(fresh, own)).toHaveLength(1);
    });

    it('refusals by an allowlist are collected in memory, 1,000 as one entry', async () => {
      await using fresh = await startTestGateway();
      const owner = await fresh.createAccount();
      const { key, keyId } = await fresh.createKey(owner.accountId, { ipAllowlist: ['203.0.113.0/24'] });
      const answers = await Promise.all(
        Array.from({ length: 100 }, () => fresh.call('GET', '/account', { key })),
      );
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([403]));
      const token = await signIn(fresh, owner);
      const query = `{ auditLog(filter: { target: "${keyId}", action: "apiKey.outsideAllowlist" }) { nodes { accountId actor { ... on ApiKey { keyId } } after } } }`;
      const nodes = await eventually(async () => {
        const found = (await graphql(fresh, query, { token })).body.data.auditLog.nodes;
        return found.length > 0 && found;
      });
      expect(nodes).toEqual([
        {
          accountId: owner.accountId,
          actor: { keyId },
          after: expect.objectContaining({ address: '127.0.0.1' }),
        },
      ]);
    });
  });
});
