import { describe, expect, it } from '@jest/globals';
import { createReturnPaths } from '../../src/crypto/return-paths.ts';
import type { SentMail } from '../../src/domain/ports/return-paths.ts';

const KEY = Buffer.alloc(32, 1);
const NEW_KEY = Buffer.alloc(32, 2);
const DOMAIN = 'bounces.example.com';
const MAIL: SentMail = {
  messageId: '01980a5c-1d2e-7f3a-8b4c-5d6e7f8091a2',
  position: 3,
  isCopy: false,
};
const paths = createReturnPaths(DOMAIN, KEY);

describe('return paths (R497)', () => {
  it.each([
    ['a recipient', MAIL],
    ['the copies', { ...MAIL, isCopy: true }],
    ['the last position', { ...MAIL, position: 65_535 }],
    ['the least id', { ...MAIL, messageId: '00000000-0000-0000-0000-000000000000', position: 0 }],
    ['the greatest id', { ...MAIL, messageId: 'ffffffff-ffff-ffff-ffff-ffffffffffff' }],
  ])('open to the mail that they were made for: %s', (_, mail) => {
    const address = paths.addressOf(mail);
    expect(address).toMatch(/^bounce\+[a-z2-7]{48}@bounces\.example\.com$/);
    expect(paths.addressOf(mail)).toBe(address);
    expect(paths.open(address)).toEqual(mail);
    expect(paths.open(address.toUpperCase())).toEqual(mail);
  });

  it('do not open when a character is changed, added or left out', () => {
    const address = paths.addressOf(MAIL);
    const [local = ''] = address.split('@');
    for (let at = 'bounce+'.length; at < local.length; at += 1) {
      const other = local[at] === 'a' ? 'b' : 'a';
      expect(paths.open(`${local.slice(0, at)}${other}${local.slice(at + 1)}@${DOMAIN}`)).toBeUndefined();
    }
    const wrong = [
      `${local}a@${DOMAIN}`,
      `${local.slice(0, -1)}@${DOMAIN}`,
      ` ${address}`,
      `${address}.`,
      '',
    ];
    for (const each of [...wrong, `${local}@bounces-example.com`, `${address}\n`])
      expect(paths.open(each)).toBeUndefined();
  });

  it('need the master key, or one before it', () => {
    const address = paths.addressOf(MAIL);
    expect(createReturnPaths(DOMAIN, NEW_KEY).open(address)).toBeUndefined();
    expect(createReturnPaths(DOMAIN, NEW_KEY, [KEY]).open(address)).toEqual(MAIL);
    expect(createReturnPaths(DOMAIN, NEW_KEY, [KEY]).addressOf(MAIL)).not.toBe(address);
  });

  it('are found in a text, after others that are not genuine', () => {
    const address = paths.addressOf(MAIL);
    const forged = `bounce+${'a'.repeat(48)}@${DOMAIN}`;
    expect(paths.find(`To: <${forged}>\r\nReturn-Path: <${address}>\r\n`)).toEqual(MAIL);
    expect(paths.find(`Original-Mail-From: ${address}; more`)).toEqual(MAIL);
    expect(paths.find(`<${forged}> ${address}.evil.example x${address}`)).toBeUndefined();
    expect(paths.find('')).toBeUndefined();
    // Only the first 20 are checked, so that a mail full of them costs little.
    expect(paths.find(`${`${forged} `.repeat(19)}${address}`)).toEqual(MAIL);
    expect(paths.find(`${`${forged} `.repeat(15_000)}${address}`)).toBeUndefined();
  });
});
