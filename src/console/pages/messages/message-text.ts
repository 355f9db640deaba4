import { t } from '../../lib/words.ts';
import type { Channel, Environment, MessageDetailQuery, MessageStatus } from './messages.generated.ts';

/** A message with all fields that its page shows. */
export type Message = NonNullable<MessageDetailQuery['message']>;

/** The name of each channel. */
export const CHANNEL_NAMES: Readonly<Record<Channel, string>> = {
  SMS: 'SMS',
  EMAIL: t('Email'),
  PUSH: t('Push'),
  WHATSAPP: 'WhatsApp',
};
export const STATUS_NAMES: Readonly<Record<MessageStatus, string>> = {
  PENDING: t('Pending'),
  SENT: t('Sent'),
  DELIVERED: t('Delivered'),
  FAILED: t('Failed'),
};
export const ENVIRONMENT_NAMES: Readonly<Record<Environment, string>> = {
  PRODUCTION: t('Production'),
  SANDBOX: t('Sandbox'),
};

/** Converts a record of values and their names to the options of a select. */
export function optionsOf<Value extends string>(names: Readonly<Record<Value, string>>) {
  return Object.entries<string>(names).map(([value, label]) => ({ value, label }));
}

/** Shortens a list of recipients, such as `+256700000001 and 2 more`. */
export function whom(to: readonly string[]): string {
  const [first = t('nobody')] = to;
  return to.length > 1 ? t('{first} and {count} more', { first, count: to.length - 1 }) : first;
}

/** A message with the number of its recipients in each status. */
export interface Counted {
  readonly status: MessageStatus;
  readonly recipientCounts: Readonly<Record<'delivered' | 'failed' | 'pending' | 'sent', number>>;
}

/**
 * Describes the state of a message to several recipients, such as `106 of 107 delivered`. Returns undefined if one word
 * says it, because all recipients have the same status.
 */
export function statusWords({ recipientCounts: counts }: Counted): string | undefined {
  const { delivered, failed, pending, sent } = counts;
  const all = delivered + failed + pending + sent;
  if ([delivered, failed, pending, sent].filter((count) => count > 0).length < 2) return undefined;
  if (delivered > 0) return t('{delivered} of {all} delivered', { delivered, all });
  return failed > 0
    ? t('{failed} of {all} failed', { failed, all })
    : t('{sent} of {all} sent', { sent, all });
}

/** Returns the status whose colour a message has: a finished message with failed recipients is not simply delivered. */
export function statusTone({ status, recipientCounts }: Counted): string {
  return status !== 'FAILED' && recipientCounts.failed > 0 ? 'PARTLY_FAILED' : status;
}
