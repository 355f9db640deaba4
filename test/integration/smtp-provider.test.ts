import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from '@jest/globals';
import { CircuitBreaker } from '../../src/channels/circuit-breaker.ts';
import { emailRoutes } from '../../src/channels/email/email-providers.ts';
import { SmtpProvider, type SmtpProviderOptions } from '../../src/channels/email/smtp-provider.ts';
import type { EmailBody, EmailSubmission, SubmitOutcome } from '../../src/domain/ports/provider.ts';
import { silentLogger } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { type MailServer, startMailServer } from '../support/mail-server.ts';
import { identity } from '../support/raw-receiver.ts';
import { selfSignedCertificate } from '../support/self-signed.ts';

/** The directory of the test-only certificates. */
const TLS = fileURLToPath(new URL('../fixtures/tls-test-only/', import.meta.url));

const opened: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close();
});

async function serve(...args: Parameters<typeof startMailServer>): Promise<MailServer> {
  const server = await startMailServer(...args);
  opened.push(() => server.stop());
  return server;
}

function provide(url: string, options: Partial<SmtpProviderOptions> = {}): SmtpProvider {
  const provider = new SmtpProvider({ url, logger: silentLogger, messageIdDomain: 'gw.example', ...options });
  opened.push(() => provider.stop());
  return provider;
}

type Members = Partial<EmailSubmission & EmailBody>;

let messages = 0;
function email({
  text = 'Hello Ann',
  html = null,
  attachments = [],
  ...members
}: Members = {}): EmailSubmission {
  messages += 1;
  return {
    messageId: `message-${messages}`,
    position: 0,
    to: 'ann@example.com',
    from: 'shop@example.com',
    attempt: 0,
    expiresAt: new Date(Date.now() + 3_600_000),
    subject: 'Hello',
    body: async () => ({ text, html, attachments }),
    replyTo: undefined,
    cc: [],
    bcc: [],
    headers: {},
    ...members,
  };
}

/** Each copy is a mail of its own, with a link of its own. */
function withOwnCopies(mail: EmailSubmission): EmailSubmission {
  const copy = (address: string): EmailSubmission => ({
    ...mail,
    headers: { 'List-Unsubscribe': `<https://gw.example/${address}>` },
  });
  return { ...mail, copiesTo: (addresses) => new Map(addresses.map((each) => [each, copy(each)])) };
}

const signal = new AbortController().signal;
const submit = (provider: SmtpProvider, members: Members = {}): Promise<SubmitOutcome> =>
  provider.submit(email(members), signal);

describe('an email (R23)', () => {
  it('carries what was given, and nothing else', async () => {
    const server = await serve();
    const outcome = await submit(provide(server.url), {
      messageId: '019a8f6e-0000-7000-8000-000000000001',
      from: '"Döner, \\"Best\\"" <shop@example.com>',
      replyTo: 'help@example.com',
      cc: ['ben@example.com'],
      bcc: ['cleo@example.com'],
      subject: 'Grüße 👋',
      text: 'Plain ü',
      html: '<p>Rich ü</p>',
      headers: { 'List-Unsubscribe': '<https://example.com/u/1>', 'X-Campaign': 'Frühling' },
      attachments: [{ filename: 'Rechnung ü.pdf', contentType: 'application/pdf', content: 'JVBERi0xLjQK' }],
    });
    const sid = '<019a8f6e-0000-7000-8000-000000000001.0@gw.example>';
    expect(outcome).toEqual({ kind: 'accepted', sid });
    const [mail] = server.received;
    expect(mail?.from).toBe('shop@example.com');
    expect(mail?.to).toEqual(['ann@example.com', 'ben@example.com', 'cleo@example.com']);
    expect(mail?.header('From')).toBe('Döner, "Best" <shop@example.com>');
    expect(mail?.header('To')).toBe('ann@example.com');
    expect(mail?.header('Cc')).toBe('ben@example.com');
    expect(mail?.header('Reply-To')).toBe('help@example.com');
    expect(mail?.header('Subject')).toBe('Grüße 👋');
    expect(mail?.header('Message-ID')).toBe(sid);
    expect(mail?.header('List-Unsubscribe')).toBe('<https://example.com/u/1>');
    expect(mail?.header('X-Campaign')).toBe('Frühling');
    expect(mail?.raw).not.toMatch(/cleo|^bcc/im);
    expect(mail?.headers.map(({ name }) => name.toLowerCase()).sort()).toEqual([
      'cc',
      'content-type',
      'date',
      'from',
      'list-unsubscribe',
      'message-id',
      'mime-version',
      'reply-to',
      'subject',
      'to',
      'x-campaign',
    ]);
    expect(mail?.raw).toContain('Plain =C3=BC');
    expect(mail?.raw).toContain('Rich =C3=BC');
    expect(mail?.raw).toMatch(/Content-Type: application\/pdf/);
    expect(mail?.raw).toContain('JVBERi0xLjQK');
  });

  it('uses one kept connection, and few for many at a time', async () => {
    const server = await serve();
    const provider = provide(server.url);
    expect((await submit(provider)).kind).toBe('accepted');
    expect((await submit(provider)).kind).toBe('accepted');
    expect(server.connections()).toBe(1);
    const outcomes = await Promise.all(Array.from({ length: 60 }, () => submit(provider)));
    expect(new Set(outcomes.map(({ kind }) => kind))).toEqual(new Set(['accepted']));
    expect(server.connections()).toBeLessThanOrEqual(10);
    expect(server.received).toHaveLength(62);
  });

  it('is not sent after its deadline', async () => {
    const server = await serve();
    const outcome = await submit(provide(server.url), { expiresAt: new Date(Date.now() - 1) });
    expect(outcome).toMatchObject({ kind: 'unavailable', definitelyNotSent: true });
    expect(server.begun()).toBe(0);
  });

  it('whose body cannot be loaded was not sent, and is retried', async () => {
    const server = await serve();
    const provider = provide(server.url);
    const body = () => Promise.reject(new Error('no database'));
    expect(await submit(provider, { body })).toMatchObject({
      kind: 'unavailable',
      definitelyNotSent: true,
      onlyThis: true,
    });
    expect(await submit(provider)).toMatchObject({ kind: 'accepted' });
  });

  it('is loaded only when it is about to be sent', async () => {
    const server = await serve({ data: 'silent' });
    const provider = provide(server.url, { timing: { stopGraceMs: 10 } });
    let fetched = 0;
    const body = async () => {
      fetched += 1;
      return { text: 'x', html: null, attachments: [] };
    };
    const underWay = Array.from({ length: 40 }, () => submit(provider, { body }));
    await eventually(() => server.begun() === 10);
    expect(fetched).toBe(10);
    await provider.stop();
    expect((await Promise.all(underWay)).every(({ kind }) => kind === 'unavailable')).toBe(true);
    expect(fetched).toBe(10);
  });

  it('has the same Message-ID when it is sent again, and another for another recipient', async () => {
    const server = await serve();
    const provider = provide(server.url);
    const first = await submit(provider, { messageId: 'm', position: 3 });
    expect(await submit(provider, { messageId: 'm', position: 3, attempt: 1 })).toEqual(first);
    expect(await submit(provider, { messageId: 'm', position: 4 })).not.toEqual(first);
  });
});

describe('answers of the mail server (R23)', () => {
  it('a greylisted recipient is deferred, and accepted later', async () => {
    const server = await serve({ rcpt: (_to, count) => (count === 1 ? 451 : 'accept') });
    const provider = provide(server.url);
    const mail = email();
    const outcome = await provider.submit(mail, signal);
    expect(outcome).toEqual({
      kind: 'unavailable',
      asked: true,
      reason: expect.stringContaining('451'),
      definitelyNotSent: true,
      onlyThis: true,
    });
    expect(provider.health().state).toBe('up');
    expect(await provider.submit({ ...mail, attempt: 1 }, signal)).toMatchObject({ kind: 'accepted' });
  });

  it.each([
    ['an unknown recipient', { rcpt: () => 550 as const }, '550'],
    ['a sender that is not allowed', { mailFrom: 553 as const }, '553'],
    ['a content that is not wanted', { data: 554 as const }, '554'],
  ])("%s is final, with the server's code", async (_what, behaviour, code) => {
    const server = await serve(behaviour);
    const provider = provide(server.url);
    expect(await submit(provider)).toEqual({
      kind: 'rejected',
      asked: true,
      code,
      reason: expect.stringContaining(code),
    });
    server.behave({ rcpt: () => 'accept', mailFrom: 'accept', data: 'accept' });
    expect(await submit(provider)).toMatchObject({ kind: 'accepted' });
  });

  it.each([
    ['at the sender', { mailFrom: 452 as const }],
    ['after the content', { data: 451 as const }],
    ['that the service closes', { data: 421 as const }],
    ['that a login is wanted', { mailFrom: 530 as const }],
  ])('%s is retried', async (_what, behaviour) => {
    const server = await serve(behaviour);
    expect(await submit(provide(server.url))).toMatchObject({ kind: 'unavailable', definitelyNotSent: true });
  });

  it('a connection cut in the middle of a mail leaves the outcome unknown', async () => {
    const server = await serve({ data: 'drop' });
    const provider = provide(server.url);
    const outcome = await submit(provider);
    expect(outcome).toEqual({ kind: 'unavailable', asked: true, reason: expect.stringContaining('unknown') });
    expect(server.begun()).toBe(1);
    expect(provider.health().state).toBe('down');
    server.behave({ data: 'accept' });
    expect(await submit(provider)).toMatchObject({ kind: 'accepted' });
    expect(provider.health().state).toBe('up');
  });

  it('a deferred sender does not stop other mails', async () => {
    const server = await serve({ mailFrom: 450 });
    const breaker = new CircuitBreaker(provide(server.url), { failures: 1 });
    const outcome = await breaker.submit(email({ from: 'x@nowhere.example' }), signal);
    expect(outcome).toMatchObject({ kind: 'unavailable', definitelyNotSent: true, onlyThis: true });
    server.behave({ mailFrom: 'accept' });
    expect(await breaker.submit(email(), signal)).toMatchObject({ kind: 'accepted' });
  });

  it('a mail without an answer, while the server accepts others, does not stop them', async () => {
    const server = await serve({ data: 'silent' });
    const provider = provide(server.url, { timing: { silenceTimeoutMs: 2_000 } });
    const breaker = new CircuitBreaker(provider, { failures: 1 });
    const silent = breaker.submit(email(), signal);
    await eventually(() => server.begun() === 1);
    server.behave({ data: 'accept' });
    expect(await breaker.submit(email(), signal)).toMatchObject({ kind: 'accepted' });
    expect(await silent).toEqual({
      kind: 'unavailable',
      asked: true,
      reason: expect.stringContaining('unknown'),
      onlyThis: true,
    });
    expect(provider.health().state).toBe('up');
    expect(await breaker.submit(email(), signal)).toMatchObject({ kind: 'accepted' });
  });

  it('with a closed port nothing was sent', async () => {
    const server = await serve();
    await server.stop();
    const provider = provide(server.url);
    expect(await submit(provider)).toMatchObject({ kind: 'unavailable', definitelyNotSent: true });
    expect(provider.health()).toMatchObject({
      state: 'down',
      detail: expect.stringContaining('ECONNREFUSED'),
    });
  });
});

describe('copies go with the first mail (R23)', () => {
  it("a refused copy does not stop the recipient's mail", async () => {
    const server = await serve({ rcpt: (to) => (to.startsWith('ben') ? 550 : 'accept') });
    const outcome = await submit(provide(server.url), { cc: ['ben@example.com'], bcc: ['cleo@example.com'] });
    expect(outcome.kind).toBe('accepted');
    expect(server.received.map(({ to }) => to)).toEqual([['ann@example.com', 'cleo@example.com']]);
  });

  it('a refused recipient fails, although the copies were sent', async () => {
    const server = await serve({ rcpt: (to) => (to.startsWith('ann') ? 550 : 'accept') });
    expect(await submit(provide(server.url), { cc: ['ben@example.com'] })).toMatchObject({
      kind: 'rejected',
      code: '550',
    });
    expect(server.received[0]?.to).toEqual(['ben@example.com']);
  });

  it('accepted copies are not sent again with a retry for the recipient', async () => {
    const server = await serve({
      rcpt: (to, count) => (to.startsWith('ann') && count === 1 ? 451 : 'accept'),
    });
    const mail = email({ cc: ['ben@example.com'], bcc: ['cleo@example.com'] });
    const provider = provide(server.url);
    expect(await provider.submit(mail, signal)).toMatchObject({ kind: 'unavailable' });
    expect(await provider.submit({ ...mail, attempt: 1 }, signal)).toMatchObject({ kind: 'accepted' });
    expect(server.received.map(({ to }) => to)).toEqual([
      ['ben@example.com', 'cleo@example.com'],
      ['ann@example.com'],
    ]);
    expect(server.received[1]?.header('Cc')).toBe('ben@example.com');
  });

  it('a mail with accepted copies was sent, although its recipient is deferred', async () => {
    const server = await serve({ rcpt: (to) => (to.startsWith('ann') ? 451 : 'accept') });
    const mail = email({ cc: ['ben@example.com'] });
    const provider = provide(server.url);
    for (const attempt of [0, 1]) {
      expect(await provider.submit({ ...mail, attempt }, signal)).toEqual({
        kind: 'unavailable',
        asked: true,
        reason: expect.stringContaining('451'),
        onlyThis: true,
      });
    }
    expect(server.received).toHaveLength(1);
  });

  it('copies that one server accepted are not sent by the next server that gets the mail for the deferred recipient', async () => {
    const first = await serve({
      rcpt: (to) => (to.startsWith('ann') || to.startsWith('cleo') ? 451 : 'accept'),
    });
    const second = await serve();
    const [route] = emailRoutes([first.url, second.url], {
      defaultFrom: 'shop@gw.example',
      logger: silentLogger,
    });
    const [one, other] = route?.providers ?? [];
    for (const provider of route?.providers ?? []) opened.push(() => provider.stop());
    const mail = email({ cc: ['ben@example.com'], bcc: ['cleo@example.com'] });
    expect(await one?.submit(mail, signal)).toMatchObject({ kind: 'unavailable' });
    expect(await other?.submit(mail, signal)).toMatchObject({ kind: 'accepted' });
    expect(first.received.map(({ to }) => to)).toEqual([['ben@example.com']]);
    expect(second.received.map(({ to }) => to)).toEqual([['ann@example.com', 'cleo@example.com']]);
  });

  it('a deferred copy is retried after 10 s, and the others get the mail once', async () => {
    const server = await serve({
      rcpt: (to, count) => (to.startsWith('ben') && count === 1 ? 450 : 'accept'),
    });
    const mail = email({ cc: ['ben@example.com'], bcc: ['cleo@example.com'] });
    expect(await provide(server.url).submit(mail, signal)).toMatchObject({ kind: 'accepted' });
    await eventually(() => server.received.length === 2);
    expect(server.received.map(({ to }) => to)).toEqual([
      ['ann@example.com', 'cleo@example.com'],
      ['ben@example.com'],
    ]);
    expect(new Set(server.received.map((each) => each.header('Message-ID'))).size).toBe(1);
  });

  it('copies with links of their own are mails of their own, after the recipient has got the mail (R532)', async () => {
    const server = await serve({
      rcpt: (to, count) => (count === 1 && !to.startsWith('cleo') ? 451 : 'accept'),
    });
    const mail = email({ cc: ['ben@example.com'], bcc: ['cleo@example.com'] });
    const linked = withOwnCopies(mail);
    const provider = provide(server.url);
    expect(await provider.submit(linked, signal)).toMatchObject({ kind: 'unavailable' });
    expect(server.received).toEqual([]);
    expect(await provider.submit({ ...linked, attempt: 1 }, signal)).toMatchObject({ kind: 'accepted' });
    await eventually(() => server.received.length === 3);
    expect(server.received.map(({ to, header }) => [to, header('List-Unsubscribe')])).toEqual([
      [['ann@example.com'], undefined],
      [['cleo@example.com'], '<https://gw.example/cleo@example.com>'],
      [['ben@example.com'], '<https://gw.example/ben@example.com>'],
    ]);
    expect(server.received.map(({ header }) => header('Cc'))).toEqual(Array(3).fill('ben@example.com'));
  });

  it('the outcome of the recipient does not wait for copies that are mails of their own (R532)', async () => {
    const server = await serve({ rcpt: (to) => (to.startsWith('ann') ? 'accept' : 'silent') });
    const mail = withOwnCopies(email({ cc: ['ben@example.com'], bcc: ['cleo@example.com'] }));
    const provider = provide(server.url, { timing: { stopGraceMs: 100 } });
    expect(await provider.submit(mail, signal)).toMatchObject({ kind: 'accepted' });
    // The copy still waits for the server's answer.
    await eventually(() => provider.health().inFlight === 1);
    expect(server.received.map(({ to }) => to)).toEqual([['ann@example.com']]);
  });

  it('copies that are mails of their own all wait after the first that the server does not take (R532)', async () => {
    const asked: string[] = [];
    const server = await serve({
      rcpt: (to) => {
        asked.push(to);
        return to.startsWith('ann') ? 'accept' : 'drop';
      },
    });
    const logged: unknown[] = [];
    const logger = { ...silentLogger, warn: (fields: object) => void logged.push(fields) };
    const provider = provide(server.url, { logger: { ...logger, child: () => logger } });
    const mail = email({ cc: ['ben@example.com', 'cleo@example.com', 'dan@example.com'] });
    const late = withOwnCopies({ ...mail, expiresAt: new Date(Date.now() + 9_000) });
    expect(await provider.submit(late, signal)).toMatchObject({ kind: 'accepted' });
    // The retry would come after the deadline. So all three are given up at once.
    await eventually(() =>
      logged.some(
        (each) => JSON.stringify(each) === JSON.stringify({ messageId: mail.messageId, copies: 3 }),
      ),
    );
    expect(new Set(asked)).toEqual(new Set(['ann@example.com', 'ben@example.com']));
  });

  it('a mail whose time ends while its body loads is not sent (R23)', async () => {
    const server = await serve();
    const time = new AbortController();
    const mail = email();
    const body = () => {
      time.abort();
      return mail.body();
    };
    const outcome = await provide(server.url).submit({ ...mail, body }, time.signal);
    expect(outcome).toMatchObject({ kind: 'unavailable', definitelyNotSent: true });
    expect(server.received).toEqual([]);
  });

  it('copies deferred until the deadline or the shutdown are given up, and logged', async () => {
    const server = await serve({ rcpt: (to) => (to.startsWith('ann') ? 'accept' : 450) });
    const logged: unknown[] = [];
    const logger = { ...silentLogger, warn: (fields: object) => void logged.push(fields) };
    const provider = provide(server.url, { logger: { ...logger, child: () => logger } });
    const copies = { cc: ['ben@example.com', 'cleo@example.com'] };
    const late = { ...copies, messageId: 'late', expiresAt: new Date(Date.now() + 9_000) };
    expect(await submit(provider, late)).toMatchObject({ kind: 'accepted' });
    expect(logged).toEqual([{ messageId: 'late', copies: 2 }]);
    expect(await submit(provider, { ...copies, messageId: 'stopped' })).toMatchObject({ kind: 'accepted' });
    await provider.stop();
    expect(logged.at(-1)).toEqual({ messageId: 'stopped', copies: 2 });
  });

  it('the final refusal of a recipient counts while the copies are deferred', async () => {
    const server = await serve({ rcpt: (to) => (to.startsWith('ann') ? 550 : 451) });
    expect(await submit(provide(server.url), { cc: ['ben@example.com'] })).toMatchObject({
      kind: 'rejected',
      code: '550',
    });
  });
});

describe('login and encryption', () => {
  const login = { user: 'gateway', password: 'p@ss' };

  it('logs in with the credentials of the URL', async () => {
    const server = await serve({ login });
    await submit(provide(`smtp://gateway:p%40ss@127.0.0.1:${server.port}`));
    expect(server.received[0]?.user).toBe('gateway');
  });

  it('a refused login fails no mail: it waits for the operator, and health says so', async () => {
    const server = await serve({ login });
    const provider = provide(`smtp://gateway:wrong@127.0.0.1:${server.port}`);
    expect(await submit(provider)).toMatchObject({ kind: 'unavailable', definitelyNotSent: true });
    expect(provider.health()).toMatchObject({
      state: 'down',
      detail: expect.stringContaining('refuses the login'),
    });
    expect(JSON.stringify(provider.health())).not.toContain('wrong');
  });

  it('a refused login is known after the start, before any mail', async () => {
    const server = await serve({ login });
    const provider = provide(`smtp://gateway:wrong@127.0.0.1:${server.port}`);
    provider.start();
    await eventually(() => provider.health().state === 'down');
    const right = provide(`smtp://gateway:p%40ss@127.0.0.1:${server.port}`);
    right.start();
    await eventually(() => right.health().state === 'up');
  });

  it('sends nothing unencrypted when encryption is required and the server has none', async () => {
    const server = await serve({ login });
    const provider = provide(`smtp://gateway:p%40ss@127.0.0.1:${server.port}?requireTLS`);
    expect(await submit(provider)).toMatchObject({ kind: 'unavailable', definitelyNotSent: true });
    expect(server.begun()).toBe(0);
    expect(server.recipients).toEqual([]);
    expect(provider.health().state).toBe('down');
  });

  it('uses STARTTLS when it is offered, and checks the certificate when encryption is required', async () => {
    const tls = selfSignedCertificate();
    const server = await serve({}, { tls });
    const url = `smtp://localhost:${server.port}`;
    expect(await submit(provide(url))).toMatchObject({ kind: 'accepted' });
    expect(await submit(provide(`${url}?requireTLS`))).toMatchObject({
      kind: 'unavailable',
      definitelyNotSent: true,
    });
    expect(await submit(provide(`${url}?requireTLS`, { tlsCa: tls.cert }))).toMatchObject({
      kind: 'accepted',
    });
    expect(server.received.map(({ isEncrypted }) => isEncrypted)).toEqual([true, true]);
  });

  it('greets with the name of the URL', async () => {
    const server = await serve();
    for (const name of ['gateway.example.com', '[192.0.2.1]', '[IPv6:2001:db8::1]']) {
      await submit(provide(`${server.url}?name=${encodeURIComponent(name)}`));
      expect(server.received.at(-1)?.greeting).toBe(name.toLowerCase());
    }
  });

  it('trusts only the authority that the URL names, on this machine too (R209)', async () => {
    const ca = `?ca=${TLS}ca.pem`;
    for (const [name, fault] of [
      ['server', undefined],
      ['other-name', /altnames/i],
      ['expired', /expired/],
      ['self-signed', /self-signed/],
    ] as const) {
      const starttls = await serve({}, { tls: identity(name) });
      const smtps = await serve({}, { tls: identity(name), options: { secure: true } });
      for (const url of [`smtp://127.0.0.1:${starttls.port}${ca}`, `smtps://127.0.0.1:${smtps.port}${ca}`]) {
        const outcome = await submit(provide(url));
        if (fault === undefined) expect(outcome).toMatchObject({ kind: 'accepted' });
        else expect(outcome).toMatchObject({ kind: 'unavailable', reason: expect.stringMatching(fault) });
      }
      expect([...starttls.received, ...smtps.received].map(({ isEncrypted }) => isEncrypted)).toEqual(
        fault === undefined ? [true, true] : [],
      );
    }
  });

  it('uses TLS from the first byte with smtps', async () => {
    const tls = selfSignedCertificate();
    const server = await serve({}, { tls, options: { secure: true } });
    const url = `smtps://localhost:${server.port}`;
    expect(await submit(provide(url, { tlsCa: tls.cert }))).toMatchObject({ kind: 'accepted' });
    expect(await submit(provide(url))).toMatchObject({ kind: 'unavailable', definitelyNotSent: true });
    const plain = await serve();
    expect(await submit(provide(`smtps://127.0.0.1:${plain.port}`))).toMatchObject({ kind: 'unavailable' });
    expect(plain.begun()).toBe(0);
  });

  it.each([
    ['ftp://mail.example', 'not an smtp'],
    ['smtp://', 'names no host'],
    ['smtp://mail.example?pool=5', 'unknown SMTP parameter pool'],
    ['smtp://mail.example?requireTLS=maybe', 'requireTLS'],
    ['smtp://u:%zz@mail.example', 'percent-encoded'],
    ['smtp://mail.example?name=no%20host', 'name must be a host name'],
    ['smtp://mail.example?name=a%0D%0AMAIL', 'name must be a host name'],
    [`smtp://mail.example?name=${'a.'.repeat(200)}b`, 'name must be a host name'],
    ['smtp://mail.example?ca=no-such-file.pem', 'no-such-file.pem, named by ca, cannot be read (ENOENT)'],
    [`smtps://mail.example?ca=${TLS}server.key`, 'server.key, named by ca, holds no certificate'],
  ])('refuses the URL %s', (url, fault) => {
    expect(() => provide(url)).toThrow(fault);
  });
});

describe('no input adds a header, a recipient or a file', () => {
  it.each([
    ['an encoded line end in the subject', { subject: '=?utf-8?Q?Hi=0D=0ABcc:_evil@evil.example?=' }],
    ['an address in a name', { from: '"evil@evil.example," <shop@example.com>' }],
    ['a group in a name', { replyTo: '"friends: evil@evil.example;" <help@example.com>' }],
    [
      'an encoded line end in a header',
      { headers: { 'X-Note': '=?utf-8?B?DQpCY2M6IGV2aWxAZXZpbC5leGFtcGxl?=' } },
    ],
    [
      'a dot line in the text',
      { text: 'one\r\n.\r\nMAIL FROM:<evil@evil.example>\r\nRCPT TO:<evil@evil.example>' },
    ],
    ['a bare line feed before a dot', { text: 'one\n.\nMAIL FROM:<evil@evil.example>\n.\r\n' }],
    ['bare carriage returns', { text: 'one\r.\rRCPT TO:<evil@evil.example>\r' }],
    ['headers at the start of the text', { text: 'Bcc: evil@evil.example\r\n\r\nHello' }],
    [
      'a boundary in the text',
      { html: '<p>x</p>', text: '--_----\r\nContent-Type: text/html\r\n\r\nBcc: x' },
    ],
    [
      'parameters in a file name',
      {
        attachments: [{ filename: 'a.txt"; x="y', contentType: 'text/plain', content: 'SGk=' }],
      },
    ],
    [
      'a path as the content of a file',
      {
        attachments: [{ filename: 'passwd', contentType: 'text/plain', content: '/etc/passwd=' }],
      },
    ],
    ['a path and an address as text', { text: 'file:///etc/passwd', html: 'http://169.254.169.254/latest' }],
  ] satisfies [string, Members][])('%s', async (_what, members) => {
    const server = await serve();
    const outcome = await submit(provide(server.url), members);
    expect(outcome.kind).toBe('accepted');
    expect(server.recipients).toEqual(['ann@example.com']);
    expect(server.received).toHaveLength(1);
    const [mail] = server.received;
    const names = mail?.headers.map(({ name }) => name.toLowerCase()) ?? [];
    expect(names).not.toContain('bcc');
    const allowed =
      /^(content-(type|transfer-encoding)|date|from|message-id|mime-version|reply-to|subject|to|x-note)$/;
    expect(names.filter((name) => !allowed.test(name))).toEqual([]);
    expect(new Set(names).size).toBe(names.length);
    if ('subject' in members) expect(mail?.header('Subject')).toBe(members.subject);
    expect(mail?.raw).not.toContain(readFileSync('/etc/passwd', 'utf8').split('\n')[0] as string);
  });

  it.each([
    ['a header with several values', { headers: { 'X-Note': ['one', 'two'] } }],
    [
      'a header that is to be left as it is',
      { headers: { 'X-Note': { prepared: true, value: 'x\r\nBcc: e' } } },
    ],
    ['a subject that is a list', { subject: ['one', 'two'] }],
    ['a text that is a path', { text: { path: '/etc/passwd' } }],
    [
      'a file that is a raw part',
      { attachments: [{ filename: 'a', contentType: 'text/plain', content: { raw: 'x' } }] },
    ],
  ])('%s fails this mail only, and does not blame the server', async (_what, members) => {
    const server = await serve();
    const provider = provide(server.url);
    const breaker = new CircuitBreaker(provider, { failures: 1 });
    const outcome = await breaker.submit(email(members as unknown as Members), signal);
    expect(outcome).toEqual({
      kind: 'rejected',
      asked: false,
      code: 'invalid_mail',
      reason: expect.stringMatching(/ of the mail is not text$/),
    });
    expect(provider.health().state).toBe('starting');
    expect(server.recipients).toEqual([]);
    expect(await breaker.submit(email(), signal)).toMatchObject({ kind: 'accepted' });
  });

  it('a mail that cannot be written leaves the rest of the server as it is (R588)', async () => {
    const server = await serve({ data: 421 });
    let nowMs = 0;
    const provider = provide(server.url);
    const breaker = new CircuitBreaker(provider, { failures: 1, restMs: 1_000, now: () => nowMs });
    expect(await breaker.submit(email(), signal)).toMatchObject({ kind: 'unavailable', asked: true });
    expect(breaker.health().state).toBe('down');
    nowMs += 1_000;
    const own = await breaker.submit(email({ subject: ['one', 'two'] as never }), signal);
    expect(own).toMatchObject({ kind: 'rejected', asked: false, code: 'invalid_mail' });
    expect(breaker.health().state).toBe('down');
    server.behave({ data: 'accept' });
    expect(await breaker.submit(email(), signal)).toMatchObject({ kind: 'accepted' });
    expect(breaker.health().state).toBe('up');
  });

  it('an encoded word reaches the reader as the letters that were given', async () => {
    const server = await serve();
    await submit(provide(server.url), { subject: 'a =?utf-8?Q?b=40c?= d' });
    expect(server.received[0]?.raw).not.toMatch(/^Subject: .*=\?utf-8\?Q\?b=40c\?=/m);
    expect(server.received[0]?.header('Subject')).toBe('a =?utf-8?Q?b=40c?= d');
  });
});
