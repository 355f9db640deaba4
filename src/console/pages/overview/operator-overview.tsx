import { Link, useSearchParams } from 'wouter';
import { formatNumber } from '../../lib/format.ts';
import { useApiQuery } from '../../lib/queries.ts';
import { t } from '../../lib/words.ts';
import { Badge } from '../../ui/badge.tsx';
import { BarChart } from '../../ui/bar-chart.tsx';
import { ButtonLink } from '../../ui/button.tsx';
import { Choice } from '../../ui/choice.tsx';
import { type Column, DataTable } from '../../ui/data-table.tsx';
import { PageHeader } from '../../ui/layout.tsx';
import { Notice } from '../../ui/notice.tsx';
import { EmptyState, Loaded } from '../../ui/states.tsx';
import { T } from '../../ui/t.tsx';
import { Money, Time } from '../../ui/values.tsx';
import { CHANNEL_NAMES } from '../messages/message-text.ts';
import { OverviewPlatform, type OverviewPlatformQuery } from './overview.generated.ts';
import { PERIODS, periodOf } from './periods.ts';
import { PlatformFigures } from './platform-figures.tsx';
import { PLATFORM_GROUPS, platformBars, platformTotals } from './platform-summary.ts';
import { TroubledAccounts } from './troubled-accounts.tsx';

type Account = NonNullable<OverviewPlatformQuery['accounts']>['nodes'][number];
type Provider = NonNullable<OverviewPlatformQuery['providers']>[number];

/** Interval of refetches, in ms. Figures of all accounts have no live updates. */
const AGAIN_EVERY_MS = 30_000;

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

/**
 * The overview for operators: the totals of all accounts, what needs attention, the health of the carriers, and the
 * newest accounts. One query reads all of it.
 */
export function OperatorOverview() {
  const { period, group, choose } = useChoices();
  const { slots, ...span } = periodOf(period.value, new Date());
  const query = useApiQuery(
    OverviewPlatform,
    { ...span, groupBy: [group.value] },
    { refetchEveryMs: AGAIN_EVERY_MS, keepsLast: true },
  );
  const title = span.interval === 'HOUR' ? t('Messages per hour') : t('Messages per day (UTC)');
  return (
    <>
      <PageHeader title={t('Overview')}>
        <Choice
          label={t('Period')}
          options={PERIODS}
          chosen={period}
          onChoose={(value) => choose('period', value)}
        />
        <ButtonLink href="/providers">{t('Carriers and providers')}</ButtonLink>
        <ButtonLink href="/accounts">{t('All accounts')}</ButtonLink>
      </PageHeader>
      <Loaded query={query}>
        {({ totals, chart, troubledAccounts, accounts, providers, senders: { totalCount: waiting } }) => (
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
            <PlatformFigures totals={platformTotals(totals)} period={period.label} />
            <TroubledAccounts accounts={troubledAccounts} />
            <section className="card stack overview-chart" aria-labelledby="sent">
              <div className="row spread">
                <h2 id="sent">{title}</h2>
                <Choice
                  label={t('Told apart by')}
                  options={PLATFORM_GROUPS}
                  chosen={group}
                  onChoose={(value) => choose('group', value)}
                />
              </div>
              <BarChart label={`${title}, ${group.label}`} {...platformBars(chart, group.value, slots)} />
            </section>
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
                  { count: accounts.totalCount },
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

/** Returns the choices of the page. They are in the URL, so that a reload or a shared link shows the same. */
function useChoices() {
  const [params, setParams] = useSearchParams();
  return {
    period: PERIODS.find(({ value }) => value === params.get('period')) ?? PERIODS[0],
    group: PLATFORM_GROUPS.find(({ value }) => value === params.get('group')) ?? PLATFORM_GROUPS[0],
    choose: (name: string, value: string) =>
      setParams({ ...Object.fromEntries(params), [name]: value }, { replace: true }),
  };
}
