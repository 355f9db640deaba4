import { useState } from 'react';
import { Link } from 'wouter';
import { useEnvironment, useInEnvironment } from '../../lib/environment.ts';
import { useLiveRefetch } from '../../lib/live-refetch.ts';
import { useApiQuery } from '../../lib/queries.ts';
import { usePermission } from '../../lib/session.tsx';
import { t } from '../../lib/words.ts';
import type { Column } from '../../ui/data-table.tsx';
import { useDrawerHref } from '../../ui/drawer.tsx';
import { Field, Select } from '../../ui/field.tsx';
import { Filters, useFilter, useTimeFilter } from '../../ui/filters.tsx';
import { PageHeader } from '../../ui/layout.tsx';
import { PAGE_SIZE, PagedTable } from '../../ui/paged-table.tsx';
import { useAfter } from '../../ui/pager.tsx';
import { EmptyState, Loaded } from '../../ui/states.tsx';
import { Time } from '../../ui/values.tsx';
import {
  DELIVERY_STATUS_NAMES,
  DeliveryState,
  EVENT_OPTIONS,
  STATUS_OPTIONS,
} from '../webhooks/delivery-state.tsx';
import { nameOf, RetrySelected, type Target } from '../webhooks/retry-selected.tsx';
import { DeliveryUpdated } from '../webhooks/webhooks.generated.ts';
import { DeliveryDrawer, OPENED } from './delivery-drawer.tsx';
import { EventEndpoints, type EventRowFragment, Events } from './events.generated.ts';
import { shortened } from './shortened.ts';

/** Most characters of an endpoint's URL in a row, so that the row stays one line. */
const URL_LENGTH = 40;
const ID_LENGTH = 13;

/** The deliveries to all webhooks of the environment, newest first (R472). A row opens in a drawer. */
export default function EventsPage() {
  const environment = useEnvironment();
  const asked = useFilter('status');
  const filter = {
    environment,
    status: DELIVERY_STATUS_NAMES.find((each) => each === asked) ?? null,
    event: useFilter('event'),
    webhookId: useFilter('webhook'),
    messageId: useFilter('messageId'),
    since: useTimeFilter('since'),
    until: useTimeFilter('until'),
  };
  const variables = { filter, first: PAGE_SIZE, after: useAfter() };
  const query = useApiQuery(Events, variables, { keepsLast: true });
  useLiveRefetch(DeliveryUpdated, {}, [Events]);
  const maySelect = usePermission('webhook.retryMany');
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const hrefOf = useDrawerHref(OPENED);
  return (
    <>
      <PageHeader title={t('Events')} />
      <EventFilters />
      <Loaded query={query}>
        {({ webhookDeliveries }) => (
          <>
            {maySelect && (
              <RetrySelected
                list={Events}
                targetOf={targetOf}
                shown={webhookDeliveries.nodes}
                chosen={chosen}
                onChange={setChosen}
              />
            )}
            <PagedTable
              of={webhookDeliveries}
              caption={t('Deliveries to all webhooks, the newest first')}
              columns={COLUMNS}
              keyOf={({ id }) => id}
              hrefOf={hrefOf}
              empty={
                <EmptyState title={t('No events yet')}>
                  <p>
                    {t('Each event that a webhook receives appears here, with its request and the answer.')}
                  </p>
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
      <DeliveryDrawer />
    </>
  );
}

const COLUMNS: readonly Column<EventRowFragment>[] = [
  { header: t('Event'), cell: ({ event }) => event, isWhole: true },
  { header: t('Status'), cell: (delivery) => <DeliveryState of={delivery} />, isWhole: true },
  { header: t('Answer'), cell: (delivery) => <Answer of={delivery} />, isWhole: true },
  { header: t('Attempts'), cell: ({ attempts }) => attempts, isNumber: true },
  { header: t('Endpoint'), cell: ({ webhook }) => <Endpoint of={webhook} />, isWhole: true },
  { header: t('Message'), cell: ({ messageId }) => <MessageLink to={messageId} />, isWhole: true },
  { header: t('Recorded'), cell: ({ createdAt }) => <Time at={createdAt} />, isWhole: true },
];

/** The HTTP status of the last answer. The drawer has the whole error. */
function Answer({ of: { httpStatus, errorMessage } }: { of: EventRowFragment }) {
  if (httpStatus !== null) return httpStatus;
  if (errorMessage === null) return <span className="quiet">{t('none yet')}</span>;
  return <span title={errorMessage}>{t('no answer')}</span>;
}

function Endpoint({ of: webhook }: { of: EventRowFragment['webhook'] }) {
  if (webhook === null) return <span className="quiet">{t('deleted')}</span>;
  return (
    <Link href={`/webhooks/${webhook.id}`} title={webhook.url}>
      {shortened(webhook.url.replace(/^https?:\/\//, ''), URL_LENGTH)}
    </Link>
  );
}

function MessageLink({ to: messageId }: { to: string | null }) {
  const inEnvironment = useInEnvironment();
  if (messageId === null) return <span className="quiet">{t('none')}</span>;
  return (
    <Link href={inEnvironment(`/messages/${messageId}`)} title={messageId}>
      {shortened(messageId, ID_LENGTH)}
    </Link>
  );
}

function targetOf({ webhook }: EventRowFragment): Target {
  if (webhook === null) return { refusal: t('Its webhook was deleted.') };
  if (!webhook.isActive) return { refusal: t('Its webhook is paused: resume it to retry.') };
  return { webhookId: webhook.id };
}

function EventFilters() {
  const environment = useEnvironment();
  const endpoints = useApiQuery(EventEndpoints, { environment }).data?.webhooks ?? [];
  return (
    // The options of the endpoints come later than the form. The React key makes it follow the URL again.
    <Filters key={`${environment} ${endpoints.length}`} label={t('Filter the events')}>
      <Select name="status" label={t('Status')} options={STATUS_OPTIONS} />
      <Select name="event" label={t('Event')} options={EVENT_OPTIONS} />
      <Select
        name="webhook"
        label={t('Endpoint')}
        options={[
          { value: '', label: t('Any') },
          ...endpoints.map(({ id, url }) => ({ value: id, label: shortened(url, URL_LENGTH) })),
        ]}
      />
      <Field name="messageId" label={t('Message id')} />
      <Field name="since" label={t('From (time)')} type="datetime-local" />
      <Field name="until" label={t('To (time)')} type="datetime-local" />
    </Filters>
  );
}
