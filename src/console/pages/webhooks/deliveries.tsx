import { useSearchParams } from 'wouter';
import { DELIVERY_STATUSES } from '../../../domain/webhooks/webhook.ts';
import { formatName } from '../../lib/format.ts';
import { useApiQuery } from '../../lib/queries.ts';
import { usePermission } from '../../lib/session.tsx';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { type Column, DataTable } from '../../ui/data-table.tsx';
import { Select } from '../../ui/field.tsx';
import { Pager, useAfter } from '../../ui/pager.tsx';
import { EmptyState, Loaded } from '../../ui/states.tsx';
import { Time } from '../../ui/values.tsx';
import { Countdown } from './countdown.tsx';
import { RetryButton } from './retry-button.tsx';
import {
  type DeliveryRowFragment,
  type DeliveryStatus,
  EventTypes,
  WebhookDeliveries,
  type WebhookRowFragment,
} from './webhooks.generated.ts';
import './deliveries.css';

const STATUSES = DELIVERY_STATUSES.map((status) => status.toUpperCase() as DeliveryStatus);

/** What a webhook was and is owed, the newest first, a page at a time; filters stand in the address. */
export function Deliveries({ of: webhook }: { of: WebhookRowFragment }) {
  const [params, setParams] = useSearchParams();
  const status = STATUSES.find((each) => each === params.get('status')) ?? null;
  const event = params.get('event');
  const after = useAfter();
  const query = useApiQuery(
    WebhookDeliveries,
    { filter: { webhookId: webhook.id, status, event }, after },
    { keepsLast: true },
  );
  const mayRetry = usePermission('webhook.retry') && webhook.isActive;
  const isFiltered = status !== null || event !== null;
  return (
    <section className="stack" aria-labelledby="deliveries">
      <div className="row spread">
        <h2 id="deliveries">Deliveries</h2>
        <Filters status={status} event={event} />
      </div>
      <Loaded query={query}>
        {({ webhookDeliveries: { nodes, pageInfo } }) =>
          nodes.length === 0 ? (
            <EmptyState title={isFiltered ? 'No delivery like that' : 'No deliveries yet'}>
              {isFiltered ? (
                <Button onClick={() => setParams({})}>Show all</Button>
              ) : (
                <p>Send a test event, or a message whose events it is told of.</p>
              )}
            </EmptyState>
          ) : (
            <>
              <DataTable
                caption="The newest first"
                columns={mayRetry ? [...COLUMNS, RETRY] : COLUMNS}
                rows={nodes}
                keyOf={({ id }) => id}
                hrefOf={({ id }) => `/webhooks/deliveries/${id}`}
              />
              <Pager pageInfo={pageInfo} />
            </>
          )
        }
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

function Filters({ status, event }: { status: string | null; event: string | null }) {
  const [, setParams] = useSearchParams();
  const events = useApiQuery(EventTypes, {}).data?.eventTypes ?? [];
  const choose = (name: string, value: string) =>
    setParams((params) => {
      if (value === '') params.delete(name);
      else params.set(name, value);
      // Another list, from its beginning.
      params.delete('after');
      return params;
    });
  return (
    <div className="delivery-filters">
      <Select
        name="status"
        label="Status"
        value={status ?? ''}
        onChange={({ target }) => choose('status', target.value)}
        options={[
          { value: '', label: 'Any status' },
          ...STATUSES.map((each) => ({ value: each, label: formatName(each) })),
        ]}
      />
      <Select
        name="event"
        label="Event"
        value={event ?? ''}
        onChange={({ target }) => choose('event', target.value)}
        options={[
          { value: '', label: 'Any event' },
          ...events.map((each) => ({ value: each.event, label: each.event })),
        ]}
      />
    </div>
  );
}
