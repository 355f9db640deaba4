/** Tests mails that come back: bounces and complaints, taken by another process than the one that sent. */
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import nodemailer from 'nodemailer';
import { startBounceListener } from '../../src/channels/email/bounce-listener.ts';
import { examine } from '../../src/cli/doctor.ts';
import { parseConfig } from '../../src/config/config.ts';
import { createReturnPaths } from '../../src/crypto/return-paths.ts';
import { UNMEASURED } from '../../src/domain/ports/measurements.ts';
import { silentLogger } from '../support/database.ts';
import { type DnsServer, startDnsServer } from '../support/dns-server.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { graphql, signIn } from '../support/graphql.ts';
import { type MailServer, startMailServer } from '../support/mail-server.ts';
import { readMetrics } from '../support/metrics.ts';
import { bounceMail, complaintMail, returnMail, vacationMail } from '../support/report-mails.ts';
import { selfSignedCertificate } from '../support/self-signed.ts';

const DOMAIN = 'bounces.example.com';
const COMPLAINTS = `complaints@${DOMAIN}`;

let server: MailServer;
let dns: DnsServer;
let sender: TestGateway;
let listener: TestGateway;
let account: TestAccount;
let token: string;
let people = 0;

beforeAll(async () => {
  server = await startMailServer();
  dns = await startDnsServer();
  const mails = {
    EMAIL_URL: server.url,
    EMAIL_FROM: 'ACME <no-reply@acme.example>',
    BOUNCE_DOMAIN: DOMAIN,
  };
  sender = await startTestGateway(mails);
  const { key: BOUNCE_TLS_KEY, cert: BOUNCE_TLS_CERT } = selfSignedCertificate();
  listener = await startTestGateway(
    { ...mails, BOUNCE_PORT: '0', BOUNCE_TLS_KEY, BOUNCE_TLS_CERT, DNS_SERVERS: dns.address },
    sender.database,
  );
  account = await sender.createAccount();
  token = await signIn(sender, account);
});
afterAll(async () => {
  await listener?.stop();
  await sender?.stop();
  await server?.stop();
  await dns?.[Symbol.asyncDispose]();
});

const messageOf = async (id: string) => {
  const { body } = await sender.call('GET', `/developers/messages/${id}`, { key: account.key });
  return body;
};
const factsOf = async (id: string) => {
  const query = `{ message(id: "${id}") { timeline { status detail } recipients { refunded } events { type } } }`;
  const { body } = await graphql(sender, query, { token });
  return body.data.message;
};
const notesOf = async (id: string, status: string) => {
  const { timeline } = await factsOf(id);
  return timeline
    .filter((entry: { status: string }) => entry.status === status)
    .map(({ detail }: { detail: string | null }) => detail);
};
const suppressionsOf = async (address: string) => {
  const path = `/developers/suppressions?channel=email&address=${encodeURIComponent(address)}`;
  const { body } = await sender.call('GET', path, { key: account.key });
  return body.data;
};
/** Sends a mail to a new person, and waits until it is recorded as sent. */
async function sendMail(more: Record<string, unknown> = {}, key = account.key) {
  people += 1;
  const to = `person${people}@example.com`;
  const body = { to, subject: 'Your receipt', text: 'Thank you', ...more };
  const sent = await sender.call('POST', '/developers/email', { key, body });
  const { id } = sent.body;
  const mail = await server.waitFor((each) => each.to.includes(to));
  await eventually(async () => (await messageOf(id)).status === 'sent');
  return { id, to, mail, returnPath: mail.from };
}
const give = (to: string, raw: string) => returnMail(listener.bouncePort, to, raw);
const returned = async (outcome: string) =>
  (await readMetrics(listener.processUrl)).sum('gateway_returned_mails_total', { outcome });

describe('the envelope sender of a mail', () => {
  it('names the mail and cannot be guessed, while From stays, and asks for complaints (R497)', async () => {
    const { mail, returnPath, id } = await sendMail();
    expect(returnPath).toMatch(/^bounce\+[a-z2-7]{48}@bounces\.example\.com$/);
    expect(returnPath.split('@')[0]!.length).toBeLessThanOrEqual(64);
    expect(mail.header('From')).toContain('no-reply@acme.example');
    expect(mail.header('CFBL-Address')).toBe(`${returnPath}; report=arf`);
    const other = await sendMail();
    expect(other.returnPath).not.toBe(returnPath);
    const events = await sender.call('GET', `/developers/messages/${id}`, { key: account.key });
    expect(events.text).not.toContain(returnPath);
  });

  it.each(['transactional', 'marketing'])(
    'of the copies is another one, so that who gets a copy cannot let the recipient bounce: %s (R497)',
    async (purpose) => {
      const [cc, bcc] = [`cc-${purpose}@example.com`, `bcc-${purpose}@example.com`];
      const { id, to, mail } = await sendMail({ cc, bcc, purpose });
      expect(mail.to).toEqual([to]);
      // Each copy of a marketing mail has the opt-out link of its own person, and so is a mail of its own.
      const copies = await Promise.all(
        [cc, bcc].map((each) => server.waitFor((one) => one.to.includes(each))),
      );
      expect(copies.map((copy) => copy.to)).toEqual(
        purpose === 'marketing'
          ? [[cc], [bcc]]
          : [
              [cc, bcc],
              [cc, bcc],
            ],
      );
      for (const copy of copies) {
        expect(copy.from).not.toBe(mail.from);
        expect(copy.header('CFBL-Address')).toBe(`${copy.from}; report=arf`);
        expect(copy.raw).not.toContain(mail.from);
        expect(await give(copy.from, bounceMail({ address: to }))).toMatch(/^250 /);
        expect(await give(copy.from, complaintMail())).toMatch(/^250 /);
      }
      expect(await messageOf(id)).toMatchObject({ status: 'sent' });
      expect(await suppressionsOf(to)).toEqual([]);
    },
  );
});

describe('a bounce', () => {
  it('lets the recipient fail, and suppresses an address that does not exist (R497)', async () => {
    const { id, to, returnPath } = await sendMail();
    expect(await give(returnPath, bounceMail({ address: to }))).toMatch(/^250 /);
    const message = await messageOf(id);
    expect(message).toMatchObject({ status: 'failed', recipients: [{ status: 'failed' }] });
    expect(message.recipients[0].error).toEqual({
      code: '5.1.1',
      message: `550 5.1.1 <${to}>: Recipient address rejected: User unknown in local recipient table`,
    });
    expect(await suppressionsOf(to)).toEqual([
      expect.objectContaining({
        scope: 'all',
        source: 'bounce',
        reason: expect.stringMatching(/^550 5\.1\.1 /),
      }),
    ]);
    const again = { to, subject: 'Your receipt', text: 'Thank you' };
    const { body } = await sender.call('POST', '/developers/email', { key: account.key, body: again });
    expect(body.error.code).toBe('all_recipients_suppressed');
  });

  it('records email.failed at the stage of delivery, and refunds nothing (R497)', async () => {
    const { id, to, returnPath } = await sendMail();
    await give(returnPath, bounceMail({ address: to, status: '5.7.1' }));
    const { recipients, events } = await factsOf(id);
    expect(recipients).toEqual([{ refunded: 0 }]);
    expect(events.map(({ type }: { type: string }) => type).toSorted()).toEqual([
      'email.failed',
      'email.sent',
    ]);
  });

  it.each([
    ['5.7.1', 'a policy'],
    ['5.2.2', 'a full mailbox'],
    ['5.1.2', 'a domain that a relay did not find'],
    ['4.4.7', 'days without success'],
  ])('of %s, %s, lets the recipient fail and suppresses nobody (R497)', async (status) => {
    const { id, to, returnPath } = await sendMail();
    await give(returnPath, bounceMail({ address: to, status }));
    expect((await messageOf(id)).recipients[0].error.code).toBe(status);
    expect(await suppressionsOf(to)).toEqual([]);
  });

  it('of the address to which a person forwards fails and suppresses nobody (R497)', async () => {
    const { id, to, returnPath } = await sendMail();
    await give(returnPath, bounceMail({ address: 'forwarded@example.net' }));
    expect(await messageOf(id)).toMatchObject({ status: 'sent', recipients: [{ status: 'sent' }] });
    expect(await notesOf(id, 'failed')).toEqual([
      'A server to which the recipient forwards could not deliver the mail; it changed nothing.',
    ]);
    expect(await suppressionsOf(to)).toEqual([]);
  });

  it('that names no address lets the recipient fail, and suppresses nobody (R497)', async () => {
    const { id, to, returnPath } = await sendMail();
    await give(returnPath, bounceMail({ address: to }).replace(/^Final-Recipient:.*\r?\n/m, ''));
    expect(await messageOf(id)).toMatchObject({ status: 'failed' });
    expect(await suppressionsOf(to)).toEqual([]);
  });

  it('that comes twice changes nothing, also if the suppression was removed (R497)', async () => {
    const { id, to, returnPath } = await sendMail();
    await give(returnPath, bounceMail({ address: to }));
    const [{ id: suppression }] = await suppressionsOf(to);
    await sender.call('DELETE', `/developers/suppressions/${suppression}`, { key: account.key });
    const before = await returned('unchanged');
    await Promise.all([1, 2].map(() => give(returnPath.toUpperCase(), bounceMail({ address: to }))));
    expect(await returned('unchanged')).toBe(before + 2);
    expect(await suppressionsOf(to)).toEqual([]);
    const late = 'A repeated or late bounce; it changed nothing.';
    expect((await notesOf(id, 'failed')).filter((detail: string) => detail === late)).toHaveLength(2);
  });

  it('of one of several recipients lets only this one fail (R497)', async () => {
    const to = 'left@example.com, right@example.com';
    const body = { to, subject: 'Hello', text: 'You two' };
    const { body: sent } = await sender.call('POST', '/developers/email', { key: account.key, body });
    const mail = await server.waitFor((each) => each.to.includes('right@example.com'));
    await eventually(async () => (await messageOf(sent.id)).status === 'sent');
    await give(mail.from, bounceMail({ address: 'right@example.com' }));
    const { recipients, status } = await messageOf(sent.id);
    expect(status).toBe('sent');
    expect(recipients.map((each: { status: string }) => each.status)).toEqual(['sent', 'failed']);
  });

  it('that is a delay, a success or an automatic reply changes nothing (R497)', async () => {
    const { id, to, returnPath } = await sendMail();
    const before = await returned('ignored');
    const mails = [
      bounceMail({ address: to, action: 'delayed', status: '4.4.1' }),
      bounceMail({ address: to, action: 'delivered', status: '2.0.0' }),
      vacationMail(),
    ];
    for (const mail of mails) expect(await give(returnPath, mail)).toMatch(/^250 .*Ignored/);
    expect(await returned('ignored')).toBe(before + 3);
    expect(await messageOf(id)).toMatchObject({ status: 'sent' });
    expect(await suppressionsOf(to)).toEqual([]);
  });

  it('that overtakes the record of its mail is to come again (R497)', async () => {
    const answers: Promise<string>[] = [];
    const mailServer = await startMailServer(
      {},
      {
        options: {
          onData(stream, session, done) {
            stream.resume().on('end', () => {
              const { mailFrom } = session.envelope;
              const raw = bounceMail({ address: 'early@example.com' });
              const answer = returnMail(gateway.bouncePort, mailFrom ? mailFrom.address : '', raw);
              answers.push(answer);
              answer.then(() => done(), done);
            });
          },
        },
      },
    );
    const variables = { EMAIL_URL: mailServer.url, BOUNCE_DOMAIN: DOMAIN, BOUNCE_PORT: '0' };
    const gateway = await startTestGateway(variables);
    try {
      const { key } = await gateway.createAccount();
      const body = { to: 'early@example.com', subject: 'Hello', text: 'Soon' };
      const sent = await gateway.call('POST', '/developers/email', { key, body });
      const path = `/developers/messages/${sent.body.id}`;
      await eventually(async () => (await gateway.call('GET', path, { key })).body.status === 'sent');
      expect(await Promise.all(answers)).toEqual([expect.stringMatching(/^451 /)]);
      const { body: found } = await gateway.call('GET', '/developers/suppressions', { key });
      expect(found.data).toEqual([]);
    } finally {
      await gateway.stop();
      await mailServer.stop();
    }
  });
});

describe('a complaint', () => {
  it('suppresses marketing only, whichever message it is about (R498)', async () => {
    const marketing = await sendMail({ purpose: 'marketing' });
    const receipt = await sendMail();
    for (const { returnPath } of [marketing, receipt])
      expect(await give(returnPath, complaintMail())).toMatch(/^250 .*Recorded/);
    for (const { to } of [marketing, receipt])
      expect(await suppressionsOf(to)).toEqual([
        expect.objectContaining({ scope: 'marketing', source: 'complaint' }),
      ]);
    const query = `{ suppressions(channel: EMAIL, address: "${receipt.to}") { nodes { source scope } } }`;
    const { body } = await graphql(sender, query, { token });
    expect(body.data.suppressions.nodes).toEqual([{ source: 'COMPLAINT', scope: 'MARKETING' }]);
    for (const { id } of [marketing, receipt]) {
      expect(await messageOf(id)).toMatchObject({ status: 'sent' });
      expect(await notesOf(id, 'complaint')).toEqual(['The recipient reported the mail as spam.']);
    }
  });

  it('to the common address counts if the reported mail names itself (R498)', async () => {
    const { to, returnPath } = await sendMail();
    const forged = `bounce+${'a'.repeat(48)}@${DOMAIN}`;
    const before = await returned('ignored');
    await give(COMPLAINTS, complaintMail());
    await give(COMPLAINTS, complaintMail({ original: [`Return-Path: <${forged}>`, `To: ${to}`] }));
    expect(await returned('ignored')).toBe(before + 2);
    expect(await suppressionsOf(to)).toEqual([]);
    const original = [`Return-Path: <${forged}>`, `CFBL-Address: ${returnPath}; report=arf`];
    expect(await give(COMPLAINTS, complaintMail({ original }))).toMatch(/^250 .*Recorded/);
    expect(await suppressionsOf(to)).toHaveLength(1);
  });

  it('that comes twice changes nothing, also if the suppression was removed (R498)', async () => {
    const { id, to, returnPath } = await sendMail();
    await Promise.all([1, 2].map(() => give(returnPath, complaintMail())));
    const [{ id: suppression }] = await suppressionsOf(to);
    await sender.call('DELETE', `/developers/suppressions/${suppression}`, { key: account.key });
    await give(returnPath, complaintMail());
    expect(await suppressionsOf(to)).toEqual([]);
    expect(await notesOf(id, 'complaint')).toHaveLength(1);
  });

  it('of another type than abuse changes nothing (R498)', async () => {
    const { to, returnPath } = await sendMail();
    for (const type of ['not-spam', 'auth-failure', 'other'])
      expect(await give(returnPath, complaintMail({ type }))).toMatch(/^250 .*Ignored/);
    expect(await suppressionsOf(to)).toEqual([]);
  });

  it('does not narrow what was suppressed before (R498)', async () => {
    const { to, returnPath } = await sendMail({ purpose: 'marketing' });
    const body = { channel: 'email', address: to, scope: 'all' };
    await sender.call('POST', '/developers/suppressions', { key: account.key, body });
    await give(returnPath, complaintMail());
    expect(await suppressionsOf(to)).toEqual([expect.objectContaining({ scope: 'all', source: 'api' })]);
  });
});

async function erase(address: string): Promise<void> {
  const path = `/developers/recipients/${encodeURIComponent(address)}?reason=Asked%20by%20letter`;
  const { body } = await sender.call('DELETE', path, { key: account.key });
  const receipt = `/developers/erasures/${body.erasure.id}`;
  await eventually(async () => {
    const answer = await sender.call('GET', receipt, { key: account.key });
    return answer.body.erasure.doneAt !== null;
  });
}

it('a complaint of a person who was erased before does not store the address beside its hash (R492, R498)', async () => {
  const { to, returnPath: first } = await sendMail();
  const key = account.key;
  const body = { channel: 'email', address: to, scope: 'marketing' };
  await sender.call('POST', '/developers/suppressions', { key, body });
  await erase(to);
  const later = { to, subject: 'Another receipt', text: 'Thank you' };
  const sent = await sender.call('POST', '/developers/email', { key, body: later });
  const { from } = await server.waitFor((each) => each.to.includes(to) && each.from !== first);
  await eventually(async () => (await messageOf(sent.body.id)).status === 'sent');
  expect(await give(from, complaintMail())).toMatch(/^250 .*Recorded/);
  expect(await notesOf(sent.body.id, 'complaint')).toHaveLength(1);
  expect(await suppressionsOf(to)).toEqual([expect.objectContaining({ source: 'api' })]);
});

it('reports about erased people and deleted messages change nothing (R497, R498)', async () => {
  const { id, to, returnPath } = await sendMail();
  await erase(to);
  const paths = createReturnPaths(DOMAIN, Buffer.alloc(32, 7));
  const gone = { messageId: '01900000-0000-7000-8000-000000000000', position: 0, isCopy: false };
  for (const each of [returnPath, paths.addressOf(gone)]) {
    expect(await give(each, bounceMail({ address: to }))).toMatch(/^250 /);
    expect(await give(each, complaintMail())).toMatch(/^250 /);
  }
  expect(await messageOf(id)).toMatchObject({ status: 'sent' });
  expect(await suppressionsOf(to)).toEqual([]);
});

describe('the listener', () => {
  it('relays nothing, and takes no address that was not made here (R499)', async () => {
    const { returnPath } = await sendMail();
    const [local = ''] = returnPath.split('@');
    const last = local.endsWith('a') ? 'b' : 'a';
    const before = await returned('refused');
    const refused = [
      'ann@example.com',
      `${local}@example.com`,
      `${local}@sub.${DOMAIN}`,
      `${local.slice(0, -1)}${last}@${DOMAIN}`,
      `${local}a@${DOMAIN}`,
      `bounce+${'a'.repeat(48)}@${DOMAIN}`,
      `postmaster@${DOMAIN}`,
    ];
    for (const address of refused) expect(await give(address, bounceMail())).toMatch(/^550 /);
    expect(await returned('refused')).toBe(before + refused.length);
    expect(server.received.some(({ to }) => to.includes('ann@example.com'))).toBe(false);
  });

  it('refuses a mail of more than 1 MiB and goes on (R499)', async () => {
    const { id, to, returnPath } = await sendMail();
    const line = `${'x'.repeat(70)}\r\n`;
    const large = `${bounceMail({ address: to })}${line.repeat(20_000)}`;
    expect(await give(returnPath, large)).toMatch(/^552 /);
    expect(await messageOf(id)).toMatchObject({ status: 'sent' });
    expect(await give(returnPath, bounceMail({ address: to }))).toMatch(/^250 /);
  });

  it('takes one recipient of a mail, no login, and no other commands for long (R499)', async () => {
    const { returnPath } = await sendMail();
    const other = await sendMail();
    const said = await talk([
      'EHLO mx.example.net',
      'AUTH PLAIN AGFubgBzZWNyZXQ=',
      'MAIL FROM:<>',
      `RCPT TO:<${returnPath}>`,
      `RCPT TO:<${other.returnPath}>`,
      ...Array.from({ length: 12 }, () => 'NONSENSE'),
    ]);
    const codes = said.filter((line) => /^\d{3} /.test(line)).map((line) => line.slice(0, 3));
    expect(codes.slice(0, 6)).toEqual(['220', '250', '500', '250', '250', '452']);
    expect(codes.at(-1)).toBe('421');
    expect(said.join()).not.toContain('AUTH');
  });

  it('bounds the connections of an address (R499)', async () => {
    const sockets = Array.from({ length: 11 }, () => connect(listener.bouncePort, '127.0.0.1'));
    try {
      const greetings = await Promise.all(
        sockets.map(
          (socket) => new Promise<string>((resolve) => socket.once('data', (data) => resolve(`${data}`))),
        ),
      );
      expect(greetings.filter((each) => each.startsWith('220 '))).toHaveLength(10);
      expect(greetings.filter((each) => each.startsWith('421 '))).toHaveLength(1);
    } finally {
      for (const socket of sockets) socket.destroy();
    }
    // The places are free again.
    const { returnPath } = await sendMail();
    await eventually(async () => /^250 /.test(await give(returnPath, vacationMail()).catch(() => '')));
  });

  it('offers STARTTLS with its certificate (R499)', async () => {
    const { id, to, returnPath } = await sendMail();
    const transport = nodemailer.createTransport({
      host: '127.0.0.1',
      port: listener.bouncePort,
      requireTLS: true,
      tls: { rejectUnauthorized: false },
    });
    await transport.sendMail({ envelope: { from: '', to: [returnPath] }, raw: bounceMail({ address: to }) });
    transport.close();
    expect(await messageOf(id)).toMatchObject({ status: 'failed' });
  });
});

describe('the settings', () => {
  it('that do not fit stop the start, with their fault (R499)', async () => {
    expect(() => parseConfig({ BOUNCE_PORT: '2525' })).toThrow('BOUNCE_DOMAIN is missing');
    expect(() => parseConfig({ BOUNCE_DOMAIN: 'localhost' })).toThrow('such as bounces.example.com');
    expect(() => parseConfig({ BOUNCE_TLS_CERT: 'a.pem' })).toThrow('BOUNCE_TLS_KEY is missing');
    const files = { BOUNCE_TLS_CERT: '/none.pem', BOUNCE_TLS_KEY: '/none.key' };
    const wrong = startTestGateway({ BOUNCE_DOMAIN: DOMAIN, BOUNCE_PORT: '0', ...files }, sender.database);
    await expect(wrong).rejects.toThrow('BOUNCE_TLS_CERT cannot be used: there is no such file.');
    const taken = { host: '127.0.0.1', port: listener.bouncePort, domain: DOMAIN, tls: undefined };
    const second = startBounceListener({
      ...taken,
      returnPaths: createReturnPaths(DOMAIN, Buffer.alloc(32, 7)),
      take: async () => 'unchanged',
      measurements: UNMEASURED,
      logger: silentLogger,
    });
    await expect(second).rejects.toThrow('Set BOUNCE_PORT to a free port.');
  });

  it('are checked by doctor, which looks for the MX record (R348)', async () => {
    const rowOf = async () => {
      const { json } = await examine({ ...listener.parts, routing: QUIET }, undefined);
      const { checks } = json as { checks: { check: string; ok: boolean; detail: string }[] };
      return checks.find(({ check }) => check === 'bounces');
    };
    expect(await rowOf()).toMatchObject({
      ok: false,
      detail: expect.stringContaining(`${DOMAIN} has no MX record`),
    });
    dns.exchangers.set(DOMAIN, ['mx1.example.com']);
    expect(await rowOf()).toMatchObject({ ok: true, detail: `mails to ${DOMAIN} go to mx1.example.com` });
    dns.failing.add(DOMAIN);
    expect(await rowOf()).toMatchObject({ ok: false, detail: expect.stringContaining('no name server') });
  });
});

const QUIET = {
  start: () => undefined,
  stop: async () => undefined,
  probe: async () => [],
  health: () => [{ name: 'x', state: 'up' as const, inFlight: 0 }],
} as const;

/** Sends lines one after the other, each after the answer to the one before. Resolves with all lines of the answers. */
function talk(lines: readonly string[]): Promise<string[]> {
  return new Promise((resolve, reject) => {
    const socket = connect(listener.bouncePort, '127.0.0.1');
    const left = [...lines];
    let text = '';
    socket.on('data', (data) => {
      text += data.toString();
      if (/(^|\n)\d{3} [^\n]*\n$/.test(text) && left.length > 0) socket.write(`${left.shift()}\r\n`);
    });
    socket.on('error', reject);
    socket.on('close', () => resolve(text.split('\r\n').filter((line) => line !== '')));
  });
}
