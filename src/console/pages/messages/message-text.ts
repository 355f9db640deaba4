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
