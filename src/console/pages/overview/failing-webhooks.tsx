import { Link } from 'wouter';
import type { Complete } from '../../lib/document.ts';
import { formatNumber } from '../../lib/format.ts';
import { useLiveRefetch } from '../../lib/live-refetch.ts';
import { useApiQuery } from '../../lib/queries.ts';
import { t } from '../../lib/words.ts';
import { Badge } from '../../ui/badge.tsx';
import { Loaded } from '../../ui/states.tsx';
import { T } from '../../ui/t.tsx';
import { Time } from '../../ui/values.tsx';
import { healthOf } from '../webhooks/webhook-rules.ts';
import {
  OverviewDeliveryChanged,
  OverviewWebhooks,
  type OverviewWebhooksQuery,
} from './overview.generated.ts';

const RECENT_MS = 24 * 3_600_000;
/** Maximum number of deliveries that the query returns for each status. */
const MOST = 50;

type Health = Complete<OverviewWebhooksQuery>;
type Delivery = Health['failed']['nodes'][number];

interface Failing {
  readonly id: string;
  readonly url: string;
  readonly disabledReason: string | null;
  readonly health: string;
  readonly failed: number;
  readonly retrying: number;
  readonly lastAt: string | null;
}

/** Lists the webhooks that the gateway disabled, and those with failed or retried deliveries in the last 24 hours. */
export function FailingWebhooks() {
  const health = useApiQuery(OverviewWebhooks, {});
  useLiveRefetch(OverviewDeliveryChanged, {}, [OverviewWebhooks]);
  return (
    <section className="card stack" aria-labelledby="webhooks">
      <div className="row spread">
        <h2 id="webhooks">{t('Webhooks')}</h2>
        <Link href="/webhooks">{t('All webhooks')}</Link>
      </div>
      <Loaded query={health}>
        {(data) => {
          const failing = failingOf(data, Date.now() - RECENT_MS);
          if (data.webhooks.length === 0) return <p className="quiet">{t('No webhook is registered.')}</p>;
          if (failing.length === 0) return <p>{t('No failed delivery in the last 24 hours.')}</p>;
          return (
            <ul className="overview-list">
              {failing.map((webhook) => (
                <FailingWebhook key={webhook.id} of={webhook} />
              ))}
            </ul>
          );
        }}
      </Loaded>
    </section>
  );
}

function FailingWebhook({
  of: { id, url, disabledReason, health, failed, retrying, lastAt },
}: {
  of: Failing;
}) {
  const count = (value: number) =>
    value >= MOST ? t('{count} or more', { count: MOST }) : formatNumber(value);
  const parts = [
    ...(failed > 0 ? [t('{count} failed', { count: count(failed) })] : []),
    ...(retrying > 0 ? [t('{count} being retried', { count: count(retrying) })] : []),
  ];
  return (
    <li>
      <div className="row spread">
        <Link href={`/webhooks/${id}`}>{url}</Link>
        <Badge status={health} />
      </div>
      {disabledReason !== null && <p>{disabledReason}</p>}
      {parts.length > 0 && (
        <p className="quiet">
          <T
            text="{parts} in the last 24 hours, the last {time}"
            parts={parts.join(', ')}
            time={<Time at={lastAt} />}
          />
        </p>
      )}
    </li>
  );
}

function failingOf({ webhooks, failed, retrying }: Health, sinceMs: number): Failing[] {
  const isRecent = ({ createdAt }: { createdAt: string }) => Date.parse(createdAt) >= sinceMs;
  return webhooks
    .map((webhook) => {
      const { id, url, isActive, disabledReason, deliveries } = webhook;
      const isOwn = (delivery: Delivery) => delivery.webhook?.id === id && isRecent(delivery);
      const own = { failed: failed.nodes.filter(isOwn), retrying: retrying.nodes.filter(isOwn) };
      const times = [...own.failed, ...own.retrying].map(({ createdAt }) => createdAt).sort();
      return {
        id,
        url,
        disabledReason: isActive ? null : disabledReason,
        health: healthOf(webhook, deliveries.nodes[0]),
        failed: own.failed.length,
        retrying: own.retrying.length,
        lastAt: times.at(-1) ?? null,
      };
    })
    .filter((webhook) => webhook.disabledReason !== null || webhook.lastAt !== null);
}
