import { useSearchParams } from 'wouter';
import { useLiveRefetch } from '../../lib/live-refetch.ts';
import { useApiQuery } from '../../lib/queries.ts';
import { Session } from '../../lib/session.generated.ts';
import { BarChart } from '../../ui/bar-chart.tsx';
import { Button } from '../../ui/button.tsx';
import { Select } from '../../ui/field.tsx';
import { PageHeader } from '../../ui/layout.tsx';
import { Loaded } from '../../ui/states.tsx';
import { FailingWebhooks } from './failing-webhooks.tsx';
import { Figures } from './figures.tsx';
import {
  OverviewMessages,
  OverviewSpending,
  OverviewUsage,
  OverviewUsageChanged,
  type UsageGroup,
} from './overview.generated.ts';
import { PERIODS, type PeriodName, periodOf } from './periods.ts';
import { RecentMessages } from './recent-messages.tsx';
import { barsOf, GROUPS } from './usage-summary.ts';

/** What an account sends, what it costs and whether anything needs somebody; goes with what happens. */
export function AccountOverview() {
  const [{ period: name, group }, choose] = useChoice();
  const period = periodOf(name, new Date());
  const { interval, from, to } = period;
  const groupBy: UsageGroup[] = group === 'STATUS' ? ['STATUS'] : ['STATUS', group];
  const usage = useApiQuery(OverviewUsage, { from, to, interval, groupBy }, { keepsLast: true });
  useLiveRefetch(OverviewUsageChanged, {}, [OverviewUsage, OverviewSpending, OverviewMessages, Session]);
  return (
    <>
      <PageHeader title="Overview">
        <PeriodButtons chosen={name} onChoose={(next) => choose({ period: next })} />
      </PageHeader>
      <Loaded query={usage}>
        {({ usage: rows }) => {
          const { series, bars } = barsOf(rows, group, period);
          return (
            <>
              <Figures usage={rows} period={PERIODS.find((each) => each.name === name)!.label} />
              <section className="card stack" aria-labelledby="sent">
                <div className="row spread">
                  <h2 id="sent">Messages per {interval === 'HOUR' ? 'hour' : 'day'}</h2>
                  <Select
                    name="group"
                    label="By"
                    options={GROUPS}
                    value={group}
                    onChange={({ target }) => choose({ group: target.value })}
                  />
                </div>
                <BarChart
                  label={`Messages per ${interval === 'HOUR' ? 'hour' : 'day (UTC)'} by ${GROUPS.find(({ value }) => value === group)!.label.toLowerCase()}`}
                  series={series}
                  bars={bars}
                />
              </section>
            </>
          );
        }}
      </Loaded>
      <div className="columns">
        <RecentMessages />
        <FailingWebhooks />
      </div>
    </>
  );
}

/** What is shown stands in the address, so that a reload or a link shows the same. */
function useChoice() {
  const [params, setParams] = useSearchParams();
  const period = PERIODS.find(({ name }) => name === params.get('period'))?.name ?? '24h';
  const group = GROUPS.find(({ value }) => value === params.get('group'))?.value ?? 'STATUS';
  const choose = (change: Readonly<Record<string, string>>) =>
    setParams({ ...Object.fromEntries(params), ...change }, { replace: true });
  return [{ period, group }, choose] as const;
}

function PeriodButtons({ chosen, onChoose }: { chosen: PeriodName; onChoose: (name: PeriodName) => void }) {
  return (
    <fieldset className="overview-periods">
      <legend className="visually-hidden">Period</legend>
      {PERIODS.map(({ name, label }) => (
        <Button key={name} aria-pressed={name === chosen} onClick={() => onChoose(name)}>
          {label}
        </Button>
      ))}
    </fieldset>
  );
}
