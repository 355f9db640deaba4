import { usePermission, useViewer } from '../../lib/session.tsx';
import { t } from '../../lib/words.ts';
import type { KeyRowFragment, Scope } from './api-keys.generated.ts';

/** The text for each scope. The broadest scope is last. */
export const SCOPE_TEXTS: Readonly<Record<Scope, string>> = {
  SEND_SMS: t('Send SMS, and ask what one would cost.'),
  SEND_EMAIL: t('Send email.'),
  SEND_PUSH: t('Send push notifications, and register the devices that get them.'),
  SEND_WHATSAPP: t('Send WhatsApp messages.'),
  READ_MESSAGES: t('Read the history, look messages up, and read what became of them.'),
  READ_CONTACTS: t('Read contacts.'),
  MANAGE_CONTACTS: t('Read, create, change and delete contacts.'),
  MANAGE_WEBHOOKS: t('Register webhooks, and read and retry their deliveries.'),
  MANAGE_SENDERS: t('Ask for sender IDs and email domains, and verify domains.'),
  FULL_ACCESS: t('Everything, also managing API keys, and what later versions add. For few programs.'),
};

export const ENVIRONMENTS = [
  { value: 'SANDBOX', label: t('Sandbox: requests are checked and recorded, nothing is sent or charged') },
  { value: 'PRODUCTION', label: t('Production: messages are sent and charged') },
] as const;

/** Returns the status of a key at the time `now`: `ACTIVE`, `REVOKED` or `EXPIRED`. */
export function statusOf(key: Pick<KeyRowFragment, 'revokedAt' | 'expiresAt'>, now: Date): string {
  if (key.revokedAt !== null) return 'REVOKED';
  return key.expiresAt !== null && new Date(key.expiresAt) <= now ? 'EXPIRED' : 'ACTIVE';
}

/**
 * True if the signed-in person may change this key. A DEVELOPER may change only keys that they created, and none with
 * FULL_ACCESS.
 */
export function useMayManage(key: Pick<KeyRowFragment, 'createdBy' | 'scopes'>): boolean {
  const { id, role } = useViewer();
  const isPermitted = usePermission('apiKey.update');
  if (role !== 'DEVELOPER') return isPermitted;
  return isPermitted && key.createdBy === `user:${id}` && !key.scopes.includes('FULL_ACCESS');
}
