import { useEnvironment } from '../../lib/environment.ts';
import { formatDuration, formatPercent } from '../../lib/format.ts';
import { useApiQuery } from '../../lib/queries.ts';
import { t } from '../../lib/words.ts';
import { HeatMap } from '../../ui/heat-map.tsx';
import { LineChart } from '../../ui/line-chart.tsx';
import { Loaded } from '../../ui/states.tsx';
import { UsageOverTime, type UsageOverTimeQuery } from './usage.generated.ts';
import { daysIn, listHref, type Span } from './usage-groups.ts';

type DayBucket = NonNullable<UsageOverTimeQuery['days']>[number];

const DAY_MS = 86_400_000;
/** The API counts by hour over at most 32 days. */
const HOURS_SPAN_MS = 31 * DAY_MS;
const RATE = [{ label: t('Delivery rate'), color: 'var(--chart-2)' }];
const TIMES = [
  { label: t('Half of them within'), color: 'var(--chart-1)' },
  { label: t('95 % of them within'), color: 'var(--chart-3)' },
];

/** Asks for the figures of the charts. */
export function useOverTime(span: Span) {
  const environment = useEnvironment();
  const { timeZone } = new Intl.DateTimeFormat().resolvedOptions();
  const hoursFrom = new Date(
    Math.max(Date.parse(span.from), Date.parse(span.to) - HOURS_SPAN_MS),
  ).toISOString();
  return useApiQuery(UsageOverTime, { ...span, hoursFrom, environment, timeZone }, { keepsLast: true });
}

/** How much arrived and how fast, by day, and at which hours of the week it was sent. */
export function OverTime({ span }: { span: Span }) {
  const query = useOverTime(span);
  return (
    <div className="columns">
      <section className="card stack usage-chart" aria-labelledby="usage-rate">
        <h2 id="usage-rate">{t('Delivery rate per day')}</h2>
        <Loaded query={query}>
          {({ days }) => (
            <LineChart
              label={t('Delivery rate per day')}
              series={RATE}
              points={pointsOf(days, span, ({ figures: { delivered, failed } }) => [
                delivered + failed === 0 ? null : delivered / (delivered + failed),
              ])}
              format={formatPercent}
              top={1}
            />
          )}
        </Loaded>
      </section>
      <section className="card stack usage-chart" aria-labelledby="usage-times">
        <h2 id="usage-times">{t('Time until the report, per day')}</h2>
        <Loaded query={query}>
          {({ days }) => (
            <LineChart
              label={t('Time until the report, per day')}
              series={TIMES}
              points={pointsOf(days, span, ({ times }) => [
                times?.reportP50Ms ?? null,
                times?.reportP95Ms ?? null,
              ])}
              format={formatDuration}
            />
          )}
        </Loaded>
      </section>
      <section className="card stack usage-chart usage-hours" aria-labelledby="usage-hours">
        <h2 id="usage-hours">{t('Hours of the week')}</h2>
        <Loaded query={query}>
          {({ hours }) => (
            <HeatMap
              caption={t('Recipients by day and hour, of the last 31 days at most')}
              hours={hours.map(({ at, figures }) => ({ at: new Date(at), count: figures.recipients }))}
            />
          )}
        </Loaded>
      </section>
    </div>
  );
}

/** Returns a point for each day of the span, also for days without a bucket. */
function pointsOf(
  buckets: readonly DayBucket[],
  span: Span,
  valuesOf: (bucket: DayBucket) => readonly (number | null)[],
) {
  return daysIn(span).map(({ label, start, end }) => {
    const bucket = buckets.find(({ at }) => {
      const time = Date.parse(at);
      return time >= start.getTime() && time < end.getTime();
    });
    const bounds = { from: start.toISOString(), to: new Date(end.getTime() - 1).toISOString() };
    return { label, values: bucket ? valuesOf(bucket) : [], href: listHref(bounds) };
  });
}
