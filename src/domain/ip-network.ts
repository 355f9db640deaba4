/**
 * Parses and compares IP addresses and networks, for allowlists and trusted proxies. An IPv4 address is stored in its
 * mapped form `::ffff:a.b.c.d`, so that both forms are the same client.
 */
export interface IpNetwork {
  /** The IP address of the network as a 128-bit number. */
  readonly value: bigint;
  /** Number of significant leading bits, out of 128. */
  readonly bits: number;
}

/** Longest text that is parsed as an IP address. A valid address with a zone is shorter. */
const ADDRESS_MAX_LENGTH = 100;
const IPV4_OFFSET = 96;
const IPV4_MAPPED = 0xffffn;
/** Prefix length in bits of the smallest network that providers give to an IPv6 client. */
const IPV6_CLIENT_BITS = 64n;

/** Parses IPv4 with dots and without leading zeros, or IPv6 without its zone. Returns undefined for anything else. */
export function parseIpAddress(text: string): bigint | undefined {
  if (text.length > ADDRESS_MAX_LENGTH) return undefined;
  const ipv4 = parseIpv4(text);
  if (ipv4 !== undefined) return (IPV4_MAPPED << 32n) | ipv4;
  return parseIpv6(text.replace(/%[0-9A-Za-z._-]+$/, ''));
}

/**
 * Parses an IP address as proxies forward it. Some proxies add the client's port: `192.0.2.1:4711` or
 * `[2001:db8::1]:4711`.
 */
export function parseForwardedAddress(text: string): bigint | undefined {
  const [, bracketed, dotted] = /^(?:\[([^\]]+)\]|([0-9.]+))(?::[0-9]{1,5})?$/.exec(text) ?? [];
  return parseIpAddress(bracketed ?? dotted ?? text);
}

/**
 * Parses a network in CIDR notation, or a single IP address. Returns undefined for anything else. Bits after the prefix
 * are ignored.
 */
export function parseIpNetwork(text: string): IpNetwork | undefined {
  const slash = text.indexOf('/');
  const address = slash < 0 ? text : text.slice(0, slash);
  const value = address.includes('%') ? undefined : parseIpAddress(address);
  if (value === undefined) return undefined;
  const offset = address.includes(':') ? 0 : IPV4_OFFSET;
  if (slash < 0) return { value, bits: 128 };
  const prefix = text.slice(slash + 1);
  if (!/^(0|[1-9][0-9]{0,2})$/.test(prefix) || Number(prefix) > 128 - offset) return undefined;
  return { value, bits: offset + Number(prefix) };
}

/** True if the network contains the IP address. An IPv6 network such as `::/0` contains no IPv4 addresses. */
export function holdsIpAddress({ value, bits }: IpNetwork, address: bigint): boolean {
  if (bits < IPV4_OFFSET && isIpv4(address)) return false;
  return (value ^ address) >> BigInt(128 - bits) === 0n;
}

/** True if `outer` contains every IP address that `inner` contains (see `holdsIpAddress`). */
export function holdsIpNetwork(outer: IpNetwork, inner: IpNetwork): boolean {
  const isIpv4Inside = inner.bits >= IPV4_OFFSET && isIpv4(inner.value);
  if (outer.bits < IPV4_OFFSET && isIpv4Inside) return false;
  return inner.bits >= outer.bits && (outer.value ^ inner.value) >> BigInt(128 - outer.bits) === 0n;
}

/**
 * Returns a key that is the same for all requests of a client: its IPv4 address or its IPv6 /64 network. A client can
 * use every address of its /64. All IP addresses that cannot be parsed share one key.
 */
export function clientOf(text: string | undefined): string {
  const address = text === undefined ? undefined : parseForwardedAddress(text);
  if (address === undefined) return 'unknown';
  return isIpv4(address) ? address.toString(16) : `${(address >> IPV6_CLIENT_BITS).toString(16)}/64`;
}

/** Writes the result of `clientOf` in readable form: `192.0.2.1`, or `2001:db8:0:1::/64`. */
export function shownClient(client: string): string {
  const [hex = '', bits] = client.split('/');
  if (!/^[0-9a-f]{1,16}$/.test(hex)) return client;
  if (bits !== undefined) return `${hex.padStart(16, '0').match(/.{4}/g)?.map(plainGroup).join(':')}::/64`;
  const ipv4 = Number.parseInt(hex.slice(-8), 16);
  return [24, 16, 8, 0].map((shift) => (ipv4 >>> shift) & 255).join('.');
}

const plainGroup = (group: string) => group.replace(/^0{1,3}/, '');
const isIpv4 = (address: bigint) => address >> 32n === IPV4_MAPPED;

function parseIpv4(text: string): bigint | undefined {
  const parts = text.split('.');
  if (
    parts.length !== 4 ||
    !parts.every((part) => /^(0|[1-9][0-9]{0,2})$/.test(part) && Number(part) <= 255)
  ) {
    return undefined;
  }
  return parts.reduce((value, part) => (value << 8n) | BigInt(part), 0n);
}

function parseIpv6(text: string): bigint | undefined {
  const halves = text.split('::');
  if (halves.length > 2) return undefined;
  const [head, tail] = halves.map(groupsOf);
  if (!head) return undefined;
  if (halves.length === 1) return head.length === 8 ? numberOf(head) : undefined;
  if (!tail || head.length + tail.length > 7) return undefined;
  return numberOf([...head, ...Array<bigint>(8 - head.length - tail.length).fill(0n), ...tail]);
}

/** Returns the 16-bit groups between colons. The last two groups may be written as an IPv4 address with dots. */
function groupsOf(text: string, half: number, halves: readonly string[]): bigint[] | undefined {
  if (text === '') return halves.length === 2 ? [] : undefined;
  const groups: bigint[] = [];
  const parts = text.split(':');
  for (const [index, part] of parts.entries()) {
    const isLast = half === halves.length - 1 && index === parts.length - 1;
    const ipv4 = isLast && part.includes('.') ? parseIpv4(part) : undefined;
    if (ipv4 !== undefined) groups.push(ipv4 >> 16n, ipv4 & 0xffffn);
    else if (/^[0-9A-Fa-f]{1,4}$/.test(part)) groups.push(BigInt(`0x${part}`));
    else return undefined;
  }
  return groups;
}

function numberOf(groups: readonly bigint[]): bigint {
  return groups.reduce((value, group) => (value << 16n) | group, 0n);
}
