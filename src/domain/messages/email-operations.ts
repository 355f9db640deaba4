import type { Environment } from '../caller.ts';
import { operation } from '../operation.ts';
import type { SendAnswer, SendContext } from './accept-message.ts';
import { environmentOf, SENDERS, senderOf } from './send-context.ts';
import { type EmailInput, sendEmail } from './send-email.ts';

/** Members choose where they send; a key sends in its own environment. */
export type SendEmailRequest = Omit<EmailInput, 'environment'> & {
  readonly environment?: Environment | undefined;
};

/** Sending email (decision 23). */
export function emailOperations(context: SendContext) {
  return {
    sendEmail: operation(
      'message.sendEmail',
      { scopes: ['SEND_EMAIL'], roles: SENDERS },
      async (caller, input: SendEmailRequest): Promise<SendAnswer> => {
        const sender = senderOf(caller);
        return sendEmail(context, sender, { ...input, environment: environmentOf(sender, input) });
      },
    ),
  };
}
