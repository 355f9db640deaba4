import { fromMinor } from '../../money/money.ts';
import type { WhatsAppSubmission } from '../../ports/provider.ts';
import type { WhatsAppWrite } from '../../ports/whatsapp.ts';
import { isOwnNumber } from '../../senders/whatsapp-numbers.ts';
import { failureData, messageEvent } from '../message-events.ts';
import { whatsAppContent } from '../whatsapp-content.ts';
import type { ChannelRules } from './channel-rules.ts';

/** WhatsApp (R25). There is no event when the platform accepts a message. Events come from its later reports. */
export const whatsAppRules: ChannelRules = {
  resource(message) {
    return {
      type: whatsAppContent(message).type,
      readAt: message.tally.readAt?.toISOString() ?? null,
      metadata: {
        recipientsProcessed: message.to.length,
        costPerMessage: fromMinor(message.unitPriceMinor, message.currency),
      },
    };
  },

  submission(message, recipient, attempt): WhatsAppSubmission {
    return {
      messageId: message.id,
      position: recipient.position,
      to: recipient.address,
      from: message.from,
      attempt,
      expiresAt: message.expiresAt,
      content: whatsAppContent(message),
    };
  },

  moveEvent(message, move, moved, at) {
    const base = { to: moved.address, from: message.from, message: message.content, sid: moved.sid };
    if (move.to === 'delivered') {
      return messageEvent('whatsapp.delivered', message, moved, at, base);
    }
    const failure = failureData(move);
    return failure && messageEvent('whatsapp.failed', message, moved, at, { ...base, ...failure });
  },

  readEvent(message, recipient, at) {
    return messageEvent('whatsapp.read', message, recipient, at, {
      to: recipient.address,
      from: message.from,
      message: message.content,
      sid: recipient.sid,
      readAt: at.toISOString(),
    });
  },

  /**
   * Records which account wrote to a person from the shared number. When the person answers, the session window opens for
   * the account that wrote last (whatsapp-window.ts). Answers to a number of an account need no such record (R553).
   */
  async afterMoves(tx, messages, moved) {
    const writes: WhatsAppWrite[] = [];
    for (const [{ messageId, to, at }, { address: number }] of moved) {
      const message = messages.get(messageId);
      if (to !== 'sent' || message === undefined || isOwnNumber(message.from)) continue;
      writes.push({ number, accountId: message.accountId, messageId, at });
    }
    await tx.inbound.noteWrites(writes);
  },
};
