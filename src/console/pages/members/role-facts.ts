import { t } from '../../lib/words.ts';

/** The roles of an account. The most powerful one is first. */
export const ACCOUNT_ROLES = ['OWNER', 'ADMIN', 'DEVELOPER', 'SUPPORT', 'VIEWER'] as const;
export type AccountRole = (typeof ACCOUNT_ROLES)[number];

const EVERYBODY: readonly AccountRole[] = ACCOUNT_ROLES;
const WRITERS: readonly AccountRole[] = ['OWNER', 'ADMIN', 'DEVELOPER'];
const MANAGERS: readonly AccountRole[] = ['OWNER', 'ADMIN'];

/** One thing that a role allows, such as sending. A test compares each fact with the operations' permissions. */
export interface RoleFact {
  readonly what: string;
  /** The operations that a role needs for it. */
  readonly operations: readonly string[];
  readonly roles: readonly AccountRole[];
}

export const ROLE_FACTS: readonly RoleFact[] = [
  {
    what: t('Read messages, contacts, webhooks, keys, the ledger and the audit log'),
    operations: [
      'message.list',
      'contact.slice',
      'webhook.list',
      'apiKey.list',
      'account.ledger',
      'audit.list',
    ],
    roles: EVERYBODY,
  },
  {
    what: t('Send and cancel messages'),
    operations: [
      'message.sendSms',
      'message.sendEmail',
      'message.sendPush',
      'message.sendWhatsApp',
      'message.cancel',
    ],
    roles: WRITERS,
  },
  {
    what: t('Send a message again as it was'),
    operations: ['message.resend'],
    roles: [...WRITERS, 'SUPPORT'],
  },
  {
    what: t('Change and import contacts, register devices'),
    operations: ['contact.create', 'contact.update', 'contact.remove', 'contact.import', 'device.register'],
    roles: WRITERS,
  },
  {
    what: t('Register and change webhooks'),
    operations: ['webhook.register', 'webhook.update', 'webhook.delete'],
    roles: WRITERS,
  },
  {
    what: t('Send failed deliveries of webhooks again'),
    operations: ['webhook.retry', 'webhook.retryMany', 'webhook.recover'],
    roles: [...WRITERS, 'SUPPORT'],
  },
  {
    what: t('Create and change API keys (developers: their own, none with full access)'),
    operations: ['apiKey.create', 'apiKey.update', 'apiKey.rotate', 'apiKey.revoke'],
    roles: WRITERS,
  },
  {
    what: t('Invite people, change their roles, remove them (only owners make and unmake owners)'),
    operations: ['member.invite', 'member.setRole', 'member.remove'],
    roles: MANAGERS,
  },
  {
    what: t('Say how long messages are kept'),
    operations: ['account.setRetention'],
    roles: ['OWNER'],
  },
];
