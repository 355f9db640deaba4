import type { EmailSubmission } from '../../ports/provider.ts';
import { type EmailBulk, emailPayload } from '../email-content.ts';
import { failureData, messageEvent } from '../message-events.ts';
import type { ChannelRules } from './channel-rules.ts';

/** Email (decision 23): each recipient gets a mail of its own; the copies go with the first. */
export const emailRules: ChannelRules = {
  hasNoReports: true,

  resource(message) {
    return {
      subject: emailPayload(message).subject,
      metadata: {
        recipientsProcessed: message.to.length,
        invalidAddressesSkipped: message.invalidSkipped,
        duplicatesRemoved: message.duplicatesRemoved,
      },
    };
  },

  async submission(message, recipient, attempt, directory): Promise<EmailSubmission> {
    const { subject, replyTo, cc, bcc, headers } = emailPayload(message);
    const bulk = (await directory.bulk(message.id)) as EmailBulk | undefined;
    const isFirst = recipient.position === 0;
    return {
      messageId: message.id,
      position: recipient.position,
      to: recipient.address,
      from: message.from,
      attempt,
      expiresAt: message.expiresAt,
      subject,
      text: bulk?.text ?? undefined,
      html: bulk?.html ?? undefined,
      replyTo: replyTo ?? undefined,
      cc: isFirst ? cc : [],
      bcc: isFirst ? bcc : [],
      headers,
      attachments: bulk?.attachments ?? [],
    };
  },

  moveEvent(message, move, moved) {
    const base = { to: moved.address, from: message.from, subject: emailPayload(message).subject };
    if (move.to === 'sent') {
      return messageEvent('email.sent', message, move.position, move.at, { ...base, sid: moved.sid });
    }
    const failure = failureData(move);
    return failure && messageEvent('email.failed', message, move.position, move.at, { ...base, ...failure });
  },
};
