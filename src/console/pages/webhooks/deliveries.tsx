import { useState } from 'react';
import { useApiQuery } from '../../lib/queries.ts';
import { usePermission } from '../../lib/session.tsx';
import { t } from '../../lib/words.ts';
import type { Column } from '../../ui/data-table.tsx';
import { Select } from '../../ui/field.tsx';
import { Filters, useFilter } from '../../ui/filters.tsx';
import { PagedTable } from '../../ui/paged-table.tsx';
import { useAfter } from '../../ui/pager.tsx';
import { EmptyState, Loaded } from '../../ui/states.tsx';
import { Time } from '../../ui/values.tsx';
import { DELIVERY_STATUS_NAMES, DeliveryState, EVENT_OPTIONS, STATUS_OPTIONS } from './delivery-state.tsx';
import { RetryButton } from './retry-button.tsx';
import { nameOf, RetrySelected } from './retry-selected.tsx';
import {
  type DeliveryRowFragment,
  WebhookDeliveries,
  type WebhookRowFragment,
} from './webhooks.generated.ts';

/** The deliveries of a webhook, newest first, in pages. The URL holds the filters. */
export function Deliveries({ of: webhook }: { of: WebhookRowFragment }) {
  const asked = useFilter('status');
  const status = DELIVERY_STATUS_NAMES.find((each) => each === asked) ?? null;
  const filter = { webhookId: webhook.id, status, event: useFilter('event') };
  const query = useApiQuery(WebhookDeliveries, { filter, after: useAfter() }, { keepsLast: true });
  const mayRetry = usePermission('webhook.retry') && webhook.isActive;
  const maySelect = usePermission('webhook.retryMany') && webhook.isActive;
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  return (
    <section className="stack" aria-labelledby="deliveries">
      <h2 id="deliveries">{t('Deliveries')}</h2>
      <Filters label={t('Filter the deliveries')}>
        <Select name="status" label={t('Status')} options={STATUS_OPTIONS} />
        <Select name="event" label={t('Event')} options={EVENT_OPTIONS} />
      </Filters>
      <Loaded query={query}>
        {({ webhookDeliveries }) => (
          <>
            {maySelect && (
              <RetrySelected
                list={WebhookDeliveries}
                targetOf={() => ({ webhookId: webhook.id })}
                shown={webhookDeliveries.nodes}
                chosen={chosen}
                onChange={setChosen}
              />
            )}
            <PagedTable
              of={webhookDeliveries}
              caption={t('The newest first')}
              columns={mayRetry ? [...COLUMNS, RETRY] : COLUMNS}
              keyOf={({ id }) => id}
              hrefOf={({ id }) => `/webhooks/deliveries/${id}`}
              empty={
                <EmptyState title={t('No deliveries yet')}>
                  <p>{t('Send a test event, or a message whose events it receives.')}</p>
                </EmptyState>
              }
              selection={
                maySelect
                  ? {
                      chosen,
                      labelOf: (delivery) => t('Select {delivery}', { delivery: nameOf(delivery) }),
                      onChange: setChosen,
                    }
                  : undefined
              }
            />
          </>
        )}
      </Loaded>
    </section>
  );
}

const COLUMNS: readonly Column<DeliveryRowFragment>[] = [
  { header: t('Event'), cell: ({ event }) => event },
  { header: t('Status'), cell: (delivery) => <DeliveryState of={delivery} /> },
  { header: t('Answer'), cell: (delivery) => <Answer of={delivery} /> },
  { header: t('Attempts'), cell: ({ attempts }) => attempts, isNumber: true },
  { header: t('Recorded'), cell: ({ createdAt }) => <Time at={createdAt} /> },
];
const RETRY: Column<DeliveryRowFragment> = {
  header: t('Retry'),
  cell: ({ id, status }) =>
    (status === 'FAILED' || status === 'RETRYING') && <RetryButton deliveryId={id} label={t('Retry')} />,
};

function Answer({ of: { httpStatus, errorMessage } }: { of: DeliveryRowFragment }) {
  return errorMessage ?? httpStatus ?? <span className="quiet">{t('none yet')}</span>;
}
