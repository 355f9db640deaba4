import { formatAbsolute, formatNumber, formatPercent } from '../../lib/format.ts';
import { useApiQuery } from '../../lib/queries.ts';
import { t } from '../../lib/words.ts';
import { type Column, DataTable } from '../../ui/data-table.tsx';
import { Field, Select } from '../../ui/field.tsx';
import { Filters, useFilter, useTimeFilter } from '../../ui/filters.tsx';
import { PageHeader } from '../../ui/layout.tsx';
import { EmptyState, Loaded } from '../../ui/states.tsx';
import { CHANNEL_NAMES, optionsOf } from '../messages/message-text.ts';
import { periodOf } from '../overview/periods.ts';
import { Traffic, type TrafficFiguresFragment, type TrafficQuery } from './traffic.generated.ts';

type Bucket = NonNullable<TrafficQuery['accounts']>[number];
type Channel = NonNullable<TrafficFiguresFragment['channel']>;

/** Figures of one account or carrier, of all its currencies. */
interface Row {
  readonly key: string;
  readonly name: string;
  /** Undefined if the figures are of recipients only: a message may have had several carriers. */
  readonly messages: number | undefined;
  readonly recipients: number;
  readonly delivered: number;
  readonly failed: number;
  readonly href: string;
}

const BY_FAILURES = 'failed';
const ORDERS = [
  { value: '', label: t('The most recipients first') },
  { value: BY_FAILURES, label: t('The most failures first') },
];

const MESSAGES: Column<Row> = {
  header: t('Messages'),
  cell: ({ messages }) => (messages === undefined ? '–' : formatNumber(messages)),
  isNumber: true,
};
const FIGURES: readonly Column<Row>[] = [
  { header: t('Recipients'), cell: ({ recipients }) => formatNumber(recipients), isNumber: true },
  { header: t('Delivered'), cell: ({ delivered }) => formatNumber(delivered), isNumber: true },
  { header: t('Failed'), cell: ({ failed }) => formatNumber(failed), isNumber: true },
  { header: t('Delivery rate'), cell: rateText, isNumber: true },
];

/** For operators: which accounts sent in a span of time, and through which carriers (R527). */
export default function TrafficPage() {
  const { from, to, channel, provider, order } = useChoices();
  const query = useApiQuery(Traffic, { from, to, groupBy: groupsOf(channel, provider) }, { keepsLast: true });
  const carriers = new Set(query.data?.carriers.flatMap((each) => each.provider ?? []));
  if (provider !== null) carriers.add(provider);
  const span = t('{from} to {to}', {
    from: formatAbsolute(new Date(from)),
    to: formatAbsolute(new Date(to)),
  });
  return (
    <>
      <PageHeader title={t('Traffic')} />
      <p className="quiet">{span}</p>
      <Filters label={t('Filter the traffic')}>
        <Field name="from" label={t('From (time)')} type="datetime-local" />
        <Field name="to" label={t('To (time)')} type="datetime-local" />
        <Select
          name="channel"
          label={t('Channel')}
          options={[{ value: '', label: t('Any') }, ...optionsOf(CHANNEL_NAMES)]}
        />
        <Select
          name="provider"
          label={t('Carrier')}
          options={[
            { value: '', label: t('Any') },
            ...[...carriers].sort().map((name) => ({ value: name, label: name })),
          ]}
        />
        <Select name="order" label={t('Order')} options={ORDERS} />
      </Filters>
      <Loaded query={query}>
        {(data) => {
          const isWanted = (each: TrafficFiguresFragment) =>
            (channel === null || each.channel === channel) &&
            (provider === null || each.provider === provider);
          const accounts = rowsOf(data.accounts.filter(isWanted), accountOf, order);
          if (accounts.length === 0)
            return (
              <EmptyState title={t('Nothing was sent in this period')}>
                <p>{t('Production messages count, by the time at which they were accepted.')}</p>
              </EmptyState>
            );
          return (
            <>
              <DataTable
                caption={t('{count, plural, one {# account} other {# accounts}} that sent in production', {
                  count: accounts.length,
                })}
                columns={[
                  { header: t('Account'), cell: ({ name }) => name },
                  ...(provider === null ? [MESSAGES] : []),
                  ...FIGURES,
                ]}
                rows={accounts}
                keyOf={({ key }) => key}
                hrefOf={({ href }) => href}
              />
              <DataTable
                caption={t('Their carriers')}
                columns={[{ header: t('Carrier'), cell: ({ name }) => name }, ...FIGURES]}
                rows={rowsOf(
                  data.carriers.filter(isWanted),
                  (each) => carrierOf(each, from, to),
                  order,
                ).filter(
                  // A row without recipients counts messages, which this table does not show.
                  ({ recipients }) => recipients > 0,
                )}
                keyOf={({ key }) => key}
                hrefOf={({ href }) => href}
              />
            </>
          );
        }}
      </Loaded>
    </>
  );
}

/** Returns the choices of the page. They are in the URL. The standard is the last 24 hours. */
function useChoices() {
  const day = periodOf('24h', new Date());
  const channel = useFilter('channel');
  return {
    from: useTimeFilter('from') ?? day.from,
    to: useTimeFilter('to') ?? day.to,
    channel: channel !== null && channel in CHANNEL_NAMES ? (channel as Channel) : null,
    provider: useFilter('provider'),
    order: useFilter('order'),
  };
}

/** Groups by what is filtered only: of a provider, messages cannot be counted. */
function groupsOf(channel: Channel | null, provider: string | null) {
  return [
    'ACCOUNT' as const,
    ...(channel === null ? [] : ['CHANNEL' as const]),
    ...(provider === null ? [] : ['PROVIDER' as const]),
  ];
}

type Named = Pick<Row, 'key' | 'name' | 'href'>;

/** Adds up the buckets of each account or carrier. */
function rowsOf<Of extends TrafficFiguresFragment>(
  buckets: readonly Of[],
  namedAs: (bucket: Of) => Named,
  order: string | null,
): readonly Row[] {
  const rows = [...Map.groupBy(buckets, (bucket) => namedAs(bucket).key).values()].map((own) => {
    const sum = (of: 'recipients' | 'delivered' | 'failed') =>
      own.reduce((total, { figures }) => total + figures[of], 0);
    const messages = own.map(({ figures }) => figures.messages);
    return {
      ...namedAs(own[0]!),
      messages: messages.every((count) => count !== null)
        ? messages.reduce((total, count) => total + count, 0)
        : undefined,
      recipients: sum('recipients'),
      delivered: sum('delivered'),
      failed: sum('failed'),
    };
  });
  const by = order === BY_FAILURES ? 'failed' : 'recipients';
  return rows.sort((left, right) => right[by] - left[by] || right.recipients - left.recipients);
}

function accountOf({ accountId, accountName, accountEmail }: Bucket): Named {
  const names = new Set([accountName ?? '', accountEmail ?? '']);
  return { key: accountId ?? '', name: [...names].join(' · '), href: `/accounts/${accountId}` };
}

function carrierOf({ channel, provider }: TrafficFiguresFragment, from: string, to: string): Named {
  const [channelName, carrier] = [channel ? CHANNEL_NAMES[channel] : '', provider ?? t('none yet')];
  const narrowed = { from, to, ...(channel && { channel }), ...(provider !== null && { provider }) };
  return {
    key: `${channel} ${provider}`,
    name: `${channelName} · ${carrier}`,
    href: `/traffic?${new URLSearchParams(narrowed)}`,
  };
}

function rateText({ delivered, failed }: Row): string {
  return delivered + failed === 0 ? '–' : formatPercent(delivered / (delivered + failed));
}
