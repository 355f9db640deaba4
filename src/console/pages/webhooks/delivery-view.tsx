import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { formatAbsolute, formatName, formatNumber } from '../../lib/format.ts';
import { usePermission } from '../../lib/session.tsx';
import { CodeBlock, Id } from '../../ui/code.tsx';
import { type Column, DataTable } from '../../ui/data-table.tsx';
import { KeyValues, Time } from '../../ui/values.tsx';
import { Countdown } from './countdown.tsx';
import { RetryButton } from './retry-button.tsx';
import { formatDuration } from './webhook-rules.ts';
import type { DeliveryDetailQuery } from './webhooks.generated.ts';

export type Delivery = NonNullable<DeliveryDetailQuery['webhookDelivery']>;
type Attempt = Delivery['attemptLog'][number] & { readonly number: number };

/** Shows a delivery: its facts, the last answer, each attempt, the headers of the request and its payload. */
export function DeliveryView({ of: delivery }: { of: Delivery }) {
  const { payload, responseBody, attemptLog, requestHeaders } = delivery;
  return (
    <>
      <div className="columns">
        <section className="card stack" aria-labelledby="facts">
          <h2 id="facts">The delivery</h2>
          <KeyValues items={factsOf(delivery)} />
        </section>
        <section className="card stack" aria-labelledby="response">
          <h2 id="response">Last answer</h2>
          {responseBody ? (
            <CodeBlock text={responseBody} label="response body" />
          ) : (
            <p className="quiet">{attemptLog.length === 0 ? 'None yet.' : 'It came without a body.'}</p>
          )}
        </section>
      </div>
      <section className="stack" aria-label="Attempts">
        {attemptLog.length === 0 ? (
          <p className="quiet">No attempt has been made yet.</p>
        ) : (
          <DataTable
            caption="Attempts, the first one first"
            columns={ATTEMPT_COLUMNS}
            rows={attemptLog.map((attempt, index) => ({ ...attempt, number: index + 1 }))}
            keyOf={({ number }) => String(number)}
          />
        )}
      </section>
      <section className="stack" aria-labelledby="headers">
        <h2 id="headers">Request headers</h2>
        <KeyValues
          items={requestHeaders.map(({ name, value, note }) => [
            name,
            value === null ? (
              <span key={name} className="quiet">
                {note}
              </span>
            ) : (
              <code key={name}>{value}</code>
            ),
          ])}
        />
      </section>
      <section className="stack" aria-labelledby="payload">
        <h2 id="payload">Payload</h2>
        {payload ? (
          <CodeBlock text={JSON.stringify(payload, null, 2)} label="payload" />
        ) : (
          <p className="quiet">It is no longer kept.</p>
        )}
      </section>
    </>
  );
}

const ATTEMPT_COLUMNS: readonly Column<Attempt>[] = [
  { header: 'Attempt', cell: ({ number }) => number },
  {
    header: 'Time',
    cell: ({ at }) => (
      <>
        <Time at={at} />
        <div className="field-hint">{formatAbsolute(new Date(at))}</div>
      </>
    ),
  },
  { header: 'Status', cell: ({ httpStatus }) => httpStatus ?? <span className="quiet">no answer</span> },
  { header: 'Duration', cell: ({ durationMs }) => formatDuration(durationMs), isNumber: true },
  { header: 'Error', cell: ({ errorMessage }) => errorMessage ?? <span className="quiet">none</span> },
];

/** The button that delivers again, for people who may use it. */
export function DeliveryRetry({ of: { id, status, webhook } }: { of: Delivery }) {
  const mayRetry = usePermission('webhook.retry');
  if (!mayRetry || webhook === null || status === 'PENDING') return null;
  if (!webhook.isActive) return <span className="quiet">The webhook is paused: resume it to retry.</span>;
  return <RetryButton deliveryId={id} label={status === 'SUCCESS' ? 'Deliver again' : 'Retry now'} />;
}

function factsOf(delivery: Delivery): readonly (readonly [string, ReactNode])[] {
  const { webhook, message, attempts, nextRetryAt } = delivery;
  return [
    [
      'Webhook',
      webhook ? (
        <Link key="webhook" href={`/webhooks/${webhook.id}`}>
          {webhook.url}
        </Link>
      ) : (
        <span key="webhook" className="quiet">
          deleted
        </span>
      ),
    ],
    ...(message ? [['Message', <MessageLink key="message" to={message} />] as const] : []),
    ['Attempts', attempts],
    ...(delivery.errorMessage ? [['Last error', delivery.errorMessage] as const] : []),
    ...(nextRetryAt ? [['Next retry', <Countdown key="retry" to={nextRetryAt} />] as const] : []),
    ['Recorded', <Time key="created" at={delivery.createdAt} />],
    ['Delivery id', <Id key="id" of={delivery.id} label="Delivery id" />],
  ];
}

function MessageLink({ to: { id, channel, to } }: { to: NonNullable<Delivery['message']> }) {
  const others = to.length - 1;
  return (
    <Link href={`/messages/${id}`}>
      {formatName(channel)} to {to[0]}
      {others > 0 && ` and ${formatNumber(others)} more`}
    </Link>
  );
}
