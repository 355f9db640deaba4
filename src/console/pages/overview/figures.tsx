import { Link } from 'wouter';
import { formatNumber } from '../../lib/format.ts';
import { useApiQuery } from '../../lib/queries.ts';
import { useViewer } from '../../lib/session.tsx';
import { Figure } from '../../ui/figure.tsx';
import { Notice } from '../../ui/notice.tsx';
import { Money } from '../../ui/values.tsx';
import { type Environment, OverviewSpending } from './overview.generated.ts';
import { daysLeft, lastWeek } from './periods.ts';
import { summaryOf, type UsageRow } from './usage-summary.ts';

/** A balance that lasts fewer days than this is shown with a warning. */
const LOW_DAYS = 3;
const percent = new Intl.NumberFormat('en', { style: 'percent', maximumFractionDigits: 1 });

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
  const spending = useApiQuery(OverviewSpending, lastWeek(new Date()), { keepsLast: true });
  if (!account) return null;
  const { messages, failed, cost, deliveryRate } = summaryOf(usage);
  const { balance, currency } = account;
  const costOfWeek = spending.data?.usage.reduce((sum, row) => sum + row.cost, 0);
  const days = costOfWeek === undefined ? undefined : daysLeft(balance, costOfWeek);
  return (
    <>
      <LowBalance balance={balance} days={days} />
      <dl className="figures">
        <Figure
          name={`Messages, ${period}`}
          note={
            failed === 0 ? (
              'none failed'
            ) : (
              <Link href={`/messages?${new URLSearchParams({ status: 'FAILED', environment, from })}`}>
                {formatNumber(failed)} failed
              </Link>
            )
          }
        >
          {formatNumber(messages)}
        </Figure>
        <Figure
          name={`Delivery rate, ${period}`}
          note={deliveryRate === undefined ? 'nothing is finished yet' : 'of those that are finished'}
        >
          {deliveryRate === undefined ? '–' : percent.format(deliveryRate)}
        </Figure>
        <Figure name={`Cost, ${period}`} note="before refunds">
          <Money amount={cost} currency={currency} />
        </Figure>
        <Figure name="Balance" note={costOfWeek === undefined ? '' : lastsText(days)}>
          <Money amount={balance} currency={currency} />
        </Figure>
      </dl>
    </>
  );
}

/** Formats how many days the balance will last. Undefined means that nothing was charged in the last seven days. */
function lastsText(days: number | undefined): string {
  if (days === undefined) return 'not used in the last 7 days';
  if (days < 1) return 'lasts less than a day';
  if (days > 365) return 'lasts more than a year';
  const rounded = Math.floor(days);
  return `lasts about ${rounded} ${rounded === 1 ? 'day' : 'days'}`;
}

function LowBalance({ balance, days }: { balance: number; days: number | undefined }) {
  if (balance <= 0) {
    return (
      <Notice tone="bad">
        The balance is used up: production messages are refused until it is topped up.
      </Notice>
    );
  }
  if (days === undefined || days >= LOW_DAYS) return null;
  return (
    <Notice tone="warn">
      The balance {lastsText(days)} at the average of the last 7 days. Have it topped up before messages are
      refused.
    </Notice>
  );
}
