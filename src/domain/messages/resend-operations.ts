import { type Caller, visibilityOf } from '../caller.ts';
import type { Dependencies } from '../dependencies.ts';
import { notFound, validationError } from '../errors.ts';
import { operation } from '../operation.ts';
import type { SendAnswer } from '../ports/intake.ts';
import type { EmailBody } from '../ports/provider.ts';
import { isUuid } from '../uuid.ts';
import { emailPayload } from './email-content.ts';
import { type EmailRequest, emailSend } from './email-operations.ts';
import type { Message, Recipient } from './message.ts';
import { RESENDER_ROLES, type SendContext, type SendRequest } from './send-operation.ts';
import { type SmsRequest, smsSend } from './sms-operations.ts';
import { whatsAppContent } from './whatsapp-content.ts';
import { type WhatsAppRequest, whatsAppSend } from './whatsapp-operations.ts';

export interface ResendInput {
  readonly id: string;
  /** True (default): only to the recipients that failed. False: to all that are not pending. */
  readonly onlyFailed?: boolean | undefined;
  readonly idempotencyKey?: string | undefined;
}

/** What all requests take over from the message that is sent again. */
type Again = Required<Pick<SendRequest, 'purpose' | 'environment'>> & Pick<SendRequest, 'idempotencyKey'>;

/** The operation that sends a message again as it was (R235, R238). */
export function resendOperations(deps: Dependencies, context: SendContext) {
  const { stores, intake } = deps;
  const sendSms = smsSend(context);
  const sendEmail = emailSend(context);
  const sendWhatsApp = whatsAppSend(deps, context);

  async function send(
    caller: Caller,
    message: Message,
    recipients: readonly Recipient[],
    again: Again,
  ): Promise<SendAnswer> {
    switch (message.channel) {
      case 'sms':
        return sendSms(caller, smsAgain(message, recipients, again));
      case 'email': {
        const body = (await stores.messages.bulk(message.id)) as unknown as EmailBody | undefined;
        if (!body) throw erased();
        return sendEmail(caller, emailAgain(message, recipients, body, again));
      }
      case 'whatsapp':
        return sendWhatsApp(caller, whatsAppAgain(message, recipients, again));
      case 'push':
        throw validationError([{ path: 'id', message: 'is a push message, which cannot be sent again' }]);
    }
  }

  return {
    /**
     * Sends a message again, as a new message with the same content, sender and purpose. All rules of a send apply, and
     * it is charged like one. Push messages cannot be sent again, because the devices of a user change. Throws
     * `not_found`. Throws `validation_error` if no recipient is left, or if the content was erased.
     */
    resend: operation(
      'message.resend',
      { roles: RESENDER_ROLES },
      async (caller, { id, onlyFailed = true, idempotencyKey }: ResendInput): Promise<SendAnswer> => {
        const message = isUuid(id) ? await stores.messages.find(visibilityOf(caller), id) : undefined;
        if (!message) throw notFound('Message');
        const { accountId, channel, environment, purpose } = message;
        const claim = idempotencyKey === undefined ? undefined : { route: channel, key: idempotencyKey };
        const earlier = claim && (await intake.replay(accountId, environment, claim));
        if (earlier) return earlier;
        if (message.content === '') throw erased();
        const recipients = (await stores.messages.recipients([message.id]))
          .filter(({ status }) => (onlyFailed ? status === 'failed' : status !== 'pending'))
          .sort((left, right) => left.position - right.position);
        if (recipients.length === 0) {
          const fault = onlyFailed ? 'has no recipient that failed' : 'is pending still';
          throw validationError([{ path: 'id', message: fault }]);
        }
        return send(caller, message, recipients, { purpose, environment, idempotencyKey });
      },
    ),
  };
}

function erased() {
  return validationError([{ path: 'id', message: 'is of a message whose content was erased' }]);
}

function addresses(recipients: readonly Recipient[]): readonly string[] {
  return recipients.map(({ address }) => address);
}

function smsAgain({ from, content }: Message, recipients: readonly Recipient[], again: Again): SmsRequest {
  return { ...again, from, message: content, to: addresses(recipients).join(',') };
}

/** Copies go with the mail to the first recipient only (R23), so they are not sent again without it. */
function emailAgain(
  message: Message,
  recipients: readonly Recipient[],
  { text, html, attachments }: EmailBody,
  again: Again,
): EmailRequest {
  const { subject, replyTo, cc, bcc, headers } = emailPayload(message);
  const isFirst = recipients[0]?.position === 0;
  return {
    ...again,
    from: message.from,
    to: addresses(recipients),
    subject,
    text: text ?? undefined,
    html: html ?? undefined,
    replyTo: replyTo ?? undefined,
    ...(isFirst && { cc, bcc }),
    headers,
    attachments,
  };
}

function whatsAppAgain(message: Message, recipients: readonly Recipient[], again: Again): WhatsAppRequest {
  const to = addresses(recipients).join(',');
  const content = whatsAppContent(message);
  switch (content.type) {
    case 'text':
      return { ...again, to, type: 'text', text: content };
    case 'template':
      return { ...again, to, type: 'template', template: content };
    case 'media':
      return { ...again, to, type: 'media', media: { ...content, caption: content.caption ?? undefined } };
  }
}
