import { Link } from 'wouter';
import { counted } from '../../lib/counts.ts';
import { useApiMutation } from '../../lib/queries.ts';
import { t } from '../../lib/words.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { CodeBlock } from '../../ui/code.tsx';
import { Notice } from '../../ui/notice.tsx';
import { RequestSamples } from '../../ui/request-samples.tsx';
import { T } from '../../ui/t.tsx';
import { Time } from '../../ui/values.tsx';
import { deliveriesRequest, testEventRequest } from './commands.ts';
import { FirstRun, FirstRunTestEvent } from './first-run.generated.ts';
import type { Delivery, FirstRunData, Progress } from './progress.ts';
import { Step } from './step.tsx';

/** Shows what the gateway posted to the webhook, and the response. */
export function ReceiveStep({
  progress: { webhook, delivery, isReceived },
  apiKey,
  headers,
}: {
  progress: Progress;
  apiKey: string;
  headers: FirstRunData['webhookHeaders'];
}) {
  const test = useApiMutation(FirstRunTestEvent, { refetches: [FirstRun] });
  const id = webhook?.id ?? delivery?.webhook?.id;
  return (
    <Step
      number={4}
      title={t('Receive the webhook')}
      isDone={isReceived}
      commands={
        id === undefined ? (
          <p className="quiet">{t('The commands appear here once a webhook is registered.')}</p>
        ) : (
          <>
            <RequestSamples
              of={deliveriesRequest(location.origin, apiKey, id)}
              does={t('shows what was posted')}
            />
            <RequestSamples
              of={testEventRequest(location.origin, apiKey, id)}
              does={t('sends a test event')}
            />
          </>
        )
      }
    >
      {delivery ? (
        <Received of={delivery} headers={headers} />
      ) : (
        <p>
          {webhook
            ? t('Nothing was posted to it yet. Send an SMS above, or a test event.')
            : t('What is posted to the webhook is shown here.')}
        </p>
      )}
      {test.error && <Notice tone="bad">{test.error.message}</Notice>}
      {webhook && (
        <div className="row">
          <Button isBusy={test.isPending} onClick={() => test.mutate({ webhookId: webhook.id })}>
            {t('Send a test event')}
          </Button>
        </div>
      )}
    </Step>
  );
}

function Received({
  of: { event, status, httpStatus, errorMessage, attempts, payload, createdAt, webhook },
  headers,
}: {
  of: Delivery;
  headers: FirstRunData['webhookHeaders'];
}) {
  const answered =
    httpStatus === null ? t('no answer') : t('answered {httpStatus}', { httpStatus: String(httpStatus) });
  return (
    <>
      <div className="row">
        <Badge status={status} />
        <span>
          <code>{event}</code>, {answered}, {counted(attempts, 'attempt')}, <Time at={createdAt} />
        </span>
      </div>
      {errorMessage && <p className="first-run-failure">{errorMessage}</p>}
      {payload && <CodeBlock text={JSON.stringify(payload, null, 2)} label={t('what was posted')} />}
      <p>
        <T text="The header {signature} signs it." signature={<code>{headers.signature}</code>} />{' '}
        {webhook ? (
          <T
            text="<link>The webhook's page</link> has the code that checks it, in your language."
            link={<Link href={`/webhooks/${webhook.id}`} />}
          />
        ) : (
          t('The page of a webhook has the code that checks it.')
        )}
      </p>
    </>
  );
}
