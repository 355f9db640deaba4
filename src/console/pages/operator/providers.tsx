import { formatNumber } from '../../lib/format.ts';
import { useApiQuery } from '../../lib/queries.ts';
import { t } from '../../lib/words.ts';
import { Badge } from '../../ui/badge.tsx';
import { type Column, DataTable } from '../../ui/data-table.tsx';
import { PageHeader } from '../../ui/layout.tsx';
import { EmptyState, Loaded } from '../../ui/states.tsx';
import { Time } from '../../ui/values.tsx';
import { CHANNEL_NAMES } from '../messages/message-text.ts';
import { CarrierDays } from './carrier-days.tsx';
import { Providers, type ProvidersQuery } from './operator.generated.ts';

type Provider = NonNullable<ProvidersQuery['providers']>[number];

/**
 * Interval of refetches, in ms. Provider health has no live updates, because processes publish it every few seconds.
 */
const ASK_EVERY_MS = 10_000;

/** Formats a route. A route for push is a platform followed by a colon, which is dropped. */
const routeOf = (prefix: string) => prefix.replace(/:$/, '') || t('all others');

const COLUMNS: readonly Column<Provider>[] = [
  {
    header: t('Provider'),
    cell: ({ name, process }) => (
      <>
        <code>{name}</code>
        <br />
        <span className="quiet">{process}</span>
      </>
    ),
  },
  { header: t('Channel'), cell: ({ channel }) => CHANNEL_NAMES[channel], isWhole: true },
  { header: t('Routes'), cell: ({ prefixes }) => prefixes.map(routeOf).join(', ') || '–' },
  { header: t('State'), cell: ({ state }) => <Badge status={state} />, isWhole: true },
  { header: t('Submitted'), cell: ({ submitted }) => formatNumber(submitted), isNumber: true },
  { header: t('Rejected'), cell: ({ rejected }) => formatNumber(rejected), isNumber: true },
  { header: t('Unavailable'), cell: ({ failed }) => formatNumber(failed), isNumber: true },
  { header: t('In flight'), cell: ({ inFlight }) => formatNumber(inFlight), isNumber: true },
  { header: t('Last success'), cell: ({ lastSuccessAt }) => <Time at={lastSuccessAt} />, isWhole: true },
  { header: t('Last error'), cell: (provider) => <LastError of={provider} /> },
];

function LastError({ of: { detail, lastError, lastErrorAt } }: { of: Provider }) {
  if (lastError === null) return detail ?? <span className="quiet">{t('none')}</span>;
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
      <PageHeader title={t('Carriers and providers')} />
      <Loaded query={query}>
        {({ providers }) =>
          providers.length === 0 ? (
            <EmptyState title={t('No worker has said anything')}>
              <p>
                {t(
                  'Every worker process tells how its carriers and providers are. None has for more than a minute: is one running?',
                )}
              </p>
            </EmptyState>
          ) : (
            <DataTable
              caption={t(
                'As each worker process, named below the provider, sees them; counts of the last five minutes',
              )}
              columns={COLUMNS}
              rows={providers}
              keyOf={({ name, channel, process }) => `${channel} ${name} ${process}`}
            />
          )
        }
      </Loaded>
      <CarrierDays />
    </>
  );
}
