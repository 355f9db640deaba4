import { isoTime } from '../iso-time.ts';
import { fromMinor } from '../money/money.ts';
import { rulesOf } from './channels/rules-of.ts';
import type { Message } from './message.ts';

/** Returns the recipients that a message shows: their addresses, or what its channel shows instead. */
export function shownTo(message: Message): readonly string[] {
  return rulesOf(message.channel).shownTo?.(message) ?? message.to;
}

/**
 * Builds the message resource, the form of a message in every response (R21). Its members have the order of R41 to R52.
 */
export function messageResource(message: Message) {
  const { suppressedSkipped, purpose, heldUntil } = message;
  const ofChannel = rulesOf(message.channel).resource(message);
  return {
    id: message.id,
    sid: message.sid,
    channel: message.channel,
    to: shownTo(message),
    from: message.from,
    content: message.content,
    status: message.status,
    cost: fromMinor(message.costMinor, message.currency),
    currency: message.currency,
    sandbox: message.environment === 'sandbox',
    createdAt: isoTime(message.createdAt),
    ...ofChannel,
    ...(suppressedSkipped > 0 || heldUntil
      ? {
          metadata: {
            ...ofChannel.metadata,
            ...(suppressedSkipped > 0 ? { suppressedSkipped } : {}),
            ...(heldUntil ? { heldUntil: heldUntil.toISOString() } : {}),
          },
        }
      : {}),
    ...(purpose === 'transactional' ? {} : { purpose }),
    ...(message.scheduledFor ? { scheduledFor: message.scheduledFor.toISOString() } : {}),
    ...(message.statusReason ? { statusReason: message.statusReason } : {}),
  };
}
