import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { useInEnvironment } from '../lib/environment.ts';
import './data-table.css';

export interface Column<Row> {
  readonly header: string;
  readonly cell: (row: Row) => ReactNode;
  readonly isNumber?: boolean;
  /** True if the cells must not wrap, for names, numbers and times. */
  readonly isWhole?: boolean;
}

/**
 * A table with a caption. On narrow screens each row becomes a card with labels. With `hrefOf`, the first cell is a
 * link to the page of the row.
 */
export function DataTable<Row>({
  caption,
  columns,
  rows,
  keyOf,
  hrefOf,
}: {
  caption: ReactNode;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  keyOf: (row: Row) => string;
  hrefOf?: (row: Row) => string;
}) {
  const inEnvironment = useInEnvironment();
  return (
    <div className="table-frame">
      <table className="table">
        <caption>{caption}</caption>
        <thead>
          <tr>
            {columns.map(({ header, ...column }) => (
              <th key={header} scope="col" className={classOf(column)}>
                {header}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)}>
              {columns.map(({ header, cell, ...column }, index) => (
                <td key={header} data-label={header} className={classOf(column)}>
                  {index === 0 && hrefOf ? (
                    <Link href={inEnvironment(hrefOf(row))} className="table-link">
                      {cell(row)}
                    </Link>
                  ) : (
                    <div>{cell(row)}</div>
                  )}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function classOf({ isNumber, isWhole }: { isNumber?: boolean; isWhole?: boolean }): string | undefined {
  if (isNumber) return 'is-number';
  return isWhole ? 'is-whole' : undefined;
}
