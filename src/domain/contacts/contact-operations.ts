import {
  ACCOUNT_ROLES,
  type AccountEnvironment,
  accountEnvironmentOf,
  type Environment,
  listedEnvironment,
  visibilityOf,
} from '../caller.ts';
import type { Dependencies } from '../dependencies.ts';
import { DomainError, notFound, validationError } from '../errors.ts';
import { operation } from '../operation.ts';
import {
  EMPTY_PAGE,
  emptySlice,
  keyRange,
  type Page,
  type PageRequest,
  type Slice,
  type SliceInput,
  sliceOf,
  UUID_KEY,
} from '../paging.ts';
import type { Tx } from '../ports/stores.ts';
import { truncate } from '../text.ts';
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

/** The environment of the contacts. The default is the environment of the API key, and production for members. */
interface InEnvironment {
  readonly environment?: Environment | undefined;
}

/** Operations on the account's contacts (R27). */
export function contactOperations({ stores, uow, clock, ids }: Dependencies) {
  return {
    /** Returns one page of the matching contacts, newest first. */
    list: operation(
      'contact.list',
      READ,
      async (
        caller,
        input: InEnvironment & { readonly filter: ContactFilter; readonly page: PageRequest },
      ): Promise<Page<Contact>> => {
        checkLength('search', input.filter.search, CONTACT_TEXT_MAX_LENGTH);
        checkLength('tag', input.filter.tag, CONTACT_TAG_MAX_LENGTH);
        const owner = listedEnvironment(caller, input.environment);
        return owner ? stores.contacts.page(owner, input.filter, input.page) : EMPTY_PAGE;
      },
    ),

    /** Returns a slice of the matching contacts, newest first. */
    slice: operation(
      'contact.slice',
      READ,
      async (
        caller,
        input: SliceInput & InEnvironment & { readonly filter: ContactFilter },
      ): Promise<Slice<Contact>> => {
        checkLength('search', input.filter.search, CONTACT_TEXT_MAX_LENGTH);
        checkLength('tag', input.filter.tag, CONTACT_TAG_MAX_LENGTH);
        const range = keyRange(input, UUID_KEY);
        const owner = listedEnvironment(caller, input.environment);
        if (!owner) return emptySlice(range);
        const rows = await stores.contacts.slice(owner, input.filter, range);
        return sliceOf(
          rows,
          range,
          (contact) => contact.id,
          () => stores.contacts.count(owner, input.filter),
        );
      },
    ),

    get: operation('contact.get', READ, async (caller, input: { id: string }): Promise<Contact> => {
      const contact = isUuid(input.id) && (await stores.contacts.find(visibilityOf(caller), input.id));
      if (!contact) throw notFound('Contact');
      return contact;
    }),

    /**
     * Adds a contact. If another contact has the phone number or externalId, throws `contact_exists` with that
     * contact's id.
     */
    create: operation(
      'contact.create',
      WRITE,
      async (caller, { environment, ...input }: ContactInput & InEnvironment): Promise<Contact> => {
        const owner = accountEnvironmentOf(caller, environment);
        const fields = changedFields(NO_FIELDS, input);
        const now = clock.now();
        const contact = { ...fields, ...owner, id: ids.uuid(), createdAt: now, updatedAt: now };
        await uow.run(async (tx) => {
          await tx.contacts.lockAll(owner.accountId);
          await refuseDuplicate(tx, owner, contact.id, fields);
          await tx.contacts.insert(contact);
        });
        return contact;
      },
    ),

    /** Changes the given members of a contact. Throws the same errors as `create`. */
    update: operation(
      'contact.update',
      WRITE,
      async (caller, input: { id: string; changes: ContactInput }): Promise<Contact> => {
        const visibility = visibilityOf(caller);
        return uow.run(async (tx) => {
          await tx.contacts.lockAll(visibility.accountId);
          const before = isUuid(input.id) && (await tx.contacts.find(visibility, input.id));
          if (!before) throw notFound('Contact');
          const fields = changedFields(before, input.changes);
          await refuseDuplicate(tx, before, before.id, fields);
          const contact = { ...before, ...fields, updatedAt: clock.now() };
          await tx.contacts.update(contact);
          return contact;
        });
      },
    ),

    remove: operation('contact.remove', WRITE, async (caller, input: { id: string }): Promise<void> => {
      const isRemoved = isUuid(input.id) && (await stores.contacts.remove(visibilityOf(caller), input.id));
      if (!isRemoved) throw notFound('Contact');
    }),
  };
}

async function refuseDuplicate(
  tx: Tx,
  owner: AccountEnvironment,
  ownId: string,
  { phone, externalId }: ContactFields,
): Promise<void> {
  const duplicate = await tx.contacts.findDuplicate(owner, ownId, phone, externalId);
  if (!duplicate) return;
  const [field, value] =
    phone !== null && duplicate.phone === phone ? ['phone', phone] : ['externalId', externalId ?? ''];
  throw new DomainError(
    'contact_exists',
    `There is a contact with the ${field} ${truncate(value)} already.`,
    {
      id: duplicate.id,
      field,
    },
  );
}

function checkLength(path: string, text: string | undefined, most: number): void {
  if (text !== undefined && (text.length < 1 || text.length > most)) {
    throw validationError([{ path, message: `must have 1 to ${most} characters` }]);
  }
}
