import type { Environment } from '../caller.ts';
import { isoTime } from '../iso-time.ts';
import type { Channel } from '../messages/message.ts';
import type { EventType } from './webhook.ts';

/** An event in the feed of an account. `body` is the envelope exactly as every endpoint receives it. */
export interface RecordedEvent {
  readonly accountId: string;
  /** The environment of the event's message or endpoint. In the sandbox, all events are tests of sandbox endpoints. */
  readonly environment: Environment;
  /** Number of the event within the account, from 1, without gaps. The cursor of the feed (R33). */
  readonly seq: number;
  readonly type: EventType;
  readonly messageId: string | null;
  readonly position: number | null;
  readonly recordedAt: Date;
  readonly body: string;
}

/** The fields of an event that are also in the rows of its recipient and message. A store need not copy them. */
export interface EventSource {
  readonly to: string;
  readonly from: string;
  readonly content: string;
}

export interface NewEvent extends Omit<RecordedEvent, 'seq'> {
  /** The fields that its recipient and message hold. Null if the event does not belong to a single recipient. */
  readonly source: EventSource | null;
  /** The endpoint that does not get the event, because the event says that it fails (R483). */
  readonly exceptWebhookId?: string | undefined;
}

/** A new event with its number in the feed. */
export type AppendedEvent = NewEvent & RecordedEvent;

/** Builds the envelope of an event (R146–R150) as the JSON text that is stored and sent. */
export function eventEnvelope(event: {
  type: EventType;
  channel: Channel | 'system';
  messageId: string | null;
  recordedAt: Date;
  data: Readonly<Record<string, unknown>>;
}): string {
  return JSON.stringify({
    event: event.type,
    channel: event.channel,
    ...(event.messageId === null ? {} : { messageId: event.messageId }),
    timestamp: isoTime(event.recordedAt),
    data: event.data,
  });
}
