import { useState } from 'react';
import { useLocation } from 'wouter';
import { counted } from '../../lib/counts.ts';
import { formatMoney } from '../../lib/format.ts';
import { refetch, useApiMutation } from '../../lib/queries.ts';
import { SendKeys } from '../../lib/send-keys.ts';
import { Session } from '../../lib/session.generated.ts';
import { t } from '../../lib/words.ts';
import { Button } from '../../ui/button.tsx';
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx';
import type { Message } from './message-text.ts';
import { Messages, MessagesCount } from './messages.generated.ts';
import { resendLabel } from './resend.ts';
import { ResendMessage } from './send.generated.ts';

/**
 * Sends a message again without a change, after a confirmation. It is for people who may not send anything new. Renders
 * nothing if no recipient is left or the message cannot be sent again.
 */
export function ResendAsItWas({ of: message, onlyFailed }: { of: Message; onlyFailed: boolean }) {
  const [, navigate] = useLocation();
  const [isOpen, setIsOpen] = useState(false);
  const [keys] = useState(() => new SendKeys());
  const resend = useApiMutation(ResendMessage);
  const { failed, sent, delivered, pending } = message.recipientCounts;
  const count = onlyFailed ? failed : failed + sent + delivered;
  if (count === 0 || message.channel === 'PUSH' || message.content === '') return null;
  const recipients = counted(count, 'recipient');
  const sendAgain = async () => {
    const idempotencyKey = keys.keyOf(`${message.id} ${onlyFailed} ${count}`);
    const { resendMessage } = await resend.mutateAsync({ id: message.id, onlyFailed, idempotencyKey });
    void refetch(Messages, MessagesCount, Session);
    navigate(`/messages/${resendMessage.id}`);
  };
  const all = count + (onlyFailed ? sent + delivered : 0) + pending;
  const cost = formatMoney((message.cost * count) / all, message.currency);
  return (
    <>
      <Button onClick={() => setIsOpen(true)}>{onlyFailed ? resendLabel(failed) : t('Resend')}</Button>
      {isOpen && (
        <ConfirmDialog
          title={t('Send again to {recipients}?', { recipients })}
          consequence={
            message.environment === 'SANDBOX'
              ? t('Nothing is sent or charged in the sandbox.')
              : t(
                  'The same message goes out once more and is charged again. The first time this cost {cost}.',
                  { cost },
                )
          }
          confirmLabel={t('Send to {recipients}', { recipients })}
          look="primary"
          onConfirm={sendAgain}
          onClose={() => setIsOpen(false)}
        />
      )}
    </>
  );
}
