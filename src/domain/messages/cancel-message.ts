import { type Caller, refusal, type Scope, visibilityOf } from '../caller.ts';
import type { Dependencies } from '../dependencies.ts';
import { DomainError, notFound } from '../errors.ts';
import type { RecipientMove } from '../ports/message-stores.ts';
import { isUuid } from '../uuid.ts';
import type { Channel, Message, Recipient } from './message.ts';
import { transitionRecipients } from './transition-recipients.ts';

/** The scope that sends on a channel, and so cancels on it (R22). */
export const SEND_SCOPES: Readonly<Record<Channel, Scope>> = {
  sms: 'SEND_SMS',
  email: 'SEND_EMAIL',
  push: 'SEND_PUSH',
  whatsapp: 'SEND_WHATSAPP',
};

/**
 * Cancels a message of which nothing has left (R18): all its recipients fail with `canceled` and are
 * refunded, and no event tells of it. Throws `not_found`, `forbidden` when the caller may not send on the message's
 * channel, and `message_not_cancelable` once a worker has claimed a recipient (in the sandbox, always): claims and
 * cancellations both hold the message's lock, so a message is never both sent and refunded.
 */
export async function cancelMessage(deps: Dependencies, caller: Caller, id: string): Promise<void> {
  const known = isUuid(id) ? await deps.stores.messages.find(visibilityOf(caller), id) : undefined;
  if (!known) throw notFound('Message');
  // The operation let through whoever may send on any channel; its member roles are the same on all.
  if (caller.kind === 'api-key') {
    const refused = refusal({ scopes: [SEND_SCOPES[known.channel]] }, caller);
    if (refused) throw refused;
  }
  await deps.uow.run(async (tx) => {
    const messages = await tx.messages.lock([id]);
    const recipients = await tx.messages.recipients([id]);
    const message = messages.get(id);
    if (!message || !recipients.every(isFree)) throw notCancelable(message ?? known);
    const at = deps.clock.now();
    await transitionRecipients(
      tx,
      deps.ids,
      [id],
      recipients.map((recipient) => cancellation(recipient, at)),
      at,
    );
  });
}

function isFree(recipient: Recipient): boolean {
  return recipient.status === 'pending' && !recipient.isClaimed;
}

function notCancelable({ status }: Message): DomainError {
  return new DomainError(
    'message_not_cancelable',
    status === 'pending'
      ? 'The message is being handed over to its carrier and cannot be canceled any more.'
      : `The message is ${status} already and cannot be canceled.`,
    { status },
  );
}

function cancellation({ messageId, position }: Recipient, at: Date): RecipientMove {
  const error = { code: 'canceled', message: 'It was canceled before it left.' };
  return { messageId, position, from: 'pending', to: 'failed', at, provider: null, sids: [], error };
}
