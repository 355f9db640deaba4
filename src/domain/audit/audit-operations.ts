import { accountIdOf } from '../accounts/account-operations.ts';
import { ACCOUNT_ROLES } from '../caller.ts';
import type { Dependencies } from '../dependencies.ts';
import { operation } from '../operation.ts';
import { keyRange, type Slice, type SliceInput, sliceOf, UUID_KEY } from '../paging.ts';
import type { AuditFilter } from '../ports/list-stores.ts';
import { type AuditLink, CHAIN_START, nextLink } from './audit-chain.ts';
import type { AuditEntry } from './audit-entry.ts';

const VERIFY_BATCH = 1_000;

/** What a check of the chain found. */
export interface AuditVerdict {
  readonly isIntact: boolean;
  /** Entries that are in their place and unchanged. */
  readonly entries: number;
  /** Hash over all of those, in hex. */
  readonly head: string;
  /** Number of the first entry that is changed, moved or missing. */
  readonly brokenAt: number | null;
}

function verdict(last: AuditLink, brokenAt: number | null): AuditVerdict {
  return { isIntact: brokenAt === null, entries: last.seq, head: last.hash.toString('hex'), brokenAt };
}

/** Looking into the audit log, and checking that nobody has rewritten it. */
export function auditOperations({ stores }: Pick<Dependencies, 'stores'>) {
  return {
    /**
     * Checks the whole chain (tamper evidence): every entry in its place, unchanged, none missing at the end. Who
     * notes `head` elsewhere can tell later that nothing up to it was rewritten.
     */
    verify: operation(
      'audit.verify',
      { operator: true },
      async (_caller, _input: Record<string, never>): Promise<AuditVerdict> => {
        const end = await stores.audit.chainEnd();
        let last = CHAIN_START;
        while (last.seq < end.seq) {
          const rows = await stores.audit.chainedAfter(last.seq, VERIFY_BATCH);
          for (const { seq, hash, entry } of rows) {
            const expected = nextLink(last, entry);
            if (seq !== expected.seq || !hash.equals(expected.hash)) return verdict(last, expected.seq);
            last = expected;
            if (last.seq === end.seq) break;
          }
          if (rows.length === 0) return verdict(last, last.seq + 1);
        }
        return verdict(last, last.hash.equals(end.hash) ? null : last.seq);
      },
    ),

    /** The account's entries, the newest first; an operator sees those of all accounts and of none. */
    list: operation(
      'audit.list',
      { roles: ACCOUNT_ROLES, operator: true },
      async (
        caller,
        input: SliceInput & { readonly filter?: AuditFilter | undefined },
      ): Promise<Slice<AuditEntry>> => {
        const accountId = caller.kind === 'operator' ? undefined : accountIdOf(caller);
        const filter = input.filter ?? {};
        const range = keyRange(input, UUID_KEY);
        const rows = await stores.lists.auditEntries(accountId, filter, range);
        return sliceOf(
          rows,
          range,
          (entry) => entry.id,
          () => stores.lists.countAuditEntries(accountId, filter),
        );
      },
    ),
  };
}
