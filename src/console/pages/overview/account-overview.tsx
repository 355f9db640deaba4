import { useSearchParams } from 'wouter';
import { useLiveRefetch } from '../../lib/live-refetch.ts';
import { useApiQuery } from '../../lib/queries.ts';
import { Session } from '../../lib/session.generated.ts';
import { PageHeader } from '../../ui/layout.tsx';
import { Loaded } from '../../ui/states.tsx';
import { Choice } from './choice.tsx';
import { FailingWebhooks } from './failing-webhooks.tsx';
import { Figures } from './figures.tsx';
import {
  OverviewMessages,
  OverviewSpending,
  OverviewUsage,
  OverviewUsageChanged,
} from './overview.generated.ts';
import { PERIODS, periodOf } from './periods.ts';
import { RecentMessages } from './recent-messages.tsx';
import { UsageChart } from './usage-chart.tsx';
import { GROUPS } from './usage-summary.ts';

/** What an account sends, what it costs and whether anything needs somebody; goes with what happens. */
export function AccountOverview() {
  const { period, group, choose } = useChoices();
  const { slots, ...span } = periodOf(period.value, new Date());
  const usage = useApiQuery(OverviewUsage, { ...span, groupBy: ['STATUS'] }, { keepsLast: true });
  useLiveRefetch(OverviewUsageChanged, {}, [OverviewUsage, OverviewSpending, OverviewMessages, Session]);
  return (
    <>
      <PageHeader title="Overview">
        <Choice
          label="Period"
          options={PERIODS}
          chosen={period}
          onChoose={(value) => choose('period', value)}
        />
      </PageHeader>
      <Loaded query={usage}>{({ usage: rows }) => <Figures usage={rows} period={period.label} />}</Loaded>
      <UsageChart period={{ slots, ...span }} group={group} onGroup={(value) => choose('group', value)} />
      <div className="columns">
        <RecentMessages />
        <FailingWebhooks />
      </div>
    </>
  );
}

/** What is shown stands in the address, so that a reload or a link shows the same. */
function useChoices() {
  const [params, setParams] = useSearchParams();
  return {
    period: PERIODS.find(({ value }) => value === params.get('period')) ?? PERIODS[0],
    group: GROUPS.find(({ value }) => value === params.get('group')) ?? GROUPS[0],
    choose: (name: string, value: string) =>
      setParams({ ...Object.fromEntries(params), [name]: value }, { replace: true }),
  };
}
