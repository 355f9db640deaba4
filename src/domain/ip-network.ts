/**
 * Addresses and networks, for allowlists and trusted proxies. An IPv4 address is held as its mapped form
 * `::ffff:a.b.c.d`, so that a client is the same one whichever way its socket spells it.
 */
export interface IpNetwork {
  /** The network's address as a number of 128 bits. */
  readonly value: bigint;
  /** How many leading bits count, of 128. */
  readonly bits: number;
}

/** The longest address, and a zone. */
const ADDRESS_MAX_LENGTH = 100;
const IPV4_OFFSET = 96;
const IPV4_MAPPED = 0xffffn;
/** A client with IPv6 has at least this much of it to pick addresses from. */
const IPV6_CLIENT_BITS = 64n;

/** Reads an address: dotted IPv4 without leading zeros, or IPv6, whose zone is dropped. Undefined for all else. */
export function parseIpAddress(text: string): bigint | undefined {
  if (text.length > ADDRESS_MAX_LENGTH) return undefined;
  const ipv4 = parseIpv4(text);
  if (ipv4 !== undefined) return (IPV4_MAPPED << 32n) | ipv4;
  return parseIpv6(text.replace(/%[0-9A-Za-z._-]+$/, ''));
}

/** Reads an address as proxies hand it on: some add the client's port, `192.0.2.1:4711` or `[2001:db8::1]:4711`. */
export function parseForwardedAddress(text: string): bigint | undefined {
  const [, bracketed, dotted] = /^(?:\[([^\]]+)\]|([0-9.]+))(?::[0-9]{1,5})?$/.exec(text) ?? [];
  return parseIpAddress(bracketed ?? dotted ?? text);
}

/** Reads a network in CIDR notation, or a single address; undefined for all else. Bits behind the prefix are free. */
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

/** Whether the network holds the address. An IPv6 network such as `::/0` does not hold IPv4 addresses. */
export function holdsIpAddress({ value, bits }: IpNetwork, address: bigint): boolean {
  if (bits < IPV4_OFFSET && isIpv4(address)) return false;
  return (value ^ address) >> BigInt(128 - bits) === 0n;
}

/** Whether every address of `inner` that a network can hold is one of `outer` (see `holdsIpAddress`). */
export function holdsIpNetwork(outer: IpNetwork, inner: IpNetwork): boolean {
  const isIpv4Inside = inner.bits >= IPV4_OFFSET && isIpv4(inner.value);
  if (outer.bits < IPV4_OFFSET && isIpv4Inside) return false;
  return inner.bits >= outer.bits && (outer.value ^ inner.value) >> BigInt(128 - outer.bits) === 0n;
}

/**
 * What stands for one client, however its address is written: an IPv4 address, or the /64 that an IPv6 client picks its
 * addresses from. All whose address cannot be read are one.
 */
export function clientOf(text: string | undefined): string {
  const address = text === undefined ? undefined : parseForwardedAddress(text);
  if (address === undefined) return 'unknown';
  return isIpv4(address) ? address.toString(16) : `${(address >> IPV6_CLIENT_BITS).toString(16)}/64`;
}

/** `clientOf` as people write it: `192.0.2.1`, or `2001:db8:0:1::/64`. */
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

/** The groups of 16 bits between colons; a dotted IPv4 address may stand for the last two. */
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
