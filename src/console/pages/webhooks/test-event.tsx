import { Link } from 'wouter';
import { useApiMutation } from '../../lib/queries.ts';
import { t } from '../../lib/words.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { CodeBlock } from '../../ui/code.tsx';
import { Notice } from '../../ui/notice.tsx';
import { KeyValues } from '../../ui/values.tsx';
import { formatDuration } from './webhook-rules.ts';
import {
  SendTestEvent,
  type SendTestEventMutation,
  WebhookDeliveries,
  WebhookDetail,
} from './webhooks.generated.ts';

/** Posts a test event to the webhook and shows the response. It works for a paused webhook too. */
export function TestEvent({ webhookId }: { webhookId: string }) {
  const test = useApiMutation(SendTestEvent, { refetches: [WebhookDetail, WebhookDeliveries] });
  return (
    <section className="card stack" aria-labelledby="test">
      <h2 id="test">{t('Test it')}</h2>
      <p>{t('Posts a signed webhook.test event now, in one attempt.')}</p>
      <div className="row">
        <Button isBusy={test.isPending} onClick={() => test.mutate({ webhookId })}>
          {t('Send test event')}
        </Button>
      </div>
      {test.error && <Notice tone="bad">{test.error.message}</Notice>}
      <div aria-live="polite">
        {test.data && !test.isPending && (
          <Result key={test.data.sendTestEvent.id} of={test.data.sendTestEvent} />
        )}
      </div>
    </section>
  );
}

function Result({ of: delivery }: { of: SendTestEventMutation['sendTestEvent'] }) {
  const durationMs = delivery.attemptLog.at(-1)?.durationMs;
  return (
    <div className="stack">
      <KeyValues
        items={[
          [t('Result'), <Badge key="status" status={delivery.status} />],
          [t('Answer'), delivery.httpStatus ?? <span className="quiet">{t('none')}</span>],
          ...(delivery.errorMessage ? [[t('Error'), delivery.errorMessage] as const] : []),
          ...(durationMs === undefined ? [] : [[t('Duration'), formatDuration(durationMs)] as const]),
        ]}
      />
      {delivery.responseBody && <CodeBlock text={delivery.responseBody} label={t('response body')} />}
      <Link href={`/webhooks/deliveries/${delivery.id}`}>{t('See the delivery')}</Link>
    </div>
  );
}
