import { fromMinor } from '../../money/money.ts';
import type { SmsSubmission } from '../../ports/provider.ts';
import { failureData, messageEvent } from '../message-events.ts';
import { linkWriter } from '../opt-out.ts';
import { describeText } from '../sms-text.ts';
import type { ChannelRules } from './channel-rules.ts';

export const smsRules: ChannelRules = {
  resource(message) {
    const text = describeText(message.content);
    return {
      metadata: {
        recipientsProcessed: message.to.length,
        invalidNumbersSkipped: message.invalidSkipped,
        duplicatesRemoved: message.duplicatesRemoved,
        smsCount: text.billingUnits,
        messageLength: text.length,
        costPerSms: fromMinor(message.unitPriceMinor, message.currency),
        encoding: text.encoding,
        segments: text.segments,
      },
    };
  },

  submission(message, recipient, attempt, directory): SmsSubmission {
    const text = linkWriter(message, recipient.address, directory.optOutTokens)(message.content);
    const { encoding, segments } = describeText(text);
    return {
      messageId: message.id,
      position: recipient.position,
      to: recipient.address,
      from: message.from,
      attempt,
      expiresAt: message.expiresAt,
      text,
      encoding,
      segments,
    };
  },

  moveEvent(message, move, moved, at) {
    const base = { to: moved.address, from: message.from, message: message.content };
    if (move.to === 'sent') return messageEvent('sms.sent', message, moved, at, { ...base, sid: moved.sid });
    const failure = failureData(move);
    return failure && messageEvent('sms.failed', message, moved, at, { ...base, ...failure });
  },
};
