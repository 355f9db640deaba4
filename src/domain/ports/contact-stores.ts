import type { AccountEnvironment, Visibility } from '../caller.ts';
import type { Contact, ContactFilter } from '../contacts/contact.ts';
import type { ContactImport, ImportProgress, ReportedFault, RowFault } from '../contacts/contact-import.ts';
import type { KeyRange, Page, PageRequest } from '../paging.ts';

export interface ContactImportStore {
  insert(one: ContactImport, csv: string): Promise<void>;
  find(visibility: Visibility, id: string): Promise<ContactImport | undefined>;
  findMany(visibility: Visibility, ids: readonly string[]): Promise<readonly ContactImport[]>;
  /** Newest first. */
  slice(owner: AccountEnvironment, range: KeyRange): Promise<readonly ContactImport[]>;
  count(owner: AccountEnvironment): Promise<number>;
  /** Number of unfinished imports of the account. */
  unfinished(accountId: string): Promise<number>;
  /** Faults of each import, in row order. Leaves out imports of other accounts. */
  faults(
    accountId: string,
    ids: readonly string[],
    range: KeyRange,
  ): Promise<readonly (ReportedFault & { readonly importId: string })[]>;
  /** An unfinished import with its text. */
  open(id: string): Promise<{ readonly import: ContactImport; readonly csv: string } | undefined>;
  /**
   * Moves an import from `rowsDone` to `progress` and locks it until the transaction ends. Returns false when
   * another process has moved it.
   */
  advance(
    id: string,
    rowsDone: number,
    progress: Omit<ImportProgress, 'rowsTotal'>,
    faults: readonly RowFault[],
  ): Promise<boolean>;
  /** Ends an import and deletes its text. */
  finish(id: string, failure: string | null, at: Date): Promise<void>;
  /** Ends unfinished imports that were started before. */
  abandonBefore(before: Date, failure: string, at: Date): Promise<void>;
  /** Deletes imports that ended before, a bounded number of rows at a time. Returns how many rows. */
  forgetBefore(before: Date, limit: number): Promise<number>;
}

/** Identifying members of contacts. */
export interface ContactNames {
  readonly phones: readonly string[];
  readonly externalIds: readonly string[];
  /** In any case. */
  readonly emails: readonly string[];
}

export interface ContactStore {
  /** Locks the account's contacts against changes until the transaction ends. */
  lockAll(accountId: string): Promise<void>;
  /** Newest first. */
  page(owner: AccountEnvironment, filter: ContactFilter, request: PageRequest): Promise<Page<Contact>>;
  /** Newest first, by id. */
  slice(owner: AccountEnvironment, filter: ContactFilter, range: KeyRange): Promise<readonly Contact[]>;
  count(owner: AccountEnvironment, filter: ContactFilter): Promise<number>;
  find(visibility: Visibility, id: string): Promise<Contact | undefined>;
  findMany(visibility: Visibility, ids: readonly string[]): Promise<readonly Contact[]>;
  /** A contact other than `exceptId` with this phone or externalId. The phone has precedence. */
  findDuplicate(
    owner: AccountEnvironment,
    exceptId: string,
    phone: string | null,
    externalId: string | null,
  ): Promise<Contact | undefined>;
  /** Contacts with these members; some may come twice. At most two for an email. */
  findNamed(owner: AccountEnvironment, names: ContactNames): Promise<readonly Contact[]>;
  /** Stores contacts as `after`. `before` is the stored version, undefined for new ones. */
  saveAll(
    changes: readonly { readonly before: Contact | undefined; readonly after: Contact }[],
  ): Promise<void>;
  insert(contact: Contact): Promise<void>;
  update(contact: Contact): Promise<void>;
  /** Returns false when there was none. */
  remove(visibility: Visibility, id: string): Promise<boolean>;
}
