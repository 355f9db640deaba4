import type { ReactNode } from 'react';
import { useLocation } from 'wouter';
import { useNarrowing } from '../lib/environment.ts';
import { t } from '../lib/words.ts';
import { ButtonLink } from './button.tsx';
import { type Column, DataTable, type Selection } from './data-table.tsx';
import { Pager } from './pager.tsx';
import { EmptyState } from './states.tsx';

/** Number of rows on a page of a list. */
export const PAGE_SIZE = 50;

/**
 * Shows one page of a Relay list as a table with a pager. An empty list shows `empty`. An empty filtered list offers to
 * show all rows.
 */
export function PagedTable<Row>({
  of,
  caption,
  columns,
  keyOf,
  hrefOf,
  empty,
  selection,
}: {
  of: {
    readonly nodes: readonly Row[];
    readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null };
    readonly totalCount?: number;
  };
  caption: ReactNode;
  columns: readonly Column<Row>[];
  keyOf: (row: Row) => string;
  hrefOf?: (row: Row) => string;
  /** Shown when the list is empty and no filter is set. */
  empty: ReactNode;
  selection?: Selection<Row> | undefined;
}) {
  const isNarrowed = useNarrowing().size > 0;
  const [path] = useLocation();
  if (of.nodes.length === 0) {
    if (!isNarrowed) return empty;
    return (
      <EmptyState title={t('Nothing fits')}>
        <ButtonLink href={path}>{t('Show all')}</ButtonLink>
      </EmptyState>
    );
  }
  return (
    <div className="stack">
      <DataTable
        caption={caption}
        columns={columns}
        rows={of.nodes}
        keyOf={keyOf}
        hrefOf={hrefOf}
        selection={selection}
      />
      <Pager pageInfo={of.pageInfo} totalCount={of.totalCount} />
    </div>
  );
}
