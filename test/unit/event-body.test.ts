import { describe, expect, it } from '@jest/globals';
import type { Channel } from '../../src/domain/messages/message.ts';
import { type EventSource, eventEnvelope } from '../../src/domain/webhooks/event.ts';
import type { EventType } from '../../src/domain/webhooks/webhook.ts';
import { eventBody, storedBody } from '../../src/storage/stores/event.store.ts';

const recordedAt = new Date('2026-11-21T08:15:30.007Z');
const source = { to: '+256700123456', from: 'SERVICE', content: 'ü "quoted" \\ 🙂\n' };

function throughStorage(
  type: EventType,
  messageId: string | null,
  from: EventSource | null,
  data: object,
  channel = type.split('.')[0] as Channel | 'system',
) {
  const body = eventEnvelope({ type, channel, messageId, recordedAt, data: { ...data } });
  const stored = storedBody({ type, messageId, recordedAt, body, source: from });
  const row = {
    type,
    message_id: messageId,
    recorded_at: recordedAt,
    body: stored,
    address: from?.to ?? null,
    sender: from?.from ?? null,
    content: from?.content ?? null,
  };
  return { body, stored, read: eventBody(row) };
}

describe('stored event bodies', () => {
  it.each<[EventType, EventSource | null, object, string]>([
    [
      'sms.sent',
      source,
      { to: source.to, from: 'SERVICE', message: source.content, sid: '7' },
      ',"sid":"7"}}',
    ],
    ['whatsapp.delivered', source, { to: source.to, from: 'SERVICE', message: source.content }, '}}'],
    [
      'email.sent',
      source,
      { to: source.to, from: 'SERVICE', subject: 'Hi', sid: 's' },
      ',"subject":"Hi","sid":"s"}}',
    ],
    ['push.sent', null, { to: ['u1'], title: 'Hi' }, '"to":["u1"],"title":"Hi"}}'],
  ])('of %s omit what other rows hold, and are restored byte for byte', (type, from, data, rest) => {
    const { body, stored, read } = throughStorage(type, '0190-id', from, data);
    expect(stored).toBe(rest);
    expect(read).toBe(body);
  });

  it.each<[string, EventType, string | null, EventSource | null, object, Channel | 'system']>([
    ['no message', 'webhook.test', null, null, { to: 'x' }, 'system'],
    ['another channel', 'sms.sent', '0190-id', source, { to: source.to }, 'email'],
    ['no message id', 'sms.sent', null, source, { to: source.to }, 'sms'],
    [
      'another recipient',
      'sms.sent',
      '0190-id',
      source,
      { to: '+256700000000', from: 'SERVICE', message: '' },
      'sms',
    ],
    [
      'another order',
      'sms.sent',
      '0190-id',
      source,
      { from: 'SERVICE', to: source.to, message: source.content },
      'sms',
    ],
  ])('are stored whole when the rows differ: %s', (_why, type, messageId, from, data, channel) => {
    const { body, stored, read } = throughStorage(type, messageId, from, data, channel);
    expect(stored).toBe(body);
    expect(read).toBe(body);
  });

  it('without the rows that hold their beginning are an error', () => {
    const row = {
      message_id: '0190-id',
      recorded_at: recordedAt,
      address: null,
      sender: null,
      content: null,
    };
    expect(() => eventBody({ ...row, type: 'sms.sent', body: ',"sid":"7"}}' })).toThrow('has no recipient');
  });
});
