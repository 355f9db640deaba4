import { describe, expect, it } from '@jest/globals';
import type { Channel } from '../../src/domain/messages/message.ts';
import { eventEnvelope } from '../../src/domain/webhooks/event.ts';
import type { EventType } from '../../src/domain/webhooks/webhook.ts';
import { eventBody, storedBody } from '../../src/storage/stores/event-rows.ts';

const recordedAt = new Date('2026-11-21T08:15:30.007Z');

function throughStorage(
  type: EventType,
  channel: Channel | 'system',
  messageId: string | null,
  data: object,
) {
  const body = eventEnvelope({ type, channel, messageId, recordedAt, data: { ...data } });
  const stored = storedBody({ accountId: '', type, messageId, position: 0, recordedAt, body });
  const row = { type, message_id: messageId, recorded_at: recordedAt, body: stored };
  return { body, stored, read: eventBody(row) };
}

describe('stored event bodies', () => {
  it('omit what their row holds, and are restored byte for byte', () => {
    const data = { to: '+256700123456', message: 'ü "quoted" 🙂', nested: { data: {} } };
    const { body, stored, read } = throughStorage('sms.sent', 'sms', '0190-id', data);
    expect(stored).toBe(`"data":${JSON.stringify(data)}}`);
    expect(read).toBe(body);
  });

  it.each<[EventType, Channel | 'system', string | null]>([
    ['webhook.test', 'system', null],
    ['sms.sent', 'email', '0190-id'],
    ['sms.sent', 'sms', null],
  ])('are stored whole when the row differs (%s, %s, %s)', (type, channel, messageId) => {
    const { body, stored, read } = throughStorage(type, channel, messageId, { to: 'x' });
    expect(stored).toBe(body);
    expect(read).toBe(body);
  });

  it('are returned unchanged when they were stored whole', () => {
    const body = '{"event":"sms.sent","data":{}}';
    expect(eventBody({ type: 'sms.sent', message_id: 'a', recorded_at: recordedAt, body })).toBe(body);
  });
});
