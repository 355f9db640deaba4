import { formatNumber } from '../../lib/format.ts';
import { useApiQuery } from '../../lib/queries.ts';
import { Badge } from '../../ui/badge.tsx';
import { type Column, DataTable } from '../../ui/data-table.tsx';
import { PageHeader } from '../../ui/layout.tsx';
import { EmptyState, Loaded } from '../../ui/states.tsx';
import { Time } from '../../ui/values.tsx';
import { CHANNEL_NAMES } from '../messages/message-text.ts';
import { Providers, type ProvidersQuery } from './operator.generated.ts';

type Provider = NonNullable<ProvidersQuery['providers']>[number];

/**
 * Interval of refetches, in ms. Provider health has no live updates, because processes publish it every few seconds.
 */
const ASK_EVERY_MS = 10_000;

/** Formats a route. A route for push is a platform followed by a colon, which is dropped. */
const routeOf = (prefix: string) => prefix.replace(/:$/, '') || 'all others';

const COLUMNS: readonly Column<Provider>[] = [
  {
    header: 'Provider',
    cell: ({ name, process }) => (
      <>
        <code>{name}</code>
        <br />
        <span className="quiet">{process}</span>
      </>
    ),
  },
  { header: 'Channel', cell: ({ channel }) => CHANNEL_NAMES[channel], isWhole: true },
  { header: 'Routes', cell: ({ prefixes }) => prefixes.map(routeOf).join(', ') || '–' },
  { header: 'State', cell: ({ state }) => <Badge status={state} />, isWhole: true },
  { header: 'Submitted', cell: ({ submitted }) => formatNumber(submitted), isNumber: true },
  { header: 'Rejected', cell: ({ rejected }) => formatNumber(rejected), isNumber: true },
  { header: 'Unavailable', cell: ({ failed }) => formatNumber(failed), isNumber: true },
  { header: 'In flight', cell: ({ inFlight }) => formatNumber(inFlight), isNumber: true },
  { header: 'Last success', cell: ({ lastSuccessAt }) => <Time at={lastSuccessAt} />, isWhole: true },
  { header: 'Last error', cell: (provider) => <LastError of={provider} /> },
];

function LastError({ of: { detail, lastError, lastErrorAt } }: { of: Provider }) {
  if (lastError === null) return detail ?? <span className="quiet">none</span>;
  return (
    <>
      {lastError}{' '}
      <span className="quiet">
        (<Time at={lastErrorAt} />)
      </span>
    </>
  );
}

/** For operators: the health of carriers and providers, as each worker process measures it. */
export default function ProvidersPage() {
  const query = useApiQuery(Providers, {}, { refetchEveryMs: ASK_EVERY_MS });
  return (
    <>
      <PageHeader title="Carriers and providers" />
      <Loaded query={query}>
        {({ providers }) =>
          providers.length === 0 ? (
            <EmptyState title="No worker has said anything">
              <p>
                Every worker process tells how its carriers and providers are. None has for more than a
                minute: is one running?
              </p>
            </EmptyState>
          ) : (
            <DataTable
              caption="As each worker process, named below the provider, sees them; counts of the last five minutes"
              columns={COLUMNS}
              rows={providers}
              keyOf={({ name, channel, process }) => `${channel} ${name} ${process}`}
            />
          )
        }
      </Loaded>
    </>
  );
}
