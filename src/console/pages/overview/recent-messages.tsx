import { Link } from 'wouter';
import { useApiQuery } from '../../lib/queries.ts';
import { t } from '../../lib/words.ts';
import { Loaded } from '../../ui/states.tsx';
import { Time } from '../../ui/values.tsx';
import { CHANNEL_NAMES, ENVIRONMENT_NAMES, whom } from '../messages/message-text.ts';
import { StatusBadge } from '../messages/status-badge.tsx';
import { OverviewMessages } from './overview.generated.ts';

/** The list of the newest messages of all channels. */
export function RecentMessages() {
  const query = useApiQuery(OverviewMessages, {});
  return (
    <section className="card stack" aria-labelledby="recent">
      <div className="row spread">
        <h2 id="recent">{t('Recent messages')}</h2>
        <Link href="/messages">{t('All messages')}</Link>
      </div>
      <Loaded query={query}>
        {({ messages: { nodes } }) =>
          nodes.length === 0 ? (
            <p className="quiet">{t('Nothing has been sent yet.')}</p>
          ) : (
            <ul className="overview-list">
              {nodes.map(({ id, to, channel, environment, content, createdAt, ...state }) => (
                <li key={id}>
                  <div className="row spread">
                    <Link href={`/messages/${id}`}>{whom(to)}</Link>
                    <StatusBadge of={state} />
                  </div>
                  <p className="quiet overview-line">
                    {CHANNEL_NAMES[channel]} ·{' '}
                    {environment === 'SANDBOX' && `${ENVIRONMENT_NAMES.SANDBOX} · `}
                    <Time at={createdAt} /> · {content}
                  </p>
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
    </section>
  );
}
