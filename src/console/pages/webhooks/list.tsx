import { WEBHOOK_LIMIT } from '../../../domain/webhooks/webhook.ts';
import { useEnvironment } from '../../lib/environment.ts';
import { useLiveRefetch } from '../../lib/live-refetch.ts';
import { useApiQuery } from '../../lib/queries.ts';
import { Can, usePermission } from '../../lib/session.tsx';
import { t } from '../../lib/words.ts';
import { Badge } from '../../ui/badge.tsx';
import { ButtonLink } from '../../ui/button.tsx';
import { type Column, DataTable } from '../../ui/data-table.tsx';
import { PageHeader } from '../../ui/layout.tsx';
import { EmptyState, Loaded } from '../../ui/states.tsx';
import { T } from '../../ui/t.tsx';
import { Time } from '../../ui/values.tsx';
import { Health } from './health.tsx';
import { healthOf } from './webhook-rules.ts';
import { DeliveryUpdated, Webhooks, type WebhooksQuery } from './webhooks.generated.ts';

type Row = NonNullable<WebhooksQuery['webhooks']>[number];

const COLUMNS: readonly Column<Row>[] = [
  { header: 'URL', cell: ({ url }) => url },
  { header: t('Status'), cell: (row) => <Status of={row} /> },
  { header: t('Health'), cell: ({ stats }) => <Health of={stats} /> },
  { header: t('Last delivery'), cell: (row) => <LastDelivery of={row} /> },
  { header: t('Events'), cell: ({ events }) => events.join(', ') },
  {
    header: t('Description'),
    cell: ({ description }) => description ?? <span className="quiet">{t('none')}</span>,
  },
];

/** The list of the account's webhooks and their states. */
export default function WebhooksPage() {
  const webhooks = useApiQuery(Webhooks, { environment: useEnvironment() });
  useLiveRefetch(DeliveryUpdated, {}, [Webhooks]);
  return (
    <>
      <PageHeader title={t('Webhooks')}>
        <Can
          run="webhook.register"
          otherwise={<span className="quiet">{t('Your role can read webhooks, not register them.')}</span>}
        >
          <Register count={webhooks.data?.webhooks.length ?? 0} />
        </Can>
      </PageHeader>
      <Loaded query={webhooks}>
        {({ webhooks: rows }) =>
          rows.length === 0 ? (
            <NoWebhooks />
          ) : (
            <DataTable
              caption={t('The newest first')}
              columns={COLUMNS}
              rows={rows}
              keyOf={({ id }) => id}
              hrefOf={({ id }) => `/webhooks/${id}`}
            />
          )
        }
      </Loaded>
    </>
  );
}

function Register({ count }: { count: number }) {
  if (count >= WEBHOOK_LIMIT) {
    return (
      <span className="quiet">
        <T
          text="All {limit} webhooks of this environment are in use; delete one to register another."
          limit={WEBHOOK_LIMIT}
        />
      </span>
    );
  }
  return (
    <ButtonLink href="/webhooks/new" look="primary">
      {t('Register a webhook')}
    </ButtonLink>
  );
}

function NoWebhooks() {
  const mayRegister = usePermission('webhook.register');
  return (
    <EmptyState title={t('No webhooks yet')}>
      <p>
        {t(
          'A webhook is a URL of yours that the gateway posts to as soon as something happens: a message was sent, was read, or failed. So your program knows without asking.',
        )}
      </p>
      {mayRegister && <ButtonLink href="/webhooks/new">{t('Register the first')}</ButtonLink>}
    </EmptyState>
  );
}

function Status({ of: webhook }: { of: Row }) {
  return (
    <>
      <Badge status={healthOf(webhook, webhook.deliveries.nodes[0])} />
      {webhook.disabledReason && <div className="field-hint">{webhook.disabledReason}</div>}
    </>
  );
}

function LastDelivery({ of: { deliveries } }: { of: Row }) {
  const [last] = deliveries.nodes;
  if (!last) return <span className="quiet">{t('none yet')}</span>;
  return (
    <span className="row">
      <Time at={last.createdAt} />
      <Badge status={last.status} />
    </span>
  );
}
