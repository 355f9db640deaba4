import { randomBytes } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { createOptOutTokens } from '../../src/crypto/opt-out-tokens.ts';
import type { OptOutPerson } from '../../src/domain/ports/opt-out-tokens.ts';

const KEY = Buffer.alloc(32, 1);
const NEW_KEY = Buffer.alloc(32, 2);
const ANN: OptOutPerson = { accountTail: '8f3a-0123456789ab', channel: 'sms', address: '+256700123456' };
const MAIL: OptOutPerson = { ...ANN, channel: 'email', address: `${'a'.repeat(64)}@${'b'.repeat(185)}.org` };
const tokens = createOptOutTokens(KEY);

describe('tokens of opt-out links (R440)', () => {
  it.each([
    ['a number', ANN],
    ['the longest number', { ...ANN, address: '+999999999999999' }],
    ['the shortest number', { ...ANN, address: '+1' }],
    ['an email address', { ...MAIL, address: 'a@b.example' }],
    ['the longest email address', MAIL],
    ['an address beyond ASCII', { ...MAIL, address: 'jürgen@bücher.example' }],
  ])('open to whom they are for: %s', (_, person) => {
    const token = tokens.tokenOf(person);
    expect(token).toMatch(person.channel === 'sms' ? /^[A-Za-z0-9_-]{22}$/ : /^[A-Za-z0-9_-]{30,}$/);
    expect(tokens.tokenOf(person)).toBe(token);
    expect(tokens.open(token)).toEqual([person]);
  });

  it('differ by account, channel and address', () => {
    const people: OptOutPerson[] = [
      ANN,
      { ...ANN, address: '+256700123457' },
      { ...ANN, accountTail: '8f3a-0123456789ac' },
      { ...ANN, channel: 'email' },
    ];
    expect(new Set(people.map(tokens.tokenOf)).size).toBe(people.length);
  });

  it('show nothing of the person, and do not open when a character is changed or added', () => {
    for (const person of [ANN, MAIL]) {
      const token = tokens.tokenOf(person);
      expect(Buffer.from(token, 'base64url').toString('latin1')).not.toContain(person.address.slice(1, 8));
      for (let at = 0; at < token.length; at += 1) {
        const other = token[at] === 'A' ? 'B' : 'A';
        const found = tokens.open(token.slice(0, at) + other + token.slice(at + 1));
        // A number can appear by chance (2^-14), but never with the account: see the next test.
        expect(found.filter(({ accountTail }) => accountTail === person.accountTail)).toEqual([]);
      }
      for (const wrong of [`${token}A`, `${token}=`, ` ${token}`, token.slice(1), '']) {
        expect(tokens.open(wrong)).toEqual([]);
      }
    }
  });

  it('are not found by guessing', () => {
    for (let count = 0; count < 20_000; count += 1) {
      for (const { accountTail } of tokens.open(randomBytes(16).toString('base64url'))) {
        expect(accountTail).not.toBe(ANN.accountTail);
      }
      expect(tokens.open(randomBytes(40).toString('base64url'))).toEqual([]);
    }
    expect(tokens.open('own-link-per-recipient')).toEqual([]);
    expect(tokens.open('A'.repeat(1_000_000))).toEqual([]);
  });

  it('open after a change of the master key, as long as the former one is kept (R243)', () => {
    for (const person of [ANN, MAIL]) {
      const former = tokens.tokenOf(person);
      const rotated = createOptOutTokens(NEW_KEY, [KEY]);
      expect(rotated.open(former)).toContainEqual(person);
      expect(rotated.tokenOf(person)).not.toBe(former);
      expect(createOptOutTokens(NEW_KEY).open(former)).not.toContainEqual(person);
    }
  });
});
