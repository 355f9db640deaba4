/** Tests mails with a DKIM signature (RFC 6376), and settings that make signing impossible. */
import { generateKeyPairSync } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { examine } from '../../src/cli/doctor.ts';
import { dkimFault, tagsOf } from '../support/dkim.ts';
import { type DnsServer, startDnsServer } from '../support/dns-server.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { type MailServer, startMailServer } from '../support/mail-server.ts';

const rsa = (modulusLength: number) =>
  generateKeyPairSync('rsa', {
    modulusLength,
    privateKeyEncoding: { type: 'pkcs1', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'der' },
  });
const { privateKey, publicKey } = rsa(2048);
const RECORD = `v=DKIM1; k=rsa; p=${publicKey.toString('base64')}`;
const NAMES = { DKIM_DOMAIN: 'Acme.example', DKIM_SELECTOR: 'mail2026' };

describe('mails signed with DKIM', () => {
  let server: MailServer;
  let dns: DnsServer;
  let gateway: TestGateway;
  let directory: string;
  let key: string;
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'dkim-'));
    await writeFile(join(directory, 'dkim.pem'), privateKey);
    [server, dns] = [await startMailServer(), await startDnsServer()];
    gateway = await startTestGateway({
      EMAIL_URL: `${server.url}?name=gateway.acme.example`,
      EMAIL_FROM: 'ACME <no-reply@acme.example>',
      ...NAMES,
      DNS_SERVERS: dns.address,
      DKIM_KEY: join(directory, 'dkim.pem'),
    });
    ({ key } = await gateway.createAccount());
  });
  afterAll(async () => {
    await gateway?.stop();
    await server?.stop();
    await dns?.[Symbol.asyncDispose]();
    await rm(directory, { recursive: true });
  });

  const receive = async (body: object) => {
    const sent = await gateway.call('POST', '/developers/email', { key, body });
    expect(sent.status).toBe(200);
    return server.waitFor(({ raw }) => raw.includes(sent.body.id));
  };
  const basic = { to: 'ann@example.com', subject: 'Your receipt' };

  it.each([
    ['a text', { text: 'Thank you' }],
    ['a text with odd white space and lines', { text: '  a\t \tb  \r\n\n.\n..\n \n\n\n' }],
    ['an empty line', { text: '\n' }],
    ['HTML', { html: '<p>Grüße  aus   Wien</p>' }],
    ['both', { text: 'Grüße 👋 '.repeat(200), html: `<p>${'Grüße 👋 '.repeat(200)}</p>` }],
    [
      'both and attachments, copies and headers',
      {
        subject: `Rechnung für ${'Müller '.repeat(30)}`,
        text: 'Plain',
        html: '<b>Rich</b>',
        cc: ['ben@example.com'],
        bcc: ['cleo@example.com'],
        replyTo: '"Hilfe, bitte" <help@acme.example>',
        headers: { 'List-Unsubscribe': '<https://acme.example/u/1>', 'X-Campaign': 'Frühling' },
        attachments: [
          { filename: 'Rechnung ü.pdf', contentType: 'application/pdf', content: 'JVBERi0xLjQK' },
          {
            filename: 'large.bin',
            contentType: 'application/octet-stream',
            content: Buffer.alloc(300_000, 'abc\r\n \t').toString('base64'),
          },
        ],
      },
    ],
  ])('verify with the published key: %s', async (_, content) => {
    const mail = await receive({ ...basic, ...content });
    expect(dkimFault(mail.raw, RECORD)).toBeUndefined();
    const tags = tagsOf(mail.header('DKIM-Signature') ?? '');
    expect(tags).toMatchObject({ d: 'acme.example', s: 'mail2026' });
    expect(tags.h?.split(':')).toEqual(
      expect.arrayContaining(['from', 'to', 'subject', 'date', 'message-id']),
    );
    expect(mail.raw).not.toMatch(/^bcc/im);
    expect(mail.greeting).toBe('gateway.acme.example');
  });

  it('sign the one-click headers of marketing (R442)', async () => {
    const { raw, header } = await receive({ ...basic, text: 'Mangoes', purpose: 'marketing' });
    expect(dkimFault(raw, RECORD)).toBeUndefined();
    const signed = tagsOf(header('DKIM-Signature') ?? '').h?.split(':');
    expect(signed).toEqual(expect.arrayContaining(['list-unsubscribe', 'list-unsubscribe-post']));
    expect(raw).toContain('/o/');
    for (const changed of [raw.replace('/o/', '/p/'), raw.replace('One-Click', 'Two-Click')]) {
      expect(dkimFault(changed, RECORD)).toMatch(/^the headers were changed/);
    }
  });

  it('do not verify after any change, nor with another key', async () => {
    const { raw } = await receive({ ...basic, text: 'Pay 100', html: '<p>Pay 100</p>' });
    expect(dkimFault(raw.replace('Pay 100', 'Pay 900'), RECORD)).toBe('the body was changed');
    for (const changed of [
      raw.replace('Your receipt', 'Your invoice'),
      raw.replace('no-reply@acme.example', 'no-reply@evil.example'),
    ]) {
      expect(dkimFault(changed, RECORD)).toMatch(/^the headers were changed/);
    }
    const other = `v=DKIM1; k=rsa; p=${rsa(2048).publicKey.toString('base64')}`;
    expect(dkimFault(raw, other)).toMatch(/another key signed/);
  });

  it('are checked by doctor, which looks for the key in the DNS (R348, R541)', async () => {
    const name = 'mail2026._domainkey.acme.example';
    const publish = `publish this as its only TXT record: ${RECORD}`;
    const rowOf = async () => {
      const { json } = await examine({ ...gateway.parts, routing: quiet }, undefined);
      expect(JSON.stringify(json)).not.toContain(privateKey.slice(-200, -140));
      const { checks } = json as { checks: { check: string; ok: boolean; detail: string }[] };
      return checks.find(({ check }) => check === 'dkim');
    };
    const row = (ok: boolean, detail: unknown) => ({ check: 'dkim', ok, detail });
    expect(await rowOf()).toEqual(row(false, `${name} has no TXT record: ${publish}`));
    dns.records.set(name, [`v=DKIM1; k=rsa; p=${rsa(2048).publicKey.toString('base64')}`]);
    expect(await rowOf()).toEqual(row(false, `${name} has another key in the DNS: ${publish}`));
    // Spaces and other tags do not matter.
    dns.records.set(name, [`v=DKIM1;t=s;  k=rsa;p=${publicKey.toString('base64')}`]);
    expect(await rowOf()).toEqual(row(true, `signs mails; the DNS has the key at ${name}`));
    dns.failing.add(name);
    expect(await rowOf()).toEqual(
      row(false, expect.stringContaining(`No name server answers about ${name}`)),
    );
  });
});

const quiet = {
  start: () => undefined,
  stop: async () => undefined,
  probe: async () => [],
  health: () => [{ name: 'x', state: 'up' as const, inFlight: 0 }],
} as const;

describe('DKIM_KEY (R209)', () => {
  it('may be the PEM itself, also with line breaks as two characters, or a PKCS #8 key', async () => {
    const { privateKey: pkcs8 } = generateKeyPairSync('rsa', {
      modulusLength: 1024,
      privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
      publicKeyEncoding: { type: 'spki', format: 'pem' },
    });
    for (const DKIM_KEY of [privateKey, privateKey.replaceAll('\n', '\\n'), pkcs8]) {
      await using gateway = await startTestGateway({ ...NAMES, DKIM_KEY });
      expect(gateway.parts.dkim?.recordName).toBe('mail2026._domainkey.acme.example');
    }
  });

  const pem = (type: 'ec' | 'ed25519') =>
    (type === 'ec'
      ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
      : generateKeyPairSync('ed25519')
    ).privateKey
      .export({ type: 'pkcs8', format: 'pem' })
      .toString();
  const locked = generateKeyPairSync('rsa', {
    modulusLength: 1024,
    privateKeyEncoding: { type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'top' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  }).privateKey;
  it.each([
    ['a missing file', '/no/such/dkim.pem', 'there is no such file'],
    ['a directory', tmpdir(), 'the file cannot be read (EISDIR)'],
    [
      'no PEM',
      '-----BEGIN RSA PRIVATE KEY-----\nc2VjcmV0\n-----END RSA PRIVATE KEY-----',
      'it holds no private key in PEM',
    ],
    [
      'a key behind a passphrase',
      locked,
      'it holds no private key in PEM that can be read without a passphrase',
    ],
    ['another kind of key', pem('ec'), 'its private key is of type ec, but must be RSA'],
    [
      'Ed25519, which is not signed with here',
      pem('ed25519'),
      'its private key is of type ed25519, but must be RSA',
    ],
    ['a key that is too short', rsa(512).privateKey, 'its RSA key has 512 bits, but must have 1024 at least'],
  ])('stops the start with one message when it is %s', async (_, DKIM_KEY, why) => {
    const fault: Error = await startTestGateway({ ...NAMES, DKIM_KEY }).then(
      () => new Error('it started'),
      (error) => error,
    );
    expect(fault.message.startsWith(`DKIM_KEY cannot be used: ${why}`)).toBe(true);
    expect(fault.message.split('\n')).toHaveLength(1);
    for (const line of DKIM_KEY.split('\n').slice(1, -1)) {
      if (line.length > 8) expect(fault.message).not.toContain(line.slice(0, 12));
    }
  });

  it('is set together with domain and selector, or not at all', async () => {
    await expect(startTestGateway({ DKIM_DOMAIN: 'acme.example' })).rejects.toThrow(
      'DKIM_SELECTOR is missing; DKIM_DOMAIN, DKIM_SELECTOR, DKIM_KEY are set together or not at all.\n' +
        'DKIM_KEY is missing; DKIM_DOMAIN, DKIM_SELECTOR, DKIM_KEY are set together or not at all.',
    );
    await expect(startTestGateway({ ...NAMES, DKIM_DOMAIN: 'no domain', DKIM_KEY: 'x' })).rejects.toThrow(
      'DKIM_DOMAIN is "no domain", but must be a domain such as example.com.',
    );
    await expect(startTestGateway({ ...NAMES, DKIM_SELECTOR: 'a;b', DKIM_KEY: 'x' })).rejects.toThrow(
      'DKIM_SELECTOR is "a;b", but must be the name under which the key is published, such as mail2026.',
    );
  });
});
