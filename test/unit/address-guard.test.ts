import { describe, expect, it } from '@jest/globals';
import { createAddressGuard } from '../../src/channels/http/address-guard.ts';

describe('address guard (contract "URL requirements" 2, decision 32)', () => {
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

  it('makes exceptions for allowed networks only, judged by the canonical address', () => {
    const guard = createAddressGuard(['127.0.0.0/8', ' ::1 ', 'fd00::/8']);
    for (const inside of ['127.9.9.9', '::ffff:127.0.0.1', '::1', 'fd12::1'])
      expect(guard.isAllowed(inside)).toBe(true);
    for (const outside of ['10.0.0.1', '::2', 'fc00::1', '128.0.0.0x'])
      expect(guard.isAllowed(outside)).toBe(false);
  });

  it.each(['10.0.0.0/33', '10/8', 'localhost', '', '10.0.0.0/8/8', '::/129', '10.0.0.0/-1', '10.0.0.0/'])(
    'names the network %j that it cannot read',
    (network) => expect(() => createAddressGuard([network])).toThrow(`"${network}"`),
  );
});
