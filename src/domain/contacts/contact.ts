import type { Environment } from '../caller.ts';

/**
 * A **contact** is a person whom an account writes to (R27). At least one of phone, email and externalId is
 * there; within an environment of an account a phone and an externalId each belong to one contact. `phone` is E.164,
 * like a recipient.
 */
export interface Contact {
  readonly id: string;
  readonly accountId: string;
  readonly environment: Environment;
  readonly name: string | null;
  readonly phone: string | null;
  readonly email: string | null;
  /** The contact's id in the account's own system. */
  readonly externalId: string | null;
  readonly tags: readonly string[];
  /** What the account wants to remember, as it came. */
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

export interface ContactFilter {
  /** Part of a name, phone, email or externalId, in any case. */
  readonly search?: string | undefined;
  /** A tag that the contact has. */
  readonly tag?: string | undefined;
}

export const CONTACT_TEXT_MAX_LENGTH = 200;
export const CONTACT_EMAIL_MAX_LENGTH = 254;
export const CONTACT_MAX_TAGS = 50;
export const CONTACT_TAG_MAX_LENGTH = 50;
/** UTF-8 bytes of `attributes` as JSON. */
export const CONTACT_ATTRIBUTES_MAX_BYTES = 16_384;

/** How text is folded so that a search finds it whatever its case and width. */
export function foldForSearch(text: string): string {
  return text.normalize('NFKC').toLowerCase();
}
