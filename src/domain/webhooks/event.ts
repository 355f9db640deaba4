import type { Environment } from '../caller.ts';
import { isoTime } from '../iso-time.ts';
import type { Channel } from '../messages/message.ts';
import type { EventType } from './webhook.ts';

/** `body` is the envelope exactly as every endpoint receives it. */
export interface RecordedEvent {
  readonly accountId: string;
  /** The environment of its message or endpoint. Events of the sandbox are tests of its endpoints. */
  readonly environment: Environment;
  /** Dense number within the account, from 1; the cursor of the feed (R33). */
  readonly seq: number;
  readonly type: EventType;
  readonly messageId: string | null;
  readonly position: number | null;
  readonly recordedAt: Date;
  readonly body: string;
}

/** What an event repeats of the stored rows of its recipient and message, so that a store need not keep it twice. */
export interface EventSource {
  readonly to: string;
  readonly from: string;
  readonly content: string;
}

export interface NewEvent extends Omit<RecordedEvent, 'seq'> {
  /** Null where the event is of no single recipient. */
  readonly source: EventSource | null;
}

/** The envelope of an event (R146–R150) as the JSON text that is stored and sent. */
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
