import { type ReactNode, useState } from 'react';
import { formatNumber } from '../../lib/format.ts';
import { Button } from '../../ui/button.tsx';

const PAGE_SIZE = 50;

/** Shows rows that are all here already so many at a time that the page stays quick. */
export function LocalPages<Row>({
  label,
  rows,
  children,
}: {
  /** What the rows are, such as `Recipients`. */
  label: string;
  rows: readonly Row[];
  children: (shown: readonly Row[]) => ReactNode;
}) {
  const [asked, setAsked] = useState(0);
  const last = Math.max(0, Math.ceil(rows.length / PAGE_SIZE) - 1);
  const page = Math.min(asked, last);
  const start = page * PAGE_SIZE;
  return (
    <>
      {children(rows.slice(start, start + PAGE_SIZE))}
      {last > 0 && (
        <nav className="row spread" aria-label={`${label}: pages`}>
          <span className="quiet" aria-live="polite">
            {formatNumber(start + 1)}–{formatNumber(Math.min(rows.length, start + PAGE_SIZE))} of{' '}
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
