import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { loggedBody, maskedPath, withoutSecrets } from '../../src/domain/requests/mask-body.ts';
import { HOSTILE_TEXTS } from '../support/hostile-texts.ts';

const KEY = `msg_${'0a'.repeat(8)}_${'1b'.repeat(20)}`;
const WEBHOOK_SECRET = `whsec_${'aB3-'.repeat(11)}`;
const corpus: { request: { body?: unknown; rawBody?: string } }[] = JSON.parse(
  readFileSync('test/fixtures/corpus/inputs.json', 'utf8'),
);
const maskedOf = (body: unknown) => JSON.parse(loggedBody(JSON.stringify(body)).masked ?? 'null');
const fullOf = (body: unknown) => JSON.parse(loggedBody(JSON.stringify(body)).full ?? 'null');

/** Returns every text and number in a value, and the names of members whose names a client may choose. */
function leavesOf(value: unknown): string[] {
  if (typeof value === 'string' || typeof value === 'number') return [String(value)];
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap(leavesOf);
}

describe('bodies in the request log', () => {
  it('keep their structure, ids, words and counts, and no text or number (R416)', () => {
    const body = {
      to: '+256700120001,0700120002',
      message: 'Your code is 4711',
      from: 'WebShop',
      purpose: 'otp',
      numeric: 256700120001,
      page: 2,
      smsCount: 256700120001,
      scheduledFor: '2026-03-01T10:00:00Z',
      contactId: '0198c7a0-1111-7222-8333-444455556666',
      isActive: true,
      nothing: null,
    };
    expect(maskedOf(body)).toEqual({
      ...body,
      to: '[24 characters]',
      message: '[17 characters]',
      numeric: '***',
      smsCount: '***',
    });
  });

  it('hide names that a client chose, at any depth (R416)', () => {
    const body = { data: { '+256700120001': { status: 'word', Hello: 1 } }, 'see you at 8': true };
    expect(maskedOf(body)).toEqual({
      data: { '***': { '***': '***' } },
      '***': true,
    });
    expect(JSON.stringify(maskedOf(body))).not.toMatch(/256|Hello|word|see you/);
  });

  it('show the message of an error only in the answer of a refused request, and no part of the request (R416)', () => {
    const answer = {
      error: {
        code: 'validation_error',
        message: 'The request is not valid: "Hello" from +256 700 120 001 or a@b.example.',
        details: { fields: [{ path: 'to', message: 'must have 1 to 40 characters' }] },
      },
    };
    const shown = JSON.parse(loggedBody(JSON.stringify(answer), true).masked ?? '');
    expect(shown.error.message).toBe('The request is not valid: *** from *** or ***');
    expect(shown.error.details.fields).toEqual([{ path: 'to', message: 'must have 1 to 40 characters' }]);
    // A client that sends the form of an error is masked.
    expect(JSON.stringify(maskedOf(answer))).not.toMatch(/valid:|must have/);
    const quoting = { error: { code: 'invalid_event_type', message: 'Unknown event type Hello' } };
    expect(loggedBody(JSON.stringify(quoting), true).masked).not.toContain('Hello');
  });

  it('of the corpus of hostile inputs show no text, number or address of theirs (R416)', () => {
    let checked = 0;
    for (const { request } of corpus) {
      const sent = request.rawBody ?? (request.body === undefined ? undefined : JSON.stringify(request.body));
      if (sent === undefined) continue;
      const { masked, members } = loggedBody(sent);
      if (masked === null) continue;
      for (const leaf of leavesOf(members)) {
        const isKept = leaf.length < 4 || /^[A-Za-z_.-]{1,40}$|^GSM-7$|^[0-9a-f-]{36}$|^\d{1,7}$/.test(leaf);
        if (isKept || /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(leaf)) continue;
        expect(masked).not.toContain(JSON.stringify(leaf).slice(1, -1));
        checked += 1;
      }
    }
    expect(checked).toBeGreaterThan(100);
  });

  it.each(HOSTILE_TEXTS.map((text) => [text.name, text] as const))(
    'can be stored and are bounded if texts and names are %s (R416)',
    (_, text) => {
      const long = text.of(4_000);
      for (const body of [{ message: long, [long]: [long] }, { error: { code: 'x', message: long } }]) {
        for (const isRefusal of [true, false]) {
          const { masked, full } = loggedBody(JSON.stringify(body), isRefusal);
          for (const kept of [masked, full]) {
            expect(kept?.isWellFormed() ?? true).toBe(true);
            expect(kept ?? '').not.toContain('\0');
          }
          expect(masked?.length ?? 0).toBeLessThan(8_193);
        }
      }
      expect(maskedPath(`/api/v1/${long}`)).not.toContain('\0');
    },
  );

  it('that are deep, wide, large or no JSON are cut or left out (R416)', () => {
    const deep = `${'{"a":'.repeat(2_000)}1${'}'.repeat(2_000)}`;
    expect(loggedBody(deep).masked).toContain('[nested]');
    const wide = Object.fromEntries(
      Array.from({ length: 500 }, (_, index) => [`n${'x'.repeat(index % 9)}`, index]),
    );
    expect(
      loggedBody(JSON.stringify({ ...wide, list: Array(500).fill('abcd') })).masked?.length,
    ).toBeLessThan(8_193);
    expect(maskedOf({ to: Array(500).fill('+256700120001') }).to).toHaveLength(21);
    for (const text of ['', '{', 'to=+256700120001', '"'.repeat(9), `"${'a'.repeat(20_000)}"`]) {
      expect(loggedBody(text)).toEqual({ masked: null, full: null, members: undefined });
    }
  });

  it('have no secret even if they are whole (R416)', () => {
    const body = {
      key: KEY,
      signingSecret: `sigsec_${'x'.repeat(43)}`,
      token: 'device-token',
      keys: { p256dh: 'p', auth: 'a' },
      webhook: { url: 'https://user:pass@shop.example/hook?token=abc', secret: WEBHOOK_SECRET },
      message: `My key is ${KEY}, ${WEBHOOK_SECRET}`,
      [KEY]: 'name',
      password: 'correct horse',
      idempotencyKey: 'order-1',
      to: '+256700120001',
    };
    const shown = fullOf(body);
    expect(shown).toMatchObject({ message: 'My key is ***, ***', idempotencyKey: 'order-1', to: body.to });
    expect(shown.webhook.url).toBe('https://***@shop.example/hook?token=***');
    const text = JSON.stringify(shown);
    for (const secret of [
      KEY,
      WEBHOOK_SECRET,
      'sigsec_x',
      'device-token',
      'p256dh":"p',
      'horse',
      'abc',
      'pass@',
    ]) {
      expect(text).not.toContain(secret);
    }
  });
});

describe('paths in the request log', () => {
  it.each([
    ['/api/v1/developers/sms/history?to=%2B256700120001', '/api/v1/developers/sms/history'],
    ['/api/v1/developers/sms/+256700120001', '/api/v1/developers/sms/***'],
    [`/api/v1/developer/keys/${'0a'.repeat(8)}/rotate`, `/api/v1/developer/keys/${'0a'.repeat(8)}/rotate`],
    [`/api/v1/developer/keys/${KEY}`, '/api/v1/developer/keys/***'],
    ['/api/v1/developers/messages/0198c7a0-1111-7222-8333-444455556666', null],
    ['/api/v1/Hello%20Mary', '/api/v1/***'],
    ['/api/v1/developers/recipients/carol?kind=user', '/api/v1/developers/recipients/***'],
    [
      '/api/v1/developers/recipients/0198c7a0-1111-7222-8333-444455556666',
      '/api/v1/developers/recipients/***',
    ],
  ])('of %s has no number, text or query (R416)', (target, shown) => {
    expect(maskedPath(target)).toBe(shown ?? target);
  });

  it('and ids that a client chose have no key (R416)', () => {
    expect(withoutSecrets(`x-${KEY}`)).toBe('x-***');
  });
});
