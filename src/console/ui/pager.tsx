import { useLocation, useSearchParams } from 'wouter';
import { t } from '../lib/words.ts';
import { Button } from './button.tsx';

interface PageInfo {
  readonly hasNextPage: boolean;
  readonly endCursor: string | null;
}

/** Returns the cursor in the URL. It is in the URL so that the browser's back button returns to the page of rows. */
export function useAfter(): string | null {
  return useSearchParams()[0].get('after');
}

/**
 * Buttons for the previous and the next page of a Relay list. The state of the browser's history entry keeps the
 * cursors of the earlier pages.
 */
export function Pager({ pageInfo, totalCount }: { pageInfo: PageInfo; totalCount?: number }) {
  const [params] = useSearchParams();
  const [path, navigate] = useLocation();
  const after = params.get('after');
  const before: readonly (string | null)[] = history.state?.before ?? (after === null ? [] : [null]);
  const go = (cursor: string | null, trail: readonly (string | null)[]) => {
    const next = new URLSearchParams(params);
    if (cursor === null) next.delete('after');
    else next.set('after', cursor);
    navigate(next.size === 0 ? path : `${path}?${next}`, { state: { before: trail } });
  };
  if (before.length === 0 && !pageInfo.hasNextPage) return null;
  return (
    <nav className="row spread" aria-label={t('Pages of the list')}>
      <span className="quiet">
        {totalCount === undefined ? '' : t('{totalCount} in all', { totalCount })}
      </span>
      <span className="row">
        {before.length > 0 && (
          <Button onClick={() => go(before.at(-1) ?? null, before.slice(0, -1))}>{t('Previous')}</Button>
        )}
        {pageInfo.hasNextPage && (
          <Button onClick={() => go(pageInfo.endCursor, [...before, after])}>{t('Next')}</Button>
        )}
      </span>
    </nav>
  );
}
