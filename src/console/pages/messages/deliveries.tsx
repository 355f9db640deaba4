import { Link } from 'wouter';
import { formatAbsolute, formatNumber } from '../../lib/format.ts';
import { useApiQuery } from '../../lib/queries.ts';
import { Badge } from '../../ui/badge.tsx';
import { type Column, DataTable } from '../../ui/data-table.tsx';
import { Loaded } from '../../ui/states.tsx';
import { Time } from '../../ui/values.tsx';
import { counted } from './message-text.ts';
import { MessageDeliveries, type MessageDeliveriesQuery } from './messages.generated.ts';

type Delivery = NonNullable<MessageDeliveriesQuery['webhookDeliveries']>['nodes'][number];

const ASK_EVERY_MS = 2_000;

const COLUMNS: readonly Column<Delivery>[] = [
  { header: 'Event', cell: ({ event }) => <code>{event}</code> },
  { header: 'Status', cell: (delivery) => <StatusOf delivery={delivery} /> },
  {
    header: 'Endpoint',
    cell: ({ id, webhook }) =>
      webhook ? (
        <Link href={`/webhooks/deliveries/${id}`}>{webhook.url}</Link>
      ) : (
        <span className="quiet">deleted</span>
      ),
  },
  { header: 'Attempts', cell: (delivery) => <Attempts of={delivery} /> },
  { header: 'Recorded', cell: ({ createdAt }) => <Time at={createdAt} /> },
];

function StatusOf({ delivery: { status, nextRetryAt } }: { delivery: Delivery }) {
  return (
    <span className="row">
      <Badge status={status} />
      {status === 'RETRYING' && nextRetryAt && (
        <span className="quiet">
          next <Time at={nextRetryAt} />
        </span>
      )}
    </span>
  );
}

function Attempts({ of: { attemptLog, attempts } }: { of: Delivery }) {
  if (attemptLog.length === 0) return attempts === 0 ? 'none yet' : formatNumber(attempts);
  return (
    <details>
      <summary>{counted(attemptLog.length, 'attempt')}</summary>
      <ol className="message-attempts">
        {attemptLog.map(({ at, httpStatus, durationMs, errorMessage }) => (
          <li key={at}>
            {formatAbsolute(new Date(at))}: {httpStatus === null ? 'no answer' : `HTTP ${httpStatus}`} in{' '}
            {formatNumber(durationMs)} ms
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
      <h2 id="message-deliveries">Webhook deliveries</h2>
      <Loaded query={query}>
        {({ webhookDeliveries: { nodes, totalCount } }) =>
          nodes.length === 0 ? (
            <p className="quiet">None: no webhook listened to an event of this message.</p>
          ) : (
            <DataTable
              caption={
                totalCount > nodes.length
                  ? `The newest ${nodes.length} of ${formatNumber(totalCount)}`
                  : counted(totalCount, 'delivery', 'deliveries')
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
