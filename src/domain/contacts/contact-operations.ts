import { accountIdOf } from '../accounts/account-operations.ts';
import { ACCOUNT_ROLES } from '../caller.ts';
import type { Dependencies } from '../dependencies.ts';
import { DomainError, notFound, validationError } from '../errors.ts';
import { operation } from '../operation.ts';
import { keyRange, type Slice, type SliceInput, sliceOf, UUID_KEY } from '../paging.ts';
import type { Page, PageRequest } from '../ports/page.ts';
import type { Tx } from '../ports/stores.ts';
import { isUuid } from '../uuid.ts';
import {
  CONTACT_TAG_MAX_LENGTH,
  CONTACT_TEXT_MAX_LENGTH,
  type Contact,
  type ContactFilter,
} from './contact.ts';
import { type ContactFields, type ContactInput, changedFields, NO_FIELDS } from './contact-fields.ts';

const READ = { scopes: ['READ_CONTACTS', 'MANAGE_CONTACTS'], roles: ACCOUNT_ROLES } as const;
const WRITE = { scopes: ['MANAGE_CONTACTS'], roles: ['OWNER', 'ADMIN', 'DEVELOPER'] } as const;

/** The account's contacts (decision 27). */
export function contactOperations({ stores, uow, clock, ids }: Dependencies) {
  return {
    /** One page of the contacts that fit, the newest first. */
    list: operation(
      'contact.list',
      READ,
      async (caller, input: { filter: ContactFilter; page: PageRequest }): Promise<Page<Contact>> => {
        checkLength('search', input.filter.search, CONTACT_TEXT_MAX_LENGTH);
        checkLength('tag', input.filter.tag, CONTACT_TAG_MAX_LENGTH);
        return stores.contacts.page(accountIdOf(caller), input.filter, input.page);
      },
    ),

    /** A slice of the contacts that fit, the newest first. */
    slice: operation(
      'contact.slice',
      READ,
      async (caller, input: SliceInput & { readonly filter: ContactFilter }): Promise<Slice<Contact>> => {
        const accountId = accountIdOf(caller);
        checkLength('search', input.filter.search, CONTACT_TEXT_MAX_LENGTH);
        checkLength('tag', input.filter.tag, CONTACT_TAG_MAX_LENGTH);
        const range = keyRange(input, UUID_KEY);
        const rows = await stores.contacts.slice(accountId, input.filter, range);
        return sliceOf(
          rows,
          range,
          (contact) => contact.id,
          () => stores.contacts.count(accountId, input.filter),
        );
      },
    ),

    get: operation('contact.get', READ, async (caller, input: { id: string }): Promise<Contact> => {
      const contact = isUuid(input.id) && (await stores.contacts.find(accountIdOf(caller), input.id));
      if (!contact) throw notFound('Contact');
      return contact;
    }),

    /** Adds a contact. Throws `contact_exists` with the id of the one that has the phone or externalId. */
    create: operation('contact.create', WRITE, async (caller, input: ContactInput): Promise<Contact> => {
      const accountId = accountIdOf(caller);
      const fields = changedFields(NO_FIELDS, input);
      const now = clock.now();
      const contact = { ...fields, id: ids.uuid(), accountId, createdAt: now, updatedAt: now };
      await uow.run(async (tx) => {
        await tx.contacts.lockAll(accountId);
        await refuseTwin(tx, accountId, contact.id, fields);
        await tx.contacts.insert(contact);
      });
      return contact;
    }),

    /** Changes the members that are given. Throws as `create` does. */
    update: operation(
      'contact.update',
      WRITE,
      async (caller, input: { id: string; changes: ContactInput }): Promise<Contact> => {
        const accountId = accountIdOf(caller);
        return uow.run(async (tx) => {
          await tx.contacts.lockAll(accountId);
          const before = isUuid(input.id) && (await tx.contacts.find(accountId, input.id));
          if (!before) throw notFound('Contact');
          const fields = changedFields(before, input.changes);
          await refuseTwin(tx, accountId, before.id, fields);
          const contact = { ...before, ...fields, updatedAt: clock.now() };
          await tx.contacts.update(contact);
          return contact;
        });
      },
    ),

    remove: operation('contact.remove', WRITE, async (caller, input: { id: string }): Promise<void> => {
      const isRemoved = isUuid(input.id) && (await stores.contacts.remove(accountIdOf(caller), input.id));
      if (!isRemoved) throw notFound('Contact');
    }),
  };
}

async function refuseTwin(
  tx: Tx,
  accountId: string,
  ownId: string,
  { phone, externalId }: ContactFields,
): Promise<void> {
  const twin = await tx.contacts.findTwin(accountId, ownId, phone, externalId);
  if (!twin) return;
  const [field, value] =
    phone !== null && twin.phone === phone ? ['phone', phone] : ['externalId', externalId];
  throw new DomainError('contact_exists', `There is a contact with the ${field} ${value} already.`, {
    id: twin.id,
    field,
  });
}

function checkLength(path: string, text: string | undefined, most: number): void {
  if (text !== undefined && (text.length < 1 || text.length > most)) {
    throw validationError([{ path, message: `must have 1 to ${most} characters` }]);
  }
}
