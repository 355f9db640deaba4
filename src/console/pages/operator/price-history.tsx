import { t } from '../../lib/words.ts';
import { Actor } from '../../ui/actor.tsx';
import { type Column, DataTable } from '../../ui/data-table.tsx';
import { Money, Time } from '../../ui/values.tsx';
import { CHANNEL_NAMES } from '../messages/message-text.ts';
import type { Channel, OperatorPricesQuery } from './operator.generated.ts';
import { whereOf } from './price-text.ts';

type Entry = NonNullable<OperatorPricesQuery['auditLog']>['nodes'][number];

/** Lists who changed the prices of a currency, when, and from what to what. The audit log keeps it. */
export function PriceHistory({ entries, currency }: { entries: readonly Entry[]; currency: string }) {
  const own = entries.filter(({ target }) => target.id.startsWith(`${currency} `));
  if (own.length === 0) return null;
  const amountOf = (state: Entry['before'], otherwise: string) =>
    typeof state?.amount === 'number' ? (
      <Money amount={state.amount} currency={currency} />
    ) : (
      <span className="quiet">{otherwise}</span>
    );
  const columns: readonly Column<Entry>[] = [
    { header: t('When'), cell: ({ at }) => <Time at={at} />, isWhole: true },
    { header: t('Who'), cell: ({ actor }) => <Actor of={actor} /> },
    { header: t('Price'), cell: ({ target }) => nameOf(target.id) },
    { header: t('Price before'), cell: ({ before }) => amountOf(before, t('none')), isNumber: true },
    { header: t('Price after'), cell: ({ after }) => amountOf(after, t('removed')), isNumber: true },
  ];
  return (
    <DataTable
      caption={t('The latest changes of prices in {currency}', { currency })}
      columns={columns}
      rows={own}
      keyOf={({ id }) => id}
    />
  );
}

/** Formats the target of an audit entry, such as `UGX sms 256`. */
function nameOf(target: string): string {
  const [, channel = '', prefix = ''] = target.split(' ');
  return t('{channel} to {where}', {
    channel: CHANNEL_NAMES[channel.toUpperCase() as Channel] ?? channel,
    where: whereOf(prefix.replace('*', '')),
  });
}
