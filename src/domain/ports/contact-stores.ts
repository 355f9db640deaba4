import type { AccountEnvironment, Visibility } from '../caller.ts';
import type { Contact, ContactFilter } from '../contacts/contact.ts';
import type { ContactImport, ImportProgress, ReportedFault, RowFault } from '../contacts/contact-import.ts';
import type { KeyRange, Page, PageRequest } from '../paging.ts';

export interface ContactImportStore {
  insert(one: ContactImport, csv: string): Promise<void>;
  find(visibility: Visibility, id: string): Promise<ContactImport | undefined>;
  findMany(visibility: Visibility, ids: readonly string[]): Promise<readonly ContactImport[]>;
  /** Returns imports, newest first. */
  slice(owner: AccountEnvironment, range: KeyRange): Promise<readonly ContactImport[]>;
  count(owner: AccountEnvironment): Promise<number>;
  /** Returns the number of unfinished imports of the account. */
  unfinished(accountId: string): Promise<number>;
  /** Returns the faults of each import, in row order. Leaves out imports of other accounts. */
  faults(
    accountId: string,
    ids: readonly string[],
    range: KeyRange,
  ): Promise<readonly (ReportedFault & { readonly importId: string })[]>;
  /** Returns an unfinished import with its CSV text. */
  open(id: string): Promise<{ readonly import: ContactImport; readonly csv: string } | undefined>;
  /**
   * Advances an import from `rowsDone` rows to `progress`, and locks it until the transaction ends. Returns false if
   * another process has advanced it.
   */
  advance(
    id: string,
    rowsDone: number,
    progress: Omit<ImportProgress, 'rowsTotal'>,
    faults: readonly RowFault[],
  ): Promise<boolean>;
  /** Ends an import and deletes its CSV text. */
  finish(id: string, failure: string | null, at: Date): Promise<void>;
  /** Ends the unfinished imports that were started before `before`. */
  abandonBefore(before: Date, failure: string, at: Date): Promise<void>;
  /**
   * Deletes imports that ended before `before`, at most `limit` rows in one call. Returns the number of deleted rows.
   */
  forgetBefore(before: Date, limit: number): Promise<number>;
}

/** Values that identify contacts, for finding them. */
export interface ContactNames {
  readonly phones: readonly string[];
  readonly externalIds: readonly string[];
  /** Email addresses. They are compared without regard to case. */
  readonly emails: readonly string[];
}

export interface ContactStore {
  /** Locks the account's contacts against changes until the transaction ends. */
  lockAll(accountId: string): Promise<void>;
  /** Returns a page of contacts, newest first. */
  page(owner: AccountEnvironment, filter: ContactFilter, request: PageRequest): Promise<Page<Contact>>;
  /** Returns contacts by id, newest first. */
  slice(owner: AccountEnvironment, filter: ContactFilter, range: KeyRange): Promise<readonly Contact[]>;
  count(owner: AccountEnvironment, filter: ContactFilter): Promise<number>;
  find(visibility: Visibility, id: string): Promise<Contact | undefined>;
  findMany(visibility: Visibility, ids: readonly string[]): Promise<readonly Contact[]>;
  /**
   * Returns a contact other than `exceptId` that has this phone number or external id. If two contacts match, returns
   * the contact with the phone number.
   */
  findDuplicate(
    owner: AccountEnvironment,
    exceptId: string,
    phone: string | null,
    externalId: string | null,
  ): Promise<Contact | undefined>;
  /**
   * Returns the contacts that have one of these values. A contact that matches twice may be returned twice. For each
   * email address, at most two contacts are returned.
   */
  findNamed(owner: AccountEnvironment, names: ContactNames): Promise<readonly Contact[]>;
  /** Stores each contact as it is in `after`. `before` is the stored version, or undefined for a new contact. */
  saveAll(
    changes: readonly { readonly before: Contact | undefined; readonly after: Contact }[],
  ): Promise<void>;
  insert(contact: Contact): Promise<void>;
  update(contact: Contact): Promise<void>;
  /** Deletes a contact. Returns false if there was none. */
  remove(visibility: Visibility, id: string): Promise<boolean>;
}
