import { registerEnumType } from 'type-graphql';
import { ACCOUNT_ROLES, ENVIRONMENTS, SCOPES } from '../domain/caller.ts';
import { IMPORT_STATES } from '../domain/contacts/contact-import.ts';
import { PLATFORMS } from '../domain/devices/device.ts';
import { CHANNELS, MESSAGE_STATUSES } from '../domain/messages/message.ts';
import { WHATSAPP_TYPES } from '../domain/messages/whatsapp-content.ts';
import { PROVIDER_STATES } from '../domain/ports/routing.ts';
import { HOLD_REASONS } from '../domain/recovery/hold.ts';
import { USAGE_GROUPS, USAGE_INTERVALS } from '../domain/usage/usage.ts';
import { DELIVERY_STATUSES } from '../domain/webhooks/webhook.ts';

/** An enum of the domain's words in capitals, registered under `name`. */
function enumOf<Word extends string>(
  name: string,
  description: string,
  words: readonly Word[],
  told: Readonly<Record<Word, string>>,
): Readonly<Record<string, Word>> {
  const values = Object.fromEntries(words.map((word) => [word.toUpperCase(), word]));
  const valuesConfig = Object.fromEntries(
    words.map((word) => [word.toUpperCase(), { description: told[word] }]),
  );
  registerEnumType(values, { name, description, valuesConfig });
  return values;
}

export const ScopeEnum = enumOf('Scope', 'What an API key may do.', SCOPES, {
  SEND_SMS: 'Send SMS.',
  SEND_EMAIL: 'Send email.',
  SEND_PUSH: 'Send push notifications and manage devices.',
  SEND_WHATSAPP: 'Send WhatsApp messages.',
  READ_MESSAGES: 'Read message history and look messages up.',
  READ_CONTACTS: 'Read contacts.',
  MANAGE_CONTACTS: 'Create and change contacts; includes reading them.',
  MANAGE_WEBHOOKS: 'Manage webhooks and read their deliveries.',
  FULL_ACCESS: 'Every scope, including ones added later.',
});
export const EnvironmentEnum = enumOf('Environment', 'Where a key works and a message goes.', ENVIRONMENTS, {
  production: 'Messages are sent and the account is charged.',
  sandbox: 'Requests are checked and recorded; nothing is sent or charged.',
});
export const ChannelEnum = enumOf('Channel', 'How a message travels.', CHANNELS, {
  sms: 'SMS.',
  email: 'Email.',
  push: 'Push notification.',
  whatsapp: 'WhatsApp.',
});
export const MessageStatusEnum = enumOf(
  'MessageStatus',
  'How far a message, or one recipient of it, has come. It only moves forward.',
  MESSAGE_STATUSES,
  {
    pending: 'Queued for delivery.',
    sent: 'Handed to the carrier or provider.',
    delivered: 'Successfully delivered.',
    failed: 'Delivery failed, or the message was canceled.',
  },
);
export const DeliveryStatusEnum = enumOf(
  'DeliveryStatus',
  'How a webhook delivery stands.',
  DELIVERY_STATUSES,
  {
    pending: 'No attempt has been made yet.',
    retrying: 'The last attempt failed; the next is due at nextRetryAt.',
    success: 'The endpoint answered 2xx.',
    failed: 'Every attempt failed.',
    canceled: 'The endpoint was deleted before it succeeded.',
  },
);
export const RoleEnum = enumOf('Role', 'What a person may do.', [...ACCOUNT_ROLES, 'OPERATOR'] as const, {
  OWNER: 'Everything in the account.',
  ADMIN: 'Manages keys, webhooks and members, and sends.',
  DEVELOPER: 'Sends, manages contacts, webhooks and the keys they made, none with FULL_ACCESS.',
  VIEWER: 'Reads.',
  OPERATOR: 'Runs the platform: stands above accounts and belongs to none.',
});
export const ImportStateEnum = enumOf('ImportState', 'How far an import has come.', IMPORT_STATES, {
  pending: 'It waits for a worker, or for another import of the account.',
  running: 'Rows are being imported.',
  done: 'Every row was imported or reported.',
  failed: 'It ended before its last row; `failure` tells why.',
});
export const PlatformEnum = enumOf('Platform', 'What a device is.', PLATFORMS, {
  ios: 'An iPhone or iPad, reached through APNs.',
  android: 'An Android device, reached through FCM.',
  web: 'A browser, reached through Web Push.',
});
export const PushPriorityEnum = enumOf(
  'PushPriority',
  'How urgent a notification is.',
  ['high', 'normal'] as const,
  {
    high: 'At once, waking the device.',
    normal: 'When it suits the device.',
  },
);
export const WhatsAppTypeEnum = enumOf('WhatsAppType', 'What a WhatsApp message is.', WHATSAPP_TYPES, {
  text: 'Free text, within 24 hours of the last message from the recipient.',
  template: 'A template that the platform has approved.',
  media: 'A file at an address.',
});
export const ProviderStateEnum = enumOf('ProviderState', 'How a carrier or provider is.', PROVIDER_STATES, {
  up: 'It takes messages.',
  degraded: 'It can be reached and did not take what it was handed last.',
  down: 'It cannot be reached, or rests after failures in a row; messages go elsewhere or wait.',
  starting: 'It is being connected to.',
});
export const UsageIntervalEnum = enumOf('UsageInterval', 'What usage is counted by.', USAGE_INTERVALS, {
  hour: 'Hours, in UTC.',
  day: 'Days, in UTC.',
  month: 'Months, in UTC.',
});
export const UsageGroupEnum = enumOf('UsageGroup', 'What usage is told apart by.', USAGE_GROUPS, {
  channel: 'The channel.',
  status: 'The status that messages have now.',
  api_key: 'The API key that sent them.',
});
export const HoldReasonEnum = enumOf('HoldReason', 'Why a gateway sends nothing.', HOLD_REASONS, {
  asked: 'RECOVERY=hold was set.',
  restored: 'The data was restored from a backup.',
  copied: 'The database is a copy of the one that was used before.',
});
