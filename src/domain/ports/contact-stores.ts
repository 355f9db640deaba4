import type { AccountEnvironment, Visibility } from '../caller.ts';
import type { Contact, ContactFilter } from '../contacts/contact.ts';
import type { ContactImport, ImportProgress, ReportedFault, RowFault } from '../contacts/contact-import.ts';
import type { KeyRange, Page, PageRequest } from '../paging.ts';

export interface ContactImportStore {
  insert(one: ContactImport, csv: string): Promise<void>;
  find(visibility: Visibility, id: string): Promise<ContactImport | undefined>;
  /** Newest first. */
  slice(owner: AccountEnvironment, range: KeyRange): Promise<readonly ContactImport[]>;
  count(owner: AccountEnvironment): Promise<number>;
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

/** What contacts are looked for by. */
export interface ContactNames {
  readonly phones: readonly string[];
  readonly externalIds: readonly string[];
  /** In any case. */
  readonly emails: readonly string[];
}

export interface ContactStore {
  /** Until the transaction ends no other one changes the account's contacts: what is looked at stays true. */
  lockAll(accountId: string): Promise<void>;
  /** Newest first. */
  page(owner: AccountEnvironment, filter: ContactFilter, request: PageRequest): Promise<Page<Contact>>;
  /** Newest first, by id. */
  slice(owner: AccountEnvironment, filter: ContactFilter, range: KeyRange): Promise<readonly Contact[]>;
  count(owner: AccountEnvironment, filter: ContactFilter): Promise<number>;
  find(visibility: Visibility, id: string): Promise<Contact | undefined>;
  /** A contact other than `exceptId` that has the phone or the externalId; the phone's owner first. */
  findDuplicate(
    owner: AccountEnvironment,
    exceptId: string,
    phone: string | null,
    externalId: string | null,
  ): Promise<Contact | undefined>;
  /** The contacts that have the names, some of them more than once; of an email's, two at the most. */
  findNamed(owner: AccountEnvironment, names: ContactNames): Promise<readonly Contact[]>;
  /** Stores contacts as they are `after`; `before` is what is stored of them, undefined for new ones. */
  saveAll(
    changes: readonly { readonly before: Contact | undefined; readonly after: Contact }[],
  ): Promise<void>;
  insert(contact: Contact): Promise<void>;
  update(contact: Contact): Promise<void>;
  /** False when there was none. */
  remove(visibility: Visibility, id: string): Promise<boolean>;
}
