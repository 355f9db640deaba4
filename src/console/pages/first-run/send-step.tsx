import { useState } from 'react';
import { Link } from 'wouter';
import { useApiMutation } from '../../lib/queries.ts';
import { SendKeys } from '../../lib/send-keys.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Field } from '../../ui/field.tsx';
import { Form } from '../../ui/form.tsx';
import { RequestSamples } from '../../ui/request-samples.tsx';
import { Money } from '../../ui/values.tsx';
import { smsRequest } from './commands.ts';
import { FirstRun, FirstRunSms } from './first-run.generated.ts';
import type { Message, Progress } from './progress.ts';
import { Step } from './step.tsx';

const SIMULATED_NUMBER = '+256700123456';
/** A placeholder instead of a number, so that no stranger receives a test message. */
const NUMBER_PLACEHOLDER = 'YOUR_NUMBER';
const ENDINGS = [
  ['0001', 'rejected'],
  ['0002', 'accepted, then reported undeliverable'],
  ['0003', 'fails twice, then delivered'],
  ['0004', 'accepted, never reported on'],
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
  const [text, setText] = useState('Hello from the gateway');
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
      title="Send an SMS"
      isDone={isDelivered}
      commands={
        <RequestSamples
          of={smsRequest(location.origin, apiKey, { ...input, to: to || NUMBER_PLACEHOLDER })}
          does="sends an SMS"
        />
      }
    >
      {isSimulated ? (
        <div className="quiet">
          <p>Where no carrier is configured, a simulator takes it. It goes by the last four digits:</p>
          <ul className="first-run-endings">
            {ENDINGS.map(([ending, what]) => (
              <li key={ending}>
                <code>{ending}</code> {what}
              </li>
            ))}
            <li>any other: delivered after about a second</li>
          </ul>
        </div>
      ) : (
        <p>It goes to a real phone and is charged: take your own.</p>
      )}
      <Form label="Send an SMS" error={send.error} onSubmit={submit}>
        <Field
          name="to"
          label="To"
          type="tel"
          autoComplete="off"
          placeholder={SIMULATED_NUMBER}
          value={to}
          onChange={({ target }) => setTo(target.value)}
        />
        <Field
          name="message"
          label="Text"
          maxLength={1000}
          value={text}
          onChange={({ target }) => setText(target.value)}
        />
        <div className="row">
          <Button type="submit" look={message ? 'plain' : 'primary'} isBusy={send.isPending}>
            {message ? 'Send another' : 'Send it'}
          </Button>
        </div>
      </Form>
      {message && <Sent message={message} />}
    </Step>
  );
}

const STAGES = [
  ['PENDING', 'Accepted'],
  ['SENT', 'Sent'],
  ['DELIVERED', 'Delivered'],
] as const;

/** Shows the newest message with the times of its stages: accepted, sent, delivered. */
function Sent({ message: { id, status, to, cost, currency, createdAt, recipients } }: { message: Message }) {
  const recipient = recipients[0];
  const times = [createdAt, recipient?.sentAt, recipient?.deliveredAt];
  return (
    <div className="first-run-sent stack" aria-live="polite">
      <div className="row spread">
        <span>
          To <Link href={`/messages/${id}`}>{to.join(', ')}</Link> for{' '}
          <Money amount={cost} currency={currency} />
        </span>
        <Badge status={status} />
      </div>
      <ol className="first-run-stages">
        {STAGES.map(([stage, label], index) => (
          <li key={stage} data-reached={times[index] ? true : undefined}>
            {label}
            <span className="quiet">{times[index] ? afterText(createdAt, times[index]) : 'not yet'}</span>
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
  if (ms <= 0) return 'at once';
  return ms < 1_000 ? `after ${ms} ms` : `after ${(ms / 1_000).toFixed(1)} s`;
}
