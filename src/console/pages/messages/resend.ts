import type { Message } from './message-text.ts';
import type { Channel } from './messages.generated.ts';
import { fieldFault } from './send-form.tsx';

/** The message that a form is filled with to be sent again, as a new one. */
export type Again = Message;

/** The message, in the form of its own channel. */
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

/** An object or array as JSON; nothing for an empty one. */
export function jsonIn(payload: Payload, name: string): string {
  const value = payload?.[name];
  if (typeof value !== 'object' || value === null || Object.keys(value).length === 0) return '';
  return JSON.stringify(value, null, 2);
}

/** The JSON of a field. Throws `ApiError` naming the field when it is none; undefined when it is empty. */
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
    throw fieldFault(name, `must be JSON such as ${example}`);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value) !== (kind === 'array')) {
    throw fieldFault(name, `must be a JSON ${kind} such as ${example}`);
  }
  return value as never;
}
