import { useDeferredValue, useEffect, useState } from 'react';
import { parseRecipients } from '../../../domain/messages/msisdn.ts';
import { counted } from '../../lib/counts.ts';
import { useApiMutation, useApiQuery } from '../../lib/queries.ts';
import { t } from '../../lib/words.ts';
import { Field, TextArea } from '../../ui/field.tsx';
import { textOf } from '../../ui/form.tsx';
import { smsBill } from './bill.ts';
import { PriceCard, PriceFrame } from './price.tsx';
import { listOf, RecipientsField, useUnderstood } from './recipients-field.tsx';
import { type Again, ofChannel } from './resend.ts';
import { type Environment, EstimateSms, SendSms } from './send.generated.ts';
import { SendForm } from './send-form.tsx';
import { SmsCounter } from './sms-counter.tsx';

const ASK_AFTER_MS = 400;

/** The form that sends an SMS. The number of segments changes with each key press, the price when typing pauses. */
export function SmsForm({ again }: { again: Again | undefined }) {
  const before = ofChannel(again, 'SMS');
  const [to, setTo] = useState(before?.to.join(', ') ?? '');
  const [message, setMessage] = useState(before?.content ?? '');
  const understood = useUnderstood(to, parseRecipients);
  const send = useApiMutation(SendSms);
  return (
    <SendForm
      label={t('Send an SMS')}
      environment={before?.environment}
      purpose={before?.purpose}
      price={(environment) => (
        <Estimate
          to={listOf(to)}
          message={message}
          purpose={before?.purpose}
          environment={environment}
          isReady={understood.valid.length > 0 && message !== ''}
        />
      )}
      billOf={async () =>
        understood.valid.length > 1 ? smsBill(listOf(to), message, before?.purpose) : undefined
      }
      send={async (values, common) => {
        const from = textOf(values, 'from') || null;
        const result = await send.mutateAsync({ input: { ...common, to: listOf(to), message, from } });
        return result.sendSms;
      }}
    >
      <RecipientsField
        value={to}
        onChange={setTo}
        understood={understood}
        noun="number"
        hint={t('Phone numbers such as +256700123456, one a line or separated by commas; at most 1,000.')}
      />
      <Field
        name="from"
        label={t('Sender')}
        hint={t("1 to 11 letters and digits. Empty: the gateway's own.")}
        defaultValue={before?.from}
        autoComplete="off"
      />
      <div className="stack message-recipients-field">
        <TextArea
          name="message"
          label={t('Message')}
          rows={5}
          value={message}
          onChange={(event) => setMessage(event.currentTarget.value)}
        />
        <SmsCounter text={useDeferredValue(message)} onReplace={setMessage} />
      </div>
    </SendForm>
  );
}

/** Shows the price that the gateway calculates. It is requested when typing pauses. */
function Estimate({
  to,
  message,
  purpose,
  environment,
  isReady,
}: {
  to: string;
  message: string;
  purpose: Again['purpose'] | undefined;
  environment: Environment;
  isReady: boolean;
}) {
  const settled = useSettled({ to, message });
  const isSettled = settled.to === to && settled.message === message;
  const input = { ...settled, purpose };
  const isEnabled = isReady && input.to !== '' && input.message !== '' && environment === 'PRODUCTION';
  const { data, error, isPlaceholderData } = useApiQuery(
    EstimateSms,
    { input },
    { isEnabled, keepsLast: true },
  );
  if (environment === 'SANDBOX')
    return <PriceFrame>{t('Nothing is sent or charged in the sandbox.')}</PriceFrame>;
  if (!isReady) return <PriceFrame>{t('The price is shown once there are a number and a text.')}</PriceFrame>;
  if (error && isSettled) return <PriceFrame>{error.message}</PriceFrame>;
  if (!data) return <PriceFrame isBusy>{t('Asking for the price')}</PriceFrame>;
  const { recipientsProcessed, smsCount, cost, currency, balance, heldUntil } = data.estimateSms;
  return (
    <PriceCard
      environment={environment}
      cost={cost}
      currency={currency}
      balance={balance}
      how={t('for {recipients} × {units} of 160 characters', {
        recipients: counted(recipientsProcessed, 'recipient'),
        units: counted(smsCount, 'billingUnit'),
      })}
      heldUntil={heldUntil}
      isOld={!isSettled || isPlaceholderData}
    />
  );
}

/** Returns the last value that did not change for `ASK_AFTER_MS`. */
function useSettled(value: { to: string; message: string }): { to: string; message: string } {
  const { to, message } = value;
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled({ to, message }), ASK_AFTER_MS);
    return () => clearTimeout(timer);
  }, [to, message]);
  return settled;
}
