import { formatName } from '../../lib/format.ts';
import { t } from '../../lib/words.ts';
import type { Bar } from '../../ui/bar-chart.tsx';
import type { Series } from '../../ui/chart-frame.tsx';
import { CHANNEL_NAMES } from '../messages/message-text.ts';
import { listHref } from '../usage/usage-groups.ts';
import type { Environment, MessageStatus, OverviewUsageQuery, UsageGroup } from './overview.generated.ts';
import type { Period } from './periods.ts';

export type UsageRow = NonNullable<OverviewUsageQuery['usage']>[number];

export const GROUPS = [
  { value: 'STATUS', label: t('By status') },
  { value: 'CHANNEL', label: t('By channel') },
  { value: 'API_KEY', label: t('By API key') },
] as const satisfies readonly { value: UsageGroup; label: string }[];
export type Group = (typeof GROUPS)[number];

const STATUS_COLORS: readonly (readonly [MessageStatus, string])[] = [
  ['DELIVERED', 'var(--chart-2)'],
  ['SENT', 'var(--chart-1)'],
  ['PENDING', 'var(--chart-3)'],
  ['FAILED', 'var(--chart-4)'],
];
const COLORS = ['var(--chart-1)', 'var(--chart-2)', 'var(--chart-3)', 'var(--chart-5)'] as const;
const OTHERS = { key: 'others', label: t('Others'), color: 'var(--chart-4)' };

const sum = (rows: readonly UsageRow[]) => rows.reduce((total, { messages }) => total + messages, 0);

export interface Summary {
  readonly messages: number;
  readonly cost: number;
  readonly failed: number;
  /** Delivered ÷ (delivered + failed), from 0 to 1. Undefined if no message is delivered or failed. */
  readonly deliveryRate: number | undefined;
}

/** Adds up the totals of a period from its usage by status. */
export function summaryOf(rows: readonly UsageRow[]): Summary {
  const delivered = sum(rows.filter(({ status }) => status === 'DELIVERED'));
  const failed = sum(rows.filter(({ status }) => status === 'FAILED'));
  const finished = delivered + failed;
  return {
    messages: sum(rows),
    cost: rows.reduce((total, { cost }) => total + cost, 0),
    failed,
    deliveryRate: finished === 0 ? undefined : delivered / finished,
  };
}

/**
 * Returns one stacked bar for each hour or day. By channel or key, the four busiest have their own series, and the rest
 * share one. A bar leads to its messages.
 */
export function barsOf(
  rows: readonly UsageRow[],
  group: UsageGroup,
  slots: Period['slots'],
  environment: Environment,
): { readonly series: readonly Series[]; readonly bars: readonly Bar[] } {
  const kinds = group === 'STATUS' ? statusKinds() : busiestKinds(rows, group);
  const [first, second] = slots.map(({ at }) => Date.parse(at));
  const stepMs = (second ?? 0) - (first ?? 0);
  const named = new Set(kinds.map(({ key }) => key));
  const counts = new Map<string, number>();
  for (const row of rows) {
    const key = keyOf(row, group);
    const cell = `${Date.parse(row.at)} ${named.has(key) ? key : OTHERS.key}`;
    counts.set(cell, (counts.get(cell) ?? 0) + row.messages);
  }
  return {
    series: kinds.map(({ label, color }) => ({ label, color })),
    bars: slots.map(({ at, label }) => ({
      label,
      values: kinds.map(({ key }) => counts.get(`${Date.parse(at)} ${key}`) ?? 0),
      href: listHref({ from: at, to: new Date(Date.parse(at) + stepMs - 1).toISOString() }, { environment }),
    })),
  };
}

function statusKinds() {
  return STATUS_COLORS.map(([key, color]) => ({ key: key as string, label: formatName(key), color }));
}

function busiestKinds(rows: readonly UsageRow[], group: UsageGroup) {
  const byKey = [...Map.groupBy(rows, (row) => keyOf(row, group))].sort(([, a], [, b]) => sum(b) - sum(a));
  const alone = byKey.slice(0, COLORS.length).map(([key, [first]], index) => ({
    key,
    label: labelOf(first!, group),
    color: COLORS[index]!,
  }));
  const labels = new Set<string>();
  // Two keys may have the same name, but each series of the chart needs its own label.
  const told = alone.map((kind) => {
    const label = labels.has(kind.label) ? `${kind.label} (${kind.key.slice(0, 6)})` : kind.label;
    labels.add(label);
    return { ...kind, label };
  });
  return byKey.length > COLORS.length ? [...told, OTHERS] : told;
}

function keyOf(row: UsageRow, group: UsageGroup): string {
  if (group === 'STATUS') return row.status ?? '';
  return (group === 'CHANNEL' ? row.channel : row.apiKeyId) ?? '';
}

function labelOf(row: UsageRow, group: UsageGroup): string {
  if (group === 'CHANNEL') return row.channel ? CHANNEL_NAMES[row.channel] : '';
  return row.apiKey?.name ?? (row.apiKeyId === null ? t('People') : row.apiKeyId);
}
