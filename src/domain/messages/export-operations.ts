import { recordChange } from '../audit/record-change.ts';
import { ACCOUNT_ROLES, accountIdOf } from '../caller.ts';
import type { Dependencies } from '../dependencies.ts';
import { validationError } from '../errors.ts';
import { operation } from '../operation.ts';

export const EXPORTED_LISTS = ['messages', 'recipients'] as const;
export type ExportedList = (typeof EXPORTED_LISTS)[number];

const MOST_FILTERS = 20;
const FILTER_MAX_LENGTH = 40;

export interface StartExportInput {
  readonly list: ExportedList;
  /** Names of the conditions that the export has. Their values may be phone numbers, so they are not told. */
  readonly filters: readonly string[];
}

/** Operations on files with messages of an account. */
export function exportOperations(deps: Pick<Dependencies, 'uow' | 'clock' | 'ids'>) {
  return {
    /**
     * Records in the audit log that a person begins to export messages or recipients (R253). The file itself comes
     * from the lists, page by page. Throws `step_up_required`, and `validation_error` for names that are too long or
     * too many.
     */
    start: operation(
      'export.start',
      { roles: ACCOUNT_ROLES, stepUp: true },
      async (caller, { list, filters }: StartExportInput): Promise<void> => {
        if (filters.length > MOST_FILTERS || filters.some((name) => name.length > FILTER_MAX_LENGTH)) {
          const message = `must be at most ${MOST_FILTERS} names of at most ${FILTER_MAX_LENGTH} characters`;
          throw validationError([{ path: 'filters', message }]);
        }
        const accountId = accountIdOf(caller);
        await deps.uow.run((tx) =>
          recordChange(tx, deps, caller, {
            accountId,
            action: 'account.startExport',
            target: accountId,
            after: { list, filters },
          }),
        );
      },
    ),
  };
}
