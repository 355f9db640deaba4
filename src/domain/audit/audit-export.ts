/**
 * An exported audit log: one JSON object a line (`ExportedEntry`). Each line holds the hash before it and its own, so
 * that a line can be checked without the others, and the order of a whole export too (R303).
 */
import { type AuditLink, CHAIN_START, type ChainedEntry, nextLink } from './audit-chain.ts';
import type { AuditEntry } from './audit-entry.ts';

interface ExportedEntry extends Omit<AuditEntry, 'at'> {
  readonly seq: number;
  /** ISO 8601. */
  readonly at: string;
  /** In hex. */
  readonly previousHash: string;
  readonly hash: string;
}

/** A line of an export, without its line break. */
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

/** The values of a line as CSV (RFC 4180). Text that a spreadsheet would run as a formula gets an apostrophe in front. */
export function exportCsv(line: string): string {
  const values: Record<string, unknown> = JSON.parse(line);
  return EXPORT_COLUMNS.map((name) => csvCell(values[name])).join(',');
}

function csvCell(value: unknown): string {
  if (value === null || value === undefined) return '';
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value);
  const shown = /^[=@+\-\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(shown) ? `"${shown.replaceAll('"', '""')}"` : shown;
}

/** The result of a check of an export. */
export interface ExportCheck {
  readonly isIntact: boolean;
  /** Lines that are unchanged and in their place. */
  readonly entries: number;
  readonly first: number | null;
  readonly last: number | null;
  /** Hash of the last of those lines, for comparison with `audit verify` of the gateway. */
  readonly head: string | null;
  /** Number of the first line that is changed, moved or not readable, from 1. */
  readonly brokenLine: number | null;
}

/** Checks an export without the gateway: each line, and that the numbers follow each other without a gap. */
export async function checkExport(lines: AsyncIterable<string>): Promise<ExportCheck> {
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
    if (!read || (last && (read.seq !== last.seq + 1 || !read.previous.hash.equals(last.hash))))
      return verdict(entries + 1);
    const expected = nextLink(read.previous, read.entry);
    if (!expected.hash.equals(read.hash)) return verdict(entries + 1);
    last = expected;
    first ??= expected.seq;
    entries += 1;
  }
  return verdict(null);
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
