import { Bell } from 'lucide-react';
import { Link } from 'wouter';
import { useApiQuery } from '../lib/queries.ts';
import { usePermission } from '../lib/session.tsx';
import { t } from '../lib/words.ts';
import { OpenAlerts } from './open-alerts.generated.ts';

/** The gateway looks for alerts once a minute. A stream for this number would take a connection of each page. */
const ASK_EVERY_MS = 60_000;

/** The number of open alerts, as a link to them (R486). Shows nothing if there are none. */
export function OpenAlertsLink() {
  const isEnabled = usePermission('alert.slice');
  const { data } = useApiQuery(OpenAlerts, {}, { isEnabled, refetchEveryMs: ASK_EVERY_MS });
  const count = data?.alerts.totalCount ?? 0;
  if (count === 0) return null;
  return (
    <Link
      href="/alerts"
      className="bar-alerts"
      aria-label={t('{count, plural, one {# open alert} other {# open alerts}}', { count })}
    >
      <Bell className="icon" aria-hidden="true" />
      <span aria-hidden="true">{count}</span>
    </Link>
  );
}
