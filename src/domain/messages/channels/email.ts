import type { EmailBody, EmailSubmission } from '../../ports/provider.ts';
import { placeText, suppressibleAddress } from '../../suppressions/suppression.ts';
import { truncate } from '../../text.ts';
import { emailPayload } from '../email-content.ts';
import { failureData, messageEvent } from '../message-events.ts';
import { linkWriter } from '../opt-out.ts';
import type { ChannelRules } from './channel-rules.ts';

/**
 * Email (R23): each recipient gets a mail. Only the mail of the first recipient has the cc and bcc copies. In marketing,
 * each copy has its own opt-out link: a click in the mail of another would stop the mails of the wrong person (R532).
 */
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

  submission(message, recipient, attempt, directory): EmailSubmission {
    const { subject, replyTo, cc, bcc, headers, dkimDomain } = emailPayload(message);
    const isFirst = recipient.position === 0;
    const sent = { messageId: message.id, position: recipient.position };
    const mail = {
      messageId: message.id,
      position: recipient.position,
      to: recipient.address,
      from: message.from,
      attempt,
      expiresAt: message.expiresAt,
      subject,
      replyTo: replyTo ?? undefined,
      cc: isFirst ? cc : [],
      bcc: isFirst ? bcc : [],
      dkimDomain,
      returnPaths: directory.returnPaths && {
        to: directory.returnPaths.addressOf({ ...sent, isCopy: false }),
        copies: directory.returnPaths.addressOf({ ...sent, isCopy: true }),
      },
    };
    const loadBulk = async (): Promise<EmailBody> => {
      const bulk = (await directory.bulk(message.id)) as EmailBody | undefined;
      return bulk ?? { text: message.content, html: null, attachments: [] };
    };
    const mailFor = (address: string, loadBody: () => Promise<EmailBody>): EmailSubmission => {
      const linked = linkWriter(message, address, directory.optOutTokens);
      return {
        ...mail,
        body: async () => {
          const { text, html, attachments } = await loadBody();
          return { text: text && linked(text), html: html && linked(html), attachments };
        },
        headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, linked(value)])),
      };
    };
    const copies = (addresses: readonly string[]) => {
      let loaded: Promise<EmailBody> | undefined;
      const loadOnce = () => {
        loaded ??= loadBulk();
        return loaded;
      };
      return new Map(addresses.map((address) => [address, mailFor(address, loadOnce)]));
    };
    return {
      ...mailFor(recipient.address, loadBulk),
      ...(message.purpose === 'marketing' ? { copiesTo: copies } : {}),
    };
  },

  moveEvent(message, move, moved, at) {
    const base = { to: moved.address, from: message.from, subject: emailPayload(message).subject };
    if (move.to === 'sent') {
      return messageEvent('email.sent', message, moved, at, { ...base, sid: moved.sid });
    }
    const failure = failureData(move);
    return failure && messageEvent('email.failed', message, moved, at, { ...base, ...failure });
  },

  /**
   * Suppresses the addresses that a mail server does not know (R382, R497). Each further mail to them would harm the
   * reputation of the sender. It is not audited, because the message shows it, and entries would slow down a campaign.
   */
  async afterMoves(tx, messages, moved, { ids, now: createdAt }) {
    const unknown = [...moved]
      .filter(([{ to, addressUnknown }]) => to === 'failed' && addressUnknown)
      .flatMap(([{ messageId, error }, { address }]) => {
        const message = messages.get(messageId);
        const stored = suppressibleAddress('email', address);
        if (message?.environment !== 'production' || stored === undefined) return [];
        const reason = error && truncate(error.message);
        return [{ accountId: message.accountId, address: stored, reason }];
      })
      // In the order of accounts and addresses, so that two transactions with the same addresses do not deadlock.
      .sort((one, two) => (placeOf(one) < placeOf(two) ? -1 : 1));
    for (const { accountId, address, reason } of unknown) {
      const id = await tx.suppressions.widen({
        id: ids.uuid(),
        accountId,
        environment: 'production',
        channel: 'email',
        address,
        scope: 'all',
        source: 'bounce',
        reason,
        createdAt,
      });
      const place = placeText({ environment: 'production', channel: 'email', address });
      if (id !== undefined) tx.announce('suppressions', accountId, place);
    }
  },
};

function placeOf({ accountId, address }: { readonly accountId: string; readonly address: string }): string {
  return `${accountId} ${address}`;
}
