import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type KeyLimits, refuseGrantBeyond } from '../../src/domain/api-keys/api-key-rules.ts';
import {
  holdsIpAddress,
  holdsIpNetwork,
  type IpNetwork,
  parseIpAddress,
  parseIpNetwork,
} from '../../src/domain/ip-network.ts';

const UNLIMITED: KeyLimits = {
  scopes: ['FULL_ACCESS'],
  environment: 'production',
  ipAllowlist: [],
  expiresAt: null,
  rateLimit: { perMinute: null, perSecond: null },
};
const PLAN = { perMinute: 100, perSecond: 0 };
const rate = (perMinute: number | null, perSecond: number | null) => ({
  rateLimit: { perMinute, perSecond },
});
/** Returns the limit that `given` exceeds, from the error message. */
function beyond(own: Partial<KeyLimits>, given: Partial<KeyLimits>, plan = PLAN): string | undefined {
  try {
    refuseGrantBeyond({ ...UNLIMITED, ...own }, { ...UNLIMITED, ...given }, plan);
    return undefined;
  } catch (error) {
    return /^Your key has the ([A-Za-z.]+) /.exec((error as Error).message)?.[1];
  }
}

describe('what a key may give to another key (R7)', () => {
  it.each<[Partial<KeyLimits>, Partial<KeyLimits>, string | undefined]>([
    [{}, { environment: 'sandbox', ipAllowlist: ['10.0.0.1'], ...rate(5, 0) }, undefined],
    [{ scopes: ['SEND_SMS', 'READ_MESSAGES'] }, { scopes: ['SEND_SMS'] }, undefined],
    [{ scopes: ['SEND_SMS'] }, { scopes: ['SEND_SMS', 'SEND_PUSH'] }, 'scopes'],
    [{ scopes: ['SEND_SMS'] }, { scopes: ['FULL_ACCESS'] }, 'scopes'],
    [{ environment: 'sandbox' }, {}, 'environment'],
    [{ ipAllowlist: ['10.0.0.0/8'] }, {}, 'ipAllowlist'],
    [{ ipAllowlist: ['10.0.0.0/8'] }, { ipAllowlist: ['10.2.3.4', '10.9.0.0/16'] }, undefined],
    [{ ipAllowlist: ['10.0.0.0/8'] }, { ipAllowlist: ['10.0.0.0/7'] }, 'ipAllowlist'],
    [{ ipAllowlist: ['::/0'] }, { ipAllowlist: ['10.0.0.1'] }, 'ipAllowlist'],
    [{ ipAllowlist: ['::/0'] }, { ipAllowlist: ['2001:db8::/32'] }, undefined],
    [{ ipAllowlist: ['0.0.0.0/0'] }, { ipAllowlist: ['::ffff:10.0.0.0/104'] }, undefined],
    [{ expiresAt: new Date(5) }, { expiresAt: new Date(5) }, undefined],
    [{ expiresAt: new Date(5) }, { expiresAt: new Date(6) }, 'expiresAt'],
    [{ expiresAt: new Date(5) }, {}, 'expiresAt'],
    [rate(50, null), rate(50, null), undefined],
    [rate(50, null), rate(51, null), 'rateLimit.perMinute'],
    [rate(50, null), rate(null, null), 'rateLimit.perMinute'],
    [rate(100, null), rate(null, null), undefined],
    [rate(null, 5), rate(null, 5), undefined],
    [rate(null, 5), rate(null, 0), 'rateLimit.perSecond'],
    [rate(null, 5), rate(null, null), 'rateLimit.perSecond'],
    [rate(null, 0), rate(null, 9), undefined],
  ])('a key with %j may give %j: %s', (own, given, expected) => {
    expect(beyond(own, given)).toBe(expected);
  });

  it('quotes at most 100 characters of a limit', () => {
    const ipAllowlist = Array.from({ length: 100 }, (_, index) => `2001:db8:0:${index.toString(16)}::/64`);
    expect(() => refuseGrantBeyond({ ...UNLIMITED, ipAllowlist }, UNLIMITED, PLAN)).toThrow(
      expect.objectContaining({ message: expect.stringMatching(/^.{150,220}$/) }),
    );
  });
});

describe('a network inside another one (R70)', () => {
  const address = fc.oneof(fc.ipV4(), fc.ipV6());
  const network = fc.tuple(address, fc.nat(128)).map(([text, bits]) => {
    const most = text.includes(':') ? 128 : 32;
    return parseIpNetwork(`${text}/${Math.min(bits, most)}`) as IpNetwork;
  });

  it('contains no address that the outer one lacks', () => {
    fc.assert(
      fc.property(network, fc.nat(128), address, (inner, bits, text) => {
        const outer: IpNetwork = { value: inner.value, bits };
        const value = parseIpAddress(text) as bigint;
        // An IP address within the inner network, with arbitrary host bits.
        const free = (1n << BigInt(128 - inner.bits)) - 1n;
        const inside = (inner.value & ~free) | (value & free);
        if (!holdsIpNetwork(outer, inner) || !holdsIpAddress(inner, inside)) return;
        expect(holdsIpAddress(outer, inside)).toBe(true);
      }),
    );
  });

  it('a network is inside itself', () => {
    fc.assert(fc.property(network, (one) => expect(holdsIpNetwork(one, one)).toBe(true)));
  });
});
