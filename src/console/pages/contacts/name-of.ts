import { t } from '../../lib/words.ts';
import type { ContactRowFragment } from './contacts.generated.ts';

/** Returns the name to show for a contact: its name, else its phone number, email address or external id. */
export function nameOf({ name, phone, email, externalId }: ContactRowFragment): string {
  return name ?? phone ?? email ?? externalId ?? t('Contact');
}
