import { useState } from 'react';
import { formatNumber } from '../../lib/format.ts';
import { useApiMutation, useApiQuery } from '../../lib/queries.ts';
import { Can, usePermission } from '../../lib/session.tsx';
import { t } from '../../lib/words.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx';
import type { Column } from '../../ui/data-table.tsx';
import { useDrawerHref } from '../../ui/drawer.tsx';
import { Field, Select } from '../../ui/field.tsx';
import { Filters, useFilter, useTimeFilter } from '../../ui/filters.tsx';
import { PageHeader } from '../../ui/layout.tsx';
import { Notice } from '../../ui/notice.tsx';
import { PAGE_SIZE, PagedTable } from '../../ui/paged-table.tsx';
import { useAfter } from '../../ui/pager.tsx';
import { EmptyState, Loaded } from '../../ui/states.tsx';
import { T } from '../../ui/t.tsx';
import { ExactTime, Time } from '../../ui/values.tsx';
import { OPENED, RequestDrawer, RequestStatus } from './request-view.tsx';
import {
  type RequestFilter,
  RequestKeys,
  type RequestRowFragment,
  Requests,
  SetRequestLogging,
  type StatusClass,
} from './requests.generated.ts';

const ANY = { value: '', label: t('Any') };
const OUTCOMES: Readonly<Record<StatusClass, string>> = {
  SUCCESS: t('Succeeded'),
  CLIENT_ERROR: t('Rejected (4xx)'),
  SERVER_ERROR: t('Failed here (5xx)'),
};
const ENVIRONMENTS = { PRODUCTION: t('Production'), SANDBOX: t('Sandbox') } as const;
const METHODS = ['GET', 'POST', 'PUT', 'DELETE'];

const optionsOf = (names: Readonly<Record<string, string>>) => [
  ANY,
  ...Object.entries(names).map(([value, label]) => ({ value, label })),
];
const knownIn = <Name extends string>(names: Readonly<Record<Name, string>>, text: string | null) =>
  text !== null && text in names ? (text as Name) : null;

/** The requests of the account's API keys in the last 7 days. A row opens in a drawer. */
export default function RequestsPage() {
  const filter: RequestFilter = {
    statusClass: knownIn(OUTCOMES, useFilter('statusClass')),
    errorCode: useFilter('errorCode'),
    method: useFilter('method'),
    pathPrefix: useFilter('path'),
    apiKeyId: useFilter('key'),
    requestId: useFilter('requestId'),
    idempotencyKey: useFilter('idempotencyKey'),
    environment: knownIn(ENVIRONMENTS, useFilter('environment')),
    since: useTimeFilter('since'),
    until: useTimeFilter('until'),
  };
  const query = useApiQuery(Requests, { first: PAGE_SIZE, after: useAfter(), filter }, { keepsLast: true });
  const hrefOf = useDrawerHref(OPENED);
  return (
    <>
      <PageHeader title={t('Requests')}>
        <Can run="request.setLogging">
          <WholeBodies until={query.data?.requestLogging.fullBodiesUntil ?? null} />
        </Can>
      </PageHeader>
      <RequestFilters />
      <Loaded query={query}>
        {({ requests, requestLogging }) => (
          <>
            {requestLogging.fullBodiesUntil !== null && (
              <Notice tone="warn">
                <T
                  text="Bodies are kept whole until {time}: texts and numbers of your recipients are in this log. Each is erased after a day."
                  time={<ExactTime at={requestLogging.fullBodiesUntil} />}
                />
              </Notice>
            )}
            <PagedTable
              of={requests}
              caption={t('The newest first, of the last 7 days')}
              columns={COLUMNS}
              keyOf={({ id }) => id}
              hrefOf={hrefOf}
              empty={
                <EmptyState title={t('No requests in the last 7 days')}>
                  <p>{t('Requests of your programs appear here about a second after their answer.')}</p>
                </EmptyState>
              }
            />
          </>
        )}
      </Loaded>
      <RequestDrawer />
    </>
  );
}

const COLUMNS: readonly Column<RequestRowFragment>[] = [
  {
    header: t('Request'),
    cell: ({ method, path }) => (
      <code>
        {method} {path}
      </code>
    ),
  },
  { header: t('Answer'), cell: (row) => <RequestStatus of={row} />, isWhole: true },
  { header: t('Duration'), cell: ({ durationMs }) => `${formatNumber(durationMs)} ms`, isNumber: true },
  { header: t('Key'), cell: ({ apiKey }) => apiKey?.name ?? <span className="quiet">{t('unknown')}</span> },
  { header: t('Environment'), cell: ({ environment }) => <Badge status={environment} /> },
  { header: t('When'), cell: (row) => <When of={row} />, isWhole: true },
];

function When({ of: { at, skippedBefore } }: { of: RequestRowFragment }) {
  return (
    <>
      <Time at={at} />
      {skippedBefore > 0 && (
        <div className="field-hint">
          <T text="{skippedBefore} alike before it were not kept" skippedBefore={skippedBefore} />
        </div>
      )}
    </>
  );
}

function RequestFilters() {
  const mayListKeys = usePermission('apiKey.list');
  const keys = useApiQuery(RequestKeys, {}, { isEnabled: mayListKeys }).data?.apiKeys ?? [];
  return (
    // The options of the keys come later than the form. The React key makes it follow the URL again.
    <Filters key={keys.length} label={t('Filter the requests')}>
      <Select name="statusClass" label={t('Outcome')} options={optionsOf(OUTCOMES)} />
      <Select
        name="method"
        label={t('Method')}
        options={[ANY, ...METHODS.map((method) => ({ value: method, label: method }))]}
      />
      <Select
        name="key"
        label={t('Key')}
        options={[ANY, ...keys.map(({ keyId, name }) => ({ value: keyId, label: name }))]}
      />
      <Select name="environment" label={t('Environment')} options={optionsOf(ENVIRONMENTS)} />
      <Field name="path" label={t('Path begins with')} placeholder="/api/v1/developers/sms" />
      <Field name="errorCode" label={t('Error code')} placeholder="invalid_phone_number" />
      <Field name="requestId" label={t('Request id')} placeholder="X-Request-Id" />
      <Field name="idempotencyKey" label={t('Idempotency key')} />
      <Field name="since" label={t('From (time)')} type="datetime-local" />
      <Field name="until" label={t('To (time)')} type="datetime-local" />
    </Filters>
  );
}

/** Turns the logging of whole bodies on for a day, or off. */
function WholeBodies({ until }: { until: string | null }) {
  const [isAsked, setIsAsked] = useState(false);
  const set = useApiMutation(SetRequestLogging, { refetches: [Requests] });
  if (until !== null) {
    return (
      <Button isBusy={set.isPending} onClick={() => set.mutate({ fullBodies: false })}>
        {t('Mask bodies again')}
      </Button>
    );
  }
  return (
    <>
      <Button onClick={() => setIsAsked(true)}>{t('Keep whole bodies for a day')}</Button>
      {isAsked && (
        <ConfirmDialog
          title={t('Keep whole bodies for a day?')}
          consequence={t(
            'Texts, phone numbers and addresses of the requests of the next 24 hours can then be read here by developers, admins and owners. Keys and secrets stay masked. Each whole body is erased after a day. The audit log keeps who turned it on.',
          )}
          confirmLabel={t('Keep whole bodies')}
          onConfirm={() => set.mutateAsync({ fullBodies: true })}
          onClose={() => setIsAsked(false)}
        />
      )}
    </>
  );
}
