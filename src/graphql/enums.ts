import { registerEnumType } from 'type-graphql';
import { ACCOUNT_ORDERS, LEDGER_ENTRY_KINDS } from '../domain/accounts/account.ts';
import { ALERT_KINDS, ALERT_STATES, THRESHOLD_UNITS } from '../domain/alerts/alert.ts';
import { ANALYTICS_GROUPS, ANALYTICS_INTERVALS, ANALYTICS_ORDERS } from '../domain/analytics/analytics.ts';
import { REFUSAL_REASONS } from '../domain/api-keys/key-requests.ts';
import { SCOPE_RISKS } from '../domain/api-keys/scope-catalog.ts';
import { AUDIT_TARGET_KINDS } from '../domain/audit/audit-entry.ts';
import { AUDIT_EXPORT_FORMATS } from '../domain/audit/audit-export.ts';
import { ACCOUNT_ROLES, ENVIRONMENTS, OPERATOR_ROLES, SCOPES } from '../domain/caller.ts';
import { IMPORT_STATES, ROW_FAULT_CODES } from '../domain/contacts/contact-import.ts';
import { PLATFORMS } from '../domain/devices/device.ts';
import { REVIEW_DECISIONS } from '../domain/limits/held.ts';
import { EVIDENCE_KINDS, MESSAGE_ACTIONS, MESSAGE_CAUSES } from '../domain/messages/explain-message.ts';
import { EXPORTED_LISTS } from '../domain/messages/export-operations.ts';
import { CHANNELS, MESSAGE_STATUSES, PURPOSES, STATUS_REASONS } from '../domain/messages/message.ts';
import { MESSAGE_ORDERS } from '../domain/messages/message-list-operations.ts';
import { WHATSAPP_TYPES } from '../domain/messages/whatsapp-content.ts';
import { OPERATOR_RESET_KINDS } from '../domain/people/operator-reset.ts';
import { ACCOUNT_TROUBLES } from '../domain/platform/account-troubles.ts';
import { PLATFORM_GROUPS } from '../domain/platform/platform-analytics.ts';
import { PROVIDER_STATES } from '../domain/ports/routing.ts';
import { ADDRESS_KINDS } from '../domain/recipients/personal-address.ts';
import { HOLD_REASONS } from '../domain/recovery/hold.ts';
import { STATUS_CLASSES } from '../domain/requests/api-request.ts';
import { SENDER_CHANNELS, SENDER_RECORD_KINDS, SENDER_STATUSES } from '../domain/senders/sender.ts';
import {
  SUPPRESSED_CHANNELS,
  SUPPRESSION_SCOPES,
  SUPPRESSION_SOURCES,
} from '../domain/suppressions/suppression.ts';
import { USAGE_GROUPS, USAGE_INTERVALS } from '../domain/usage/usage.ts';
import { DELIVERY_GROUPS } from '../domain/webhooks/delivery-analytics-operations.ts';
import { EVENT_CHANNELS } from '../domain/webhooks/event-catalog.ts';
import { DELIVERY_STATUSES } from '../domain/webhooks/webhook.ts';
import { ERROR_CODE_DESCRIPTIONS, GRAPHQL_ERROR_CODES, graphqlCodeOf } from './error-codes.ts';

type NameOf<Word extends string> = (word: Word) => string;
const inCapitals = (word: string) => word.toUpperCase();

/** Makes a GraphQL enum from a union of strings. A name is the string in capitals, or what `nameOf` returns. */
function enumOf<Word extends string>(
  name: string,
  description: string,
  words: readonly Word[],
  descriptions: Readonly<Record<Word, string>>,
  nameOf: NameOf<Word> = inCapitals,
): Readonly<Record<string, Word>> {
  const values = Object.fromEntries(words.map((word) => [nameOf(word), word]));
  const valuesConfig = Object.fromEntries(
    words.map((word) => [nameOf(word), { description: descriptions[word] }]),
  );
  registerEnumType(values, { name, description, valuesConfig });
  return values;
}

export const ErrorCodeEnum = enumOf(
  'ErrorCode',
  'What went wrong: `extensions.code` of an error.',
  GRAPHQL_ERROR_CODES,
  ERROR_CODE_DESCRIPTIONS,
  graphqlCodeOf,
);
export const ScopeRiskEnum = enumOf('ScopeRisk', 'What a stranger with a key could do.', SCOPE_RISKS, {
  low: 'Little.',
  medium: "Read people's data, or spend money.",
  high: 'Redirect events, or take over the account.',
});
export const RefusalReasonEnum = enumOf(
  'RequestRefusalReason',
  'Why a past request of a key would be refused now.',
  REFUSAL_REASONS,
  {
    scope: 'No scope of the key admits it.',
    address: 'It came from outside the allowlist.',
    unknown_address: 'Its address was not recorded, and the allowlist may refuse it.',
  },
);
export const ScopeEnum = enumOf('Scope', 'A permission of an API key.', SCOPES, {
  SEND_SMS: 'Send SMS.',
  SEND_EMAIL: 'Send email.',
  SEND_PUSH: 'Send push notifications and manage devices.',
  SEND_WHATSAPP: 'Send WhatsApp messages.',
  READ_MESSAGES: 'Read message history and look up messages.',
  READ_CONTACTS: 'Read contacts.',
  MANAGE_CONTACTS: 'Read, create and change contacts.',
  MANAGE_WEBHOOKS: 'Manage webhooks and read their deliveries.',
  MANAGE_SENDERS: 'Manage sender IDs and email domains.',
  FULL_ACCESS: 'Every scope, including scopes that are added later.',
});
export const StatusClassEnum = enumOf('StatusClass', 'How a request ended.', STATUS_CLASSES, {
  success: 'A status below 400.',
  client_error: 'A status from 400 to 499.',
  server_error: 'A status from 500 on.',
});
export const EnvironmentEnum = enumOf('Environment', 'Production or sandbox.', ENVIRONMENTS, {
  production: 'Messages are sent, and the account is charged.',
  sandbox: 'Requests are checked and recorded. Nothing is sent or charged.',
});
export const ChannelEnum = enumOf('Channel', 'A way to send messages.', CHANNELS, {
  sms: 'SMS.',
  email: 'Email.',
  push: 'Push notification.',
  whatsapp: 'WhatsApp.',
});
export const PurposeEnum = enumOf('Purpose', 'What a message is for.', PURPOSES, {
  transactional: 'An answer to what the recipient did, such as a receipt.',
  otp: 'A code for signing in or confirming.',
  marketing: 'An offer. People who opted out do not get it.',
});
export const SuppressedChannelEnum = enumOf(
  'SuppressedChannel',
  'A channel on which addresses can be suppressed.',
  SUPPRESSED_CHANNELS,
  { sms: 'SMS.', email: 'Email.', whatsapp: 'WhatsApp.' },
);
export const SuppressionScopeEnum = enumOf(
  'SuppressionScope',
  'The messages that a suppression leaves out.',
  SUPPRESSION_SCOPES,
  { marketing: 'Messages of the purpose MARKETING.', all: 'Every message.' },
);
export const SuppressionSourceEnum = enumOf(
  'SuppressionSource',
  'Who asked for a suppression.',
  SUPPRESSION_SOURCES,
  {
    api: 'An API key.',
    person: 'A member of the account.',
    stop: 'The recipient, with STOP.',
    link: 'The recipient, with the link of a message.',
    bounce: 'A mail server that knows no such address.',
    import: 'A file.',
    complaint: 'The recipient, who reported an email as spam.',
  },
);
export const AddressKindEnum = enumOf('AddressKind', 'What the address of a person is.', ADDRESS_KINDS, {
  phone: 'A phone number.',
  email: 'An email address.',
  user: 'The id of a user to whose devices push messages go.',
});
export const SenderChannelEnum = enumOf(
  'SenderChannel',
  'A channel with senders of accounts.',
  SENDER_CHANNELS,
  { sms: 'A sender ID.', email: 'A domain.', whatsapp: 'A WhatsApp number, which an operator assigns.' },
);
export const SenderStatusEnum = enumOf(
  'SenderStatus',
  'The state of a sender, or of its registration at a network.',
  SENDER_STATUSES,
  {
    pending: 'Waits for the answer of an operator, or for the DNS record of the domain.',
    approved: 'May be used.',
    rejected: 'May not be used.',
  },
);
export const SenderRecordKindEnum = enumOf(
  'SenderRecordKind',
  'What a DNS record of a domain is for.',
  SENDER_RECORD_KINDS,
  {
    verification: 'Proves that the domain is yours.',
    dkim: 'Publishes the key with which mails are signed.',
    spf: 'Admits the mail servers of the gateway.',
  },
);
export const MessageStatusEnum = enumOf(
  'MessageStatus',
  'The status of a message or of one recipient. It only moves forward.',
  MESSAGE_STATUSES,
  {
    pending: 'Queued; no carrier or provider has accepted it yet.',
    sent: 'A carrier or provider has accepted it.',
    delivered: 'The carrier or provider reported its delivery.',
    failed: 'It was not delivered, or it was canceled.',
  },
);
export const StatusReasonEnum = enumOf('StatusReason', 'A reason for a status.', STATUS_REASONS, {
  delivery_unconfirmed: 'The message was sent, but no delivery report came within 72 hours.',
  refund_pending:
    'A recipient failed, but an earlier attempt may have reached them. The refund follows when no delivery report can come any more.',
  held_for_review:
    'It looks like SMS pumping. It is not charged, and leaves when an owner or administrator releases it.',
});
export const MessageTypeEnum = enumOf('MessageType', 'The type of a WhatsApp message.', WHATSAPP_TYPES, {
  text: 'Free text, allowed within 24 hours of the last message from the recipient.',
  template: 'A template that WhatsApp has approved.',
  media: 'A file at a URL.',
});
export const DeliveryStatusEnum = enumOf(
  'DeliveryStatus',
  'The status of a webhook delivery.',
  DELIVERY_STATUSES,
  {
    pending: 'No attempt has been made yet.',
    retrying: 'The last attempt failed; `nextRetryAt` is the time of the next.',
    success: 'The endpoint answered 2xx.',
    failed: 'Every attempt failed.',
    canceled: 'The webhook was deleted before an attempt succeeded.',
  },
);
export const EventChannelEnum = enumOf('EventChannel', 'The channel of an event type.', EVENT_CHANNELS, {
  sms: 'SMS.',
  email: 'Email.',
  push: 'Push notifications.',
  whatsapp: 'WhatsApp.',
  system: 'Webhooks themselves: test events.',
});
export const AuditTargetTypeEnum = enumOf(
  'AuditTargetType',
  'The type of an audit target.',
  AUDIT_TARGET_KINDS,
  {
    account: 'An account.',
    api_key: 'An API key.',
    webhook: 'A webhook.',
    user: 'A person.',
    plan: 'A plan, by name.',
    price: 'A price, by currency, channel and prefix.',
    gateway: 'The gateway as a whole.',
  },
);
export const AuditExportFormatEnum = enumOf(
  'AuditExportFormat',
  'The form of an exported audit entry.',
  AUDIT_EXPORT_FORMATS,
  {
    json_lines: 'A JSON object. `audit verify --file` checks a file of such lines.',
    csv: 'Cells, in the order of the members of the JSON object.',
  },
);
export const ExportedListEnum = enumOf('ExportedList', 'A list that a person can export.', EXPORTED_LISTS, {
  messages: 'Messages, with their texts.',
  recipients: 'Recipients of messages, with their numbers or addresses.',
});
export const LedgerEntryKindEnum = enumOf(
  'LedgerEntryKind',
  'The cause of a ledger entry.',
  LEDGER_ENTRY_KINDS,
  {
    opening: 'The opening balance of the account.',
    topup: 'A top-up by an operator.',
    charge: 'The cost of a message.',
    refund: 'The cost of a recipient that no carrier or provider accepted.',
  },
);
export const RoleEnum = enumOf(
  'Role',
  'The permissions of a person.',
  [...ACCOUNT_ROLES, ...OPERATOR_ROLES] as const,
  {
    OWNER: 'Everything in the account.',
    ADMIN: 'Manages keys, webhooks and members, and sends.',
    DEVELOPER: 'Sends, manages contacts, webhooks and their own keys, but never a key with FULL_ACCESS.',
    SUPPORT: 'Reads, and resends messages and deliveries of webhooks.',
    VIEWER: 'Reads.',
    OPERATOR: 'Runs the platform and belongs to no account.',
    OPERATOR_READONLY: 'Reads what an operator reads.',
  },
);
export const OperatorResetKindEnum = enumOf(
  'OperatorResetKind',
  "What is reset of an operator's sign-in.",
  OPERATOR_RESET_KINDS,
  {
    factors: 'The second factors are removed.',
    password: 'The password is replaced by a one-time password.',
  },
);
export const ImportStateEnum = enumOf('ImportState', 'The state of an import.', IMPORT_STATES, {
  pending: 'It waits for a worker, or for another import of the account.',
  running: 'Rows are being imported.',
  done: 'Every row was imported or reported.',
  failed: 'It ended before its last row; `failure` holds the reason.',
});
export const ImportErrorCodeEnum = enumOf(
  'ContactImportErrorCode',
  'What is wrong with a row of an import.',
  ROW_FAULT_CODES,
  {
    validation_error: 'A value breaks a rule of contacts.',
    invalid_phone_number: 'The phone number is not valid.',
    contact_exists: 'The phone and the externalId belong to two contacts.',
    duplicate_row: 'An earlier row names the same contact.',
    malformed_row: 'The row is not valid CSV.',
  },
  (code) => (code === 'validation_error' ? 'BAD_USER_INPUT' : inCapitals(code)),
);
export const PlatformEnum = enumOf('Platform', 'The platform of a device.', PLATFORMS, {
  ios: 'iPhone or iPad, through APNs.',
  android: 'Android, through FCM.',
  web: 'A browser, through Web Push.',
});
export const PushPriorityEnum = enumOf(
  'PushPriority',
  'The urgency of a push notification.',
  ['high', 'normal'] as const,
  {
    high: 'Delivered at once; wakes the device.',
    normal: 'Delivered when it suits the device.',
  },
);
export const ProviderStateEnum = enumOf(
  'ProviderState',
  'The state of a carrier or provider.',
  PROVIDER_STATES,
  {
    up: 'It accepts messages.',
    degraded: 'It can be reached, but it did not accept the last message.',
    down: 'It cannot be reached, or it is skipped after repeated failures. Messages use another route or wait.',
    starting: 'The gateway is connecting to it.',
  },
);
export const UsageIntervalEnum = enumOf('UsageInterval', 'The length of a usage bucket.', USAGE_INTERVALS, {
  hour: 'An hour, in UTC.',
  day: 'A day, in UTC.',
  month: 'A month, in UTC.',
});
export const UsageGroupEnum = enumOf('UsageGroup', 'A property to group usage by.', USAGE_GROUPS, {
  channel: 'The channel.',
  status: 'The current status of the messages.',
  api_key: 'The API key that sent the messages.',
});
export const HoldReasonEnum = enumOf('HoldReason', 'Why a gateway sends nothing.', HOLD_REASONS, {
  asked: 'RECOVERY=hold was set.',
  restored: 'The data was restored from a backup.',
  copied: 'The database is a copy of the one that was used before.',
  recovered: 'The database was recovered from a backup, or a standby was promoted, while no gateway used it.',
});
export const MessageCauseEnum = enumOf(
  'MessageCause',
  'Why recipients of a message have their status.',
  MESSAGE_CAUSES,
  {
    sandbox: 'A sandbox message is checked and recorded, and never sent.',
    scheduled: 'It waits for its time.',
    held: 'It is marketing, and waits for the end of quiet hours.',
    held_for_review: 'It looks like SMS pumping, and waits for a review.',
    queued: 'It waits for its turn at the provider.',
    retrying: 'Attempts found no provider that accepted it; it is tried again.',
    awaiting_report: 'The provider accepted it; no delivery report has come yet.',
    delivery_unconfirmed: 'The provider accepted it; no delivery report came within 72 hours.',
    delivered: 'The provider reported its delivery.',
    canceled: 'It was canceled before it left.',
    expired: 'No provider accepted it before its deadline.',
    rejected: 'The provider rejected it.',
    review_rejected: 'It looked like SMS pumping, and a person rejected it.',
    recipient_gone: 'The device was removed before the message could leave.',
    recipient_suppressed: 'The recipient was suppressed, as by a STOP, while the message waited.',
    number_taken: 'The WhatsApp number was taken from the account while the message waited.',
    undeliverable: 'The provider accepted it, and reported later that it could not deliver it.',
    possibly_sent: 'It failed, but an earlier attempt got no answer and may have arrived.',
  },
);
export const EvidenceKindEnum = enumOf('EvidenceKind', 'What was seen of a message.', EVIDENCE_KINDS, {
  attempt: 'An attempt that no provider took, or a note about one.',
  answer: 'The answer of a provider to a submission.',
  report: 'A later report of a provider.',
  webhook: 'A delivery of an event of the message to a webhook.',
});
export const MessageActionEnum = enumOf(
  'MessageAction',
  'What can be done about a message.',
  MESSAGE_ACTIONS,
  {
    wait: 'Nothing: it goes on by itself.',
    cancel: '`cancelMessage`.',
    send_again: 'Send a new message.',
    check_recipient: 'Check the address, or ask the recipient.',
    ask_operator: 'Ask the operator of the gateway.',
    redeliver_webhook: '`redeliver` the failed deliveries.',
  },
);
export const AnalyticsIntervalEnum = enumOf(
  'AnalyticsInterval',
  'The length of a bucket of analytics, in the time zone that is asked for.',
  ANALYTICS_INTERVALS,
  { hour: 'An hour.', day: 'A day.', week: 'A week, from Monday.', month: 'A month.' },
);
export const WebhookAnalyticsGroupEnum = enumOf(
  'WebhookAnalyticsGroup',
  'A property to group the deliveries of a webhook by.',
  DELIVERY_GROUPS,
  { event: 'The event type.' },
);
export const AnalyticsGroupEnum = enumOf(
  'AnalyticsGroup',
  'A property to group analytics by. COUNTRY, ERROR_CODE and PROVIDER are of recipients: messages are not counted by them.',
  ANALYTICS_GROUPS,
  {
    channel: 'The channel.',
    status: 'The present status: of messages for `messages`, of recipients for the other figures.',
    api_key: 'The API key that sent the messages.',
    sender: 'The sender.',
    country: 'The country of the number, by its calling code; in +1 and +7 by its area code.',
    error_code: 'The reason of the failure.',
    provider: 'The carrier or provider that accepted the recipient.',
    environment: 'The environment.',
  },
);
export const PlatformGroupEnum = enumOf(
  'PlatformGroup',
  'A property to group the figures of all accounts by. COUNTRY and PROVIDER are of recipients: messages are not counted by them.',
  PLATFORM_GROUPS,
  {
    account: 'The account.',
    channel: 'The channel.',
    status: 'The present status: of messages for `messages`, of recipients for the other figures.',
    country: 'The country of the number.',
    provider: 'The carrier or provider that accepted the recipient.',
    environment: 'The environment.',
  },
);
export const AccountTroubleEnum = enumOf(
  'AccountTrouble',
  'Why an operator should look at an account.',
  ACCOUNT_TROUBLES,
  {
    no_prices: 'No price is set in its currency, so every send is refused.',
    empty_balance: 'Its balance is 0.',
    low_balance: 'Its balance lasts less than three days at the cost of the last seven.',
    low_delivery_rate:
      'Of at least 20 messages that are finished today, the delivered part is more than 20 points below the month before.',
    failing_webhooks: 'A webhook fails, or failures switched it off.',
  },
);
export const AccountOrderEnum = enumOf('AccountOrder', 'An order of accounts.', ACCOUNT_ORDERS, {
  newest: 'The newest first.',
  balance: 'By currency, then the lowest balance first.',
});
export const AnalyticsOrderEnum = enumOf('AnalyticsOrder', 'An order of buckets.', ANALYTICS_ORDERS, {
  time: 'Oldest first.',
  messages: 'Most messages first.',
  recipients: 'Most recipients first.',
  failed: 'Most failed recipients first.',
  cost: 'Highest net cost first.',
});
export const AnalyticsComparisonEnum = enumOf(
  'AnalyticsComparison',
  'What buckets are compared with.',
  ['previous_period'] as const,
  { previous_period: 'As many intervals before; without an interval, as long a time before.' },
);
export const MessageOrderEnum = enumOf('MessageOrder', 'An order of messages.', MESSAGE_ORDERS, {
  time: 'Newest first.',
  cost: 'Costliest first: one page, of the newest 100,000 messages of each channel between `from` and `to`.',
});
export const AlertKindEnum = enumOf('AlertKind', 'What an alert is about.', ALERT_KINDS, {
  balance_low: 'The balance lasts a few days only.',
  limit_near: 'A send limit is nearly reached.',
  webhook_failing: 'A webhook is failing, or was switched off for that.',
  delivery_rate_low: 'Fewer messages of a channel are delivered than usual.',
  key_expiring: 'An API key is about to expire.',
  sender_rejected: 'The operator rejected a sender.',
  messages_held: 'Messages that look like SMS pumping are held for review.',
  sign_in_new_country: 'A person has signed in from a new country.',
  carrier_down: 'A carrier or provider is down. For operators.',
});
export const ReviewDecisionEnum = enumOf(
  'ReviewDecision',
  'What happens to held messages.',
  REVIEW_DECISIONS,
  {
    release: 'They are charged and sent.',
    reject: 'They fail, and are never charged.',
  },
);
export const AlertStateEnum = enumOf('AlertState', 'Whether the cause of an alert has ended.', ALERT_STATES, {
  open: 'The cause lasts.',
  resolved: 'The cause has ended.',
});
export const ThresholdUnitEnum = enumOf('ThresholdUnit', 'What a threshold counts.', THRESHOLD_UNITS, {
  days: 'Days.',
  percent: 'Parts of a hundred.',
  minutes: 'Minutes.',
  points: 'Percentage points.',
});
