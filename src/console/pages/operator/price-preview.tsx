import { formatMoney } from '../../lib/format.ts';
import { t } from '../../lib/words.ts';
import { type Column, DataTable } from '../../ui/data-table.tsx';
import { Notice } from '../../ui/notice.tsx';
import { T } from '../../ui/t.tsx';
import { Money } from '../../ui/values.tsx';
import { CHANNEL_NAMES } from '../messages/message-text.ts';
import type { ChangePricesInput, PreviewPricesQuery } from './operator.generated.ts';
import { whereOf } from './price-text.ts';

type Preview = NonNullable<PreviewPricesQuery['previewPrices']>;
type Account = Preview['accounts'][number];

/** Accounts in the table. The answer has more; the total is of all. */
const SHOWN = 10;

const COLUMNS: readonly Column<Account>[] = [
  { header: t('Account'), cell: ({ name }) => name },
  {
    header: t('Charged'),
    cell: ({ costs: { cost } }) => <Money amount={Number(cost.amount)} currency={cost.currency} />,
    isNumber: true,
  },
  { header: t('At the new prices'), cell: ({ costs }) => newCostOf(costs), isNumber: true },
];

/** Says what changes, and what the last 30 days would have cost. */
export function PricePreview({
  changes,
  currency,
  of: { total, accounts },
}: {
  changes: ChangePricesInput['changes'];
  currency: string;
  of: Preview;
}) {
  return (
    <div className="stack">
      <ul>
        {changes.map((change) => (
          <li key={`${change.channel} ${change.prefix}`}>{changeText(change, currency)}</li>
        ))}
      </ul>
      <p>
        <T
          text="Messages of the last 30 days cost {before}; at the new prices {after}."
          before={<Money amount={Number(total.cost.amount)} currency={total.cost.currency} />}
          after={newCostOf(total)}
        />
      </p>
      {total.refusedRecipients > 0 && (
        <Notice tone="warn">
          {t(
            '{count, plural, one {No price would be left for # of their recipients: a send to it would be refused.} other {No price would be left for # of their recipients: sends to them would be refused.}}',
            { count: total.refusedRecipients },
          )}
        </Notice>
      )}
      {accounts.length > 0 && (
        <DataTable
          caption={
            accounts.length > SHOWN
              ? t('The {count} accounts with the greatest difference', { count: SHOWN })
              : t('By account, the greatest difference first')
          }
          columns={COLUMNS}
          rows={accounts.slice(0, SHOWN)}
          keyOf={({ id }) => id}
        />
      )}
    </div>
  );
}

function newCostOf({ leastCost, mostCost }: Account['costs']) {
  const most = <Money amount={Number(mostCost.amount)} currency={mostCost.currency} />;
  if (leastCost.amount === mostCost.amount) return most;
  const least = <Money amount={Number(leastCost.amount)} currency={leastCost.currency} />;
  return <T text="{least} to {most}" least={least} most={most} />;
}

function changeText(
  { channel, prefix, amount, before }: ChangePricesInput['changes'][number],
  currency: string,
): string {
  const what = t('{channel} to {where}', { channel: CHANNEL_NAMES[channel], where: whereOf(prefix ?? '') });
  const money = (value: number) => formatMoney(value, currency);
  if (amount === null || amount === undefined) {
    return t('{what}: no price any more ({before} now)', { what, before: money(before ?? 0) });
  }
  return before === null || before === undefined
    ? t('{what}: {after} (new)', { what, after: money(amount) })
    : t('{what}: {after} instead of {before}', { what, after: money(amount), before: money(before) });
}
