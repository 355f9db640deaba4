import { useEnvironment } from '../../lib/environment.ts';
import { formatAbsolute, formatNumber } from '../../lib/format.ts';
import { useApiQuery } from '../../lib/queries.ts';
import { Can } from '../../lib/session.tsx';
import { Actor } from '../../ui/actor.tsx';
import { Badge } from '../../ui/badge.tsx';
import { ButtonLink } from '../../ui/button.tsx';
import type { Column } from '../../ui/data-table.tsx';
import { PageHeader } from '../../ui/layout.tsx';
import { PAGE_SIZE, PagedTable } from '../../ui/paged-table.tsx';
import { useAfter } from '../../ui/pager.tsx';
import { EmptyState, Loaded } from '../../ui/states.tsx';
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
    { header: 'Started', cell: ({ createdAt }) => formatAbsolute(new Date(createdAt)), isWhole: true },
    { header: 'State', cell: ({ state }) => <Badge status={state} /> },
    { header: 'Rows', cell: ({ progress }) => formatNumber(progress.rowsTotal), isNumber: true },
    { header: 'Added', cell: ({ progress }) => formatNumber(progress.created), isNumber: true },
    { header: 'Changed', cell: ({ progress }) => formatNumber(progress.updated), isNumber: true },
    { header: 'Failed', cell: ({ progress }) => formatNumber(progress.failed), isNumber: true },
    { header: 'By', cell: ({ creator }) => <Actor of={creator} /> },
  ];
  return (
    <>
      <PageHeader title="Imports of contacts">
        <ButtonLink href="/contacts">Contacts</ButtonLink>
        <Can run="contact.import">
          <ButtonLink href="/contacts/import" look="primary">
            Import CSV
          </ButtonLink>
        </Can>
      </PageHeader>
      <Loaded query={imports}>
        {({ contactImports }) => (
          <PagedTable
            of={contactImports}
            caption="Those of the last 30 days, the newest first"
            columns={columns}
            keyOf={({ id }) => id}
            hrefOf={({ id }) => `/contacts/imports/${id}`}
            empty={
              <EmptyState title="No imports in the last 30 days">
                <p>An import adds and changes contacts from a CSV file.</p>
              </EmptyState>
            }
          />
        )}
      </Loaded>
    </>
  );
}
