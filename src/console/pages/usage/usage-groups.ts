import { formatCountry, formatName } from '../../lib/format.ts';
import { language, t } from '../../lib/words.ts';
import type { Bar } from '../../ui/bar-chart.tsx';
import type { Series } from '../../ui/chart-frame.tsx';
import { CHANNEL_NAMES } from '../messages/message-text.ts';
import type { AnalyticsGroup, UsageByDayQuery, UsageTotalsQuery } from './usage.generated.ts';

export const GROUPS = [
  { value: 'API_KEY', label: t('API key') },
  { value: 'CHANNEL', label: t('Channel') },
  { value: 'SENDER', label: t('Sender') },
  { value: 'COUNTRY', label: t('Country') },
  { value: 'STATUS', label: t('Status') },
] as const satisfies readonly { value: AnalyticsGroup; label: string }[];
export type Group = (typeof GROUPS)[number]['value'];

export type Total = NonNullable<UsageTotalsQuery['analytics']>[number];
type DayBucket = NonNullable<UsageByDayQuery['analytics']>[number];
/** The bounds of a period as ISO 8601. `to` is exclusive. */
export type Span = { readonly from: string; readonly to: string };

const DAY_MS = 86_400_000;
const COLORS = ['var(--chart-1)', 'var(--chart-2)', 'var(--chart-3)', 'var(--chart-5)'] as const;
const OTHERS = { label: t('Others'), color: 'var(--chart-4)' };
const day = new Intl.DateTimeFormat(language, { day: 'numeric', month: 'short' });

/** Identifies the group of a bucket. */
export function keyOf(bucket: Total, group: Group): string {
  const { channel, status, sender, country, apiKeyId } = bucket;
  return (
    { API_KEY: apiKeyId, CHANNEL: channel, SENDER: sender, COUNTRY: country, STATUS: status }[group] ?? ''
  );
}

/** The name of a bucket's group, as people know it. */
export function nameOf(bucket: Total, group: Group): string {
  const { channel, status, sender, country, apiKeyId, apiKey } = bucket;
  switch (group) {
    case 'API_KEY':
      return apiKey?.name ?? apiKeyId ?? t('People, in the console');
    case 'CHANNEL':
      return channel ? CHANNEL_NAMES[channel] : '–';
    case 'SENDER':
      return sender || t('No sender');
    case 'COUNTRY':
      return country ? formatCountry(country) : t('No country');
    case 'STATUS':
      return status ? formatName(status) : '–';
  }
}

/** Returns the list of the messages of a group, or undefined if the list has no such filter. */
export function messagesOf(
  bucket: Total,
  group: Group,
  span: { readonly from: string; readonly to: string },
): string | undefined {
  const name = { API_KEY: 'key', CHANNEL: 'channel', SENDER: 'sender', STATUS: 'status', COUNTRY: '' }[group];
  const value = keyOf(bucket, group);
  if (name === '' || value === '') return undefined;
  return listHref(span, { [name]: value });
}

/** Returns the list of the messages in a period. */
export function listHref(
  span: { readonly from: string; readonly to: string },
  narrowing: Record<string, string> = {},
) {
  return `/messages?${new URLSearchParams({ ...narrowing, period: 'custom', from: span.from, to: span.to })}`;
}

/** Adds up the buckets of a period. */
export function sumOf(totals: readonly Total[]) {
  const add = (of: (figures: Total['figures']) => number) =>
    totals.reduce((sum, { figures }) => sum + of(figures), 0);
  return {
    recipients: add(({ recipients }) => recipients),
    delivered: add(({ delivered }) => delivered),
    failed: add(({ failed }) => failed),
    cost: add(({ netCost }) => Number(netCost.amount)),
  };
}

/**
 * Returns one stacked bar of recipients for each day of the period. The four largest groups have their own series, the
 * rest share one. A bar leads to the messages of its day.
 */
export function barsOf(
  buckets: readonly DayBucket[],
  totals: readonly Total[],
  group: Group,
  span: { readonly from: string; readonly to: string },
): { readonly series: readonly Series[]; readonly bars: readonly Bar[] } {
  const largest = [...totals].sort((a, b) => b.figures.recipients - a.figures.recipients);
  const alone = largest.slice(0, COLORS.length);
  const places = new Map(alone.map((each, place) => [keyOf(each, group), place]));
  const series: Series[] = alone.map((each, place) => ({
    // Two keys may have the same name, but each series of the chart needs its own label.
    label: isAmbiguous(each, alone, group)
      ? `${nameOf(each, group)} (${keyOf(each, group).slice(0, 6)})`
      : nameOf(each, group),
    color: COLORS[place] ?? OTHERS.color,
  }));
  if (largest.length > alone.length) series.push(OTHERS);
  const bars = daysIn(span).map(({ label, start, end }) => {
    const values = series.map(() => 0);
    for (const bucket of buckets) {
      const at = Date.parse(bucket.at);
      if (at < start.getTime() || at >= end.getTime()) continue;
      const place = places.get(keyOf(bucket, group)) ?? alone.length;
      values[place] = (values[place] ?? 0) + bucket.figures.recipients;
    }
    const bounds = { from: start.toISOString(), to: new Date(end.getTime() - 1).toISOString() };
    return { label, values, href: listHref(bounds) };
  });
  return { series, bars };
}

function isAmbiguous(one: Total, all: readonly Total[], group: Group): boolean {
  return all.filter((each) => nameOf(each, group) === nameOf(one, group)).length > 1;
}

/** The recipients of a group on each day of a period. */
export function dailyOf(
  buckets: readonly DayBucket[],
  of: Total,
  group: Group,
  span: Span,
): readonly number[] {
  const own = buckets.filter((bucket) => keyOf(bucket, group) === keyOf(of, group));
  return daysIn(span).map(({ start, end }) =>
    own
      .filter(({ at }) => Date.parse(at) >= start.getTime() && Date.parse(at) < end.getTime())
      .reduce((sum, { figures }) => sum + figures.recipients, 0),
  );
}

/** The days of a period, in the browser's time zone. */
export function daysIn({ from, to }: Span): readonly { label: string; start: Date; end: Date }[] {
  const first = new Date(from);
  const count = Math.min(366, Math.ceil((Date.parse(to) - first.getTime()) / DAY_MS));
  return Array.from(
    { length: count },
    (_, index) => new Date(first.getFullYear(), first.getMonth(), first.getDate() + index),
  )
    .filter((start) => start.getTime() < Date.parse(to))
    .map((start) => ({
      label: day.format(start),
      start,
      end: new Date(start.getFullYear(), start.getMonth(), start.getDate() + 1),
    }));
}

/** What the calendar month will cost if it goes on as until `now`. `cost` is what it has cost so far. */
export function forecastOf(cost: number, now: Date): number {
  const start = new Date(now.getFullYear(), now.getMonth(), 1).getTime();
  const end = new Date(now.getFullYear(), now.getMonth() + 1, 1).getTime();
  return (cost * (end - start)) / Math.max(DAY_MS / 2, now.getTime() - start);
}
