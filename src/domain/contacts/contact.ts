import type { Environment } from '../caller.ts';

/**
 * A **contact** is a person to whom an account sends messages (R27). It has at least one of phone, email and
 * externalId. `phone` is in E.164. Within one environment of an account, `phone` and `externalId` are unique.
 */
export interface Contact {
  readonly id: string;
  readonly accountId: string;
  readonly environment: Environment;
  readonly name: string | null;
  readonly phone: string | null;
  readonly email: string | null;
  /** The id of the person in the account's own system. */
  readonly externalId: string | null;
  readonly tags: readonly string[];
  /** Any data that the account adds. It is stored unchanged. */
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

export interface ContactFilter {
  /** A part of the name, phone number, email address or externalId, ignoring case. */
  readonly search?: string | undefined;
  readonly tag?: string | undefined;
}

export const CONTACT_TEXT_MAX_LENGTH = 200;
export const CONTACT_EMAIL_MAX_LENGTH = 254;
export const CONTACT_MAX_TAGS = 50;
export const CONTACT_TAG_MAX_LENGTH = 50;
/** Largest size of `attributes`, in bytes of UTF-8 as JSON. */
export const CONTACT_ATTRIBUTES_MAX_BYTES = 16_384;

/** Normalizes case and width, so that searches find all spellings of a text. */
export function foldForSearch(text: string): string {
  return text.normalize('NFKC').toLowerCase();
}
