/**
 * A **personal address** is what the data of one person is found by: a phone number, an email address, or the id of a
 * user in the account's own app (R490). A **device** is an address of such a user that only push messages have.
 */
import { type FieldFault, validationError } from '../errors.ts';
import { parseEmailAddress } from '../messages/email-address.ts';
import { parseMsisdn } from '../messages/msisdn.ts';

export const ADDRESS_KINDS = ['phone', 'email', 'user'] as const;
export type AddressKind = (typeof ADDRESS_KINDS)[number];

export interface PersonalAddress {
  readonly kind: AddressKind;
  /** A phone number in E.164, an email address in lower case, or the id of a user as it was given. */
  readonly address: string;
}
/** An address by which rows are found. `device` has the address of a push recipient, such as `ios:<id>`. */
export interface TargetAddress {
  readonly kind: AddressKind | 'device';
  readonly address: string;
}

/** Longest id of a user, in UTF-16 code units. It is that of a device's `userId`. */
const USER_ID_MAX_LENGTH = 200;

/**
 * Returns the stored form of an address. Without `kind`, a text with an @ is an email address, and any other a phone
 * number: a user id may look like both, so its kind must be given. Throws `validation_error`.
 */
export function checkPersonalAddress(raw: string, kind?: AddressKind): PersonalAddress {
  switch (kind ?? (raw.includes('@') ? 'email' : 'phone')) {
    case 'email': {
      const address = parseEmailAddress(raw)?.toLowerCase();
      if (address !== undefined) return { kind: 'email', address };
      throw validationError([faultOf('must be an email address such as ann@example.com')]);
    }
    case 'phone': {
      const address = parseMsisdn(raw);
      if (address !== undefined) return { kind: 'phone', address };
      const orUser = kind === undefined ? ', an email address, or with the kind user the id of a user' : '';
      throw validationError([faultOf(`must be a phone number such as +256700123456${orUser}`)]);
    }
    case 'user': {
      if (raw.length >= 1 && raw.length <= USER_ID_MAX_LENGTH) return { kind: 'user', address: raw };
      throw validationError([faultOf(`must have 1 to ${USER_ID_MAX_LENGTH} characters`)]);
    }
  }
}

const faultOf = (message: string): FieldFault => ({ path: 'address', message });

/** Returns the addresses of one of these kinds. */
export function addressesOfKind(
  targets: readonly TargetAddress[],
  ...kinds: readonly TargetAddress['kind'][]
): readonly string[] {
  return targets.filter(({ kind }) => kinds.includes(kind)).map(({ address }) => address);
}
