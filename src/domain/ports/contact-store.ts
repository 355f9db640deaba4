import type { Home, Reach } from '../caller.ts';
import type { Contact, ContactFilter } from '../contacts/contact.ts';
import type { KeyRange } from '../paging.ts';
import type { Page, PageRequest } from './page.ts';

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
  page(home: Home, filter: ContactFilter, request: PageRequest): Promise<Page<Contact>>;
  /** Newest first, by id. */
  slice(home: Home, filter: ContactFilter, range: KeyRange): Promise<readonly Contact[]>;
  count(home: Home, filter: ContactFilter): Promise<number>;
  find(reach: Reach, id: string): Promise<Contact | undefined>;
  /** A contact other than `exceptId` that has the phone or the externalId; the phone's owner first. */
  findTwin(
    home: Home,
    exceptId: string,
    phone: string | null,
    externalId: string | null,
  ): Promise<Contact | undefined>;
  /** The contacts that have the names, some of them more than once; of an email's, two at the most. */
  findNamed(home: Home, names: ContactNames): Promise<readonly Contact[]>;
  /** Stores contacts as they are `after`; `before` is what is stored of them, undefined for new ones. */
  saveAll(
    changes: readonly { readonly before: Contact | undefined; readonly after: Contact }[],
  ): Promise<void>;
  insert(contact: Contact): Promise<void>;
  update(contact: Contact): Promise<void>;
  /** False when there was none. */
  remove(reach: Reach, id: string): Promise<boolean>;
}
