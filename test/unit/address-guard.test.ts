import { describe, expect, it } from '@jest/globals';
import { createAddressGuard } from '../../src/channels/guarded-http/address-guard.ts';
import { CLOUD_ADDRESSES } from '../../src/channels/guarded-http/cloud-addresses.ts';
import { portFault } from '../../src/channels/guarded-http/open-ports.ts';

describe('address guard (R32, R161)', () => {
  const open = createAddressGuard([]);

  it.each(['1.0.0.1', '8.8.8.8', '172.32.0.0', '100.128.0.0', '2606:4700:4700::1111', '2a00:1450::1'])(
    'lets %s pass',
    (address) => expect(open.isAllowed(address)).toBe(true),
  );

  it.each([
    '0.0.0.0',
    '10.0.0.5',
    '100.64.0.1',
    '127.0.0.1',
    '169.254.169.254',
    '192.0.0.192',
    '192.88.99.1',
    '198.18.0.1',
    '203.0.113.1',
    '224.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    '::127.0.0.1',
    '::ffff:8.8.8.8',
    '::ffff:127.0.0.1',
    '::ffff:0:127.0.0.1',
    '64:ff9b::7f00:1',
    '64:ff9b:1::a00:1',
    '100::1',
    '2001::1',
    '2001:2::1',
    '2001:20::1',
    '2001:db8::1',
    '2002:7f00:1::',
    '3fff::1',
    '4000::1',
    '5f00::1',
    'fc00::1',
    'fe80::1',
    'fe80::1%eth0',
    '2606:4700::1%eth0',
    'fec0::1',
    'ff02::1',
    '2606:4700::5efe:a00:1',
    '2606:4700::200:5efe:a00:1',
    '0177.0.0.1',
    '127.1',
    '2130706433',
    'localhost',
    '',
  ])('refuses %s', (address) => expect(open.isAllowed(address)).toBe(false));

  it('accepts addresses in an allowed network, compared in canonical form', () => {
    const guard = createAddressGuard(['127.0.0.0/8', ' ::1 ', 'fd00::/8']);
    for (const inside of ['127.9.9.9', '::ffff:127.0.0.1', '::1', 'fd12::1'])
      expect(guard.isAllowed(inside)).toBe(true);
    for (const outside of ['10.0.0.1', '::2', 'fc00::1', '128.0.0.0x'])
      expect(guard.isAllowed(outside)).toBe(false);
  });

  it.each(['10.0.0.0/33', '10/8', 'localhost', '', '10.0.0.0/8/8', '::/129', '10.0.0.0/-1', '10.0.0.0/'])(
    'names the network %j when it cannot parse it',
    (network) => expect(() => createAddressGuard([network])).toThrow(`"${network}"`),
  );

  it.each([
    '168.63.129.16',
    '::ffff:168.63.129.16',
    '64:ff9b::a83f:8110',
    '2002:a83f:8110::1',
    '2606:4700::5efe:a83f:8110',
    // Behind a NAT64 with an operator's own prefix: /96, /64, /56, /48, /40 and /32 of RFC 6052.
    '2606:4700:1:2:3:4:a83f:8110',
    '2606:4700:1:2:a8:3f81:1000:0',
    '2606:4700:1:2a8:3f:8110::',
    '2606:4700:1:a83f:81:1000::',
    '2606:4700:1a8:3f81:10::',
    '2606:4700:a83f:8110::',
    '2606:4700:1:2:3:4:a9fe:a9fe',
    '161.26.0.10',
    '166.9.20.11',
    '100.100.100.200',
    '169.254.170.2',
    '169.254.169.253',
    'fd00:ec2::254',
    'fd20:ce::254',
  ])('refuses %s, a service address of a cloud', (address) => expect(open.isAllowed(address)).toBe(false));

  it("refuses a cloud's service addresses although a wide allowed network contains them (R210)", () => {
    const wide = createAddressGuard(['fd00::/8', '100.64.0.0/10', '0.0.0.0/0', '::/0', '169.254.0.0/16']);
    for (const { network } of CLOUD_ADDRESSES)
      expect(wide.isAllowed(network.split('/')[0] ?? '')).toBe(false);
    expect(wide.isAllowed('fd12::1')).toBe(true);
    const named = createAddressGuard(['168.63.129.16', 'fd00:ec2::254/128', '161.26.0.0/16']);
    for (const address of ['168.63.129.16', 'fd00:ec2::254', '161.26.0.10'])
      expect(named.isAllowed(address)).toBe(true);
    for (const address of ['169.254.169.254', 'fd00:ec2::253', '166.8.0.1'])
      expect(named.isAllowed(address)).toBe(false);
  });

  it('knows which cloud serves each service address', () => {
    for (const { sources } of CLOUD_ADDRESSES) expect(sources.join('').length).toBeGreaterThan(10);
  });

  it.each([80, 443, 1024, 3000, 8080, 8443, 65_535])('allows port %d of public addresses', (port) =>
    expect(open.portFault('8.8.8.8', port)).toBeUndefined(),
  );

  it.each([
    0, 1, 22, 25, 53, 81, 444, 1023, 2375, 2376, 2379, 3306, 5432, 6379, 9200, 9300, 10250, 11211, 27017,
    2049, 5060, 6667,
  ])('refuses port %d of public addresses, but allows it in an allowed network', (port) => {
    expect(open.portFault('8.8.8.8', port)).toMatch(
      new RegExp(
        `^port ${port} .*; use 80, 443 or a port from 1024 to 65535 that no other service is known for$`,
      ),
    );
    expect(createAddressGuard(['8.8.8.0/24']).portFault('8.8.8.8', port)).toBeUndefined();
    expect(createAddressGuard(['10.0.0.0/8']).portFault('8.8.8.8', port)).toBeDefined();
  });

  it('names the service that owns the port', () =>
    expect(portFault(6379)).toContain('port 6379 belongs to Redis'));
});
