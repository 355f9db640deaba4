import { useSearchParams } from 'wouter';
import { formatDuration, formatNumber, formatPercent } from '../../lib/format.ts';
import { useApiQuery } from '../../lib/queries.ts';
import { language, t } from '../../lib/words.ts';
import { BarChart } from '../../ui/bar-chart.tsx';
import { Button } from '../../ui/button.tsx';
import { type Column, DataTable } from '../../ui/data-table.tsx';
import { Sparkline } from '../../ui/line-chart.tsx';
import { Loaded } from '../../ui/states.tsx';
import { CHANNEL_NAMES } from '../messages/message-text.ts';
import { periodOf } from '../overview/periods.ts';
import { type CarrierFactsFragment, CarrierHistory } from './operator.generated.ts';
import { trafficHref } from './traffic-href.ts';

const DAY_MS = 24 * 3_600_000;
const day = new Intl.DateTimeFormat(language, { day: 'numeric', month: 'short', timeZone: 'UTC' });
const SERIES = [
  { label: t('Delivered'), color: 'var(--chart-2)' },
  { label: t('No report yet'), color: 'var(--chart-1)' },
  { label: t('Failed'), color: 'var(--chart-4)' },
] as const;

const carrierOf = ({ channel, name }: CarrierFactsFragment) => `${channel} ${name}`;
const rateText = (rate: number | null) => (rate === null ? '–' : formatPercent(rate));

function upText({ upSeconds, downSeconds }: CarrierFactsFragment): string {
  return upSeconds + downSeconds === 0 ? '–' : formatPercent(upSeconds / (upSeconds + downSeconds));
}

/** Formats two times of a histogram, such as `120 ms, 1.4 s`. */
function timesText(p50: number | null, p95: number | null): string {
  return p50 === null || p95 === null ? '–' : `${formatDuration(p50)}, ${formatDuration(p95)}`;
}

const FACTS: readonly Column<CarrierFactsFragment>[] = [
  { header: t('Up'), cell: upText, isNumber: true },
  { header: t('Recipients'), cell: ({ recipients }) => formatNumber(recipients), isNumber: true },
  { header: t('Delivered'), cell: ({ deliveryRate }) => rateText(deliveryRate), isNumber: true },
  {
    header: t('Submitted in (p50, p95)'),
    cell: ({ times }) => timesText(times.submitP50Ms, times.submitP95Ms),
    isNumber: true,
  },
  {
    header: t('Reported in (p50, p95)'),
    cell: ({ times }) => timesText(times.reportP50Ms, times.reportP95Ms),
    isNumber: true,
  },
];

/**
 * The last 30 days of each carrier: time up, delivery rate and latency. One of them can be shown by day. The URL names
 * it, so that Back shows it again.
 */
export function CarrierDays() {
  const { slots, from, to } = periodOf('30d', new Date());
  const query = useApiQuery(CarrierHistory, { from, to });
  const [params, setParams] = useSearchParams();
  const chosen = params.get('carrier');
  const daily = new Map(
    query.data?.days.map((each) => [`${carrierOf(each)} ${Date.parse(each.at)}`, each.recipients]),
  );
  const columns: readonly Column<CarrierFactsFragment>[] = [
    { header: t('Provider'), cell: ({ name }) => <code>{name}</code> },
    { header: t('Channel'), cell: ({ channel }) => CHANNEL_NAMES[channel], isWhole: true },
    {
      header: t('Recipients per day'),
      cell: (carrier) => (
        <Sparkline
          label={t('Recipients per day of {name}', { name: carrier.name })}
          values={slots.map(({ at }) => daily.get(`${carrierOf(carrier)} ${Date.parse(at)}`) ?? 0)}
        />
      ),
    },
    ...FACTS,
    {
      header: t('By day'),
      cell: (carrier) => (
        <Button
          aria-pressed={chosen === carrierOf(carrier)}
          aria-label={t('Show {name} by day', { name: carrier.name })}
          onClick={() =>
            setParams(chosen === carrierOf(carrier) ? {} : { carrier: carrierOf(carrier) }, { replace: true })
          }
        >
          {t('By day')}
        </Button>
      ),
    },
  ];
  return (
    <Loaded query={query}>
      {({ total, days }) => {
        const carrier = total.find((each) => carrierOf(each) === chosen);
        const own = days.filter((each) => carrierOf(each) === chosen);
        return (
          <>
            {total.length > 0 && (
              <DataTable caption={t('The last 30 days')} columns={columns} rows={total} keyOf={carrierOf} />
            )}
            {carrier && (
              <section className="card stack" aria-labelledby="by-day">
                <h2 id="by-day">{t('{name} by day (UTC)', { name: carrier.name })}</h2>
                <BarChart
                  label={t('Recipients of {name} per day', { name: carrier.name })}
                  series={SERIES}
                  bars={barsOf(carrier, own, slots)}
                />
                <DataTable
                  caption={t('{name} by day', { name: carrier.name })}
                  columns={[
                    { header: t('Day'), cell: ({ at }) => day.format(new Date(at)), isWhole: true },
                    ...FACTS,
                  ]}
                  rows={own.toReversed()}
                  keyOf={({ at }) => at}
                  hrefOf={({ at }) => trafficHref(at, DAY_MS, carrier)}
                />
              </section>
            )}
          </>
        );
      }}
    </Loaded>
  );
}

/** Returns a bar for each day, which leads to the accounts whose messages the carrier had then (R527). */
function barsOf(
  carrier: CarrierFactsFragment,
  days: readonly CarrierFactsFragment[],
  slots: ReturnType<typeof periodOf>['slots'],
) {
  const byDay = new Map(days.map((each) => [Date.parse(each.at), each]));
  return slots.map(({ at, label }) => {
    const { recipients = 0, delivered = 0, failed = 0 } = byDay.get(Date.parse(at)) ?? {};
    return {
      label,
      values: [delivered, recipients - delivered - failed, failed],
      href: trafficHref(at, DAY_MS, carrier),
    };
  });
}
