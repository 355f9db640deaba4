import type { MovedRecipient, RecipientMove } from '../ports/stores.ts';
import { eventEnvelope, type NewEvent } from '../webhooks/event.ts';
import type { Message } from './message.ts';

/** The event that a recipient's move causes, if any (contract, Events; decision 16). There is none for `delivered`. */
export function eventOf(message: Message, move: RecipientMove, moved: MovedRecipient): NewEvent | undefined {
  if (message.environment === 'sandbox' || message.channel !== 'sms') return undefined;
  const base = { to: moved.address, from: message.from, message: message.content };
  if (move.to === 'sent') return smsEvent('sms.sent', message, move, { ...base, sid: moved.sid });
  if (move.to === 'failed' && move.error && move.error.code !== 'canceled') {
    return smsEvent('sms.failed', message, move, {
      ...base,
      error: move.error.message,
      errorCode: move.error.code,
      stage: move.from === 'pending' ? 'submission' : 'delivery',
      permanent: move.error.code !== 'expired',
    });
  }
  return undefined;
}

function smsEvent(
  type: 'sms.sent' | 'sms.failed',
  message: Message,
  move: RecipientMove,
  data: Readonly<Record<string, unknown>>,
): NewEvent {
  return {
    accountId: message.accountId,
    type,
    messageId: message.id,
    position: move.position,
    recordedAt: move.at,
    body: eventEnvelope({ type, channel: message.channel, messageId: message.id, recordedAt: move.at, data }),
  };
}
