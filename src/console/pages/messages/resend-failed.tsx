import { useState } from 'react';
import { useLocation } from 'wouter';
import { refetch, useApiMutation } from '../../lib/queries.ts';
import { SendKeys } from '../../lib/send-keys.ts';
import { Session } from '../../lib/session.generated.ts';
import { t } from '../../lib/words.ts';
import { Button, ButtonLink } from '../../ui/button.tsx';
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx';
import { Notice } from '../../ui/notice.tsx';
import { type Bill, billWords, recipientsText, smsBill } from './bill.ts';
import type { Message } from './message-text.ts';
import { Messages, MessagesCount } from './messages.generated.ts';
import { resendLabel } from './resend.ts';
import { SendSms } from './send.generated.ts';

/**
 * Sends a message again to the recipients that failed. An SMS is sent after one confirmation, as a new message. An email
 * opens the form, because lists do not keep its HTML and files.
 */
export function ResendFailed({ of: message }: { of: Message }) {
  const { failed } = message.recipientCounts;
  const label = resendLabel(failed);
  if (message.channel === 'SMS') return <ResendSms of={message} label={label} />;
  return <ButtonLink href={`/messages/send?from=${message.id}&only=failed`}>{label}</ButtonLink>;
}

function ResendSms({ of: message, label }: { of: Message; label: string }) {
  const [, navigate] = useLocation();
  const [bill, setBill] = useState<Bill>();
  const [fault, setFault] = useState<string>();
  const [isAsking, setIsAsking] = useState(false);
  const [keys] = useState(() => new SendKeys());
  const send = useApiMutation(SendSms);
  const to = message.recipients.flatMap((each) => (each.status === 'FAILED' ? [each.to] : [])).join(', ');
  const ask = async () => {
    if (isAsking) return;
    setIsAsking(true);
    setFault(undefined);
    try {
      setBill(await smsBill(to, message.content, message.purpose));
    } catch (error) {
      setFault(error instanceof Error ? error.message : t('It did not work.'));
    } finally {
      setIsAsking(false);
    }
  };
  const sendAgain = async () => {
    const { content, environment, purpose, from } = message;
    const idempotencyKey = keys.keyOf(`${message.id} ${to}`);
    const input = { to, message: content, from, environment, purpose, scheduledFor: null, idempotencyKey };
    const { sendSms } = await send.mutateAsync({ input });
    void refetch(Messages, MessagesCount, Session);
    navigate(`/messages/${sendSms.id}`);
  };
  const isSandbox = message.environment === 'SANDBOX';
  return (
    <>
      <Button isBusy={isAsking} onClick={() => void ask()}>
        {label}
      </Button>
      {fault && <Notice tone="bad">{fault}</Notice>}
      {bill && (
        <ConfirmDialog
          title={t('Send again to {recipients}?', { recipients: recipientsText(bill) })}
          consequence={isSandbox ? t('Nothing is sent or charged in the sandbox.') : billWords(bill)}
          confirmLabel={t('Send to {recipients}', { recipients: recipientsText(bill) })}
          look="primary"
          onConfirm={sendAgain}
          onClose={() => setBill(undefined)}
        />
      )}
    </>
  );
}
