import { formatNumber } from '../../lib/format.ts';
import type { Channel, Environment, MessageDetailQuery, MessageStatus } from './messages.generated.ts';

/** A message with all fields that its page shows. */
export type Message = NonNullable<MessageDetailQuery['message']>;

/** The name of each channel. */
export const CHANNEL_NAMES: Readonly<Record<Channel, string>> = {
  SMS: 'SMS',
  EMAIL: 'Email',
  PUSH: 'Push',
  WHATSAPP: 'WhatsApp',
};
export const STATUS_NAMES: Readonly<Record<MessageStatus, string>> = {
  PENDING: 'Pending',
  SENT: 'Sent',
  DELIVERED: 'Delivered',
  FAILED: 'Failed',
};
export const ENVIRONMENT_NAMES: Readonly<Record<Environment, string>> = {
  PRODUCTION: 'Production',
  SANDBOX: 'Sandbox',
};

/** Converts a record of values and their names to the options of a select. */
export function optionsOf<Value extends string>(names: Readonly<Record<Value, string>>) {
  return Object.entries<string>(names).map(([value, label]) => ({ value, label }));
}

/** Shortens a list of recipients, such as `+256700000001 and 2 more`. */
export function whom(to: readonly string[]): string {
  const [first = 'nobody'] = to;
  return to.length > 1 ? `${first} and ${to.length - 1} more` : first;
}

/** Formats a count with its noun: `1 recipient`, `2 recipients`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString('en')} ${count === 1 ? one : many}`;
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
  if (delivered > 0) return `${formatNumber(delivered)} of ${formatNumber(all)} delivered`;
  return failed > 0
    ? `${formatNumber(failed)} of ${formatNumber(all)} failed`
    : `${formatNumber(sent)} of ${formatNumber(all)} sent`;
}

/** Returns the status whose colour a message has: a finished message with failed recipients is not simply delivered. */
export function statusTone({ status, recipientCounts }: Counted): string {
  return status !== 'FAILED' && recipientCounts.failed > 0 ? 'PARTLY_FAILED' : status;
}
