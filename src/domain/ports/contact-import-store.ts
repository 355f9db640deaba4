import type { Home, Reach } from '../caller.ts';
import type { ContactImport, ImportProgress, ReportedFault, RowFault } from '../contacts/contact-import.ts';
import type { KeyRange } from '../paging.ts';

export interface ContactImportStore {
  insert(one: ContactImport, csv: string): Promise<void>;
  find(reach: Reach, id: string): Promise<ContactImport | undefined>;
  /** Newest first. */
  slice(home: Home, range: KeyRange): Promise<readonly ContactImport[]>;
  count(home: Home): Promise<number>;
  /** Imports of the account that have not ended. */
  unfinished(accountId: string): Promise<number>;
  /** The faults of each import, in the order of its rows; those of another account's are left out. */
  faults(
    accountId: string,
    ids: readonly string[],
    range: KeyRange,
  ): Promise<readonly (ReportedFault & { readonly importId: string })[]>;
  /** An import that has not ended, with its text. */
  open(id: string): Promise<{ readonly import: ContactImport; readonly csv: string } | undefined>;
  /**
   * Says that the import has come from `rowsDone` to `progress`; false when it is not there any more, because
   * somebody else is at it. The import is locked until the transaction ends.
   */
  advance(
    id: string,
    rowsDone: number,
    progress: Omit<ImportProgress, 'rowsTotal'>,
    faults: readonly RowFault[],
  ): Promise<boolean>;
  /** Ends an import, of which all rows that there are were read, and forgets its text. */
  finish(id: string, failure: string | null, at: Date): Promise<void>;
  /** Ends the imports that were asked for before and have not ended. */
  abandonBefore(before: Date, failure: string, at: Date): Promise<void>;
  /** Forgets imports that ended before, and some of their faults at a time; how many rows. */
  forgetBefore(before: Date, limit: number): Promise<number>;
}
