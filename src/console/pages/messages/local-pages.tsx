import { type ReactNode, useState } from 'react';
import { formatNumber } from '../../lib/format.ts';
import { Button } from '../../ui/button.tsx';

/** Shows loaded rows in pages, because rendering all of them at once would be slow. */
export function LocalPages<Row>({
  label,
  rows,
  pageSize,
  children,
}: {
  /** Label of the rows, such as `Recipients`. */
  label: string;
  rows: readonly Row[];
  pageSize: number;
  children: (shown: readonly Row[]) => ReactNode;
}) {
  const [asked, setAsked] = useState(0);
  const last = Math.max(0, Math.ceil(rows.length / pageSize) - 1);
  const page = Math.min(asked, last);
  const start = page * pageSize;
  return (
    <>
      {children(rows.slice(start, start + pageSize))}
      {last > 0 && (
        <nav className="row spread" aria-label={`${label}: further rows`}>
          <span className="quiet" aria-live="polite">
            {formatNumber(start + 1)}–{formatNumber(Math.min(rows.length, start + pageSize))} of{' '}
            {formatNumber(rows.length)}
          </span>
          <span className="row">
            {page > 0 && <Button onClick={() => setAsked(page - 1)}>Previous</Button>}
            {page < last && <Button onClick={() => setAsked(page + 1)}>Next</Button>}
          </span>
        </nav>
      )}
    </>
  );
}
