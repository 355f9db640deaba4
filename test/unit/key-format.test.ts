import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { formatKey, hashSecret, parseKey, secretMatches } from '../../src/domain/api-keys/key-format.ts';

interface Vector {
  readonly id: string;
  readonly kind: string;
  readonly note: string;
  readonly input: { readonly key: string };
  readonly expect: { readonly kid: string; readonly length: number; readonly sha256OfSecret: string };
}

const shared = new URL('../../../shared/corpus/vectors.json', import.meta.url);
const own = new URL('../fixtures/corpus/vectors.json', import.meta.url);
const vectors = JSON.parse(readFileSync(existsSync(shared) ? shared : own, 'utf8')) as Vector[];
const ofKind = (kind: string) =>
  vectors
    .filter((vector) => vector.kind === kind)
    .map((vector) => [`${vector.id} ${vector.note}`, vector] as const);

const KEY_ID = '0123456789abcdef';
const SECRET = '00112233445566778899aabbccddeeff01234567';
// These keys are well-formed, but are not the right key. Only the database can tell.
const WELL_FORMED = ['VEC-KEY-09', 'VEC-KEY-10'];

describe('parseKey and formatKey (R64–R70)', () => {
  it('the corpus has vectors', () => {
    expect(ofKind('api-key-format').length).toBeGreaterThanOrEqual(1);
    expect(ofKind('api-key-negative').length).toBeGreaterThanOrEqual(12);
  });

  it.each(ofKind('api-key-format'))('%s', (_name, { input, expect: expected }) => {
    const parts = parseKey(input.key);
    expect(parts?.keyId).toBe(expected.kid);
    expect(hashSecret(parts?.secret ?? '').toString('hex')).toBe(expected.sha256OfSecret);
    expect(formatKey(parts?.keyId ?? '', parts?.secret ?? '')).toBe(input.key);
    expect(input.key).toHaveLength(expected.length);
  });

  it.each(ofKind('api-key-negative'))('refuses %s', (_name, { id, input }) => {
    const parts = parseKey(input.key);
    if (WELL_FORMED.includes(id)) {
      const known = parts?.keyId === KEY_ID && secretMatches(hashSecret(SECRET), parts.secret);
      expect(parts).toBeDefined();
      expect(known).toBe(false);
    } else {
      expect(parts).toBeUndefined();
    }
  });

  it.each([
    [`msg_${KEY_ID.toUpperCase()}_${SECRET}`],
    [`msg_${KEY_ID}_${SECRET.toUpperCase()}`],
    [` msg_${KEY_ID}_${SECRET}`],
    [`msg_${KEY_ID}_${SECRET} `],
    [`msg_${KEY_ID}_${SECRET}\r\n`],
    [`msg_${KEY_ID}_${SECRET}, msg_${KEY_ID}_${SECRET}`],
    [`msg_${KEY_ID}_${SECRET}_`],
    [`msg_${KEY_ID.slice(1)}_${SECRET}`],
    [`msg_0${KEY_ID}_${SECRET}`],
    [`msg-${KEY_ID}-${SECRET}`],
    [`Bearer msg_${KEY_ID}_${SECRET}`],
    [`msg_${KEY_ID}_\u0660${SECRET.slice(1)}`],
  ])('refuses %j', (raw) => {
    expect(parseKey(raw)).toBeUndefined();
  });

  const hex = (length: number) =>
    fc.string({ unit: fc.constantFrom(...'0123456789abcdef'), minLength: length, maxLength: length });

  it('parses what formatKey wrote', () => {
    fc.assert(
      fc.property(hex(16), hex(40), (keyId, secret) => {
        expect(parseKey(formatKey(keyId, secret))).toEqual({ keyId, secret });
      }),
    );
  });

  it.each([
    ['', SECRET],
    [KEY_ID, ''],
    [KEY_ID, SECRET.slice(1)],
    [KEY_ID.toUpperCase(), SECRET],
    [SECRET, KEY_ID],
  ])('formatKey refuses %j and %j without quoting the secret', (keyId, secret) => {
    let message = '';
    try {
      formatKey(keyId, secret);
    } catch (error) {
      expect(error).toBeInstanceOf(RangeError);
      message = (error as Error).message;
    }
    expect(message).not.toBe('');
    expect(message).not.toContain(SECRET.slice(1, 10));
  });
});

describe('hashSecret and secretMatches', () => {
  it('is the SHA-256 of the secret half, 32 bytes', () => {
    expect(hashSecret(SECRET).toString('hex')).toBe(
      'ff304d7fe53d4825ef30a69bf5388b7bcb6bdc71456b44fda5ac60d054aabb00',
    );
    expect(hashSecret(SECRET)).toHaveLength(32);
  });

  it('matches that secret only, whatever the hash is', () => {
    const hash = hashSecret(SECRET);
    expect(secretMatches(hash, SECRET)).toBe(true);
    expect(secretMatches(new Uint8Array(hash), SECRET)).toBe(true);
    expect(secretMatches(hash, SECRET.replace('0', '1'))).toBe(false);
    expect(secretMatches(hash, '')).toBe(false);
    expect(secretMatches(hash.subarray(1), SECRET)).toBe(false);
    expect(secretMatches(Buffer.concat([hash, hash]), SECRET)).toBe(false);
    expect(secretMatches(Buffer.alloc(0), SECRET)).toBe(false);
    expect(secretMatches(Buffer.from(SECRET), SECRET)).toBe(false);
  });

  it('detects a change of any bit of the hash', () => {
    for (let bit = 0; bit < 256; bit++) {
      const hash = hashSecret(SECRET);
      hash[bit >> 3]! ^= 1 << (bit & 7);
      expect(secretMatches(hash, SECRET)).toBe(false);
    }
  });
});
