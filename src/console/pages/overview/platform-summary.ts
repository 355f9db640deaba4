import { formatName } from '../../lib/format.ts';
import { t } from '../../lib/words.ts';
import type { Bar } from '../../ui/bar-chart.tsx';
import type { Series } from '../../ui/chart-frame.tsx';
import { CHANNEL_NAMES } from '../messages/message-text.ts';
import { trafficHref } from '../operator/traffic-href.ts';
import type { OverviewPlatformQuery, PlatformGroup } from './overview.generated.ts';
import type { Period } from './periods.ts';

type TotalRow = NonNullable<OverviewPlatformQuery['totals']>[number];
type ChartRow = NonNullable<OverviewPlatformQuery['chart']>[number];

export const PLATFORM_GROUPS = [
  { value: 'STATUS', label: t('By status') },
  { value: 'CHANNEL', label: t('By channel') },
  { value: 'ACCOUNT', label: t('By account') },
] as const satisfies readonly { value: PlatformGroup; label: string }[];
type Group = (typeof PLATFORM_GROUPS)[number]['value'];

const STATUS_COLORS: Readonly<Record<string, string>> = {
  DELIVERED: 'var(--chart-2)',
  SENT: 'var(--chart-1)',
  PENDING: 'var(--chart-3)',
  FAILED: 'var(--chart-4)',
};
const COLORS = ['var(--chart-1)', 'var(--chart-2)', 'var(--chart-3)', 'var(--chart-5)'] as const;
const OTHERS = { key: 'others', label: t('Others'), color: 'var(--chart-4)' };

export interface PlatformTotals {
  readonly messages: number;
  readonly failed: number;
  /** Delivered ÷ (delivered + failed), from 0 to 1. Undefined if no message is delivered or failed. */
  readonly deliveryRate: number | undefined;
  /** Net cost of each currency, the one with the most messages first. */
  readonly costs: readonly { readonly currency: string; readonly amount: number }[];
}

const messagesOf = (rows: readonly Pick<ChartRow, 'figures'>[]) =>
  rows.reduce((sum, { figures }) => sum + (figures.messages ?? 0), 0);

/** Adds up the totals of all accounts from their figures by status and currency. */
export function platformTotals(rows: readonly TotalRow[]): PlatformTotals {
  const delivered = messagesOf(rows.filter(({ status }) => status === 'DELIVERED'));
  const failed = messagesOf(rows.filter(({ status }) => status === 'FAILED'));
  const byCurrency = [...Map.groupBy(rows, ({ currency }) => currency)].sort(
    ([, left], [, right]) => messagesOf(right) - messagesOf(left),
  );
  return {
    messages: messagesOf(rows),
    failed,
    deliveryRate: delivered + failed === 0 ? undefined : delivered / (delivered + failed),
    costs: byCurrency.map(([currency, own]) => ({
      currency,
      amount: own.reduce((sum, { figures }) => sum + Number(figures.netCost.amount), 0),
    })),
  };
}

/**
 * Returns one stacked bar for each hour or day, which leads to the accounts that sent then (R527). The four busiest channels or accounts have their own series, and the
 * rest share one.
 */
export function platformBars(
  rows: readonly ChartRow[],
  group: Group,
  slots: Period['slots'],
): { readonly series: readonly Series[]; readonly bars: readonly Bar[] } {
  const kinds = group === 'STATUS' ? statusKinds() : busiestKinds(rows, group);
  const [first, second] = slots.map(({ at }) => Date.parse(at));
  const stepMs = (second ?? 0) - (first ?? 0);
  const named = new Set(kinds.map(({ key }) => key));
  const counts = new Map<string, number>();
  for (const row of rows) {
    const key = keyOf(row, group);
    const cell = `${Date.parse(row.at)} ${named.has(key) ? key : OTHERS.key}`;
    counts.set(cell, (counts.get(cell) ?? 0) + (row.figures.messages ?? 0));
  }
  return {
    series: kinds.map(({ label, color }) => ({ label, color })),
    bars: slots.map(({ at, label }) => ({
      label,
      values: kinds.map(({ key }) => counts.get(`${Date.parse(at)} ${key}`) ?? 0),
      href: trafficHref(at, stepMs),
    })),
  };
}

function statusKinds() {
  return Object.entries(STATUS_COLORS).map(([key, color]) => ({ key, label: formatName(key), color }));
}

function busiestKinds(rows: readonly ChartRow[], group: Group) {
  const byKey = [...Map.groupBy(rows, (row) => keyOf(row, group))].sort(
    ([, left], [, right]) => messagesOf(right) - messagesOf(left),
  );
  const alone = byKey.slice(0, COLORS.length).map(([key, [first]], index) => ({
    key,
    // Two accounts may have the same name, but each series of the chart needs its own label.
    label:
      group === 'CHANNEL'
        ? labelOf(first!)
        : `${labelOf(first!)}${isTwice(byKey, first!) ? ` (${first!.accountEmail})` : ''}`,
    color: COLORS[index]!,
  }));
  return byKey.length > COLORS.length ? [...alone, OTHERS] : alone;
}

function isTwice(byKey: readonly (readonly [string, readonly ChartRow[]])[], row: ChartRow): boolean {
  return byKey.filter(([, [first]]) => first && labelOf(first) === labelOf(row)).length > 1;
}

function keyOf(row: ChartRow, group: Group): string {
  if (group === 'STATUS') return row.status ?? '';
  return (group === 'CHANNEL' ? row.channel : row.accountId) ?? '';
}

function labelOf({ channel, accountName }: ChartRow): string {
  return channel ? CHANNEL_NAMES[channel] : (accountName ?? '');
}
