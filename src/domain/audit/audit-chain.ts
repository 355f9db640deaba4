import { createHash } from 'node:crypto';
import type { AuditEntry } from './audit-entry.ts';

/**
 * A link of the hash chain over the audit log. `seq` numbers the entries from 1, without gaps. `hash` covers this entry
 * and all entries before it.
 */
export interface AuditLink {
  readonly seq: number;
  readonly hash: Buffer;
}
export interface ChainedEntry extends AuditLink {
  readonly entry: AuditEntry;
}

export const CHAIN_START: AuditLink = { seq: 0, hash: Buffer.alloc(32) };

/** Returns the link that follows `last`. Its hash is SHA-256 over the hash of `last` and the content of the entry. */
export function nextLink(last: AuditLink, entry: AuditEntry): AuditLink {
  const seq = last.seq + 1;
  const { id, accountId, at, actor, action, target, before, after } = entry;
  const said = JSON.stringify(sorted([seq, id, accountId, at, actor, action, target, before, after]));
  return { seq, hash: createHash('sha256').update(last.hash).update(said).digest() };
}

/** Sorts the members of all objects. The hash depends on their order, and the database does not keep it. */
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
