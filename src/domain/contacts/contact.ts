import type { Environment } from '../caller.ts';

/**
 * A **contact** is a person that an account writes to (R27). It has at least one of phone, email and externalId.
 * Phone and externalId are unique in an environment of an account. `phone` is E.164.
 */
export interface Contact {
  readonly id: string;
  readonly accountId: string;
  readonly environment: Environment;
  readonly name: string | null;
  readonly phone: string | null;
  readonly email: string | null;
  /** The id in the account's own system. */
  readonly externalId: string | null;
  readonly tags: readonly string[];
  /** Free data of the account, stored as given. */
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

export interface ContactFilter {
  /** Part of a name, phone, email or externalId, in any case. */
  readonly search?: string | undefined;
  readonly tag?: string | undefined;
}

export const CONTACT_TEXT_MAX_LENGTH = 200;
export const CONTACT_EMAIL_MAX_LENGTH = 254;
export const CONTACT_MAX_TAGS = 50;
export const CONTACT_TAG_MAX_LENGTH = 50;
/** UTF-8 bytes of `attributes` as JSON. */
export const CONTACT_ATTRIBUTES_MAX_BYTES = 16_384;

/** Normalizes case and width for searches. */
export function foldForSearch(text: string): string {
  return text.normalize('NFKC').toLowerCase();
}
