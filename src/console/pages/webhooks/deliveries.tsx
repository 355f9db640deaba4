import { useState } from 'react';
import { DELIVERY_STATUSES, EVENT_TYPES } from '../../../domain/webhooks/webhook.ts';
import { formatName } from '../../lib/format.ts';
import { useApiQuery } from '../../lib/queries.ts';
import { usePermission } from '../../lib/session.tsx';
import { Badge } from '../../ui/badge.tsx';
import type { Column } from '../../ui/data-table.tsx';
import { Select } from '../../ui/field.tsx';
import { Filters, useFilter } from '../../ui/filters.tsx';
import { PagedTable } from '../../ui/paged-table.tsx';
import { useAfter } from '../../ui/pager.tsx';
import { EmptyState, Loaded } from '../../ui/states.tsx';
import { Time } from '../../ui/values.tsx';
import { Countdown } from './countdown.tsx';
import { RetryButton } from './retry-button.tsx';
import { nameOf, RetrySelected } from './retry-selected.tsx';
import {
  type DeliveryRowFragment,
  type DeliveryStatus,
  WebhookDeliveries,
  type WebhookRowFragment,
} from './webhooks.generated.ts';

const STATUSES = DELIVERY_STATUSES.map((status) => status.toUpperCase() as DeliveryStatus);

/** The deliveries of a webhook, newest first, in pages. The URL holds the filters. */
export function Deliveries({ of: webhook }: { of: WebhookRowFragment }) {
  const asked = useFilter('status');
  const status = STATUSES.find((each) => each === asked) ?? null;
  const filter = { webhookId: webhook.id, status, event: useFilter('event') };
  const query = useApiQuery(WebhookDeliveries, { filter, after: useAfter() }, { keepsLast: true });
  const mayRetry = usePermission('webhook.retry') && webhook.isActive;
  const maySelect = usePermission('webhook.retryMany') && webhook.isActive;
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  return (
    <section className="stack" aria-labelledby="deliveries">
      <h2 id="deliveries">Deliveries</h2>
      <Filters label="Filter the deliveries">
        <Select
          name="status"
          label="Status"
          options={[
            { value: '', label: 'Any' },
            ...STATUSES.map((each) => ({ value: each, label: formatName(each) })),
          ]}
        />
        <Select
          name="event"
          label="Event"
          options={[
            { value: '', label: 'Any' },
            ...EVENT_TYPES.map((event) => ({ value: event, label: event })),
          ]}
        />
      </Filters>
      <Loaded query={query}>
        {({ webhookDeliveries }) => (
          <>
            {maySelect && (
              <RetrySelected
                webhookId={webhook.id}
                shown={webhookDeliveries.nodes}
                chosen={chosen}
                onChange={setChosen}
              />
            )}
            <PagedTable
              of={webhookDeliveries}
              caption="The newest first"
              columns={mayRetry ? [...COLUMNS, RETRY] : COLUMNS}
              keyOf={({ id }) => id}
              hrefOf={({ id }) => `/webhooks/deliveries/${id}`}
              empty={
                <EmptyState title="No deliveries yet">
                  <p>Send a test event, or a message whose events it receives.</p>
                </EmptyState>
              }
              selection={
                maySelect
                  ? { chosen, labelOf: (delivery) => `Select ${nameOf(delivery)}`, onChange: setChosen }
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
  { header: 'Event', cell: ({ event }) => event },
  { header: 'Status', cell: (delivery) => <Status of={delivery} /> },
  { header: 'Answer', cell: (delivery) => <Answer of={delivery} /> },
  { header: 'Attempts', cell: ({ attempts }) => attempts, isNumber: true },
  { header: 'Recorded', cell: ({ createdAt }) => <Time at={createdAt} /> },
];
const RETRY: Column<DeliveryRowFragment> = {
  header: 'Retry',
  cell: ({ id, status }) =>
    (status === 'FAILED' || status === 'RETRYING') && <RetryButton deliveryId={id} label="Retry" />,
};

function Status({ of: { status, nextRetryAt } }: { of: DeliveryRowFragment }) {
  return (
    <span className="row">
      <Badge status={status} />
      {nextRetryAt !== null && <Countdown to={nextRetryAt} />}
    </span>
  );
}

function Answer({ of: { httpStatus, errorMessage } }: { of: DeliveryRowFragment }) {
  return errorMessage ?? httpStatus ?? <span className="quiet">none yet</span>;
}
