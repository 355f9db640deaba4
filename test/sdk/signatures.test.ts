import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { signWebhook, verifyWebhook, WebhookSignatureError } from '../../sdk/typescript/src/index.ts';
import { RequestSigner } from '../../sdk/typescript/src/request-signer.ts';
import { verifyRequestSignature } from '../../src/domain/api-keys/request-signature.ts';
import { webhookSignatureHeader } from '../../src/domain/webhooks/webhook-signature.ts';

interface Vector {
  readonly id: string;
  readonly kind: string;
  readonly note: string;
  readonly input: Readonly<Record<'secret' | 'method' | 'path' | 'timestamp' | 'header' | 'body', string>> & {
    readonly t: string;
    readonly bodyBase64: string;
    readonly now: number;
  };
  readonly expect: { readonly signature: string; readonly header: string; readonly valid: boolean };
}
const vectorsIn = (file: string): Vector[] =>
  JSON.parse(readFileSync(new URL(`../fixtures/corpus/${file}`, import.meta.url), 'utf8'));
const named = (file: string, ...kinds: string[]) =>
  vectorsIn(file)
    .filter(({ kind }) => kinds.includes(kind))
    .map((vector) => [`${vector.id}: ${vector.note}`, vector] as const);

describe("the SDK's request signature [R131–R134]", () => {
  it.each(named('vectors.json', 'request-signature'))(
    'is that of %s',
    async (_name, { input, expect: wanted }) => {
      const signer = new RequestSigner(input.secret, () => Number(input.timestamp) * 1000);
      const body = Buffer.from(input.bodyBase64, 'base64');
      expect(await signer.headersFor(input.method, input.path, body)).toEqual({
        'x-timestamp': input.timestamp,
        'x-signature': wanted.signature,
      });
    },
  );

  it('is another one for equal requests in one second, and every one of them passes', async () => {
    const now = 1_700_000_000_000;
    const signer = new RequestSigner('sigsec_x', () => now);
    const spent = new Set<string>();
    for (let count = 0; count < 100; count += 1) {
      const headers = await signer.headersFor('GET', '/api/v1/account', '');
      const signature = headers['x-signature'] ?? '';
      const timestamp = headers['x-timestamp'] ?? '';
      const request = {
        secret: 'sigsec_x',
        method: 'GET',
        path: '/api/v1/account',
        rawBody: new Uint8Array(),
      };
      expect(verifyRequestSignature({ ...request, timestamp, signature, now: new Date(now) })).toBe('ok');
      spent.add(signature);
    }
    expect(spent.size).toBe(100);
  });
});

describe("the SDK's check of webhooks [R155–R158, R229]", () => {
  const at = (seconds: number) => ({ now: seconds * 1000 });

  it.each(named('webhook-vectors.json', 'webhook-signature'))('takes and makes %s', async (_name, vector) => {
    const { secret, bodyBase64, t } = vector.input;
    const raw = Buffer.from(bodyBase64, 'base64');
    const headers = { 'X-Service-Signature': vector.expect.header };
    expect(await signWebhook(raw, secret, Number(t) * 1000)).toBe(vector.expect.header);
    // Some test vectors are not JSON. The signature is checked before the JSON, so their error is another one.
    const verdict = await verifyWebhook(raw, headers, secret, at(Number(t))).catch((error) => error);
    expect(verdict).not.toBeInstanceOf(WebhookSignatureError);
  });

  it.each(named('webhook-vectors.json', 'webhook-verify-negative', 'webhook-verify-boundary'))(
    'judges %s',
    async (_name, { input, expect: { valid } }) => {
      const verdict = verifyWebhook(
        input.body,
        { 'x-service-signature': input.header },
        input.secret,
        at(input.now),
      );
      if (valid) expect((await verdict).event).toBe('sms.sent');
      else await expect(verdict).rejects.toBeInstanceOf(WebhookSignatureError);
    },
  );

  const body =
    '{"event":"webhook.test","channel":"system","timestamp":"2026-12-01T09:30:00.000Z","data":{"n":"é"}}';
  const now = 1_700_000_000;
  const header = webhookSignatureHeader('whsec_abc', now, body);
  const verify = (headers: Parameters<typeof verifyWebhook>[1], secret: string | string[] = 'whsec_abc') =>
    verifyWebhook(body, headers, secret, at(now));

  it('finds the header whatever the service is called, in every form of headers', async () => {
    const expected = { ...JSON.parse(body), deliveryId: 'd-1' };
    const of = (name: string) => ({ [`X-${name}-Signature`]: header, [`X-${name}-Delivery`]: 'd-1' });
    expect(await verify(of('Service'))).toEqual(expected);
    expect(await verify(of('ACME-Messages'))).toEqual(expected);
    expect(await verify(new Headers(of('acme')))).toEqual(expected);
    expect(await verify(Object.entries(of('acme')))).toEqual(expected);
    expect(await verify(new Map(Object.entries(of('acme'))))).toEqual(expected);
    expect(await verify({ ...of('acme'), 'x-acme-delivery': ['d-1'], host: undefined })).toEqual({
      ...expected,
      deliveryId: 'd-1',
    });
    expect(
      await verify({
        'X-Hub-Signature': 'sha1=ab',
        'X-A-Signature': `t=${now},v1=${'0'.repeat(64)}`,
        ...of('b'),
      }),
    ).toEqual(expected);
    expect((await verify({ 'x-service-signature': header })).deliveryId).toBeNull();
  });

  it('takes text, bytes and buffers, and says so where the body was parsed already', async () => {
    const headers = { 'x-service-signature': header };
    for (const raw of [
      body,
      Buffer.from(body),
      new TextEncoder().encode(body),
      new TextEncoder().encode(body).buffer,
    ]) {
      expect((await verifyWebhook(raw, headers, 'whsec_abc', at(now))).data).toEqual({ n: 'é' });
    }
    const parsed = JSON.parse(body) as string;
    await expect(verifyWebhook(parsed, headers, 'whsec_abc')).rejects.toThrow(/express\.raw/);
  });

  it('takes the secret before a rotation while the gateway signs with both (R446)', async () => {
    const headers = {
      'x-acme-signature': webhookSignatureHeader('whsec_new', now, body),
      'x-acme-previous-signature': header,
      'x-acme-delivery': 'd-1',
    };
    expect((await verify(headers)).deliveryId).toBe('d-1');
    expect((await verify(headers, 'whsec_new')).deliveryId).toBe('d-1');
    await expect(verify(headers, 'whsec_other')).rejects.toThrow('does not fit');
  });

  it('takes either of two secrets while one is rotated', async () => {
    const headers = { 'x-service-signature': header };
    expect((await verify(headers, ['whsec_new', 'whsec_abc'])).event).toBe('webhook.test');
    await expect(verify(headers, ['whsec_new'])).rejects.toThrow('does not fit');
    await expect(verify(headers, [])).rejects.toThrow('secret is missing');
    await expect(verify(headers, '')).rejects.toThrow('secret is missing');
  });

  it.each([
    ['without a signature', {}, /no header X-…-Signature/],
    [
      'signed with another secret',
      { 'x-a-signature': webhookSignatureHeader('whsec_other', now, body) },
      /does not fit/,
    ],
    [
      'signed long ago',
      { 'x-a-signature': webhookSignatureHeader('whsec_abc', now - 301, body) },
      /300 s away/,
    ],
    [
      'signed in the future',
      { 'x-a-signature': webhookSignatureHeader('whsec_abc', now + 301, body) },
      /300 s away/,
    ],
    ['with a line after the signature', { 'x-a-signature': `${header}\n` }, /no header/],
    ['with capitals', { 'x-a-signature': header.toUpperCase() }, /no header/],
  ])('refuses a request %s', async (_what, headers, message) => {
    const refused = verify(headers as Record<string, string>);
    await expect(refused).rejects.toBeInstanceOf(WebhookSignatureError);
    await expect(refused).rejects.toThrow(message);
  });

  it('has a tolerance of its own where the receiver wants one', async () => {
    const headers = { 'x-a-signature': header };
    const late = { now: (now + 31) * 1000, toleranceSeconds: 30 };
    await expect(verifyWebhook(body, headers, 'whsec_abc', late)).rejects.toThrow('30 s away');
  });
});
