/**
 * A line of an exported audit log, as a JSON object (`ExportedEntry`). It has its own hash and the hash of the entry
 * before it. So one line can be checked without the others, and an export can be checked for missing or moved lines
 * (R303).
 */
import { csvCell } from '../csv-cell.ts';
import { type AuditLink, CHAIN_START, type ChainedEntry, nextLink } from './audit-chain.ts';
import type { AuditEntry } from './audit-entry.ts';

export const AUDIT_EXPORT_FORMATS = ['json_lines', 'csv'] as const;
export type AuditExportFormat = (typeof AUDIT_EXPORT_FORMATS)[number];

interface ExportedEntry extends Omit<AuditEntry, 'at'> {
  readonly seq: number;
  /** Time in ISO 8601. */
  readonly at: string;
  /** Hash of the entry before this one, in hex. `hash` is in hex, too. */
  readonly previousHash: string;
  readonly hash: string;
}

/** Returns one line of an export, without its line break. */
export function exportLine({ seq, hash, entry }: ChainedEntry, previous: AuditLink): string {
  const { id, accountId, at, actor, action, target, before, after } = entry;
  const said = { seq, id, accountId, at: at.toISOString(), actor, action, target, before, after };
  const line: ExportedEntry = {
    ...said,
    previousHash: previous.hash.toString('hex'),
    hash: hash.toString('hex'),
  };
  return JSON.stringify(line);
}

export const EXPORT_COLUMNS = [
  ...['seq', 'id', 'accountId', 'at', 'actor', 'action', 'target', 'before', 'after'],
  ...['previousHash', 'hash'],
] as const;

/** Converts an exported line to CSV. */
export function exportCsv(line: string): string {
  const values: Record<string, unknown> = JSON.parse(line);
  return EXPORT_COLUMNS.map((name) => csvCell(values[name])).join(',');
}

/** The result of a check of an export. */
export interface ExportCheck {
  readonly isIntact: boolean;
  /** Number of lines, from the first one, that are unchanged and in their place. */
  readonly entries: number;
  readonly first: number | null;
  readonly last: number | null;
  /** Hash of the last of these lines. Compare it with the result of `audit verify` on the gateway. */
  readonly head: string | null;
  /** Number, from 1, of the first line that is changed, moved or unreadable. Null if there is none. */
  readonly brokenLine: number | null;
}

/**
 * Checks an export without access to the gateway. Each line must have the right hash, and the entry numbers must have
 * no gap. With `isPart`, gaps are allowed: the export was filtered, or contains one account only.
 */
export async function checkExport(
  lines: AsyncIterable<string>,
  { isPart = false }: { readonly isPart?: boolean | undefined } = {},
): Promise<ExportCheck> {
  let entries = 0;
  let first: number | null = null;
  let last: AuditLink | undefined;
  const verdict = (brokenLine: number | null): ExportCheck => ({
    isIntact: brokenLine === null,
    entries,
    first,
    last: last?.seq ?? null,
    head: last?.hash.toString('hex') ?? null,
    brokenLine,
  });
  for await (const line of lines) {
    const read = readLine(line);
    if (!read || (last && !follows(read, last, isPart))) return verdict(entries + 1);
    const expected = nextLink(read.previous, read.entry);
    if (!expected.hash.equals(read.hash)) return verdict(entries + 1);
    last = expected;
    first ??= expected.seq;
    entries += 1;
  }
  return verdict(null);
}

function follows(
  { seq, previous }: AuditLink & { readonly previous: AuditLink },
  last: AuditLink,
  mayHaveGap: boolean,
): boolean {
  if (seq === last.seq + 1) return previous.hash.equals(last.hash);
  return mayHaveGap && seq > last.seq;
}

function readLine(line: string): (ChainedEntry & { readonly previous: AuditLink }) | undefined {
  try {
    const { seq, previousHash, hash, at, ...entry }: ExportedEntry = JSON.parse(line);
    const previous = { seq: seq - 1, hash: Buffer.from(previousHash, 'hex') };
    if (seq === 1 && !previous.hash.equals(CHAIN_START.hash)) return undefined;
    return { seq, hash: Buffer.from(hash, 'hex'), previous, entry: { ...entry, at: new Date(at) } };
  } catch {
    return undefined;
  }
}
