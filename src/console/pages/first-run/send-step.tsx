import { useState } from 'react';
import { Link } from 'wouter';
import { formatNumber } from '../../lib/format.ts';
import { useApiMutation } from '../../lib/queries.ts';
import { SendKeys } from '../../lib/send-keys.ts';
import { t } from '../../lib/words.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Field } from '../../ui/field.tsx';
import { Form } from '../../ui/form.tsx';
import { RequestSamples } from '../../ui/request-samples.tsx';
import { T } from '../../ui/t.tsx';
import { Money } from '../../ui/values.tsx';
import { smsRequest } from './commands.ts';
import { FirstRun, FirstRunSms } from './first-run.generated.ts';
import type { Message, Progress } from './progress.ts';
import { Step } from './step.tsx';

const SIMULATED_NUMBER = '+256700123456';
/** A placeholder instead of a number, so that no stranger receives a test message. */
const NUMBER_PLACEHOLDER = 'YOUR_NUMBER';
const ENDINGS = [
  ['0001', t('rejected')],
  ['0002', t('accepted, then reported undeliverable')],
  ['0003', t('fails twice, then delivered')],
  ['0004', t('accepted, never reported on')],
] as const;

/** Sends an SMS and shows its progress live. */
export function SendStep({
  progress: { message, isDelivered },
  apiKey,
  isSimulated,
}: {
  progress: Progress;
  apiKey: string;
  /** True if the gateway uses the simulator instead of a carrier, so that no real phone receives the message. */
  isSimulated: boolean;
}) {
  const [to, setTo] = useState(isSimulated ? SIMULATED_NUMBER : '');
  const [text, setText] = useState(t('Hello from the gateway'));
  const send = useApiMutation(FirstRunSms, { refetches: [FirstRun] });
  const [keys] = useState(() => new SendKeys());
  const input = { to, message: text };
  const submit = () => {
    const content = JSON.stringify(input);
    const sending = { ...input, idempotencyKey: keys.keyOf(content) };
    send.mutate({ input: sending }, { onSuccess: () => keys.sent(content) });
  };
  return (
    <Step
      number={3}
      title={t('Send an SMS')}
      isDone={isDelivered}
      commands={
        <RequestSamples
          of={smsRequest(location.origin, apiKey, { ...input, to: to || NUMBER_PLACEHOLDER })}
          does={t('sends an SMS')}
        />
      }
    >
      {isSimulated ? (
        <div className="quiet">
          <p>{t('Where no carrier is configured, a simulator takes it. It goes by the last four digits:')}</p>
          <ul className="first-run-endings">
            {ENDINGS.map(([ending, what]) => (
              <li key={ending}>
                <code>{ending}</code> {what}
              </li>
            ))}
            <li>{t('any other: delivered after about a second')}</li>
          </ul>
        </div>
      ) : (
        <p>{t('It goes to a real phone and is charged: take your own.')}</p>
      )}
      <Form label={t('Send an SMS')} error={send.error} onSubmit={submit}>
        <Field
          name="to"
          label={t('To')}
          type="tel"
          autoComplete="off"
          placeholder={SIMULATED_NUMBER}
          value={to}
          onChange={({ target }) => setTo(target.value)}
        />
        <Field
          name="message"
          label={t('Text')}
          maxLength={1000}
          value={text}
          onChange={({ target }) => setText(target.value)}
        />
        <div className="row">
          <Button type="submit" look={message ? 'plain' : 'primary'} isBusy={send.isPending}>
            {message ? t('Send another') : t('Send it')}
          </Button>
        </div>
      </Form>
      {message && <Sent message={message} />}
    </Step>
  );
}

const STAGES = [
  ['PENDING', t('Accepted')],
  ['SENT', t('Sent')],
  ['DELIVERED', t('Delivered')],
] as const;

/** Shows the newest message with the times of its stages: accepted, sent, delivered. */
function Sent({ message: { id, status, to, cost, currency, createdAt, recipients } }: { message: Message }) {
  const recipient = recipients[0];
  const times = [createdAt, recipient?.sentAt, recipient?.deliveredAt];
  return (
    <div className="first-run-sent stack" aria-live="polite">
      <div className="row spread">
        <span>
          <T
            text="To {numbers} for {money}"
            numbers={<Link href={`/messages/${id}`}>{to.join(', ')}</Link>}
            money={<Money amount={cost} currency={currency} />}
          />
        </span>
        <Badge status={status} />
      </div>
      <ol className="first-run-stages">
        {STAGES.map(([stage, label], index) => (
          <li key={stage} data-reached={times[index] ? true : undefined}>
            {label}
            <span className="quiet">{times[index] ? afterText(createdAt, times[index]) : t('not yet')}</span>
          </li>
        ))}
      </ol>
      {recipient?.error && <p className="first-run-failure">{recipient.error.message}</p>}
    </div>
  );
}

/** Formats the time since the message was accepted, such as `after 1.0 s`. */
function afterText(from: string, at: string): string {
  const ms = Date.parse(at) - Date.parse(from);
  if (ms <= 0) return t('at once');
  return ms < 1_000
    ? t('after {ms} ms', { ms })
    : t('after {seconds} s', { seconds: formatNumber(ms / 1_000, 1) });
}
