import type { ReactNode } from 'react';
import { t } from '../lib/words.ts';
import { T } from './t.tsx';

/**
 * The bar above a table with a selection: a checkbox for all rows that are shown, the number of selected rows, and the
 * actions for them. It stays while nothing is selected, so that the table does not move and the actions keep the focus.
 */
export function SelectionBar({
  keys,
  chosen,
  onChange,
  children,
}: {
  /** The keys of the rows that are shown. */
  keys: readonly string[];
  chosen: ReadonlySet<string>;
  onChange: (chosen: ReadonlySet<string>) => void;
  children: ReactNode;
}) {
  const count = keys.filter((key) => chosen.has(key)).length;
  return (
    <div className="row">
      <label className="row">
        <input
          type="checkbox"
          ref={(box) => {
            if (box) box.indeterminate = count > 0 && count < keys.length;
          }}
          checked={count > 0 && count === keys.length}
          onChange={() => onChange(new Set(count === keys.length ? [] : keys))}
        />
        {t('Select all shown')}
      </label>
      <span role="status">
        <T text="{count} selected" count={count} />
      </span>
      {children}
    </div>
  );
}
