import { checkAll, DomainError, type FieldFault, validationError } from '../errors.ts';
import { parseMsisdn } from '../messages/msisdn.ts';
import { truncate } from '../text.ts';
import {
  CONTACT_ATTRIBUTES_MAX_BYTES,
  CONTACT_EMAIL_MAX_LENGTH,
  CONTACT_MAX_TAGS,
  CONTACT_TAG_MAX_LENGTH,
  CONTACT_TEXT_MAX_LENGTH,
  type Contact,
} from './contact.ts';

/** The fields of a contact in a request. Absent: the value is not changed. Null: the value is removed. */
export interface ContactInput {
  readonly name?: string | null | undefined;
  readonly phone?: string | null | undefined;
  readonly email?: string | null | undefined;
  readonly externalId?: string | null | undefined;
  readonly tags?: readonly string[] | null | undefined;
  readonly attributes?: Readonly<Record<string, unknown>> | null | undefined;
}

/** The members of a contact that a caller may set. */
export type ContactFields = Pick<Contact, 'name' | 'phone' | 'email' | 'externalId' | 'tags' | 'attributes'>;

export const NO_FIELDS: ContactFields = {
  name: null,
  phone: null,
  email: null,
  externalId: null,
  tags: [],
  attributes: {},
};

const EMAIL = /^[^\s\p{C}@,;<>"]{1,64}@[^\s\p{C}@,;<>"]{1,189}$/u;

/**
 * Applies `input` to `before` and returns the result (R27). Throws `validation_error`. Throws `invalid_phone_number`
 * for a phone number that no send accepts.
 */
export function changedFields(before: ContactFields, input: ContactInput): ContactFields {
  const { phone } = checkAll({
    others: () => {
      const faults = faultsOf(input);
      if (faults.length > 0) throw validationError(faults);
    },
    phone: () => (input.phone === undefined ? before.phone : phoneOf(input.phone)),
  });
  const after: ContactFields = {
    name: input.name === undefined ? before.name : input.name,
    phone,
    email: input.email === undefined ? before.email : input.email,
    externalId: input.externalId === undefined ? before.externalId : input.externalId,
    tags: input.tags === undefined ? before.tags : [...new Set(input.tags ?? [])],
    attributes: input.attributes === undefined ? before.attributes : (input.attributes ?? {}),
  };
  if (after.phone === null && after.email === null && after.externalId === null) {
    throw validationError([{ path: '', message: 'At least one of phone, email and externalId is needed.' }]);
  }
  return after;
}

function phoneOf(phone: string | null): string | null {
  if (phone === null) return null;
  const number = parseMsisdn(phone);
  if (number !== undefined) return number;
  throw new DomainError(
    'invalid_phone_number',
    'phone must be a number in E.164 form, such as +256700123456, or a Ugandan one.',
    { field: 'phone', value: truncate(phone) },
  );
}

// Use TextEncoder instead of Buffer, because the console runs this file in a browser.
const bytesOf = (text: string) => new TextEncoder().encode(text).length;

function faultsOf(input: ContactInput): FieldFault[] {
  const faults: FieldFault[] = [];
  for (const path of ['name', 'externalId'] as const) {
    const length = input[path]?.length;
    if (length !== undefined && (length < 1 || length > CONTACT_TEXT_MAX_LENGTH)) {
      faults.push({ path, message: `must have 1 to ${CONTACT_TEXT_MAX_LENGTH} characters` });
    }
  }
  const { email, tags, attributes } = input;
  if (typeof email === 'string' && (email.length > CONTACT_EMAIL_MAX_LENGTH || !EMAIL.test(email))) {
    faults.push({ path: 'email', message: 'must be an email address' });
  }
  if (tags && tags.length > CONTACT_MAX_TAGS) {
    faults.push({ path: 'tags', message: `must have at most ${CONTACT_MAX_TAGS} entries` });
  } else {
    tags?.forEach((tag, index) => {
      if (tag.length >= 1 && tag.length <= CONTACT_TAG_MAX_LENGTH) return;
      faults.push({ path: `tags.${index}`, message: `must have 1 to ${CONTACT_TAG_MAX_LENGTH} characters` });
    });
  }
  if (attributes && bytesOf(JSON.stringify(attributes)) > CONTACT_ATTRIBUTES_MAX_BYTES) {
    faults.push({
      path: 'attributes',
      message: `must have at most ${CONTACT_ATTRIBUTES_MAX_BYTES} bytes as JSON`,
    });
  }
  return faults;
}
