import { type AnalyticsFigures, type AnalyticsInterval, NO_FIGURES, sumOf } from '../analytics/analytics.ts';
import {
  type AnalyticsTimes,
  checkedSpan,
  intervalsOf,
  NO_TIMES,
  timesIn,
} from '../analytics/analytics-operations.ts';
import type { Environment } from '../caller.ts';
import type { Dependencies } from '../dependencies.ts';
import { validationError } from '../errors.ts';
import { countryOf } from '../messages/country.ts';
import type { Channel } from '../messages/message.ts';
import { confirmedPrices } from '../money/tariff.ts';
import { operation } from '../operation.ts';
import type { PlatformCount } from '../ports/platform-store.ts';
import { type TroubledAccount, troubledAccounts, troubleSpans } from './account-troubles.ts';
import type { PlatformGroup, PlatformRow, PlatformValues } from './platform-analytics.ts';

/** Largest number of rows that are read for an answer. */
const ROWS_MAX = 50_000;
/** Largest number of buckets in an answer. */
const BUCKETS_MAX = 10_000;
/** Number of accounts among which troubles are looked for: those that sent last. It bounds the work of a query. */
const ACCOUNTS_MAX = 5_000;
const TROUBLES_MAX = 100;

export interface PlatformInput {
  readonly from: Date;
  readonly to: Date;
  readonly timeZone: string;
  /** Length of the intervals. Undefined gives one bucket for the whole span. */
  readonly interval: AnalyticsInterval | undefined;
  readonly groupBy: readonly PlatformGroup[];
  readonly environment: Environment | undefined;
}
export interface PlatformBucket extends AnalyticsFigures, PlatformValues {
  readonly at: Date;
  /** Reads the median and the 95th percentile of the bucket's times. Undefined if grouped by status. */
  readonly times: (() => Promise<AnalyticsTimes>) | undefined;
}
/** What a carrier or provider did with production messages in one interval. Amounts of all currencies are left out. */
export interface CarrierBucket extends Pick<AnalyticsFigures, 'recipients' | 'delivered' | 'failed'> {
  readonly at: Date;
  readonly channel: Channel;
  readonly name: string;
  readonly times: AnalyticsTimes;
  /** Seconds added up over all worker processes. */
  readonly upSeconds: number;
  readonly downSeconds: number;
}

/** Operations on the figures of all accounts. Only operators may run them. */
export function platformOperations({
  stores,
  clock,
  settings,
}: Pick<Dependencies, 'stores' | 'clock' | 'settings'>) {
  /** Returns the currencies that have a price in force. */
  const pricedCurrencies = async (): Promise<ReadonlySet<string>> => {
    const prices = await stores.prices.all();
    const inForce = settings.isProduction ? confirmedPrices(prices) : prices;
    return new Set(inForce.map(({ currency }) => currency));
  };
  return {
    /**
     * Returns figures over all accounts by time and by groups (R510). They are the figures of `analytics`. Throws
     * `validation_error` as `analytics` does.
     */
    analytics: operation(
      'platform.analytics',
      { operator: 'reading' },
      async (_caller, input: PlatformInput): Promise<readonly PlatformBucket[]> => {
        const intervals = await intervalsOf({ stores }, checkedSpan(input), input);
        const { groupBy, environment } = input;
        const asked: PlatformCount = { spans: intervals, groupBy, environment };
        const rows = await stores.platform.count(asked, ROWS_MAX + 1);
        if (rows.length > ROWS_MAX) throw tooMany();
        let counted: Promise<ReadonlyMap<string, AnalyticsTimes>> | undefined;
        const timesOf = async (key: string) => {
          counted ??= stores.platform
            .times(asked)
            .then((found) => new Map([...Map.groupBy(found, keyOf)].map(([of, own]) => [of, timesIn(own)])));
          return (await counted).get(key) ?? NO_TIMES;
        };
        const buckets = [...Map.groupBy(rows, keyOf)].map(
          ([key, own]): PlatformBucket => ({
            ...valuesOf(own[0]!),
            ...own.reduce(sumOf, NO_FIGURES),
            at: intervals[own[0]!.span]!.at,
            times: groupBy.includes('status') ? undefined : () => timesOf(key),
          }),
        );
        if (buckets.length > BUCKETS_MAX) throw tooMany();
        return buckets.sort((left, right) => left.at.getTime() - right.at.getTime());
      },
    ),

    /**
     * Returns the accounts that need an operator, the worst first (R511). Looks at the 5,000 accounts that sent last.
     */
    troubles: operation(
      'platform.troubles',
      { operator: 'reading' },
      async (_caller, { limit }: { readonly limit: number }): Promise<readonly TroubledAccount[]> => {
        if (!Number.isInteger(limit) || limit < 1 || limit > TROUBLES_MAX) {
          throw validationError([
            { path: 'limit', message: `must be a whole number from 1 to ${TROUBLES_MAX}` },
          ]);
        }
        const now = clock.now();
        const [facts, priced] = await Promise.all([
          stores.platform.accountFacts(troubleSpans(now), ACCOUNTS_MAX),
          pricedCurrencies(),
        ]);
        return troubledAccounts(facts, priced, now).slice(0, limit);
      },
    ),

    /** Returns the troubles of these accounts (R525). An account without troubles is not in the answer. */
    troublesOf: operation(
      'platform.troublesOf',
      { operator: 'reading' },
      async (
        _caller,
        { accountIds }: { readonly accountIds: readonly string[] },
      ): Promise<readonly TroubledAccount[]> => {
        const now = clock.now();
        const [facts, priced] = await Promise.all([
          stores.platform.accountFactsOf(troubleSpans(now), accountIds),
          pricedCurrencies(),
        ]);
        return troubledAccounts(facts, priced, now);
      },
    ),

    /**
     * Returns what carriers and providers did with production messages, and how long they were up (R512). By time, then
     * by channel and name.
     */
    carriers: operation(
      'platform.carriers',
      { operator: 'reading' },
      async (
        _caller,
        input: Pick<PlatformInput, 'from' | 'to' | 'interval'>,
      ): Promise<readonly CarrierBucket[]> => {
        const asked = { ...input, timeZone: 'UTC' };
        const spans = await intervalsOf({ stores }, checkedSpan(asked), asked);
        const count: PlatformCount = { spans, groupBy: ['channel', 'provider'], environment: 'production' };
        const [figures, times, days] = await Promise.all([
          stores.platform.count(count, ROWS_MAX + 1),
          stores.platform.times(count),
          stores.providerHealth.days(input),
        ]);
        if (figures.length > ROWS_MAX) {
          throw validationError([
            { path: 'from', message: 'would give too many figures; choose a shorter span' },
          ]);
        }
        const found = new Map<string, { span: number; channel: Channel; name: string }>();
        const note = (span: number, channel: Channel | null, name: string | null) => {
          // Recipients without a provider were accepted by none.
          if (channel === null || name === null) return undefined;
          const key = [span, channel, name].join('\n');
          found.set(key, { span, channel, name });
          return key;
        };
        const ofCarrier = ({ span, values }: { span: number; values: PlatformRow['values'] }) =>
          note(span, values.channel, values.provider);
        const sums = Map.groupBy(figures, ofCarrier);
        const latencies = Map.groupBy(times, ofCarrier);
        const spanOf = (day: Date) => spans.findLastIndex(({ at }) => at <= day);
        const uptimes = Map.groupBy(days, ({ day, channel, name }) => note(spanOf(day), channel, name));
        return [...found]
          .filter(([, { span }]) => span >= 0)
          .map(
            ([key, { span, channel, name }]): CarrierBucket => ({
              at: spans[span]!.at,
              channel,
              name,
              ...(sums.get(key) ?? []).reduce(sumOf, NO_FIGURES),
              times: timesIn(latencies.get(key) ?? []),
              upSeconds: (uptimes.get(key) ?? []).reduce((sum, day) => sum + day.upSeconds, 0),
              downSeconds: (uptimes.get(key) ?? []).reduce((sum, day) => sum + day.downSeconds, 0),
            }),
          )
          .sort(
            (left, right) =>
              left.at.getTime() - right.at.getTime() ||
              left.channel.localeCompare(right.channel) ||
              left.name.localeCompare(right.name),
          );
      },
    ),
  };
}

function keyOf({ span, values }: { readonly span: number; readonly values: PlatformRow['values'] }): string {
  const { currency, accountId, channel, status, country, provider, environment } = valuesOf({ values });
  return [span, currency, accountId, channel, status, country, provider, environment].join('\n');
}

function valuesOf({ values: { prefix, ...values } }: Pick<PlatformRow, 'values'>): PlatformValues {
  return { ...values, country: prefix === null ? null : countryOf(prefix) };
}

function tooMany() {
  const message = `would give more than ${BUCKETS_MAX} buckets; choose fewer groups, a longer interval or a shorter span`;
  return validationError([{ path: 'groupBy', message }]);
}
