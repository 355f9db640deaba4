import { formatNumber, formatPercent } from '../../lib/format.ts';
import { t } from '../../lib/words.ts';
import { Figure } from '../../ui/figure.tsx';
import { Money } from '../../ui/values.tsx';
import type { PlatformTotals } from './platform-summary.ts';

/** Shows the messages, delivery rate and cost of all accounts in a period. */
export function PlatformFigures({
  totals: { messages, failed, deliveryRate, costs },
  period,
}: {
  totals: PlatformTotals;
  /** Name of the period, such as `7 days`. */
  period: string;
}) {
  return (
    <dl className="figures">
      <Figure
        name={t('Messages, {period}', { period })}
        note={failed === 0 ? t('none failed') : t('{failed} failed', { failed })}
      >
        {formatNumber(messages)}
      </Figure>
      <Figure
        name={t('Delivery rate, {period}', { period })}
        note={deliveryRate === undefined ? t('nothing is finished yet') : t('of finished messages')}
      >
        {deliveryRate === undefined ? '–' : formatPercent(deliveryRate)}
      </Figure>
      {costs.length === 0 ? (
        <Figure name={t('Cost, {period}', { period })}>–</Figure>
      ) : (
        costs.map(({ currency, amount }) => (
          <Figure
            key={currency}
            name={t('Cost in {currency}, {period}', { currency, period })}
            note={t('after refunds')}
          >
            <Money amount={amount} currency={currency} />
          </Figure>
        ))
      )}
    </dl>
  );
}
