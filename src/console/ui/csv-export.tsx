import { type ReactNode, useEffect, useRef, useState } from 'react';
import { BOM, type Cell, csvLine, download } from '../lib/csv.ts';
import { formatNumber } from '../lib/format.ts';
import { t } from '../lib/words.ts';
import { Button } from './button.tsx';
import { Notice } from './notice.tsx';
import { T } from './t.tsx';
import './csv-export.css';

interface Slice<Row> {
  readonly nodes: readonly Row[];
  readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null };
  readonly totalCount: number;
}

/**
 * Exports the rows of a Relay list as CSV, at most `most` of them. It loads page by page, shows the progress and can be
 * cancelled. It says so if the file does not have all rows.
 */
export function CsvExport<Row>({
  children,
  fileName,
  header,
  cellsOf,
  sliceAfter,
  most = Number.POSITIVE_INFINITY,
  begin,
}: {
  children: ReactNode;
  fileName: string;
  header: readonly string[];
  cellsOf: (row: Row) => readonly Cell[];
  /** Loads the page of rows after the cursor `after`. Null means the first page. */
  sliceAfter: (after: string | null, signal: AbortSignal) => Promise<Slice<Row>>;
  most?: number;
  /** Is called before the first page. If it throws, nothing is loaded. */
  begin?: () => Promise<unknown>;
}) {
  const [progress, setProgress] = useState<{ readonly done: number; readonly total: number }>();
  const [fault, setFault] = useState<string>();
  const [cutAt, setCutAt] = useState<number>();
  const ending = useRef<AbortController>(undefined);
  const start = useRef<HTMLButtonElement>(null);
  const cancel = useRef<HTMLButtonElement>(null);
  useEffect(() => () => ending.current?.abort(), []);

  const run = async () => {
    const canceling = new AbortController();
    ending.current = canceling;
    setFault(undefined);
    setCutAt(undefined);
    setProgress({ done: 0, total: 0 });
    try {
      const lines = [BOM, csvLine(header)];
      await begin?.();
      let after: string | null = null;
      do {
        const { nodes, pageInfo, totalCount }: Slice<Row> = await sliceAfter(after, canceling.signal);
        for (const row of nodes) lines.push(csvLine(cellsOf(row)));
        setProgress({ done: lines.length - 2, total: totalCount });
        after = pageInfo.hasNextPage ? pageInfo.endCursor : null;
        if (after !== null && lines.length - 2 >= most) {
          setCutAt(lines.length - 2);
          break;
        }
      } while (after !== null && !canceling.signal.aborted);
      if (!canceling.signal.aborted) download(fileName, 'text/csv', lines);
    } catch (error) {
      if (!canceling.signal.aborted) setFault(error instanceof Error ? error.message : t('It did not work.'));
    }
    // The cancel button disappears now, so its focus moves to the export button.
    if (document.activeElement === cancel.current) start.current?.focus();
    setProgress(undefined);
  };

  return (
    <>
      <Button ref={start} isBusy={progress !== undefined} onClick={run}>
        {children}
      </Button>
      {progress && (
        <div className="row">
          <progress
            className="export-progress"
            aria-label={t('Rows exported')}
            value={progress.done}
            max={Math.max(1, progress.done, progress.total)}
          />
          <span className="quiet">
            <T
              text="{done} of {max}"
              done={progress.done}
              max={formatNumber(Math.max(progress.done, progress.total))}
            />
          </span>
          <Button ref={cancel} onClick={() => ending.current?.abort()}>
            {t('Cancel')}
          </Button>
        </div>
      )}
      {cutAt !== undefined && (
        <Notice tone="warn">
          <T
            text="The file has the first {cutAt} rows, the most of an export. Narrow the filters for the rest."
            cutAt={cutAt}
          />
        </Notice>
      )}
      {fault && (
        <Notice tone="bad">
          <T text="{fault} Nothing was downloaded." fault={fault} />
        </Notice>
      )}
    </>
  );
}
