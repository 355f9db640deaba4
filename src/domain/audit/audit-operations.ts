import { ACCOUNT_ROLES, accountIdOf } from '../caller.ts';
import type { Dependencies } from '../dependencies.ts';
import { operation } from '../operation.ts';
import { type Slice, type TwoWaySliceInput, twoWayRange, twoWaySliceOf, UUID_KEY } from '../paging.ts';
import type { AuditHead } from '../ports/audit-stores.ts';
import { maskedUrl } from '../webhooks/webhook-url.ts';
import { type AuditLink, CHAIN_START, nextLink } from './audit-chain.ts';
import type { AuditEntry } from './audit-entry.ts';
import { exportLine } from './audit-export.ts';
import { type AuditSearch, resolveSearch } from './audit-search.ts';

const VERIFY_BATCH = 1_000;

/** The result of a check of the audit log's hash chain. */
export interface AuditCheck {
  readonly isIntact: boolean;
  /** Number of entries, from the first one, that are unchanged and in their place. */
  readonly entries: number;
  /** Hash of the last of these entries, in hex. It covers all of them. */
  readonly head: string;
  /** Number of the first entry that is changed, moved or missing. Null if there is none. */
  readonly brokenAt: number | null;
  /** Number of the last entry that the signed head covers. Null when the head is missing or cannot be opened. */
  readonly signedUpTo: number | null;
  /**
   * Number of the last entry that was lost as a whole: the head in DATA_DIR covers it, and the database, which agrees
   * with itself, ends before it. Null if nothing is lost in this way.
   */
  readonly lostUpTo: number | null;
}

/** Masks the webhook URL in an entry. Older entries may hold secret query values (R212). */
export function withMaskedUrls(entry: AuditEntry): AuditEntry {
  if (!entry.action.startsWith('webhook.')) return entry;
  return { ...entry, before: withMaskedUrl(entry.before), after: withMaskedUrl(entry.after) };
}

function withMaskedUrl(part: AuditEntry['before']): AuditEntry['before'] {
  return typeof part?.url === 'string' ? { ...part, url: maskedUrl(part.url) } : part;
}

/** Operations that read the audit log and check it for tampering. */
export function auditOperations({ stores, auditHeads }: Pick<Dependencies, 'stores' | 'auditHeads'>) {
  return {
    /**
     * Checks the whole hash chain: every entry is unchanged and in its place, and none is missing at the end. Two
     * signed heads show where the end must be: the head in the database, and the last head that this process stored in
     * DATA_DIR. An operator who stores `head` elsewhere can later prove that no entry before it was changed.
     */
    verify: operation(
      'audit.verify',
      { operator: 'reading' },
      async (_caller, _input: Record<string, never>): Promise<AuditCheck> => {
        // Read the stored head before the entries. If entries are committed meanwhile, the log only becomes longer, and
        // the head is still valid.
        const before = await stores.audit.heads();
        const kept = await auditHeads.kept(before.logId);
        const { end, signed, logId } = await stores.audit.heads();
        const head = signed === null ? undefined : auditHeads.read(signed);
        const own = head?.logId === logId ? head : undefined;
        const proofs = [own, kept].filter((proof): proof is AuditHead => proof !== undefined);
        const verdict = (last: AuditLink, brokenAt: number | null): AuditCheck => ({
          isIntact: brokenAt === null && own !== undefined,
          entries: last.seq,
          head: last.hash.toString('hex'),
          brokenAt,
          signedUpTo: own?.seq ?? null,
          lostUpTo: own?.seq === last.seq && kept && kept.seq > last.seq ? kept.seq : null,
        });
        let last = CHAIN_START;
        while (last.seq < end.seq) {
          const rows = await stores.audit.chainedAfter(last.seq, VERIFY_BATCH);
          for (const { seq, hash, entry } of rows) {
            const expected = nextLink(last, entry);
            if (seq !== expected.seq || !hash.equals(expected.hash)) return verdict(last, expected.seq);
            if (proofs.some((proof) => proof.seq === seq && !proof.hash.equals(hash)))
              return verdict(last, seq);
            last = expected;
            if (last.seq === end.seq) break;
          }
          if (rows.length === 0) return verdict(last, last.seq + 1);
        }
        if (!last.hash.equals(end.hash)) return verdict(last, last.seq);
        return verdict(last, proofs.some((proof) => proof.seq > last.seq) ? last.seq + 1 : null);
      },
    ),

    /**
     * Returns up to 1,000 lines of an export (R303) after the entry `seq`. Empty at the end. `seq` is 0 or the number
     * of an entry.
     */
    exportAfter: operation(
      'audit.export',
      { operator: 'reading' },
      async (_caller, { seq }: { readonly seq: number }): Promise<readonly string[]> => {
        const [previous] = seq === 0 ? [CHAIN_START] : await stores.audit.chainedAfter(seq - 1, 1);
        const rows = await stores.audit.chainedAfter(seq, VERIFY_BATCH);
        if (!previous) return [];
        return rows.map((row, index) => exportLine(row, rows[index - 1] ?? previous));
      },
    ),

    /**
     * Returns export lines (R303) of the entries with these ids. The webhook URLs of old entries are not masked,
     * because their hashes would not match.
     */
    exportLines: operation(
      'audit.exportLines',
      { roles: ['OWNER'], operator: 'reading' },
      async (caller, { ids }: { readonly ids: readonly string[] }): Promise<ReadonlyMap<string, string>> => {
        const accountId = caller.kind === 'member' ? caller.accountId : undefined;
        const rows = await stores.audit.chained(accountId, ids);
        return new Map(rows.map(({ previous, ...row }) => [row.entry.id, exportLine(row, previous)]));
      },
    ),

    /**
     * Returns the names of what entries are about, by id: an email address, a name, or a masked URL (R526). What has no
     * name, and objects of other accounts, are left out.
     */
    targetNames: operation(
      'audit.targetNames',
      { roles: ACCOUNT_ROLES, operator: 'reading' },
      async (caller, { ids }: { readonly ids: readonly string[] }): Promise<ReadonlyMap<string, string>> => {
        const accountId = caller.kind === 'operator' ? undefined : accountIdOf(caller);
        const names = await stores.objects.names(accountId, ids);
        return new Map(names.map(({ id, name, isUrl }) => [id, isUrl ? maskedUrl(name) : name]));
      },
    ),

    /**
     * Lists the account's entries, newest first. An operator sees the entries of all accounts and of the platform.
     * Webhook URLs are masked when they are read: old entries hold whole URLs, and entries are never rewritten (R212).
     */
    list: operation(
      'audit.list',
      { roles: ACCOUNT_ROLES, operator: 'reading' },
      async (
        caller,
        input: TwoWaySliceInput & { readonly filter?: AuditSearch | undefined },
      ): Promise<Slice<AuditEntry>> => {
        const range = twoWayRange(input, UUID_KEY);
        const { accountId, filter } = await resolveSearch(stores, caller, input.filter ?? {});
        const entries = await stores.audit.list(accountId, filter, range);
        const rows = entries.map(withMaskedUrls);
        return twoWaySliceOf(
          rows,
          range,
          (entry) => entry.id,
          () => stores.audit.count(accountId, filter),
        );
      },
    ),
  };
}
