import { createHash } from 'node:crypto';
import type { AuditEntry } from './audit-entry.ts';

/** A link of the chain: the entry's place in the log, from 1 without gaps, and the hash over all up to it. */
export interface AuditLink {
  readonly seq: number;
  readonly hash: Buffer;
}
export interface ChainedEntry extends AuditLink {
  readonly entry: AuditEntry;
}

export const CHAIN_START: AuditLink = { seq: 0, hash: Buffer.alloc(32) };

/** The link that `entry` makes after `last`: SHA-256 over the last hash and everything that the entry says. */
export function nextLink(last: AuditLink, entry: AuditEntry): AuditLink {
  const seq = last.seq + 1;
  const { id, accountId, at, actor, action, target, before, after } = entry;
  const said = JSON.stringify(sorted([seq, id, accountId, at, actor, action, target, before, after]));
  return { seq, hash: createHash('sha256').update(last.hash).update(said).digest() };
}

/** JSON with members in the order of their names: a database keeps no other order. */
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
