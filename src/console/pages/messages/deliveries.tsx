import { Link } from 'wouter';
import { counted } from '../../lib/counts.ts';
import { formatNumber } from '../../lib/format.ts';
import { useApiQuery } from '../../lib/queries.ts';
import { t } from '../../lib/words.ts';
import { Badge } from '../../ui/badge.tsx';
import { type Column, DataTable } from '../../ui/data-table.tsx';
import { Loaded } from '../../ui/states.tsx';
import { T } from '../../ui/t.tsx';
import { ExactTime, Time } from '../../ui/values.tsx';
import { MessageDeliveries, type MessageDeliveriesQuery } from './messages.generated.ts';

type Delivery = NonNullable<MessageDeliveriesQuery['webhookDeliveries']>['nodes'][number];

const ASK_EVERY_MS = 2_000;

const COLUMNS: readonly Column<Delivery>[] = [
  { header: t('Event'), cell: ({ event }) => <code>{event}</code> },
  { header: t('Status'), cell: (delivery) => <StatusOf delivery={delivery} /> },
  {
    header: t('Endpoint'),
    cell: ({ id, webhook }) =>
      webhook ? (
        <Link href={`/webhooks/deliveries/${id}`}>{webhook.url}</Link>
      ) : (
        <span className="quiet">{t('deleted')}</span>
      ),
  },
  { header: t('Attempts'), cell: (delivery) => <Attempts of={delivery} /> },
  { header: t('Recorded'), cell: ({ createdAt }) => <Time at={createdAt} /> },
];

function StatusOf({ delivery: { status, nextRetryAt } }: { delivery: Delivery }) {
  return (
    <span className="row">
      <Badge status={status} />
      {status === 'RETRYING' && nextRetryAt && (
        <span className="quiet">
          <T text="next {time}" time={<Time at={nextRetryAt} />} />
        </span>
      )}
    </span>
  );
}

function Attempts({ of: { attemptLog, attempts } }: { of: Delivery }) {
  if (attemptLog.length === 0) return attempts === 0 ? t('none yet') : formatNumber(attempts);
  return (
    <details>
      <summary>{counted(attemptLog.length, 'attempt')}</summary>
      <ol className="message-attempts">
        {attemptLog.map(({ at, httpStatus, durationMs, errorMessage }) => (
          <li key={at}>
            <T
              text="{time}: {answer} in {durationMs} ms"
              time={<ExactTime at={at} />}
              answer={httpStatus === null ? t('no answer') : `HTTP ${httpStatus}`}
              durationMs={durationMs}
            />
            {errorMessage && <span className="quiet"> {errorMessage}</span>}
          </li>
        ))}
      </ol>
    </details>
  );
}

/** The webhook deliveries of a message, each with its attempts. */
export function Deliveries({ id, isSettling }: { id: string; isSettling: boolean }) {
  const query = useApiQuery(MessageDeliveries, { id }, isSettling ? { refetchEveryMs: ASK_EVERY_MS } : {});
  return (
    <section className="stack" aria-labelledby="message-deliveries">
      <h2 id="message-deliveries">{t('Webhook deliveries')}</h2>
      <Loaded query={query}>
        {({ webhookDeliveries: { nodes, totalCount } }) =>
          nodes.length === 0 ? (
            <p className="quiet">{t('None: no webhook listened to an event of this message.')}</p>
          ) : (
            <DataTable
              caption={
                totalCount > nodes.length
                  ? t('The newest {shown} of {totalCount}', { shown: nodes.length, totalCount })
                  : counted(totalCount, 'delivery')
              }
              columns={COLUMNS}
              rows={nodes}
              keyOf={(delivery) => delivery.id}
            />
          )
        }
      </Loaded>
    </section>
  );
}
