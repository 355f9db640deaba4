import { useState } from 'react';
import { Link } from 'wouter';
import { useApiMutation } from '../../lib/queries.ts';
import { t } from '../../lib/words.ts';
import { Button } from '../../ui/button.tsx';
import { CodeBlock } from '../../ui/code.tsx';
import { Field } from '../../ui/field.tsx';
import { Form } from '../../ui/form.tsx';
import { Notice } from '../../ui/notice.tsx';
import { RequestSamples } from '../../ui/request-samples.tsx';
import { T } from '../../ui/t.tsx';
import { webhookRequest } from './commands.ts';
import { FirstRun, FirstRunWebhook } from './first-run.generated.ts';
import { type Progress, WEBHOOK_EVENTS } from './progress.ts';
import { Step } from './step.tsx';

const OWN_EXAMPLE = 'https://example.com/webhooks';

/** Registers a webhook for the events `sms.sent` and `sms.failed`. */
export function WebhookStep({
  progress: { webhook },
  apiKey,
  simulatorUrl,
}: {
  progress: Progress;
  apiKey: string;
  /** URL of the gateway's built-in webhook receiver, or null if it has none. */
  simulatorUrl: string | null;
}) {
  const [url, setUrl] = useState(simulatorUrl ?? '');
  const register = useApiMutation(FirstRunWebhook, { refetches: [FirstRun] });
  const secret = register.data?.registerWebhook.secret;
  const input = { url, events: WEBHOOK_EVENTS };
  return (
    <Step
      number={2}
      title={t('Register a webhook')}
      isDone={webhook !== undefined}
      isDoneHere={secret !== undefined}
      commands={
        <RequestSamples
          of={webhookRequest(location.origin, apiKey, { ...input, url: url || OWN_EXAMPLE })}
          does={t('registers a webhook')}
        />
      }
    >
      <p>{t('The gateway posts to it what becomes of your messages, so that you need not ask.')}</p>
      {secret && (
        <>
          <Notice tone="warn">
            {t('Copy its secret now: it is shown this once. What is posted is signed with it.')}
          </Notice>
          <CodeBlock text={secret} label={t('webhook secret')} />
        </>
      )}
      {webhook ? (
        <p>
          <T
            text="{url} receives {events}."
            url={<Link href={`/webhooks/${webhook.id}`}>{webhook.url}</Link>}
            events={webhook.events.join(', ')}
          />
        </p>
      ) : (
        <Form
          label={t('Register a webhook')}
          error={register.error}
          onSubmit={() => register.mutate({ input })}
        >
          <Field
            name="url"
            label={t('Address')}
            type="url"
            placeholder={OWN_EXAMPLE}
            hint={
              simulatorUrl
                ? t(
                    'This is a receiver that the gateway simulates: it answers 200 to everything. An address of your own does as well.',
                  )
                : t('HTTPS, at a public address.')
            }
            value={url}
            onChange={({ target }) => setUrl(target.value)}
          />
          <div className="row">
            <Button type="submit" look="primary" isBusy={register.isPending}>
              {t('Register it')}
            </Button>
          </div>
        </Form>
      )}
    </Step>
  );
}
