import { type ReactNode, useState } from 'react';
import { Link } from 'wouter';
import { useInEnvironment } from '../lib/environment.ts';
import { t } from '../lib/words.ts';
import { Button } from './button.tsx';
import { TableFrame } from './table-frame.tsx';

export interface Column<Row> {
  readonly header: string;
  readonly cell: (row: Row) => ReactNode;
  readonly isNumber?: boolean;
  /** True if the cells must not wrap, for names, numbers and times. */
  readonly isWhole?: boolean;
}

/** Rows that are shown at first. More would block a slow phone for seconds. */
const FIRST_ROWS = 100;

/** Rows that a person selects with checkboxes, by their keys. */
export interface Selection<Row> {
  readonly chosen: ReadonlySet<string>;
  /** Returns the name of a row's checkbox for screen readers. */
  readonly labelOf: (row: Row) => string;
  readonly onChange: (chosen: ReadonlySet<string>) => void;
}

/**
 * A table with a caption. On narrow screens each row becomes a card with labels. Of a long list it shows the first 100
 * rows, and the others on demand. With `hrefOf`, the first cell is a
 * link to the page of the row. With `selection`, each row has a checkbox before it.
 */
export function DataTable<Row>({
  caption,
  columns,
  rows,
  keyOf,
  hrefOf,
  selection,
}: {
  caption: ReactNode;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  keyOf: (row: Row) => string;
  hrefOf?: (row: Row) => string;
  selection?: Selection<Row> | undefined;
}) {
  const inEnvironment = useInEnvironment();
  const [showsAll, setShowsAll] = useState(false);
  const shown = showsAll ? rows : rows.slice(0, FIRST_ROWS);
  const table = (
    <TableFrame caption={caption}>
      <thead>
        <tr>
          {selection && (
            <th scope="col" className="table-select">
              <span className="visually-hidden">{t('Select')}</span>
            </th>
          )}
          {columns.map(({ header, ...column }) => (
            <th key={header} scope="col" className={classOf(column)}>
              {header}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {shown.map((row) => (
          <tr key={keyOf(row)}>
            {selection && (
              <td className="table-select" data-label={t('Select')}>
                <label>
                  <input
                    type="checkbox"
                    aria-label={selection.labelOf(row)}
                    checked={selection.chosen.has(keyOf(row))}
                    onChange={() => selection.onChange(toggled(selection.chosen, keyOf(row)))}
                  />
                </label>
              </td>
            )}
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
    </TableFrame>
  );
  if (shown.length === rows.length) return table;
  return (
    <>
      {table}
      <Button onClick={() => setShowsAll(true)}>{t('Show all {count} rows', { count: rows.length })}</Button>
    </>
  );
}

function toggled(chosen: ReadonlySet<string>, key: string): ReadonlySet<string> {
  const next = new Set(chosen);
  if (!next.delete(key)) next.add(key);
  return next;
}

function classOf({ isNumber, isWhole }: { isNumber?: boolean; isWhole?: boolean }): string | undefined {
  if (isNumber) return 'is-number';
  return isWhole ? 'is-whole' : undefined;
}
