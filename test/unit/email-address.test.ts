import { describe, expect, it } from '@jest/globals';
import {
  listFault,
  mailboxText,
  parseAddresses,
  parseEmailAddress,
  parseMailbox,
  splitAddresses,
} from '../../src/domain/messages/email-address.ts';

describe('email addresses (R23)', () => {
  it.each([
    ['ann@example.com', 'ann@example.com'],
    [' Ann.B+tag@Example.COM ', 'Ann.B+tag@example.com'],
    ["o'neil@example.co.ug", "o'neil@example.co.ug"],
    ['root@localhost', 'root@localhost'],
    ['ann@bücher.example', 'ann@xn--bcher-kva.example'],
    ['ann@例え.jp', 'ann@xn--r8jz45g.jp'],
  ])('reads %j', (raw, address) => {
    expect(parseEmailAddress(raw)).toBe(address);
  });

  it.each([
    ['no at', 'ann.example.com'],
    ['no local part', '@example.com'],
    ['no domain', 'ann@'],
    ['two ats', 'ann@evil.example@example.com'],
    ['a domain without a dot', 'ann@intranet'],
    ['a numeric address', 'ann@127.0.0.1'],
    ['an address literal', 'ann@[127.0.0.1]'],
    ['a quoted local part', '"ann b"@example.com'],
    ['a route', '<@relay.example:ann@example.com>'],
    ['a percent hack', 'ann%evil.example@example.com'],
    ['a bang path', 'evil.example!ann@example.com'],
    ['a pipe', '|/bin/sh@example.com'],
    ['an encoded word', '=?utf-8?q?ann=40evil.example?=@example.com'],
    ['dots in a row', 'ann..b@example.com'],
    ['a dot at the end', 'ann.@example.com'],
    ['a space', 'ann b@example.com'],
    ['a line end', 'ann@example.com\r\nRCPT TO:<evil@example.com>'],
    ['a line end in the domain', 'ann@example.com\nx'],
    ['a NUL', 'ann\0@example.com'],
    ['a comma', 'ann,evil@example.com'],
    ['a semicolon', 'ann@example.com;evil@example.com'],
    ['a comment', 'ann(evil@example.com)@example.com'],
    ['a comment in the domain', 'ann@example.com(evil)'],
    ['a group', 'friends:ann@example.com'],
    ['a domain with a slash look-alike', 'ann@example.com℀evil'],
    ['a full-width at in the domain', 'ann@bü＠evil.example'],
    ['a local part beyond ASCII', 'änn@example.com'],
    ['a long local part', `${'a'.repeat(65)}@example.com`],
    ['a long label', `ann@${'a'.repeat(64)}.com`],
    ['a long domain', `ann@${'a.'.repeat(130)}com`],
    ['nothing', ''],
  ])('refuses %s', (_what, raw) => {
    expect(parseEmailAddress(raw)).toBeUndefined();
  });

  it.each([
    ['Ann <ann@example.com>', { name: 'Ann', address: 'ann@example.com' }],
    ['"Doe, Ann \\"A\\"" <ann@example.com>', { name: 'Doe, Ann "A"', address: 'ann@example.com' }],
    ['Änn Ö <ann@example.com>', { name: 'Änn Ö', address: 'ann@example.com' }],
    ['<ann@example.com>', { name: '', address: 'ann@example.com' }],
    ['ann@example.com', { name: '', address: 'ann@example.com' }],
  ])('parses the mailbox %j, and formats it so that it parses again', (raw, mailbox) => {
    expect(parseMailbox(raw)).toEqual(mailbox);
    expect(parseMailbox(mailboxText(mailbox))).toEqual(mailbox);
  });

  it.each([
    ['two addresses', 'ann@example.com, ben@example.com'],
    ['an address in the name', 'ben@evil.example <ann@example.com>'],
    ['a second mailbox', 'Ben <ben@evil.example>, Ann <ann@example.com>'],
    ['a group', 'friends: Ann <ann@example.com>;'],
    ['an open quote', '"Ann <ann@example.com>'],
    ['a quote that ends early', '"Ann" <x@evil.example> "B" <ann@example.com>'],
    ['a line end in the name', 'Ann\r\nBcc: evil@example.com <ann@example.com>'],
    ['a line separator in the name', 'Ann\u2028x <ann@example.com>'],
    ['an encoded word in the name', '"=?utf-8?Q?evil=40evil.example=2C?=" <ann@example.com>'],
    ['a turned direction of writing', 'Ann \u202egnp <ann@example.com>'],
    ['a backslash at the end of the name', '"Ann\\" <ann@example.com>'],
  ])('refuses a mailbox with %s', (_what, raw) => {
    expect(parseMailbox(raw)).toBeUndefined();
  });

  it('splits a string at commas outside quotes, and takes the elements of an array as they are', () => {
    expect(splitAddresses('a@x.ug, "Doe, Ann" <b@x.ug>,, c@x.ug')).toEqual([
      'a@x.ug',
      '"Doe, Ann" <b@x.ug>',
      'c@x.ug',
    ]);
    expect(splitAddresses(['a@x.ug, b@x.ug', ' '])).toEqual(['a@x.ug, b@x.ug']);
  });

  it('keeps each address once, ignoring case, and counts invalid ones', () => {
    expect(parseAddresses('Ann@x.ug, ann@X.ug, nobody, Ann <ann@x.ug>')).toEqual({
      valid: ['Ann@x.ug'],
      invalid: ['nobody'],
      duplicatesRemoved: 2,
    });
  });

  it('parses hostile lists in time linear in their length', () => {
    expect(listFault('a'.repeat(100_001))).toBeDefined();
    expect(listFault('a@\u00fc,'.repeat(999))).toBeUndefined();
    expect(listFault('a@\u00fc,'.repeat(1_000))).toBeDefined();
    expect(listFault(Array(1001).fill('a'))).toBeDefined();
    for (const list of [
      '"'.repeat(200_000),
      '"\\'.repeat(100_000),
      'a'.repeat(200_000),
      '=?'.repeat(100_000),
      ','.repeat(200_000),
    ]) {
      expect(parseAddresses(list).valid).toEqual([]);
    }
  });
});
