import type { MovedRecipient, RecipientMove } from '../ports/message-stores.ts';
import type { Tx } from '../ports/stores.ts';
import { eventEnvelope, type NewEvent } from '../webhooks/event.ts';
import type { EventType } from '../webhooks/webhook.ts';
import type { Message } from './message.ts';

/** Builds an event of one recipient. If `recipient` is null, the event is of the whole message. */
export function messageEvent(
  type: EventType,
  message: Message,
  recipient: Pick<MovedRecipient, 'position' | 'address'> | null,
  at: Date,
  data: Readonly<Record<string, unknown>>,
): NewEvent {
  return {
    accountId: message.accountId,
    environment: message.environment,
    type,
    messageId: message.id,
    position: recipient?.position ?? null,
    source: recipient && { to: recipient.address, from: message.from, content: message.content },
    recordedAt: at,
    body: eventEnvelope({ type, channel: message.channel, messageId: message.id, recordedAt: at, data }),
  };
}

/**
 * Returns the members of a `failed` event that describe the failure (R16). Undefined for other changes of status and
 * for cancellations.
 */
export function failureData(move: RecipientMove) {
  if (move.to !== 'failed' || !move.error || move.error.code === 'canceled') return undefined;
  return {
    error: move.error.message,
    errorCode: move.error.code,
    stage: move.from === 'pending' ? 'submission' : 'delivery',
    permanent: move.error.code !== 'expired',
  };
}

/** Announces changed messages to live subscriptions, each message once. */
export function announceMessages(
  tx: Tx,
  messages: ReadonlyMap<string, Message>,
  changed: readonly { readonly messageId: string }[],
): void {
  const ids = new Set(changed.map(({ messageId }) => messageId));
  tx.announceLive(
    'message',
    [...ids].flatMap((id) => messages.get(id) ?? []),
  );
}
