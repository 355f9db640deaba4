import { Link } from 'wouter';
import { formatNumber } from '../../lib/format.ts';
import { useApiQuery } from '../../lib/queries.ts';
import { Badge } from '../../ui/badge.tsx';
import { ButtonLink } from '../../ui/button.tsx';
import { type Column, DataTable } from '../../ui/data-table.tsx';
import { PageHeader } from '../../ui/layout.tsx';
import { Notice } from '../../ui/notice.tsx';
import { EmptyState, Loaded } from '../../ui/states.tsx';
import { Money, Time } from '../../ui/values.tsx';
import { CHANNEL_NAMES } from '../messages/message-text.ts';
import { OverviewPlatform, type OverviewPlatformQuery } from './overview.generated.ts';

type Account = NonNullable<OverviewPlatformQuery['accounts']>['nodes'][number];
type Provider = NonNullable<OverviewPlatformQuery['providers']>[number];

/** Interval of refetches, in ms. Provider health has no live updates. */
const PROVIDERS_EVERY_MS = 15_000;

const ACCOUNT_COLUMNS: readonly Column<Account>[] = [
  { header: 'Account', cell: ({ name, email }) => (name === email ? name : `${name} · ${email}`) },
  { header: 'Created', cell: ({ createdAt }) => <Time at={createdAt} /> },
  {
    header: 'Balance',
    cell: ({ balance, currency }) => <Money amount={balance} currency={currency} />,
    isNumber: true,
  },
];

const PROVIDER_COLUMNS: readonly Column<Provider>[] = [
  { header: 'Provider', cell: ({ name }) => <code>{name}</code> },
  { header: 'Channel', cell: ({ channel }) => CHANNEL_NAMES[channel] },
  { header: 'State', cell: ({ state }) => <Badge status={state} /> },
  { header: 'Submitted', cell: ({ submitted }) => formatNumber(submitted), isNumber: true },
  { header: 'Rejected', cell: ({ rejected }) => formatNumber(rejected), isNumber: true },
  { header: 'Unavailable', cell: ({ failed }) => formatNumber(failed), isNumber: true },
  {
    header: 'Last error',
    cell: ({ detail, lastError, lastErrorAt }) =>
      lastError === null ? (
        (detail ?? '–')
      ) : (
        <>
          {lastError}{' '}
          <span className="quiet">
            (<Time at={lastErrorAt} />)
          </span>
        </>
      ),
  },
];

/** The overview for operators: what waits for review, the health of the carriers, and the newest accounts. */
export function OperatorOverview() {
  const query = useApiQuery(OverviewPlatform, {}, { refetchEveryMs: PROVIDERS_EVERY_MS });
  return (
    <>
      <PageHeader title="Overview">
        <ButtonLink href="/providers">Carriers and providers</ButtonLink>
        <ButtonLink href="/accounts">All accounts</ButtonLink>
      </PageHeader>
      <Loaded query={query}>
        {({ accounts, providers, senders: { totalCount: waiting } }) => (
          <>
            {waiting > 0 && (
              <Notice tone="warn">
                {waiting === 1 ? 'A sender ID waits' : `${formatNumber(waiting)} sender IDs wait`} for review:{' '}
                <Link href="/senders">open the senders</Link>.
              </Notice>
            )}
            <DataTable
              caption="Carriers and providers on each worker process; counts of the last five minutes"
              columns={PROVIDER_COLUMNS}
              rows={providers}
              keyOf={({ name, channel, process }) => `${channel} ${name} ${process}`}
            />
            {accounts.totalCount === 0 ? (
              <EmptyState title="No accounts yet" />
            ) : (
              <DataTable
                caption={`The newest of ${formatNumber(accounts.totalCount)} ${accounts.totalCount === 1 ? 'account' : 'accounts'}`}
                columns={ACCOUNT_COLUMNS}
                rows={accounts.nodes}
                keyOf={({ id }) => id}
                hrefOf={({ id }) => `/accounts/${id}`}
              />
            )}
          </>
        )}
      </Loaded>
    </>
  );
}
