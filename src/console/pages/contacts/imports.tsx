import { useEnvironment } from '../../lib/environment.ts';
import { formatNumber } from '../../lib/format.ts';
import { useApiQuery } from '../../lib/queries.ts';
import { Can } from '../../lib/session.tsx';
import { t } from '../../lib/words.ts';
import { Actor } from '../../ui/actor.tsx';
import { Badge } from '../../ui/badge.tsx';
import { ButtonLink } from '../../ui/button.tsx';
import type { Column } from '../../ui/data-table.tsx';
import { PageHeader } from '../../ui/layout.tsx';
import { PAGE_SIZE, PagedTable } from '../../ui/paged-table.tsx';
import { useAfter } from '../../ui/pager.tsx';
import { EmptyState, Loaded } from '../../ui/states.tsx';
import { ExactTime } from '../../ui/values.tsx';
import { ContactImports, type ImportRowFragment } from './imports.generated.ts';

const ASK_EVERY_MS = 5_000;

/** The list of the imports of the last 30 days. */
export default function ContactImportsPage() {
  const imports = useApiQuery(
    ContactImports,
    { first: PAGE_SIZE, after: useAfter(), environment: useEnvironment() },
    { keepsLast: true, refetchEveryMs: ASK_EVERY_MS },
  );
  const columns: readonly Column<ImportRowFragment>[] = [
    { header: t('Started'), cell: ({ createdAt }) => <ExactTime at={createdAt} />, isWhole: true },
    { header: t('State'), cell: ({ state }) => <Badge status={state} /> },
    { header: t('Rows'), cell: ({ progress }) => formatNumber(progress.rowsTotal), isNumber: true },
    { header: t('Added'), cell: ({ progress }) => formatNumber(progress.created), isNumber: true },
    { header: t('Changed'), cell: ({ progress }) => formatNumber(progress.updated), isNumber: true },
    { header: t('Failed'), cell: ({ progress }) => formatNumber(progress.failed), isNumber: true },
    { header: t('By'), cell: ({ creator }) => <Actor of={creator} /> },
  ];
  return (
    <>
      <PageHeader title={t('Imports of contacts')}>
        <ButtonLink href="/contacts">{t('Contacts')}</ButtonLink>
        <Can run="contact.import">
          <ButtonLink href="/contacts/import" look="primary">
            {t('Import CSV')}
          </ButtonLink>
        </Can>
      </PageHeader>
      <Loaded query={imports}>
        {({ contactImports }) => (
          <PagedTable
            of={contactImports}
            caption={t('Those of the last 30 days, the newest first')}
            columns={columns}
            keyOf={({ id }) => id}
            hrefOf={({ id }) => `/contacts/imports/${id}`}
            empty={
              <EmptyState title={t('No imports in the last 30 days')}>
                <p>{t('An import adds and changes contacts from a CSV file.')}</p>
              </EmptyState>
            }
          />
        )}
      </Loaded>
    </>
  );
}
