import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { formatName } from '../../lib/format.ts';
import { usePermission } from '../../lib/session.tsx';
import { t } from '../../lib/words.ts';
import { CodeBlock, Id } from '../../ui/code.tsx';
import { type Column, DataTable } from '../../ui/data-table.tsx';
import { ExactTime, KeyValues, Time } from '../../ui/values.tsx';
import { whom } from '../messages/message-text.ts';
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
          <h2 id="facts">{t('The delivery')}</h2>
          <KeyValues items={factsOf(delivery)} />
        </section>
        <section className="card stack" aria-labelledby="response">
          <h2 id="response">{t('Last answer')}</h2>
          {responseBody ? (
            <CodeBlock text={responseBody} label={t('response body')} />
          ) : (
            <p className="quiet">{attemptLog.length === 0 ? t('None yet.') : t('It came without a body.')}</p>
          )}
        </section>
      </div>
      <section className="stack" aria-label={t('Attempts')}>
        {attemptLog.length === 0 ? (
          <p className="quiet">{t('No attempt has been made yet.')}</p>
        ) : (
          <DataTable
            caption={t('Attempts, the first one first')}
            columns={ATTEMPT_COLUMNS}
            rows={attemptLog.map((attempt, index) => ({ ...attempt, number: index + 1 }))}
            keyOf={({ number }) => String(number)}
          />
        )}
      </section>
      <section className="stack" aria-labelledby="headers">
        <h2 id="headers">{t('Request headers')}</h2>
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
        <h2 id="payload">{t('Payload')}</h2>
        {payload ? (
          <CodeBlock text={JSON.stringify(payload, null, 2)} label={t('payload')} />
        ) : (
          <p className="quiet">{t('It is no longer kept.')}</p>
        )}
      </section>
    </>
  );
}

const ATTEMPT_COLUMNS: readonly Column<Attempt>[] = [
  { header: t('Attempt'), cell: ({ number }) => number },
  {
    header: t('Time'),
    cell: ({ at }) => (
      <>
        <Time at={at} />
        <div className="field-hint">
          <ExactTime at={at} />
        </div>
      </>
    ),
  },
  {
    header: t('Status'),
    cell: ({ httpStatus }) => httpStatus ?? <span className="quiet">{t('no answer')}</span>,
  },
  { header: t('Duration'), cell: ({ durationMs }) => formatDuration(durationMs), isNumber: true },
  {
    header: t('Error'),
    cell: ({ errorMessage }) => errorMessage ?? <span className="quiet">{t('none')}</span>,
  },
];

/** The button that delivers again, for people who may use it. */
export function DeliveryRetry({ of: { id, status, webhook } }: { of: Delivery }) {
  const mayRetry = usePermission('webhook.retry');
  if (!mayRetry || webhook === null || status === 'PENDING') return null;
  if (!webhook.isActive)
    return <span className="quiet">{t('The webhook is paused: resume it to retry.')}</span>;
  return <RetryButton deliveryId={id} label={status === 'SUCCESS' ? t('Deliver again') : t('Retry now')} />;
}

function factsOf(delivery: Delivery): readonly (readonly [string, ReactNode])[] {
  const { webhook, message, attempts, nextRetryAt } = delivery;
  return [
    [
      t('Webhook'),
      webhook ? (
        <Link key="webhook" href={`/webhooks/${webhook.id}`}>
          {webhook.url}
        </Link>
      ) : (
        <span key="webhook" className="quiet">
          {t('deleted')}
        </span>
      ),
    ],
    ...(message ? [[t('Message'), <MessageLink key="message" to={message} />] as const] : []),
    [t('Attempts'), attempts],
    ...(delivery.errorMessage ? [[t('Last error'), delivery.errorMessage] as const] : []),
    ...(nextRetryAt ? [[t('Next retry'), <Countdown key="retry" to={nextRetryAt} />] as const] : []),
    [t('Recorded'), <Time key="created" at={delivery.createdAt} />],
    [t('Delivery id'), <Id key="id" of={delivery.id} label={t('Delivery id')} />],
  ];
}

function MessageLink({ to: { id, channel, to } }: { to: NonNullable<Delivery['message']> }) {
  return (
    <Link href={`/messages/${id}`}>
      {t('{channel} to {to}', { channel: formatName(channel), to: whom(to) })}
    </Link>
  );
}
