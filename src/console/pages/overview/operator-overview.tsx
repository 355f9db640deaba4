import { Link } from 'wouter';
import { formatNumber } from '../../lib/format.ts';
import { useApiQuery } from '../../lib/queries.ts';
import { t } from '../../lib/words.ts';
import { Badge } from '../../ui/badge.tsx';
import { ButtonLink } from '../../ui/button.tsx';
import { type Column, DataTable } from '../../ui/data-table.tsx';
import { PageHeader } from '../../ui/layout.tsx';
import { Notice } from '../../ui/notice.tsx';
import { EmptyState, Loaded } from '../../ui/states.tsx';
import { T } from '../../ui/t.tsx';
import { Money, Time } from '../../ui/values.tsx';
import { CHANNEL_NAMES } from '../messages/message-text.ts';
import { OverviewPlatform, type OverviewPlatformQuery } from './overview.generated.ts';

type Account = NonNullable<OverviewPlatformQuery['accounts']>['nodes'][number];
type Provider = NonNullable<OverviewPlatformQuery['providers']>[number];

/** Interval of refetches, in ms. Provider health has no live updates. */
const PROVIDERS_EVERY_MS = 15_000;

const ACCOUNT_COLUMNS: readonly Column<Account>[] = [
  { header: t('Account'), cell: ({ name, email }) => (name === email ? name : `${name} · ${email}`) },
  { header: t('Created'), cell: ({ createdAt }) => <Time at={createdAt} /> },
  {
    header: t('Balance'),
    cell: ({ balance, currency }) => <Money amount={balance} currency={currency} />,
    isNumber: true,
  },
];

const PROVIDER_COLUMNS: readonly Column<Provider>[] = [
  { header: t('Provider'), cell: ({ name }) => <code>{name}</code> },
  { header: t('Channel'), cell: ({ channel }) => CHANNEL_NAMES[channel] },
  { header: t('State'), cell: ({ state }) => <Badge status={state} /> },
  { header: t('Submitted'), cell: ({ submitted }) => formatNumber(submitted), isNumber: true },
  { header: t('Rejected'), cell: ({ rejected }) => formatNumber(rejected), isNumber: true },
  { header: t('Unavailable'), cell: ({ failed }) => formatNumber(failed), isNumber: true },
  {
    header: t('Last error'),
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
      <PageHeader title={t('Overview')}>
        <ButtonLink href="/providers">{t('Carriers and providers')}</ButtonLink>
        <ButtonLink href="/accounts">{t('All accounts')}</ButtonLink>
      </PageHeader>
      <Loaded query={query}>
        {({ accounts, providers, senders: { totalCount: waiting } }) => (
          <>
            {waiting > 0 && (
              <Notice tone="warn">
                <T
                  text="{waiting, plural, one {A sender ID waits} other {# sender IDs wait}} for review: <link>open the senders</link>."
                  waiting={waiting}
                  link={<Link href="/senders" />}
                />
              </Notice>
            )}
            <DataTable
              caption={t('Carriers and providers on each worker process; counts of the last five minutes')}
              columns={PROVIDER_COLUMNS}
              rows={providers}
              keyOf={({ name, channel, process }) => `${channel} ${name} ${process}`}
            />
            {accounts.totalCount === 0 ? (
              <EmptyState title={t('No accounts yet')} />
            ) : (
              <DataTable
                caption={t(
                  '{count, plural, one {The newest of # account} other {The newest of # accounts}}',
                  {
                    count: accounts.totalCount,
                  },
                )}
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
