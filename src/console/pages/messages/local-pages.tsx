import { type ReactNode, useState } from 'react';
import { t } from '../../lib/words.ts';
import { Button } from '../../ui/button.tsx';
import { T } from '../../ui/t.tsx';

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
        <nav className="row spread" aria-label={t('{label}: further rows', { label })}>
          <span className="quiet" aria-live="polite">
            <T
              text="{first}–{last} of {count}"
              first={start + 1}
              last={Math.min(rows.length, start + pageSize)}
              count={rows.length}
            />
          </span>
          <span className="row">
            {page > 0 && <Button onClick={() => setAsked(page - 1)}>{t('Previous')}</Button>}
            {page < last && <Button onClick={() => setAsked(page + 1)}>{t('Next')}</Button>}
          </span>
        </nav>
      )}
    </>
  );
}
