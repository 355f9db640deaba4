import { BlockList, isIP } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { clientOf, holdsIpAddress, parseIpAddress, parseIpNetwork } from '../../src/domain/ip-network.ts';

/** True if the network `cidr` contains the IP address `address`. Throws if one of them is invalid. */
function holds(cidr: string, address: string): boolean {
  const network = parseIpNetwork(cidr);
  const value = parseIpAddress(address);
  if (!network || value === undefined) throw new Error(`cannot read ${cidr} or ${address}`);
  return holdsIpAddress(network, value);
}

describe('networks of an allowlist (R70)', () => {
  it.each([
    ['10.0.0.0/8', '10.255.0.1', true],
    ['10.0.0.0/8', '11.0.0.1', false],
    ['10.1.2.3/8', '10.9.9.9', true],
    ['203.0.113.7', '203.0.113.7', true],
    ['203.0.113.7', '203.0.113.8', false],
    ['203.0.113.0/24', '::ffff:203.0.113.9', true],
    ['::ffff:203.0.113.0/120', '203.0.113.9', true],
    ['0.0.0.0/0', '::ffff:1.2.3.4', true],
    ['0.0.0.0/0', '2001:db8::1', false],
    ['::/0', '2001:db8::1', true],
    ['::/0', '1.2.3.4', false],
    ['2001:db8::/32', '2001:0DB8:ffff::1', true],
    ['2001:db8::/32', '2001:db9::1', false],
    ['fe80::/10', 'fe80::1%eth0', true],
    ['::1', '::1', true],
  ])('%s holds %s: %s', (cidr, address, expected) => expect(holds(cidr, address)).toBe(expected));

  it.each([
    '',
    ' ',
    '10.0.0.0/33',
    '10.0.0.0/-1',
    '10.0.0.0/',
    '10.0.0.0/08',
    '10.0.0.0/8/8',
    '10.0.0',
    '010.0.0.1',
    '0x0a.0.0.1',
    '256.0.0.1',
    '10.0.0.1 ',
    'example.com',
    '::1/129',
    ':::',
    '1::2::3',
    '1:2:3:4:5:6:7',
    '1:2:3:4:5:6:7:8:9',
    '1:2:3:4:5:6:7::8:9',
    'fe80::1%eth0',
    '::12345',
    '::g',
    '1.2.3.4::',
    '*',
    '10.0.0.0-10.0.0.9',
    '١.2.3.4',
  ])('refuses %j', (text) => expect(parseIpNetwork(text)).toBeUndefined());

  it.each(['ipv4', 'ipv6'] as const)(
    "parses and compares %s like Node's BlockList, for any address and prefix",
    (family) => {
      const address = family === 'ipv4' ? fc.ipV4() : fc.ipV6();
      fc.assert(
        fc.property(address, address, fc.nat(128), (base, other, bits) => {
          const prefix = family === 'ipv4' ? bits % 33 : bits;
          const list = new BlockList();
          list.addSubnet(base, prefix, family);
          const inOther = list.check(other, family);
          expect(holds(`${base}/${prefix}`, base)).toBe(true);
          expect(holds(`${base}/${prefix}`, other)).toBe(inOther);
        }),
        { numRuns: 2_000 },
      );
    },
  );

  it('parses exactly the addresses that Node parses', () => {
    const text = fc.stringMatching(/^[0-9a-fA-F:.]{1,24}$/);
    fc.assert(
      fc.property(text, (candidate) => {
        expect(parseIpAddress(candidate) !== undefined).toBe(isIP(candidate) !== 0);
      }),
      { numRuns: 5_000 },
    );
  });

  it('counts an IPv6 /64 as one client, and each IPv4 address as one', () => {
    expect(clientOf('2001:db8::1')).toBe(clientOf('2001:db8::ffff:1'));
    expect(clientOf('2001:db8::1')).toBe(clientOf('[2001:db8::1]:4711'));
    expect(clientOf('2001:db8::1')).not.toBe(clientOf('2001:db8:0:1::1'));
    expect(clientOf('192.0.2.1')).not.toBe(clientOf('192.0.2.2'));
    expect(clientOf('192.0.2.1')).toBe(clientOf('::ffff:192.0.2.1'));
    expect(clientOf('192.0.2.1')).toBe(clientOf('192.0.2.1:4711'));
    expect(clientOf('somebody')).toBe(clientOf(undefined));
  });
});
