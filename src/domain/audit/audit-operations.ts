import { accountIdOf } from '../accounts/account-operations.ts';
import { ALL_ROLES } from '../caller.ts';
import type { Dependencies } from '../dependencies.ts';
import { operation } from '../operation.ts';
import { keyRange, type Slice, type SliceInput, sliceOf, UUID_KEY } from '../paging.ts';
import type { AuditFilter } from '../ports/list-stores.ts';
import type { AuditEntry } from './audit-entry.ts';

/** Looking into the audit log. */
export function auditOperations({ stores }: Pick<Dependencies, 'stores'>) {
  return {
    /** The account's entries, the newest first; an operator sees those of all accounts and of none. */
    list: operation(
      'audit.list',
      { roles: ALL_ROLES, operator: true },
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
