import { formatName, formatNumber } from '../../lib/format.ts';
import { useApiQuery } from '../../lib/queries.ts';
import { Can, usePermission } from '../../lib/session.tsx';
import { t } from '../../lib/words.ts';
import { Badge } from '../../ui/badge.tsx';
import { ButtonLink } from '../../ui/button.tsx';
import { type Column, DataTable } from '../../ui/data-table.tsx';
import { PageHeader } from '../../ui/layout.tsx';
import { Sparkline } from '../../ui/line-chart.tsx';
import { EmptyState, Loaded } from '../../ui/states.tsx';
import { T } from '../../ui/t.tsx';
import { Time } from '../../ui/values.tsx';
import { type Period, periodOf } from '../overview/periods.ts';
import { ApiKeys, type ApiKeysQuery, type KeyRowFragment } from './api-keys.generated.ts';
import { type GroupedKey, groupedKeys } from './grouped-keys.ts';
import { statusOf } from './key-rules.ts';
import { UnusedScopes } from './unused-scopes.tsx';

type Row = GroupedKey & { readonly daily: readonly number[] };

const COLUMNS: readonly Column<Row>[] = [
  { header: t('Name'), cell: (key) => <Name of={key} /> },
  { header: t('Status'), cell: (key) => <Status of={key} />, isWhole: true },
  { header: t('Environment'), cell: ({ environment }) => <Badge status={environment} /> },
  { header: t('Scopes'), cell: ({ scopes }) => scopes.map(formatName).join(', ') },
  { header: t('Sent, 30 days'), cell: (key) => <Sent of={key} /> },
  { header: t('Last used'), cell: ({ lastUsedAt }) => <Time at={lastUsedAt} /> },
  { header: t('Key id'), isWhole: true, cell: ({ keyId }) => <code>{keyId}</code> },
];

/** The name of a key. A key that was replaced stands below its successor, so that both are seen together. */
function Name({ of: { name, isReplaced } }: { of: GroupedKey }) {
  if (!isReplaced) return name;
  return (
    <>
      <span aria-hidden="true">↳ </span>
      {name} <span className="quiet">{t('(replaced by the key above)')}</span>
    </>
  );
}

/** The state of a key, and when it ends if that is set. */
function Status({ of: key }: { of: KeyRowFragment }) {
  const status = statusOf(key, new Date());
  return (
    <>
      <Badge status={status} />
      {status === 'ACTIVE' && key.expiresAt !== null && (
        <span className="quiet">
          {' '}
          <T text="ends {time}" time={<Time at={key.expiresAt} />} />
        </span>
      )}
    </>
  );
}

/** How much a key sent: a line of the days, and their sum. */
function Sent({ of: { name, daily } }: { of: Row }) {
  const sum = daily.reduce((total, count) => total + count, 0);
  if (sum === 0) return <span className="quiet">{t('nothing')}</span>;
  return (
    <span className="row sparkline-cell">
      <Sparkline label={t('Recipients per day of {name}', { name })} values={daily} />
      {formatNumber(sum)}
    </span>
  );
}

/** The recipients of a key in each slot of the period. */
function dailyOf(
  { keyId }: KeyRowFragment,
  usage: NonNullable<ApiKeysQuery['usage']>,
  slots: Period['slots'],
): readonly number[] {
  const own = new Map(
    usage
      .filter(({ apiKeyId }) => apiKeyId === keyId)
      .map(({ at, figures }) => [Date.parse(at), figures.recipients]),
  );
  return slots.map(({ at }) => own.get(Date.parse(at)) ?? 0);
}

/** The list of the account's API keys. */
export default function ApiKeysPage() {
  const { slots, from, to } = periodOf('30d', new Date());
  const keys = useApiQuery(ApiKeys, { from, to }, { keepsLast: true });
  const mayCreate = usePermission('apiKey.create');
  return (
    <>
      <PageHeader title={t('API keys')}>
        <Can
          run="apiKey.create"
          otherwise={<span className="quiet">{t('Your role can read keys, not create them.')}</span>}
        >
          <ButtonLink href="/api-keys/new" look="primary">
            {t('Create a key')}
          </ButtonLink>
        </Can>
      </PageHeader>
      <Loaded query={keys}>
        {({ apiKeys, usage }) =>
          apiKeys.length === 0 ? (
            <EmptyState title={t('No keys yet')}>
              <p>{t('A program sends messages with a key of its own.')}</p>
              {mayCreate && <ButtonLink href="/api-keys/new">{t('Create the first')}</ButtonLink>}
            </EmptyState>
          ) : (
            <DataTable
              caption={t(
                'The newest first; revoked and expired ones too. A rotated key is listed below its replacement',
              )}
              columns={COLUMNS}
              rows={groupedKeys(apiKeys).map((key) => ({ ...key, daily: dailyOf(key, usage, slots) }))}
              keyOf={({ keyId }) => keyId}
              hrefOf={({ keyId }) => `/api-keys/${keyId}`}
            />
          )
        }
      </Loaded>
      <UnusedScopes />
    </>
  );
}
