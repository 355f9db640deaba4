import { Link } from 'wouter';
import { formatNumber, formatPercent } from '../../lib/format.ts';
import { t } from '../../lib/words.ts';
import { Badge } from '../../ui/badge.tsx';
import { type Column, DataTable } from '../../ui/data-table.tsx';
import { Notice } from '../../ui/notice.tsx';
import { T } from '../../ui/t.tsx';
import { Money } from '../../ui/values.tsx';
import type { AccountTrouble, OverviewPlatformQuery } from './overview.generated.ts';

type Troubled = Omit<NonNullable<OverviewPlatformQuery['troubledAccounts']>[number], 'failingWebhooks'>;

const rateText = (rate: number | null) => (rate === null ? '–' : formatPercent(rate));

/** The words of each trouble, and a status that `Badge` knows. */
const TROUBLES: Readonly<Record<AccountTrouble, readonly [status: string, words: string]>> = {
  NO_PRICES: ['FAILED', t('No prices')],
  EMPTY_BALANCE: ['FAILED', t('Balance is 0')],
  LOW_BALANCE: ['PENDING', t('Low balance')],
  LOW_DELIVERY_RATE: ['PENDING', t('Delivery rate fell')],
  FAILING_WEBHOOKS: ['PENDING', t('Webhooks fail')],
};

const COLUMNS: readonly Column<Troubled>[] = [
  { header: t('Account'), cell: ({ name }) => name },
  {
    header: t('Trouble'),
    cell: ({ troubles }) => <Troubles of={troubles} />,
  },
  {
    header: t('Balance'),
    cell: ({ balance }) => <Money amount={Number(balance.amount)} currency={balance.currency} />,
    isNumber: true,
  },
  { header: t('Lasts'), cell: ({ daysLeft }) => lastsText(daysLeft), isNumber: true },
  { header: t('Messages, 30 days'), cell: ({ messages }) => formatNumber(messages), isNumber: true },
  {
    header: t('Delivered today'),
    cell: ({ deliveryRateToday, deliveryRateBefore }) => (
      <>
        {rateText(deliveryRateToday)}{' '}
        {deliveryRateBefore !== null && (
          <span className="quiet">{t('({rate} before)', { rate: rateText(deliveryRateBefore) })}</span>
        )}
      </>
    ),
    isNumber: true,
  },
];

/** Says what is wrong with an account. */
export function Troubles({ of: troubles }: { of: readonly AccountTrouble[] }) {
  return (
    <span className="row">
      {troubles.map((trouble) => (
        <Badge key={trouble} status={TROUBLES[trouble][0]}>
          {TROUBLES[trouble][1]}
        </Badge>
      ))}
    </span>
  );
}

/** Lists the accounts that an operator should look at. Says first which currencies have no prices. */
export function TroubledAccounts({ accounts }: { accounts: readonly Troubled[] }) {
  const unpriced = accounts.filter(({ troubles }) => troubles.includes('NO_PRICES'));
  const currencies = [...new Set(unpriced.map(({ balance }) => balance.currency))].sort();
  return (
    <>
      {currencies.length > 0 && (
        <Notice tone="warn">
          <T
            text="No prices are set in {currencies}, so {count, plural, one {an account} other {# accounts}} cannot send: <link>set prices</link>."
            currencies={currencies.join(', ')}
            count={unpriced.length}
            link={<Link href="/prices" />}
          />
        </Notice>
      )}
      {accounts.length > 0 && (
        <DataTable
          caption={t('Accounts that need attention')}
          columns={COLUMNS}
          rows={accounts}
          keyOf={({ id }) => id}
          hrefOf={({ id }) => `/accounts/${id}`}
        />
      )}
    </>
  );
}

function lastsText(days: number | null): string {
  if (days === null) return t('not used');
  if (days < 1) return t('less than a day');
  if (days > 365) return t('more than a year');
  return t('{count, plural, one {# day} other {# days}}', { count: Math.floor(days) });
}
