import { Link, useSearchParams } from 'wouter';
import { BOM, csvLine, download } from '../../lib/csv.ts';
import { useEnvironment, useInEnvironment } from '../../lib/environment.ts';
import { formatMoney, formatNumber, formatPercent } from '../../lib/format.ts';
import { useApiQuery } from '../../lib/queries.ts';
import { useViewer } from '../../lib/session.tsx';
import { PRESETS, presetSpan } from '../../lib/spans.ts';
import { t } from '../../lib/words.ts';
import { BarChart } from '../../ui/bar-chart.tsx';
import { Button, ButtonLink } from '../../ui/button.tsx';
import { DataTable } from '../../ui/data-table.tsx';
import { Field, Select } from '../../ui/field.tsx';
import { Figure } from '../../ui/figure.tsx';
import { Form, textOf } from '../../ui/form.tsx';
import { PageHeader } from '../../ui/layout.tsx';
import { Sparkline } from '../../ui/line-chart.tsx';
import { EmptyState, Loaded } from '../../ui/states.tsx';
import { Money } from '../../ui/values.tsx';
import { OverTime, useOverTime } from './over-time.tsx';
import { UsageByDay, UsageTotals } from './usage.generated.ts';
import {
  barsOf,
  dailyOf,
  forecastOf,
  GROUPS,
  type Group,
  keyOf,
  messagesOf,
  nameOf,
  type Span,
  sumOf,
  type Total,
} from './usage-groups.ts';
import './usage.css';

const CUSTOM = 'custom';
const PERIODS = [...PRESETS, { value: CUSTOM, label: t('From … to') }];
/** Figures are counted in whole hours here, so that the query stays the same for an hour. */
const HOUR_MS = 3_600_000;
/** The figures lag some ten seconds behind. */
const REFETCH_MS = 15_000;

/** What was sent and what it cost in a period: by key, channel, sender, country or status. */
export default function UsagePage() {
  const { period, group, span, choose } = useChoices();
  const environment = useEnvironment();
  const asked = { ...span, environment, groupBy: [group] };
  const totals = useApiQuery(UsageTotals, asked, { keepsLast: true, refetchEveryMs: REFETCH_MS });
  const label = GROUPS.find(({ value }) => value === group)?.label ?? '';
  // Asked for at once, because each answer after another one would move what is below it.
  useDays(group, span);
  useOverTime(span);
  return (
    <>
      <PageHeader title={t('Usage')}>
        <ButtonLink href="/statement">{t('Monthly statement')}</ButtonLink>
        <Button onClick={() => exportCsv(totals.data?.analytics ?? [], group, label)}>
          {t('Export as CSV')}
        </Button>
      </PageHeader>
      <Choices period={period} group={group} span={span} choose={choose} />
      <Loaded query={totals}>
        {({ analytics }) =>
          analytics.length === 0 ? (
            <EmptyState title={t('Nothing was sent in this period')}>
              <p>{t('Choose another period, or switch between production and sandbox above.')}</p>
            </EmptyState>
          ) : (
            <>
              <Summary totals={analytics} isThisMonth={period === 'month'} />
              <ByDay totals={analytics} group={group} span={span} />
              <OverTime span={span} />
              <Groups totals={analytics} group={group} label={label} span={span} />
            </>
          )
        }
      </Loaded>
    </>
  );
}

function useChoices() {
  const [params, setParams] = useSearchParams();
  const now = new Date();
  const period = PERIODS.find(({ value }) => value === params.get('period'))?.value ?? 'month';
  const group: Group = GROUPS.find(({ value }) => value === params.get('group'))?.value ?? 'API_KEY';
  return {
    period,
    group,
    span: spanOf(period, params, now),
    choose: (next: Record<string, string>) =>
      setParams({ ...Object.fromEntries(params), ...next }, { replace: true }),
  };
}

function spanOf(period: string, params: URLSearchParams, now: Date): Span {
  const hourEnd = new Date(Math.ceil((now.getTime() + 1) / HOUR_MS) * HOUR_MS).toISOString();
  const preset = presetSpan(period, now);
  if (preset) {
    const { from, to } = preset;
    return { from, to: to === undefined ? hourEnd : new Date(Date.parse(to) + 1).toISOString() };
  }
  const startOf = (date: string | null, daysLater: number) => {
    const [year = 0, month = 1, day = 1] = (date ?? '').split('-').map(Number);
    const at = new Date(year, month - 1, day + daysLater);
    return date && !Number.isNaN(at.getTime()) ? at.toISOString() : undefined;
  };
  const month = new Date(now.getFullYear(), now.getMonth(), 1).toISOString();
  const from = startOf(params.get('from'), 0) ?? month;
  const to = startOf(params.get('to'), 1) ?? hourEnd;
  return from < to ? { from, to } : { from: month, to: hourEnd };
}

function Choices({
  period,
  group,
  span,
  choose,
}: {
  period: string;
  group: Group;
  span: Span;
  choose: (next: Record<string, string>) => void;
}) {
  return (
    <div className="row usage-choices">
      <Select
        name="group"
        label={t('By (group)')}
        value={group}
        options={GROUPS}
        onChange={({ currentTarget }) => choose({ group: currentTarget.value })}
      />
      <Select
        name="period"
        label={t('Period')}
        value={period}
        options={PERIODS}
        onChange={({ currentTarget }) => choose({ period: currentTarget.value })}
      />
      {period === CUSTOM && (
        <Form
          label={t('Days')}
          className="row"
          onSubmit={(values) => choose({ from: textOf(values, 'from'), to: textOf(values, 'to') })}
        >
          <Field name="from" label={t('First day')} type="date" defaultValue={dateOf(span.from)} />
          <Field
            name="to"
            label={t('Last day')}
            type="date"
            defaultValue={dateOf(new Date(Date.parse(span.to) - 1).toISOString())}
          />
          <Button type="submit">{t('Show')}</Button>
        </Form>
      )}
    </div>
  );
}

/** The date of a time in the browser's time zone, as `<input type="date">` takes it. */
function dateOf(iso: string): string {
  const at = new Date(iso);
  const two = (value: number) => String(value).padStart(2, '0');
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
}

function Summary({ totals, isThisMonth }: { totals: readonly Total[]; isThisMonth: boolean }) {
  const { account } = useViewer();
  const environment = useEnvironment();
  const { recipients, delivered, failed, cost } = sumOf(totals);
  const currency = totals[0]?.figures.netCost.currency ?? account?.currency ?? '';
  const finished = delivered + failed;
  const forecast = forecastOf(cost, new Date());
  const daysInMonth = new Date(new Date().getFullYear(), new Date().getMonth() + 1, 0).getDate();
  const daysLeft =
    account && account.balance !== null && forecast > 0
      ? Math.floor((account.balance * daysInMonth) / forecast)
      : undefined;
  return (
    <dl className="figures">
      <Figure name={t('Net cost')}>
        <Money amount={cost} currency={currency} />
      </Figure>
      <Figure name={t('Recipients')}>{formatNumber(recipients)}</Figure>
      <Figure name={t('Delivery rate')} note={t('of recipients; {failed} failed', { failed })}>
        {finished === 0 ? '–' : formatPercent(Math.floor((delivered / finished) * 1000) / 1000)}
      </Figure>
      {isThisMonth && environment === 'PRODUCTION' && (
        <Figure name={t('Forecast of the month')} note={daysLeft === undefined ? '' : lastsText(daysLeft)}>
          {formatMoney(forecast, currency)}
        </Figure>
      )}
    </dl>
  );
}

/** Formats how many days the balance will last. */
function lastsText(days: number): string {
  if (days > 365) return t('The balance lasts more than a year.');
  return t('{days, plural, one {The balance lasts about # day.} other {The balance lasts about # days.}}', {
    days,
  });
}

/** Asks for the figures of each day. The chart and the table share the answer. */
function useDays(group: Group, span: Span) {
  const environment = useEnvironment();
  const { timeZone } = new Intl.DateTimeFormat().resolvedOptions();
  return useApiQuery(UsageByDay, { ...span, environment, groupBy: [group], timeZone }, { keepsLast: true });
}

function ByDay({ totals, group, span }: { totals: readonly Total[]; group: Group; span: Span }) {
  const query = useDays(group, span);
  return (
    <section className="card stack usage-chart" aria-labelledby="usage-days">
      <h2 id="usage-days">{t('Recipients per day')}</h2>
      <Loaded query={query}>
        {({ analytics }) => (
          <BarChart label={t('Recipients per day')} {...barsOf(analytics, totals, group, span)} />
        )}
      </Loaded>
    </section>
  );
}

function Groups({
  totals,
  group,
  label,
  span,
}: {
  totals: readonly Total[];
  group: Group;
  label: string;
  span: Span;
}) {
  const inEnvironment = useInEnvironment();
  const days = useDays(group, span).data?.analytics ?? [];
  const hrefOf = (total: Total) =>
    messagesOf(total, group, { from: span.from, to: new Date(Date.parse(span.to) - 1).toISOString() });
  return (
    <DataTable
      caption={t('The costliest first, without what was refunded')}
      rows={totals}
      keyOf={(total) => keyOf(total, group)}
      columns={[
        {
          header: label,
          cell: (total) => {
            const href = hrefOf(total);
            return href ? (
              <Link href={inEnvironment(href)} className="table-link">
                {nameOf(total, group)}
              </Link>
            ) : (
              nameOf(total, group)
            );
          },
        },
        {
          header: t('Messages'),
          cell: ({ figures }) => (figures.messages === null ? '–' : formatNumber(figures.messages)),
          isNumber: true,
        },
        {
          header: t('By day'),
          cell: (total) => (
            <Sparkline
              label={t('Recipients per day of {name}', { name: nameOf(total, group) })}
              values={dailyOf(days, total, group, span)}
            />
          ),
        },
        { header: t('Recipients'), cell: ({ figures }) => formatNumber(figures.recipients), isNumber: true },
        { header: t('Delivered'), cell: ({ figures }) => formatNumber(figures.delivered), isNumber: true },
        { header: t('Failed'), cell: ({ figures }) => formatNumber(figures.failed), isNumber: true },
        {
          header: t('Net cost'),
          cell: ({ figures: { netCost } }) => (
            <Money amount={Number(netCost.amount)} currency={netCost.currency} />
          ),
          isNumber: true,
        },
      ]}
    />
  );
}

function exportCsv(totals: readonly Total[], group: Group, label: string): void {
  const header = [label, 'messages', 'recipients', 'delivered', 'failed', 'netCost', 'currency'];
  const lines = totals.map((total) => {
    const { messages, recipients, delivered, failed, netCost } = total.figures;
    return csvLine([
      nameOf(total, group),
      messages,
      recipients,
      delivered,
      failed,
      netCost.amount,
      netCost.currency,
    ]);
  });
  download(`usage-${new Date().toISOString().slice(0, 10)}.csv`, 'text/csv', [
    BOM,
    csvLine(header),
    ...lines,
  ]);
}
