import type { Contact } from './contact.ts';

/**
 * Holds contacts of one account in memory. Finds them by phone number, external id or email address, and tracks
 * changes.
 */
export class ContactBook {
  readonly #byPhone = new Map<string, Contact>();
  readonly #byExternalId = new Map<string, Contact>();
  readonly #byEmail = new Map<string, Set<string>>();
  readonly #byId = new Map<string, Contact>();
  readonly #stored = new Map<string, Contact>();
  readonly #changed = new Set<string>();

  constructor(stored: readonly Contact[]) {
    for (const contact of stored) {
      this.#stored.set(contact.id, contact);
      this.#file(contact);
    }
  }

  byPhone(phone: string): Contact | undefined {
    return this.#byPhone.get(phone);
  }

  byExternalId(externalId: string): Contact | undefined {
    return this.#byExternalId.get(externalId);
  }

  /** Finds contacts by email address, ignoring case. Several contacts may have the same email address. */
  byEmail(email: string): readonly Contact[] {
    return [...(this.#byEmail.get(email.toLowerCase()) ?? [])].flatMap((id) => this.#byId.get(id) ?? []);
  }

  /** Adds a contact, or replaces the one with the same id. */
  put(contact: Contact): void {
    const before = this.#byId.get(contact.id);
    if (before) {
      if (before.phone !== null) this.#byPhone.delete(before.phone);
      if (before.externalId !== null) this.#byExternalId.delete(before.externalId);
      if (before.email !== null) this.#byEmail.get(before.email.toLowerCase())?.delete(before.id);
    }
    this.#file(contact);
    this.#changed.add(contact.id);
  }

  /** Returns the changed contacts, each with its stored version. The version is undefined for a new contact. */
  changes(): readonly { readonly before: Contact | undefined; readonly after: Contact }[] {
    return [...this.#changed].flatMap((id) => {
      const after = this.#byId.get(id);
      return after ? [{ before: this.#stored.get(id), after }] : [];
    });
  }

  #file(contact: Contact): void {
    const { id, phone, externalId, email } = contact;
    this.#byId.set(id, contact);
    if (phone !== null) this.#byPhone.set(phone, contact);
    if (externalId !== null) this.#byExternalId.set(externalId, contact);
    if (email === null) return;
    const key = email.toLowerCase();
    const same = this.#byEmail.get(key);
    if (same) same.add(id);
    else this.#byEmail.set(key, new Set([id]));
  }
}
