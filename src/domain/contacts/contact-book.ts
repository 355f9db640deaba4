import type { Contact } from './contact.ts';

/** Contacts of one account in memory, indexed by their identifying members. Tracks changes. */
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

  /** Ignores case. Several contacts may have the same email. */
  byEmail(email: string): readonly Contact[] {
    return [...(this.#byEmail.get(email.toLowerCase()) ?? [])].flatMap((id) => this.#byId.get(id) ?? []);
  }

  /** Adds or replaces a contact. */
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

  /** The changed contacts, each with its stored version. */
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
