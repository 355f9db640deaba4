import { describe, expect, it } from '@jest/globals';
import { createSecretBox } from '../../src/crypto/secret-box.ts';

const OLD = Buffer.alloc(32, 1);
const NEW = Buffer.alloc(32, 2);
const SECRET = 'whsec_sécret 😀';

describe('the secret box (MASTER_KEY, MASTER_KEY_PREVIOUS)', () => {
  it('opens what it sealed, and seals differently each time', () => {
    const box = createSecretBox(NEW);
    const sealed = [box.seal(SECRET), box.seal(SECRET)];
    expect(new Set(sealed).size).toBe(2);
    for (const one of sealed) {
      expect(one).not.toContain('sec');
      expect(box.open(one)).toBe(SECRET);
    }
  });

  it('opens what a previous key sealed, and seals with the current key (R243)', () => {
    const sealed = createSecretBox(OLD).seal(SECRET);
    const rotated = createSecretBox(NEW, [Buffer.alloc(32, 9), OLD]);
    expect(rotated.open(sealed)).toBe(SECRET);
    expect(createSecretBox(NEW).open(rotated.seal(SECRET))).toBe(SECRET);
    const keyIdOf = (text: string) => text.split('.')[1];
    expect(keyIdOf(rotated.seal(SECRET))).not.toBe(keyIdOf(sealed));
  });

  it('names the missing key, and not the secret that it sealed', () => {
    const sealed = createSecretBox(OLD).seal(SECRET);
    const keyId = sealed.split('.')[1] ?? '';
    expect(() => createSecretBox(NEW).open(sealed)).toThrow(keyId);
    expect(() => createSecretBox(NEW).open(sealed)).toThrow('MASTER_KEY_PREVIOUS');
  });

  it('refuses a sealed text that was changed at any place', () => {
    const box = createSecretBox(NEW);
    const sealed = box.seal(SECRET);
    const [version = '', keyId = '', body = ''] = sealed.split('.');
    const bytes = Buffer.from(body, 'base64url');
    for (let at = 0; at < bytes.length; at += 1) {
      const changed = Buffer.from(bytes);
      changed[at] = (changed[at] ?? 0) ^ 1;
      expect(() => box.open(`${version}.${keyId}.${changed.toString('base64url')}`)).toThrow();
    }
    for (const text of [
      '',
      'v1',
      `v2.${keyId}.${body}`,
      `${version}.${keyId}.`,
      `${version}.${keyId}.AAAA`,
    ]) {
      expect(() => box.open(text)).toThrow();
    }
  });

  it("refuses a text sealed with another key under this key's name", () => {
    const body = createSecretBox(OLD).seal(SECRET).split('.')[2];
    const keyId = createSecretBox(NEW).seal(SECRET).split('.')[1];
    expect(() => createSecretBox(NEW).open(`v1.${keyId}.${body}`)).toThrow();
  });
});
