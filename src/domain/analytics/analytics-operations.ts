import { ACCOUNT_ROLES, accountIdOf, type Environment } from '../caller.ts';
import type { Dependencies } from '../dependencies.ts';
import { validationError } from '../errors.ts';
import { countryOf } from '../messages/country.ts';
import { operation } from '../operation.ts';
import type { CountedRow, CountedTime, Span } from '../ports/analytics-store.ts';
import {
  type AnalyticsFigures,
  type AnalyticsGroup,
  type AnalyticsInterval,
  type AnalyticsOrder,
  type AnalyticsRow,
  type AnalyticsValues,
  NO_FIGURES,
  RECIPIENT_GROUPS,
  sumOf,
} from './analytics.ts';
import { percentileMs } from './latency.ts';

const DAY_MS = 24 * 3_600_000;
const SLOT_MS = 15 * 60_000;
/** Longest time span of a query in days, by interval. It keeps the number of intervals small. */
const LONGEST_DAYS: Readonly<Record<AnalyticsInterval, number>> = {
  hour: 32,
  day: 367,
  week: 3_660,
  month: 3_660,
};
/** Number of intervals that the store is asked for. The longest span has fewer. */
const INTERVALS_MAX = 800;
/** Largest number of buckets in an answer. */
const BUCKETS_MAX = 10_000;
/**
 * Largest number of rows that are read for an answer. It is larger than the number of buckets: a bucket for a country
 * has a row for each of its phone number prefixes.
 */
const ROWS_MAX = 50_000;
/**
 * The form of a time zone's name, such as `Africa/Kampala`. Offsets are refused, because PostgreSQL reads their sign
 * the other way round.
 */
const ZONE = /^[A-Za-z_]+(\/[A-Za-z0-9_+-]+)*$/;

export interface AnalyticsInput {
  readonly from: Date;
  readonly to: Date;
  readonly timeZone: string;
  /** Length of the intervals. Undefined gives one bucket for the whole span. */
  readonly interval: AnalyticsInterval | undefined;
  readonly groupBy: readonly AnalyticsGroup[];
  readonly environment: Environment | undefined;
  readonly orderBy: AnalyticsOrder;
  readonly limit: number;
  readonly fillGaps: boolean;
  readonly comparesWithPrevious: boolean;
}

/**
 * Median and 95th percentile of the times to submission and to the delivery report, in ms. They differ by at most 9 %
 * from the true values, because times are counted in a histogram (latency.ts).
 */
export interface AnalyticsTimes {
  readonly submitP50Ms: number | null;
  readonly submitP95Ms: number | null;
  readonly reportP50Ms: number | null;
  readonly reportP95Ms: number | null;
}
export interface AnalyticsBucket extends AnalyticsFigures, AnalyticsValues {
  /** The start of the interval. Without an interval, the start of the span. */
  readonly at: Date;
  /** The counted part of the interval. `to` is not included. */
  readonly from: Date;
  readonly to: Date;
  /** The currency of the costs. */
  readonly currency: string;
  /** Number of the last ledger entry that the figures contain. Null if some later changes are not counted yet. */
  readonly ledgerSeq: number | null;
  readonly previous: AnalyticsFigures | null;
  /**
   * Reads the median and the 95th percentile of the bucket's times from the database. Undefined if the buckets are
   * grouped by status or error, because times are not counted by these.
   */
  readonly times: (() => Promise<AnalyticsTimes>) | undefined;
}

interface Interval extends Span {
  readonly at: Date;
  /** True if the interval ends where the next one begins. False if it ends with the span. */
  readonly isWhole: boolean;
}

/** Returns the intervals of the span. The first one is cut at the start of the span, and the last one at its end. */
export async function intervalsOf(
  { stores }: Pick<Dependencies, 'stores'>,
  span: Span,
  { interval, timeZone }: Pick<AnalyticsInput, 'interval' | 'timeZone'>,
): Promise<readonly Interval[]> {
  if (interval === undefined) return [{ at: span.from, isWhole: false, ...span }];
  const reach = { from: span.from, to: new Date(span.to.getTime() + 1) };
  const starts = await stores.analytics.intervals(reach, interval, timeZone, [0, INTERVALS_MAX]);
  return starts
    .filter((at) => at < span.to)
    .map((at, index) => {
      const next = starts[index + 1];
      return { at, from: later(at, span.from), to: next ?? span.to, isWhole: next !== undefined };
    });
}

/** Operations that return figures of an account. */
export function analyticsOperations({ stores }: Pick<Dependencies, 'stores'>) {
  const previousOf = async (
    current: readonly Interval[],
    span: Span,
    { interval, timeZone }: Pick<AnalyticsInput, 'interval' | 'timeZone'>,
  ): Promise<readonly Span[]> => {
    const first = current[0];
    if (interval === undefined || !first) {
      const lengthMs = span.to.getTime() - span.from.getTime();
      return [{ from: new Date(span.from.getTime() - lengthMs), to: span.from }];
    }
    const before = { from: first.at, to: first.at };
    const numbers = [-current.length, -1] as const;
    const starts = await stores.analytics.intervals(before, interval, timeZone, numbers);
    return current.map(({ at, from, to, isWhole }, index) => {
      const start = starts[index] ?? first.at;
      const next = starts[index + 1] ?? first.at;
      const shifted = (time: Date) =>
        earlier(new Date(start.getTime() + time.getTime() - at.getTime()), next);
      return { from: shifted(from), to: isWhole ? next : shifted(to) };
    });
  };

  return {
    /**
     * Returns figures by time and by groups (R292). The span is widened to whole quarter hours. Throws
     * `validation_error` for a span that is too long for the interval, for an unknown time zone, and for more than
     * 10,000 buckets.
     */
    query: operation(
      'analytics.query',
      { roles: ACCOUNT_ROLES },
      async (caller, input: AnalyticsInput): Promise<readonly AnalyticsBucket[]> => {
        const accountId = accountIdOf(caller);
        const span = checkedSpan(input);
        const { groupBy, environment, limit } = input;
        if (!Number.isInteger(limit) || limit < 1 || limit > BUCKETS_MAX) {
          throw validationError([
            { path: 'limit', message: `must be a whole number from 1 to ${BUCKETS_MAX}` },
          ]);
        }
        const intervals = await intervalsOf({ stores }, span, input);
        const previous = input.comparesWithPrevious ? await previousOf(intervals, span, input) : [];
        const asked = { spans: [...intervals, ...previous], groupBy, environment, limit: ROWS_MAX + 1 };
        const { rows: all, ledgerSeq } = await stores.analytics.count(accountId, asked);
        if (all.length > ROWS_MAX) throw tooMany();
        const isOfRecipients = groupBy.some((group) => RECIPIENT_GROUPS.includes(group));
        const rows = isOfRecipients ? all.filter(countsRecipients) : all;
        let counted: Promise<ReadonlyMap<string, AnalyticsTimes>> | undefined;
        const timesOf = async (key: string) => {
          counted ??= stores.analytics.times(accountId, { ...asked, spans: intervals }).then(timesByBucket);
          return (await counted).get(key) ?? NO_TIMES;
        };
        const hasTimes = !groupBy.includes('status') && !groupBy.includes('error_code');
        const sums = sumsByBucket(rows);
        const groups = new Map(rows.map((row) => valuesOf(row)).map((values) => [keyOf(values), values]));
        if (input.fillGaps && groups.size === 0 && groupBy.length === 0)
          groups.set(keyOf(NO_VALUES), NO_VALUES);
        const currency = await stores.usage.currencyOf(accountId);
        const buckets: AnalyticsBucket[] = [];
        for (const [index, interval] of intervals.entries()) {
          for (const [group, values] of groups) {
            const figures = sums.get(`${index} ${group}`);
            const before = sums.get(`${intervals.length + index} ${group}`);
            if (!figures && !before && !input.fillGaps) continue;
            const { at, from, to } = interval;
            buckets.push({
              at,
              from,
              to,
              ...values,
              ...(figures ?? NO_FIGURES),
              currency,
              ledgerSeq,
              previous: input.comparesWithPrevious ? (before ?? NO_FIGURES) : null,
              times: hasTimes ? () => timesOf(`${index} ${group}`) : undefined,
            });
            if (buckets.length > BUCKETS_MAX) throw tooMany();
          }
        }
        return buckets.sort(ORDER[input.orderBy]).slice(0, limit);
      },
    ),
  };
}

const countsRecipients = ({ recipients, refundMinor }: AnalyticsFigures) =>
  recipients !== 0 || refundMinor !== 0;
const later = (left: Date, right: Date) => (left > right ? left : right);
const earlier = (left: Date, right: Date) => (left < right ? left : right);

/**
 * Checks the time span of a query with this interval, and widens it to whole quarter hours. Throws `validation_error`.
 */
export function checkedSpan({
  from,
  to,
  timeZone,
  interval,
}: Pick<AnalyticsInput, 'from' | 'to' | 'timeZone' | 'interval'>): Span {
  if (to <= from) throw validationError([{ path: 'to', message: 'must be later than from' }]);
  const days = LONGEST_DAYS[interval ?? 'month'];
  if (to.getTime() - from.getTime() > days * DAY_MS) {
    const where =
      interval === undefined ? 'without an interval' : `where the interval is ${interval.toUpperCase()}`;
    throw validationError([{ path: 'to', message: `must be at most ${days} days after from ${where}` }]);
  }
  if (!isZone(timeZone)) {
    throw validationError([{ path: 'timeZone', message: 'must name a time zone such as Africa/Kampala' }]);
  }
  return {
    from: new Date(Math.floor(from.getTime() / SLOT_MS) * SLOT_MS),
    to: new Date(Math.ceil(to.getTime() / SLOT_MS) * SLOT_MS),
  };
}

function isZone(name: string): boolean {
  try {
    return ZONE.test(name) && new Intl.DateTimeFormat('en', { timeZone: name }) !== undefined;
  } catch {
    // Intl throws a RangeError for an unknown time zone.
    return false;
  }
}

function tooMany() {
  const message = `would give more than ${BUCKETS_MAX} buckets; choose fewer groups, a longer interval or a shorter span`;
  return validationError([{ path: 'groupBy', message }]);
}

const NO_VALUES: AnalyticsValues = {
  channel: null,
  status: null,
  apiKeyId: null,
  sender: null,
  country: null,
  errorCode: null,
  provider: null,
  environment: null,
};
export const NO_TIMES: AnalyticsTimes = {
  submitP50Ms: null,
  submitP95Ms: null,
  reportP50Ms: null,
  reportP95Ms: null,
};

function valuesOf({ values: { prefix, ...values } }: Pick<AnalyticsRow, 'values'>): AnalyticsValues {
  return { ...values, country: prefix === null ? null : countryOf(prefix) };
}

function keyOf(values: AnalyticsValues): string {
  const { channel, status, apiKeyId, country, errorCode, provider, environment, sender } = values;
  return [channel, status, apiKeyId, country, errorCode, provider, environment, sender].join(' ');
}

function sumsByBucket(rows: readonly CountedRow[]): ReadonlyMap<string, AnalyticsFigures> {
  const sums = new Map<string, AnalyticsFigures>();
  for (const row of rows) {
    const key = `${row.span} ${keyOf(valuesOf(row))}`;
    sums.set(key, sumOf(sums.get(key) ?? NO_FIGURES, row));
  }
  return sums;
}

function timesByBucket(rows: readonly CountedTime[]): ReadonlyMap<string, AnalyticsTimes> {
  const groups = Map.groupBy(rows, (row) => `${row.span} ${keyOf(valuesOf(row))}`);
  return new Map([...groups].map(([key, own]) => [key, timesIn(own)]));
}

/** Returns the median and the 95th percentile of the times in these rows of histograms. */
export function timesIn(
  rows: readonly Pick<CountedTime, 'measure' | 'bucket' | 'recipients'>[],
): AnalyticsTimes {
  const of = (measure: CountedTime['measure'], share: number) => {
    const histogram = new Map<number, number>();
    for (const { bucket, recipients } of rows.filter((row) => row.measure === measure)) {
      histogram.set(bucket, (histogram.get(bucket) ?? 0) + recipients);
    }
    return percentileMs(histogram, share);
  };
  return {
    submitP50Ms: of('submit', 0.5),
    submitP95Ms: of('submit', 0.95),
    reportP50Ms: of('report', 0.5),
    reportP95Ms: of('report', 0.95),
  };
}

type Compare = (left: AnalyticsBucket, right: AnalyticsBucket) => number;
const byTime: Compare = (left, right) =>
  left.at.getTime() - right.at.getTime() || compareText(keyOf(left), keyOf(right));
const compareText = (left: string, right: string) => (left < right ? -1 : left > right ? 1 : 0);
/** Sorts by a figure, the largest first, and then by time. */
const most =
  (figure: (bucket: AnalyticsBucket) => number): Compare =>
  (left, right) =>
    figure(right) - figure(left) || byTime(left, right);
const ORDER: Readonly<Record<AnalyticsOrder, Compare>> = {
  time: byTime,
  messages: most((bucket) => bucket.messages),
  recipients: most((bucket) => bucket.recipients),
  failed: most((bucket) => bucket.failed),
  cost: most((bucket) => bucket.costMinor - bucket.refundMinor),
};
