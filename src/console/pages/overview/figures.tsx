import { Link } from 'wouter';
import { formatNumber, formatPercent } from '../../lib/format.ts';
import { useApiQuery } from '../../lib/queries.ts';
import { useViewer } from '../../lib/session.tsx';
import { t } from '../../lib/words.ts';
import { Figure } from '../../ui/figure.tsx';
import { Notice } from '../../ui/notice.tsx';
import { T } from '../../ui/t.tsx';
import { Money } from '../../ui/values.tsx';
import { type Environment, OverviewSpending } from './overview.generated.ts';
import { daysLeft, lastWeek } from './periods.ts';
import { summaryOf, type UsageRow } from './usage-summary.ts';

/** A balance that lasts fewer days than this is shown with a warning. */
const LOW_DAYS = 3;

/** Asks for the cost of the last seven days. */
export function useSpending() {
  return useApiQuery(OverviewSpending, lastWeek(new Date()), { keepsLast: true });
}

/** Shows the messages, delivery rate and cost of a period, and how long the balance will last. */
export function Figures({
  usage,
  period,
  from,
  environment,
}: {
  usage: readonly UsageRow[];
  /** Name of the period, such as `7 days`. */
  period: string;
  /** Start of the period, as ISO 8601. */
  from: string;
  environment: Environment;
}) {
  const { account } = useViewer();
  const spending = useSpending();
  if (!account) return null;
  const { messages, failed, cost, deliveryRate } = summaryOf(usage);
  const { balance, currency } = account;
  const costOfWeek = spending.data?.usage.reduce((sum, row) => sum + row.cost, 0);
  const days = costOfWeek === undefined || balance === null ? undefined : daysLeft(balance, costOfWeek);
  return (
    <>
      {balance !== null && <LowBalance balance={balance} days={days} />}
      <dl className="figures">
        <Figure
          name={t('Messages, {period}', { period })}
          note={
            failed === 0 ? (
              t('none failed')
            ) : (
              <Link href={`/messages?${new URLSearchParams({ status: 'FAILED', environment, from })}`}>
                <T text="{failed} failed" failed={failed} />
              </Link>
            )
          }
        >
          {formatNumber(messages)}
        </Figure>
        <Figure
          name={t('Delivery rate, {period}', { period })}
          note={deliveryRate === undefined ? t('nothing is finished yet') : t('of finished messages')}
        >
          {deliveryRate === undefined ? '–' : formatPercent(deliveryRate)}
        </Figure>
        <Figure name={t('Cost, {period}', { period })} note={t('before refunds')}>
          <Money amount={cost} currency={currency} />
        </Figure>
        <Figure
          name={t('Balance')}
          note={costOfWeek === undefined || balance === null ? '' : lastsText(days)}
        >
          {balance === null ? '–' : <Money amount={balance} currency={currency} />}
        </Figure>
      </dl>
    </>
  );
}

/** Formats how many days the balance will last. Undefined means that nothing was charged in the last seven days. */
function lastsText(days: number | undefined): string {
  if (days === undefined) return t('not used in the last 7 days');
  if (days < 1) return t('lasts less than a day');
  if (days > 365) return t('lasts more than a year');
  const rounded = Math.floor(days);
  return t('{days, plural, one {lasts about # day} other {lasts about # days}}', { days: rounded });
}

function LowBalance({ balance, days }: { balance: number; days: number | undefined }) {
  if (balance <= 0) {
    return (
      <Notice tone="bad">
        {t('The balance is used up: production messages are refused until it is topped up.')}
      </Notice>
    );
  }
  if (days === undefined || days >= LOW_DAYS) return null;
  return (
    <Notice tone="warn">
      <T
        text="The balance {lasts} at the average of the last 7 days. Have it topped up before messages are refused."
        lasts={lastsText(days)}
      />
    </Notice>
  );
}
