import { createHash } from 'node:crypto';
import type { AuditEntry } from './audit-entry.ts';

/** A link of the chain: the dense number of an entry, from 1, and the hash of all entries up to it. */
export interface AuditLink {
  readonly seq: number;
  readonly hash: Buffer;
}
export interface ChainedEntry extends AuditLink {
  readonly entry: AuditEntry;
}

export const CHAIN_START: AuditLink = { seq: 0, hash: Buffer.alloc(32) };

/** The link after `last`: SHA-256 of the last hash and the content of the entry. */
export function nextLink(last: AuditLink, entry: AuditEntry): AuditLink {
  const seq = last.seq + 1;
  const { id, accountId, at, actor, action, target, before, after } = entry;
  const said = JSON.stringify(sorted([seq, id, accountId, at, actor, action, target, before, after]));
  return { seq, hash: createHash('sha256').update(last.hash).update(said).digest() };
}

/** JSON with sorted members, because the database does not keep their order. */
function sorted(value: unknown): unknown {
  const plain = value instanceof Date ? value.toISOString() : value;
  if (Array.isArray(plain)) return plain.map(sorted);
  if (typeof plain !== 'object' || plain === null) return plain;
  const members = Object.entries(plain).filter(([, member]) => member !== undefined);
  return Object.fromEntries(
    members
      .sort(([left], [right]) => (left < right ? -1 : 1))
      .map(([name, member]) => [name, sorted(member)]),
  );
}
