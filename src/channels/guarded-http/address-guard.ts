/** Decides to which IP addresses a customer's URL may connect (R32, R161). */
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { LRUCache } from 'lru-cache';
import { CLOUD_ADDRESSES } from './cloud-addresses.ts';
import { portFault } from './open-ports.ts';

type Address = ipaddr.IPv4 | ipaddr.IPv6;
type Network = [Address, number];
/** The judgement of an IP address. `named`: the operator allowed a network that contains it. */
type Verdict = 'public' | 'named' | 'refused';

/** Judges IP addresses. Different spellings of an address get the same verdict. */
export interface AddressGuard {
  /**
   * True for a public unicast address that is not a cloud service (`CLOUD_ADDRESSES`). Also true for any address in an
   * allowed network. False for everything else, including text that is not an IP address.
   */
  isAllowed(address: string): boolean;
  /**
   * True for a public unicast address that is not a cloud service. Error messages for customers must not reveal
   * anything about other addresses.
   */
  isPublic(address: string): boolean;
  /**
   * Says why this port of an allowed address must not be used. Undefined if it may be used. In an allowed network,
   * every port may be used.
   */
  portFault(address: string, port: number): string | undefined;
  /** True if both texts mean the same IP address. */
  isSame(a: string, b: string): boolean;
}

/**
 * Creates a guard that allows public unicast addresses, and addresses in `allowedNetworks` (CIDRs or IP addresses,
 * WEBHOOK_ALLOWED_NETWORKS). An address in `CLOUD_ADDRESSES` is allowed only by a network at least as narrow as its
 * entry there. For example, fd00::/8 does not allow a cloud's credentials service. Throws an Error that names the first
 * entry it cannot read.
 */
export function createAddressGuard(allowedNetworks: readonly string[]): AddressGuard {
  const networks = allowedNetworks.map(parseNetwork);
  const judge = (text: string): Verdict => {
    const address = parse(text);
    if (address === undefined) return 'refused';
    const narrowest = cloudBits(address);
    const canonical = unmap(address);
    if (networks.some((network) => contains(network, canonical) && bitsOf(network) >= narrowest))
      return 'named';
    return narrowest === 0 && isPublic(address) ? 'public' : 'refused';
  };
  // The verdict depends only on the text of the IP address, and attempts use the same few again and again. So verdicts
  // are cached.
  const verdicts = new LRUCache<string, Verdict>({ max: 1_000 });
  const verdictOf = (text: string): Verdict => {
    let verdict = verdicts.get(text);
    if (verdict === undefined) {
      verdict = judge(text);
      verdicts.set(text, verdict);
    }
    return verdict;
  };
  const isAllowed = (text: string): boolean => verdictOf(text) !== 'refused';
  const isSame = (a: string, b: string): boolean => {
    const [left, right] = [parse(a), parse(b)];
    if (left === undefined || right === undefined) return false;
    return unmap(left).toNormalizedString() === unmap(right).toNormalizedString();
  };
  return {
    isAllowed,
    isPublic(text) {
      const address = parse(text);
      return address !== undefined && cloudBits(address) === 0 && isPublic(address);
    },
    portFault: (address, port) => (verdictOf(address) === 'named' ? undefined : portFault(port)),
    isSame,
  };
}

function parse(text: string): Address | undefined {
  // Accept only plain IP addresses. ipaddr.js also reads octal, hexadecimal and short forms of IPv4, which the system
  // would read as other addresses. A zone id (`%eth0`) would select a network interface.
  if (isIP(text) === 0 || text.includes('%')) return undefined;
  return ipaddr.parse(text);
}

const unmap = (address: Address): Address =>
  address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress() ? address.toIPv4Address() : address;

function isPublic(address: Address): boolean {
  // The range of an IPv4-mapped IPv6 address is not `unicast`, so it is refused too. No receiver needs that form, and
  // attackers use it to pass filters.
  if (address.range() !== 'unicast') return false;
  if (address instanceof ipaddr.IPv4) return true;
  const [first = 0, , , , fifth = 0, sixth = 0] = address.parts;
  // Only 2000::/3 is global unicast. ipaddr.js also returns "unicast" for unassigned ranges.
  if ((first & 0xe000) !== 0x2000) return false;
  // Refuse ISATAP addresses (RFC 5214). A relay connects to the IPv4 address in their last 32 bits, which may be
  // private.
  return !(sixth === 0x5efe && (fifth & ~0x0200) === 0);
}

/**
 * Returns how narrow the narrowest cloud network is that contains the IP address or an IPv4 address embedded in it. The
 * result is its prefix length, counted in 128 bits. 0 if there is none.
 */
function cloudBits(address: Address): number {
  const forms = [unmap(address), ...(address instanceof ipaddr.IPv6 ? embedded(address) : [])];
  const holding = CLOUD_NETWORKS.filter((network) => forms.some((form) => contains(network, form)));
  return Math.max(0, ...holding.map(bitsOf));
}

/**
 * Returns the IPv4 addresses that an IPv6 address may embed. A NAT64 with the operator's own prefix puts them at one of
 * six places and leaves byte 8 free (RFC 6052, 2.2). The well-known NAT64 prefix and 6to4 need no handling, because
 * their ranges are refused.
 */
function embedded(address: ipaddr.IPv6): ipaddr.IPv4[] {
  const bytes = address.toByteArray();
  return [4, 5, 6, 7, 8, 12].map((start) => {
    const from = start === 8 ? 9 : start;
    const taken = bytes.slice(from).filter((_byte, index) => start === 12 || from + index !== 8);
    return new ipaddr.IPv4(taken.slice(0, 4));
  });
}

/**
 * Returns the prefix length of a network in 128 bits. IPv4 counts as the last 32 of them, so that both families can be
 * compared.
 */
const bitsOf = ([network, bits]: Network): number => (network instanceof ipaddr.IPv4 ? bits + 96 : bits);

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

const CLOUD_NETWORKS: readonly Network[] = CLOUD_ADDRESSES.map(({ network }) => parseNetwork(network));
