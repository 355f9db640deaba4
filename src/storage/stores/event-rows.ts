import { isoTime } from '../../domain/iso-time.ts';
import type { RecordedEvent } from '../../domain/webhooks/event.ts';
import type { EventType } from '../../domain/webhooks/webhook.ts';

export interface EventRow {
  account_id: string;
  is_sandbox: boolean;
  seq: number;
  message_id: string | null;
  recorded_at: Date;
  position: number | null;
  type: EventType;
  body: string;
}

/** What of an event's row its body is made from. */
export type EventBodyRow = Pick<EventRow, 'type' | 'message_id' | 'recorded_at' | 'body'>;

/** Of `events e`. */
export const EVENT_COLUMNS =
  'e.account_id, e.is_sandbox, e.seq, e.message_id, e.recorded_at, e.position, e.type, e.body';
/** Environment of an event, and of a delivery of it: of `events e`. */
export const EVENT_ENVIRONMENT = `CASE WHEN e.is_sandbox THEN 'sandbox' ELSE 'production' END`;

/** The event that a row of `EVENT_COLUMNS` stands for. */
export function mapEvent(row: EventRow): RecordedEvent {
  return {
    accountId: row.account_id,
    environment: row.is_sandbox ? 'sandbox' : 'production',
    seq: row.seq,
    type: row.type,
    messageId: row.message_id,
    position: row.position,
    recordedAt: row.recorded_at,
    body: eventBody(row),
  };
}

/**
 * Half of an envelope says what other columns of its row say. A body is stored without that beginning, and then does
 * not begin with a brace; one that begins otherwise is stored whole, so that every body comes back byte for byte.
 * What `beginning` makes must never change: stored events are read with it.
 */
export function storedBody({
  type,
  messageId,
  recordedAt,
  body,
}: Omit<RecordedEvent, 'seq' | 'environment'>): string {
  const expected = beginning(type, messageId, recordedAt);
  return body.startsWith(`${expected}"`) ? body.slice(expected.length) : body;
}

/** The envelope as it was recorded. */
export function eventBody({ type, message_id, recorded_at, body }: EventBodyRow): string {
  return body.startsWith('{') ? body : beginning(type, message_id, recorded_at) + body;
}

function beginning(type: string, messageId: string | null, recordedAt: Date): string {
  const channel = type.slice(0, type.indexOf('.'));
  return `{"event":"${type}","channel":"${channel}","messageId":"${messageId}","timestamp":"${isoTime(recordedAt)}",`;
}
