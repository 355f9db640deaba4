import { formatName } from '../../lib/format.ts';
import { t } from '../../lib/words.ts';
import { Badge } from '../../ui/badge.tsx';
import { DataTable } from '../../ui/data-table.tsx';
import { Time } from '../../ui/values.tsx';
import type { ApiKeyDetailQuery } from './api-keys.generated.ts';

type Use = NonNullable<ApiKeyDetailQuery['apiKey']>['scopeUse'][number];

/** Shows which of its scopes a key has used, and which ones it does not need. */
export function ScopeUse({ uses }: { uses: readonly Use[] }) {
  return (
    <section className="stack" aria-label={t('Use of the scopes')}>
      <DataTable
        caption={t('What it used of its scopes; one never used can be taken away')}
        rows={uses}
        keyOf={({ scope }) => scope}
        columns={[
          { header: t('Scope'), cell: ({ scope }) => formatName(scope) },
          {
            header: t('Last used'),
            cell: ({ lastUsedAt }) => (lastUsedAt ? <Time at={lastUsedAt} /> : <Badge status="NEVER_USED" />),
          },
        ]}
      />
    </section>
  );
}
