import { useParams } from 'wouter';
import type { Complete } from '../../lib/document.ts';
import { formatName } from '../../lib/format.ts';
import { useLiveRefetch } from '../../lib/live-refetch.ts';
import { useApiQuery } from '../../lib/queries.ts';
import { usePermission, useViewer } from '../../lib/session.tsx';
import { t } from '../../lib/words.ts';
import { Badge } from '../../ui/badge.tsx';
import { Id } from '../../ui/code.tsx';
import { PageHeader } from '../../ui/layout.tsx';
import { Notice } from '../../ui/notice.tsx';
import { Loaded } from '../../ui/states.tsx';
import { T } from '../../ui/t.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { KeyValues, Time } from '../../ui/values.tsx';
import { DeleteButton, PauseButton, ResumeButton } from './actions.tsx';
import { Deliveries } from './deliveries.tsx';
import { EditForm } from './edit-form.tsx';
import { Health } from './health.tsx';
import { RecoverForm } from './recover-form.tsx';
import { RotateSecret } from './rotate-secret.tsx';
import { TestEvent } from './test-event.tsx';
import { VerificationCode } from './verification-code.tsx';
import { healthOf } from './webhook-rules.ts';
import {
  DeliveryUpdated,
  WebhookDeliveries,
  WebhookDetail,
  type WebhookDetailQuery,
  type WebhookRowFragment,
} from './webhooks.generated.ts';

/** The page of one webhook: its deliveries, and forms to change, test, pause and delete it. */
export default function WebhookPage() {
  const { webhookId } = useParams<{ webhookId: string }>();
  const query = useApiQuery(WebhookDetail, { id: webhookId });
  useLiveRefetch(DeliveryUpdated, { webhookId }, [WebhookDetail, WebhookDeliveries]);
  return <Loaded query={query}>{({ webhook }) => <Detail key={webhook.id} of={webhook} />}</Loaded>;
}

function Detail({ of: webhook }: { of: Complete<WebhookDetailQuery>['webhook'] }) {
  const mayManage = usePermission('webhook.update');
  const { role } = useViewer();
  const [newest] = webhook.deliveries.nodes;
  const status = healthOf(webhook, newest);
  return (
    <>
      <PageHeader title={webhook.url}>
        <Badge status={status} />
        {mayManage && (
          <>
            {webhook.isActive ? <PauseButton of={webhook} /> : <ResumeButton of={webhook} />}
            <DeleteButton of={webhook} />
          </>
        )}
      </PageHeader>
      {!mayManage && (
        <Notice>
          <T text="Your role, {role}, can read this webhook, not change it." role={formatName(role)} />
        </Notice>
      )}
      {status === 'DISABLED' && (
        <Notice tone="bad">
          <T text="The gateway switched it off. {disabledReason}" disabledReason={webhook.disabledReason} />
        </Notice>
      )}
      {status === 'PAUSED' && (
        <Notice tone="warn">
          {t(
            'It is paused: nothing is posted. Events are recorded meanwhile; resume it and retry the missed events.',
          )}
        </Notice>
      )}
      {status === 'FAILING' && (
        <Notice tone="bad">
          <T
            text="The newest delivery failed: {reason}. Repair the endpoint, send a test event, and retry the missed events."
            reason={newest?.errorMessage ?? `HTTP ${newest?.httpStatus}`}
          />
        </Notice>
      )}
      <Tabs
        label={t('Parts of the webhook')}
        tabs={[
          { label: t('Deliveries'), content: <DeliveriesTab of={webhook} mayManage={mayManage} /> },
          ...(mayManage ? [{ label: t('Settings'), content: <EditForm of={webhook} /> }] : []),
          { label: t('Secret'), content: <SecretTab of={webhook} mayManage={mayManage} /> },
        ]}
      />
    </>
  );
}

interface TabProps {
  of: WebhookRowFragment;
  mayManage: boolean;
}

function DeliveriesTab({ of: webhook, mayManage }: TabProps) {
  return (
    <div className="stack">
      <div className="columns">
        <section className="card stack" aria-labelledby="facts">
          <h2 id="facts">{t('The webhook')}</h2>
          <KeyValues
            items={[
              [t('Environment'), formatName(webhook.environment)],
              [t('Health'), <Health key="health" of={webhook.stats} />],
              [t('Events'), webhook.events.join(', ')],
              [t('Description'), webhook.description ?? <span className="quiet">{t('none')}</span>],
              [t('Retries'), webhook.maxRetries],
              [t('Registered'), <Time key="created" at={webhook.createdAt} />],
              [t('Webhook id'), <Id key="id" of={webhook.id} label={t('Webhook id')} />],
            ]}
          />
        </section>
        {mayManage && (
          <>
            <TestEvent webhookId={webhook.id} />
            <RecoverForm of={webhook} />
          </>
        )}
      </div>
      <Deliveries of={webhook} />
    </div>
  );
}

function SecretTab({ of: webhook, mayManage }: TabProps) {
  return (
    <div className="stack">
      {mayManage && <RotateSecret of={webhook} />}
      <section className="card stack" aria-labelledby="verification">
        <h2 id="verification">{t('Check every delivery')}</h2>
        <p>
          {t(
            "Anybody can post to the URL. A delivery is genuine when its signature is that of the raw body, made with the webhook's secret.",
          )}
        </p>
        <VerificationCode />
      </section>
    </div>
  );
}
