import type { ContactRowFragment } from './contacts.generated.ts';

/** The name to show for a contact: its name, else phone, email or external id. */
export function nameOf({ name, phone, email, externalId }: ContactRowFragment): string {
  return name ?? phone ?? email ?? externalId ?? 'Contact';
}
