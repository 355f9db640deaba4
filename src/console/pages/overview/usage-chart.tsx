import { useApiQuery } from '../../lib/queries.ts';
import { t } from '../../lib/words.ts';
import { BarChart } from '../../ui/bar-chart.tsx';
import { Choice } from '../../ui/choice.tsx';
import { Loaded } from '../../ui/states.tsx';
import { OverviewUsage, type OverviewUsageQueryVariables } from './overview.generated.ts';
import type { Period } from './periods.ts';
import { barsOf, GROUPS, type Group } from './usage-summary.ts';

/** A bar chart of the messages in each hour or day of a period, by status, channel or key. */
export function UsageChart({
  asked,
  slots,
  group,
  onGroup,
}: {
  asked: Omit<OverviewUsageQueryVariables, 'groupBy'>;
  slots: Period['slots'];
  group: Group;
  onGroup: (value: Group['value']) => void;
}) {
  const usage = useApiQuery(OverviewUsage, { ...asked, groupBy: [group.value] }, { keepsLast: true });
  const title = asked.interval === 'HOUR' ? t('Messages per hour') : t('Messages per day');
  const zone = asked.interval === 'HOUR' ? '' : ' (UTC)';
  return (
    <section className="card stack overview-chart" aria-labelledby="sent">
      <div className="row spread">
        <h2 id="sent">
          {title}
          <span className="quiet">{zone}</span>
        </h2>
        <Choice label={t('Told apart by')} options={GROUPS} chosen={group} onChoose={onGroup} />
      </div>
      <Loaded query={usage}>
        {({ usage: rows }) => (
          <BarChart
            label={`${title}${zone}, ${group.label.toLowerCase()}`}
            {...barsOf(rows, group.value, slots, asked.environment)}
          />
        )}
      </Loaded>
    </section>
  );
}
