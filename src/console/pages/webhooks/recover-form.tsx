import { useState } from 'react';
import { ApiError } from '../../lib/api-error.ts';
import { counted } from '../../lib/counts.ts';
import { localTime } from '../../lib/local-time.ts';
import { useApiMutation } from '../../lib/queries.ts';
import { t } from '../../lib/words.ts';
import { Button } from '../../ui/button.tsx';
import { Field } from '../../ui/field.tsx';
import { Form, timeOf } from '../../ui/form.tsx';
import { Notice } from '../../ui/notice.tsx';
import {
  RedeliverFailed,
  WebhookDeliveries,
  WebhookDetail,
  type WebhookRowFragment,
} from './webhooks.generated.ts';

const DAY_MS = 86_400_000;
/** Returns a new error object each time, because a form focuses the field only when its error changes. */
const notPast = () => {
  const message = t('Give a time in the past.');
  return new ApiError('BAD_USER_INPUT', message, { fields: [{ path: 'since', message }] });
};

/** Queues again all deliveries of a webhook that failed since a chosen time. */
export function RecoverForm({ of: webhook }: { of: WebhookRowFragment }) {
  const recover = useApiMutation(RedeliverFailed, { refetches: [WebhookDetail, WebhookDeliveries] });
  const [fault, setFault] = useState<ApiError>();
  const [since] = useState(() => localTime(new Date(Date.now() - DAY_MS).toISOString()));
  const submit = (from: string | null) => {
    const isPast = from !== null && new Date(from) <= new Date();
    setFault(isPast ? undefined : notPast());
    if (isPast) recover.mutate({ webhookId: webhook.id, since: from });
    else recover.reset();
  };
  const queued = recover.data?.redeliverFailed.queued;
  return (
    <section className="card stack" aria-labelledby="recover">
      <h2 id="recover">{t('Retry missed events')}</h2>
      <p>
        {t(
          'Deliveries that failed, and events recorded while it was paused, are queued again. They keep their ids, so a receiver knows what it has already seen.',
        )}
      </p>
      {webhook.isActive ? (
        <Form
          label={t('Retry missed events')}
          error={fault ?? recover.error}
          onSubmit={(values) => submit(timeOf(values, 'since'))}
        >
          <Field
            name="since"
            label={t('Since')}
            type="datetime-local"
            hint={t('In your time zone.')}
            defaultValue={since}
          />
          <div className="row">
            <Button type="submit" isBusy={recover.isPending}>
              {t('Retry all failed')}
            </Button>
          </div>
        </Form>
      ) : (
        <p className="quiet">{t('Resume the webhook first.')}</p>
      )}
      {queued !== undefined && (
        <Notice tone="good">
          {queued === 0
            ? t('It missed nothing since then.')
            : t('{deliveries} queued.', { deliveries: counted(queued, 'delivery') })}
        </Notice>
      )}
    </section>
  );
}
