/** Which IP addresses a customer's URL may make this process dial (contract "URL requirements" 2, decision 32). */
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { LRUCache } from 'lru-cache';

type Address = ipaddr.IPv4 | ipaddr.IPv6;
type Network = [Address, number];

/** Judges addresses by their canonical form. The same text always gets the same verdict. */
export interface AddressGuard {
  /** True for a public unicast address and for one inside an allowed network; false for everything else, also for what is no address. */
  isAllowed(address: string): boolean;
  /** True when both spell the same address. */
  isSame(a: string, b: string): boolean;
}

/**
 * A guard that lets public unicast addresses pass, and beyond them only those in `allowedNetworks`
 * (CIDRs or single addresses, WEBHOOK_ALLOWED_NETWORKS). Throws an Error that names the first entry it cannot read.
 */
export function createAddressGuard(allowedNetworks: readonly string[]): AddressGuard {
  const networks = allowedNetworks.map(parseNetwork);
  const judge = (text: string): boolean => {
    const address = parse(text);
    if (address === undefined) return false;
    return isPublic(address) || networks.some((network) => contains(network, unmap(address)));
  };
  // A verdict depends on the text alone, and every attempt asks for the same few addresses.
  const verdicts = new LRUCache<string, boolean>({ max: 1_000 });
  const isAllowed = (text: string): boolean => {
    let verdict = verdicts.get(text);
    if (verdict === undefined) {
      verdict = judge(text);
      verdicts.set(text, verdict);
    }
    return verdict;
  };
  const isSame = (a: string, b: string): boolean => {
    const [left, right] = [parse(a), parse(b)];
    if (left === undefined || right === undefined) return false;
    return unmap(left).toNormalizedString() === unmap(right).toNormalizedString();
  };
  return { isAllowed, isSame };
}

function parse(text: string): Address | undefined {
  // ipaddr.js reads octal, hex and short IPv4 forms that the system would dial differently, and a zone
  // id picks an interface of ours: only plain forms count as an address here.
  if (isIP(text) === 0 || text.includes('%')) return undefined;
  return ipaddr.parse(text);
}

const unmap = (address: Address): Address =>
  address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress() ? address.toIPv4Address() : address;

function isPublic(address: Address): boolean {
  // A mapped address is judged as itself, and refused: no receiver needs the form, and it exists to confuse filters.
  if (address.range() !== 'unicast') return false;
  if (address instanceof ipaddr.IPv4) return true;
  const [first = 0, , , , fifth = 0, sixth = 0] = address.parts;
  // Only 2000::/3 is handed out as global unicast; the rest is unassigned or special, and would be "unicast" by elimination.
  if ((first & 0xe000) !== 0x2000) return false;
  // ISATAP (RFC 5214): the last 32 bits are an IPv4 address that a relay would dial, private ones included.
  return !(sixth === 0x5efe && (fifth & ~0x0200) === 0);
}

function contains([network, bits]: Network, address: Address): boolean {
  if (network instanceof ipaddr.IPv4) return address instanceof ipaddr.IPv4 && address.match(network, bits);
  return address instanceof ipaddr.IPv6 && address.match(network, bits);
}

function parseNetwork(text: string): Network {
  const [base = '', bits, ...rest] = text.trim().split('/');
  const address = parse(base);
  const width = address instanceof ipaddr.IPv4 ? 32 : 128;
  const prefix = bits === undefined ? width : /^\d{1,3}$/.test(bits) ? Number(bits) : Number.NaN;
  if (address === undefined || rest.length > 0 || !(prefix <= width)) {
    throw new Error(`"${text}" is not a network in CIDR notation, such as 10.0.0.0/8 or fd00::/8`);
  }
  return [address, prefix];
}
