import type { SendContext } from './accept-message.ts';
import { type EmailInput, sendEmail } from './send-email.ts';
import { type SendRequest, sendOperation } from './send-operation.ts';

/** Sending email (R23). */
export function emailOperations(context: SendContext) {
  return {
    sendEmail: sendOperation<SendRequest<EmailInput>>(
      context,
      'message.sendEmail',
      'email',
      (sender, input) => sendEmail(context, sender, input),
    ),
  };
}
