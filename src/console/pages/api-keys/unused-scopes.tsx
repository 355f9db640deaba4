import { Link } from 'wouter';
import { ApiError } from '../../lib/api-error.ts';
import { formatName } from '../../lib/format.ts';
import { useApiMutation, useApiQuery } from '../../lib/queries.ts';
import { usePermission } from '../../lib/session.tsx';
import { t } from '../../lib/words.ts';
import { Button } from '../../ui/button.tsx';
import { DataTable } from '../../ui/data-table.tsx';
import { useToast } from '../../ui/toast.tsx';
import { Time } from '../../ui/values.tsx';
import {
  ApiKeyDetail,
  ApiKeys,
  TakeScopeAway,
  UnusedScopes as UnusedQuery,
  type UnusedScopesQuery,
} from './api-keys.generated.ts';

type Unused = NonNullable<UnusedScopesQuery['unusedScopes']>[number];

/** The scopes that keys have and do not use, each with a button that takes it away. Nothing if there are none. */
export function UnusedScopes() {
  const query = useApiQuery(UnusedQuery, {});
  const mayTakeAway = usePermission('apiKey.updateMany');
  const unused = query.data?.unusedScopes ?? [];
  if (unused.length === 0) return null;
  return (
    <section className="stack" aria-labelledby="unused-scopes">
      <h2 id="unused-scopes">{t('Unused scopes')}</h2>
      <DataTable
        caption={t('Not used in the last 30 days. A key that is stolen can do less without them')}
        rows={unused}
        keyOf={({ apiKey, scope }) => `${apiKey.keyId} ${scope}`}
        columns={[
          {
            header: t('Key'),
            cell: ({ apiKey }) => <Link href={`/api-keys/${apiKey.keyId}`}>{apiKey.name}</Link>,
          },
          { header: t('Scope'), cell: ({ scope }) => formatName(scope), isWhole: true },
          { header: t('Last used'), cell: ({ lastUsedAt }) => <Time at={lastUsedAt} />, isWhole: true },
          ...(mayTakeAway ? [{ header: t('Action'), cell: (row: Unused) => <TakeAway of={row} /> }] : []),
        ]}
      />
    </section>
  );
}

function TakeAway({ of: { apiKey, scope } }: { of: Unused }) {
  const toast = useToast();
  const takeAway = useApiMutation(TakeScopeAway, {
    refetches: [UnusedQuery, ApiKeys, ApiKeyDetail],
    onDone: ({ updateApiKeys: { userErrors } }) => {
      const [refused] = userErrors;
      if (refused) throw new ApiError('FORBIDDEN', refused.message);
      toast({
        text: t('{name} can no longer {scope}.', {
          name: apiKey.name,
          scope: formatName(scope).toLowerCase(),
        }),
      });
    },
  });
  return (
    <>
      <Button isBusy={takeAway.isPending} onClick={() => takeAway.mutate({ keyId: apiKey.keyId, scope })}>
        {t('Take away')}
      </Button>
      {takeAway.error && <span role="alert"> {takeAway.error.message}</span>}
    </>
  );
}
