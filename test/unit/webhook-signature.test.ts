import { describe, expect, it } from '@jest/globals';
import {
  signWebhook,
  verifyWebhook,
  webhookSignatureHeader,
} from '../../src/domain/webhooks/webhook-signature.ts';
import { fixture } from '../support/raw-receiver.ts';

interface Vector {
  id: string;
  kind: string;
  note: string;
  input: {
    secret: string;
    t: string;
    bodyUtf8: string;
    bodyBase64: string;
    body: string;
    header: string;
    now: number;
  };
  expect: { v1: string; header: string; valid: boolean };
}

const vectors: Vector[] = JSON.parse(fixture('corpus/webhook-vectors.json'));
const named = (...kinds: string[]) =>
  vectors
    .filter(({ kind }) => kinds.includes(kind))
    .map((vector) => [`${vector.id}: ${vector.note}`, vector] as const);

describe('webhook signature (R155–R159)', () => {
  it.each(named('webhook-signature'))('signs %s', (_, { input, expect: wanted }) => {
    const t = Number(input.t);
    const bytes = Buffer.from(input.bodyBase64, 'base64');
    expect(signWebhook(input.secret, t, bytes)).toBe(wanted.v1);
    expect(webhookSignatureHeader(input.secret, t, input.bodyUtf8)).toBe(wanted.header);
    expect(verifyWebhook(input.secret, wanted.header, bytes, t)).toBe(true);
  });

  it.each(named('webhook-verify-negative', 'webhook-verify-boundary'))('verifies %s', (_, vector) => {
    const { secret, header, body, now } = vector.input;
    expect(verifyWebhook(secret, header, body, now)).toBe(vector.expect.valid);
  });

  it('uses the whole secret as the key, prefix included (R29)', () => {
    const header = webhookSignatureHeader('whsec_abc', 1_700_000_000, '{}');
    expect(verifyWebhook('whsec_abc', header, '{}', 1_700_000_000)).toBe(true);
    expect(verifyWebhook('abc', header, '{}', 1_700_000_000)).toBe(false);
  });

  it.each([
    ['a byte of the body changed', (header: string) => [header, '{ }'] as const],
    ['two v1 parts', (header: string) => [`${header},v1=${'0'.repeat(64)}`, '{}'] as const],
    ['parts in the other order', (header: string) => [header.split(',').reverse().join(','), '{}'] as const],
    ['a line break after the signature', (header: string) => [`${header}\n`, '{}'] as const],
    ['a signed t', (header: string) => [header.replace('t=', 't=+'), '{}'] as const],
    ['a t from the future', (header: string) => [header, '{}'] as const],
  ])('refuses %s', (what, forge) => {
    const now = what.includes('future') ? 1_699_999_699 : 1_700_000_000;
    const [header, body] = forge(webhookSignatureHeader('whsec_abc', 1_700_000_000, '{}'));
    expect(verifyWebhook('whsec_abc', header, body, now)).toBe(false);
  });
});
