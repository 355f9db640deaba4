/**
 * Writes MMDB files, so that tests read a real file with the library of the gateway. The format: a binary tree over the
 * bits of addresses, 16 zero bytes, the data, then a marker and the metadata
 * (https://maxmind.github.io/MaxMind-DB/). Here each record of the tree has 24 bits, and all values are written without
 * pointers.
 */
import { writeFileSync } from 'node:fs';
import { type IpNetwork, parseIpNetwork } from '../../src/domain/ip-network.ts';

const MARKER = Buffer.from('\xab\xcd\xefMaxMind.com', 'latin1');
/** Bits before an IPv4 address, in the form in which the gateway keeps it and in the tree: there it has zeros. */
const MAPPED = 0xffffn << 32n;

type Value = string | number | { readonly [name: string]: Value };
interface Node {
  children: [Node | Leaf | undefined, Node | Leaf | undefined];
}
interface Leaf {
  readonly country: string;
}

const isLeaf = (child: Node | Leaf): child is Leaf => 'country' in child;

/** Writes a control byte and what belongs to it. Types above 7 have a second byte. */
function control(type: number, size: number): Buffer {
  if (size >= 285) throw new Error('the writer supports short values only');
  const [head, tail] = size < 29 ? [size, []] : [29, [size - 29]];
  return Buffer.from(type > 7 ? [head, type - 7, ...tail] : [(type << 5) | head, ...tail]);
}

function encoded(value: Value): Buffer {
  if (typeof value === 'string') {
    const bytes = Buffer.from(value);
    return Buffer.concat([control(2, bytes.length), bytes]);
  }
  if (typeof value === 'number') {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32BE(value);
    return Buffer.concat([control(6, 4), bytes]);
  }
  const members = Object.entries(value);
  return Buffer.concat([
    control(7, members.length),
    ...members.flatMap(([name, member]) => [encoded(name), encoded(member)]),
  ]);
}

function insert(root: Node, { value, bits }: IpNetwork, country: string): void {
  const isIpv4 = bits >= 96 && value >> 32n === 0xffffn;
  const address = isIpv4 ? value ^ MAPPED : value;
  let node = root;
  for (let depth = 0; depth < bits; depth += 1) {
    const side = Number((address >> BigInt(127 - depth)) & 1n) as 0 | 1;
    if (depth === bits - 1) {
      node.children[side] = { country };
      return;
    }
    const child = node.children[side];
    if (child && isLeaf(child)) throw new Error('the networks must not overlap');
    const next: Node = child ?? { children: [undefined, undefined] };
    node.children[side] = next;
    node = next;
  }
}

/** Returns the bytes of an MMDB file with the countries of networks in CIDR notation, such as `192.0.2.0/24`. */
function countryFile(countries: Readonly<Record<string, string>>, databaseType: string): Buffer {
  const root: Node = { children: [undefined, undefined] };
  for (const [cidr, country] of Object.entries(countries)) insert(root, parseIpNetwork(cidr)!, country);
  const nodes: Node[] = [root];
  const numbers = new Map<Node, number>([[root, 0]]);
  for (const { children } of nodes) {
    for (const child of children) {
      if (child === undefined || isLeaf(child)) continue;
      numbers.set(child, nodes.length);
      nodes.push(child);
    }
  }
  const data: Buffer[] = [];
  const places = new Map<string, number>();
  let length = 0;
  const placeOf = (country: string) => {
    const known = places.get(country);
    if (known !== undefined) return known;
    const record = encoded({ country: { iso_code: country } });
    data.push(record);
    places.set(country, length);
    length += record.length;
    return length - record.length;
  };
  const tree = Buffer.alloc(nodes.length * 6);
  nodes.forEach(({ children }, index) => {
    children.forEach((child, side) => {
      // The number of nodes itself means: nothing is known of the address.
      let record = nodes.length;
      if (child !== undefined) {
        record = isLeaf(child) ? nodes.length + 16 + placeOf(child.country) : numbers.get(child)!;
      }
      tree.writeUIntBE(record, index * 6 + side * 3, 3);
    });
  });
  const metadata = encoded({
    binary_format_major_version: 2,
    binary_format_minor_version: 0,
    build_epoch: 1_700_000_000,
    database_type: databaseType,
    ip_version: 6,
    node_count: nodes.length,
    record_size: 24,
  });
  return Buffer.concat([tree, Buffer.alloc(16), ...data, MARKER, metadata]);
}

/** Writes an MMDB file with the countries of networks in CIDR notation, such as `192.0.2.0/24`. */
export function writeCountryFile(
  path: string,
  countries: Readonly<Record<string, string>>,
  databaseType = 'Test-Country',
): void {
  writeFileSync(path, countryFile(countries, databaseType));
}
