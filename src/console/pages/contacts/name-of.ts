import type { ContactRowFragment } from './contacts.generated.ts';

/** What a contact goes by: its name, or the first of what tells it apart. */
export function nameOf({ name, phone, email, externalId }: ContactRowFragment): string {
  return name ?? phone ?? email ?? externalId ?? 'Contact';
}
