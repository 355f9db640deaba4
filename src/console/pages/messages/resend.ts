import { t } from '../../lib/words.ts';
import type { Message } from './message-text.ts';
import type { Channel } from './messages.generated.ts';
import { fieldFault } from './send-form.tsx';

/** An earlier message whose content fills the form, so that it can be sent again as a new message. */
export type Again = Message;

/** Returns the message if it was sent on this channel, else undefined. */
export function ofChannel(again: Again | undefined, channel: Channel): Again | undefined {
  return again?.channel === channel ? again : undefined;
}

type Payload = Readonly<Record<string, unknown>> | null | undefined;

export function textIn(payload: Payload, name: string): string {
  const value = payload?.[name];
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}

export function listIn(payload: Payload, name: string): string {
  const value = payload?.[name];
  return Array.isArray(value) ? value.join(', ') : '';
}

/** Formats an object or array as JSON for a text field. Returns '' if it is empty. */
export function jsonIn(payload: Payload, name: string): string {
  const value = payload?.[name];
  if (typeof value !== 'object' || value === null || Object.keys(value).length === 0) return '';
  return JSON.stringify(value, null, 2);
}

/**
 * Parses the JSON of a field. Returns undefined if the field is empty. Throws an `ApiError` for this field if the text
 * is not valid JSON of this kind.
 */
export function parseJson<Kind extends 'object' | 'array'>(
  name: string,
  text: string,
  kind: Kind,
):
  | (Kind extends 'array' ? Readonly<Record<string, unknown>>[] : Readonly<Record<string, unknown>>)
  | undefined {
  if (text === '') return undefined;
  const example = kind === 'array' ? '[{"type": "body"}]' : '{"name": "value"}';
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw fieldFault(name, t('must be JSON such as {example}', { example }));
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value) !== (kind === 'array')) {
    throw fieldFault(
      name,
      kind === 'array'
        ? t('must be a JSON array such as {example}', { example })
        : t('must be a JSON object such as {example}', { example }),
    );
  }
  return value as never;
}

/** The name of the button that sends a message again to the recipients that failed. */
export function resendLabel(failed: number): string {
  return t('{failed, plural, one {Resend to the one that failed} other {Resend to the # that failed}}', {
    failed,
  });
}
