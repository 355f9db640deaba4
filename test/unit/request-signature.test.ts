import { createHash, createHmac } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  type SignedRequest,
  signatureRetainedUntil,
  signRequest,
  verifyRequestSignature,
} from '../../src/domain/api-keys/request-signature.ts';

interface Vector {
  readonly id: string;
  readonly kind: string;
  readonly note: string;
  readonly input: {
    readonly secret: string;
    readonly method: string;
    readonly path: string;
    readonly timestamp: string;
    readonly bodyBase64: string;
    readonly body: string;
    readonly serverTime: number;
    readonly signature: string;
  };
  readonly expect: { readonly signature: string };
}

const shared = new URL('../../../shared/corpus/vectors.json', import.meta.url);
const own = new URL('../fixtures/corpus/vectors.json', import.meta.url);
const vectors = JSON.parse(readFileSync(existsSync(shared) ? shared : own, 'utf8')) as Vector[];
const ofKind = (kind: string) =>
  vectors
    .filter((vector) => vector.kind === kind)
    .map((vector) => [`${vector.id} ${vector.note}`, vector] as const);

const genuine: SignedRequest = {
  secret: 'TEST-signing-secret-0000000000000000000000000000',
  method: 'POST',
  path: '/api/v1/developers/sms',
  timestamp: '1700000000',
  rawBody: Buffer.from('{"to":"+256700123456","message":"Hello"}'),
  signature: 'afad8aec6030ce8dc9de314bc8c98c0fe0fb064cb9b39fe27f8c46a973d6aa90',
  now: new Date(1_700_000_000_000),
};

/** Signs the request with its changes. So if it is refused, the reason is not a wrong signature. */
function signed(change: Partial<SignedRequest>): SignedRequest {
  const request = { ...genuine, ...change };
  const bodyHash = createHash('sha256').update(request.rawBody).digest('hex');
  const message = request.method + request.path.split('?')[0] + request.timestamp + bodyHash;
  return { ...request, signature: createHmac('sha256', request.secret).update(message).digest('hex') };
}

describe('signRequest (R10, R131–R134)', () => {
  it('the corpus has vectors', () => {
    expect(ofKind('request-signature').length).toBeGreaterThanOrEqual(11);
    expect(ofKind('request-signature-negative').length).toBeGreaterThanOrEqual(30);
  });

  it.each(ofKind('request-signature'))('%s', (_name, { input, expect: expected }) => {
    const rawBody = Buffer.from(input.bodyBase64, 'base64');
    const signature = signRequest(input.secret, input.method, input.path, input.timestamp, rawBody);
    expect(signature).toBe(expected.signature);
    const now = new Date(Number(input.timestamp) * 1000);
    expect(verifyRequestSignature({ ...input, rawBody, signature, now })).toBe('ok');
  });

  it.each(['?page=2&limit=50', '?', '?a=/x?b', '?to=%2B256'])(
    'leaves the query %s out of the signed path',
    (query) => {
      const path = '/api/v1/developers/sms/history';
      const sign = (target: string) =>
        signRequest(genuine.secret, 'GET', target, '1700000000', new Uint8Array());
      expect(sign(path + query)).toBe(sign(path));
      expect(sign(path)).not.toBe(sign('/developers/sms/history'));
    },
  );

  it('signs the path as it was sent, without decoding', () => {
    const sign = (target: string) =>
      signRequest(genuine.secret, 'GET', target, '1700000000', new Uint8Array());
    expect(sign('/api/v1/developers/messages/a%2Fb')).not.toBe(sign('/api/v1/developers/messages/a/b'));
  });
});

describe('verifyRequestSignature', () => {
  it('accepts the genuine request', () => {
    expect(verifyRequestSignature(genuine)).toBe('ok');
  });

  it.each(ofKind('request-signature-negative'))('refuses %s', (_name, { input }) => {
    const { body, serverTime, ...rest } = input;
    const verdict = verifyRequestSignature({
      ...rest,
      rawBody: Buffer.from(body),
      now: new Date(serverTime * 1000),
    });
    expect(['bad_timestamp', 'stale', 'bad_signature']).toContain(verdict);
  });

  it.each([
    ['', 'bad_timestamp'],
    ['170000000', 'bad_timestamp'],
    ['01700000000', 'bad_timestamp'],
    ['1700000000000', 'bad_timestamp'],
    ['+1700000000', 'bad_timestamp'],
    [' 1700000000', 'bad_timestamp'],
    ['1700000000\n', 'bad_timestamp'],
    ['1700000000.0', 'bad_timestamp'],
    ['1.7e9', 'bad_timestamp'],
    ['0x6553F100', 'bad_timestamp'],
    ['-170000000', 'bad_timestamp'],
    ['NaN', 'bad_timestamp'],
    ['\u0661\u0667\u0660\u0660\u0660\u0660\u0660\u0660\u0660\u0660', 'bad_timestamp'],
    ['1699999879', 'stale'],
    ['1699999880', 'ok'],
    ['1700000000', 'ok'],
    ['1700000120', 'ok'],
    ['1700000121', 'stale'],
    ['0000000000', 'stale'],
    ['9999999999', 'stale'],
  ])('a genuine signature with timestamp %j is %s', (timestamp, verdict) => {
    expect(verifyRequestSignature(signed({ timestamp }))).toBe(verdict);
  });

  it('compares whole seconds, so that second 120 still passes', () => {
    const at = (ms: number) => verifyRequestSignature({ ...genuine, now: new Date(ms) });
    expect(at(1_700_000_120_999)).toBe('ok');
    expect(at(1_700_000_121_000)).toBe('stale');
    expect(at(1_699_999_880_000)).toBe('ok');
    expect(at(1_699_999_879_999)).toBe('stale');
  });

  it('a signature is remembered exactly as long as its timestamp can pass', () => {
    const end = signatureRetainedUntil(genuine.timestamp).getTime();
    expect(verifyRequestSignature({ ...genuine, now: new Date(end - 1) })).toBe('ok');
    expect(verifyRequestSignature({ ...genuine, now: new Date(end) })).toBe('stale');
  });

  it('does not read a digit at the end of the path as part of the timestamp (VEC-NEG-35)', () => {
    const rawBody = new Uint8Array();
    const { signature } = signed({ path: '/api/v1/x', timestamp: '1700000000', rawBody });
    const forged = { ...genuine, path: '/api/v1/x1', timestamp: '700000000', rawBody, signature };
    expect(verifyRequestSignature({ ...forged, now: new Date(700_000_000_000) })).toBe('bad_timestamp');
  });

  it.each([
    ['upper case', genuine.signature.toUpperCase()],
    ['63 digits', genuine.signature.slice(1)],
    ['65 digits', `${genuine.signature}0`],
    ['a line feed', `${genuine.signature}\n`],
    ['a space', ` ${genuine.signature}`],
    ['no hex', `g${genuine.signature.slice(1)}`],
    ['a scheme', `v1=${genuine.signature}`],
    ['the header sent twice', `${genuine.signature}, ${genuine.signature}`],
    ['nothing', ''],
    ['a letter that is two bytes', `é${genuine.signature.slice(1)}`],
  ])('refuses a signature with %s', (_name, signature) => {
    expect(verifyRequestSignature({ ...genuine, signature })).toBe('bad_signature');
  });

  it('refuses a change of any one part', () => {
    const changes: Partial<SignedRequest>[] = [
      { secret: `${genuine.secret}0` },
      { method: 'PUT' },
      { method: 'post' },
      { path: '/developers/sms' },
      { path: '/api/v1/developers/sms/' },
      { timestamp: '1700000001' },
      { rawBody: new Uint8Array() },
    ];
    for (const change of changes)
      expect(verifyRequestSignature({ ...genuine, ...change })).toBe('bad_signature');
  });

  it('accepts what signRequest signed, and refuses it after a change of one bit', () => {
    const body = fc.uint8Array({ minLength: 1, maxLength: 200 });
    fc.assert(
      fc.property(
        fc.string(),
        body,
        fc.nat(),
        fc.integer({ min: 0, max: 255 }),
        (secret, rawBody, at, bit) => {
          const signature = signRequest(secret, 'POST', genuine.path, genuine.timestamp, rawBody);
          const request = { ...genuine, secret, rawBody, signature };
          expect(verifyRequestSignature(request)).toBe('ok');
          const otherBody = Uint8Array.from(rawBody);
          otherBody[at % rawBody.length]! ^= 1 << (bit % 8);
          expect(verifyRequestSignature({ ...request, rawBody: otherBody })).toBe('bad_signature');
          const otherSignature = Buffer.from(signature, 'hex');
          otherSignature[bit >> 3]! ^= 1 << (bit & 7);
          expect(verifyRequestSignature({ ...request, signature: otherSignature.toString('hex') })).toBe(
            'bad_signature',
          );
        },
      ),
    );
  });
});
