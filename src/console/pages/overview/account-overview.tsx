import { useSearchParams } from 'wouter';
import { useEnvironment } from '../../lib/environment.ts';
import { useLiveRefetch } from '../../lib/live-refetch.ts';
import { useApiQuery } from '../../lib/queries.ts';
import { Session } from '../../lib/session.generated.ts';
import { usePermission } from '../../lib/session.tsx';
import { t } from '../../lib/words.ts';
import { Choice } from '../../ui/choice.tsx';
import { PageHeader } from '../../ui/layout.tsx';
import { Loaded, Loading } from '../../ui/states.tsx';
import { wasFirstRunOffered } from '../first-run/offer.ts';
import { FailingWebhooks } from './failing-webhooks.tsx';
import { Figures, useSpending } from './figures.tsx';
import { LeadToFirstSteps, NothingSent, NoWebhook } from './first-steps.tsx';
import {
  OverviewMessages,
  OverviewSpending,
  OverviewUsage,
  OverviewUsageChanged,
  OverviewWebhooks,
} from './overview.generated.ts';
import { PERIODS, periodOf } from './periods.ts';
import { RecentMessages } from './recent-messages.tsx';
import { UsageChart } from './usage-chart.tsx';
import { GROUPS } from './usage-summary.ts';

/** The overview of an account, with live updates: messages, cost and problems. */
export function AccountOverview({ accountId }: { accountId: string }) {
  const messages = useApiQuery(OverviewMessages, {});
  const webhooks = useApiQuery(OverviewWebhooks, {});
  const mayWalk = usePermission('webhook.register');
  // Asked for at once, not after the messages.
  useUsage();
  useSpending();
  const hasSent = messages.data && messages.data.messages.nodes.length > 0;
  const hasWebhook = webhooks.data && webhooks.data.webhooks.length > 0;
  useLiveRefetch(OverviewUsageChanged, {}, [OverviewUsage, OverviewSpending, OverviewMessages, Session]);
  if (mayWalk && !wasFirstRunOffered(accountId)) {
    if (hasSent === false || hasWebhook === false) return <LeadToFirstSteps accountId={accountId} />;
    if (hasSent === undefined && !messages.error) return <Loading />;
  }
  if (hasSent === false) {
    return (
      <>
        <PageHeader title={t('Overview')} />
        <NothingSent />
      </>
    );
  }
  return <Account hasWebhook={hasWebhook} />;
}

function Account({ hasWebhook }: { hasWebhook: boolean | undefined }) {
  const { period, group, choose } = useChoices();
  const { usage, asked, slots } = useUsage();
  return (
    <>
      <PageHeader title={t('Overview')}>
        <Choice
          label={t('Period')}
          options={PERIODS}
          chosen={period}
          onChoose={(value) => choose('period', value)}
        />
      </PageHeader>
      {hasWebhook === false && <NoWebhook />}
      <Loaded query={usage}>
        {({ usage: rows }) => (
          <Figures usage={rows} period={period.label} from={asked.from} environment={asked.environment} />
        )}
      </Loaded>
      <UsageChart asked={asked} slots={slots} group={group} onGroup={(value) => choose('group', value)} />
      <div className="columns">
        <RecentMessages />
        <FailingWebhooks />
      </div>
    </>
  );
}

/** Asks for the usage of the chosen period. */
function useUsage() {
  const environment = useEnvironment();
  const { slots, ...span } = periodOf(useChoices().period.value, new Date());
  const asked = { ...span, environment };
  return {
    asked,
    slots,
    usage: useApiQuery(OverviewUsage, { ...asked, groupBy: ['STATUS'] }, { keepsLast: true }),
  };
}

/** Returns the choices of the page. They are in the URL, so that a reload or a shared link shows the same. */
function useChoices() {
  const [params, setParams] = useSearchParams();
  return {
    period: PERIODS.find(({ value }) => value === params.get('period')) ?? PERIODS[0],
    group: GROUPS.find(({ value }) => value === params.get('group')) ?? GROUPS[0],
    choose: (name: string, value: string) =>
      setParams({ ...Object.fromEntries(params), [name]: value }, { replace: true }),
  };
}
