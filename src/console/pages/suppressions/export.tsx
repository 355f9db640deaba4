import { useEffect, useRef, useState } from 'react';
import { BOM, download } from '../../lib/csv.ts';
import { useEnvironment } from '../../lib/environment.ts';
import { request } from '../../lib/request.ts';
import { t } from '../../lib/words.ts';
import { Button } from '../../ui/button.tsx';
import { Notice } from '../../ui/notice.tsx';
import { T } from '../../ui/t.tsx';
import { ExportSuppressions, type ExportSuppressionsMutation } from './suppressions.generated.ts';

type Part = ExportSuppressionsMutation['exportSuppressions'];

/** Exports all opt-outs of the environment as CSV, also those that the filters of the list hide. */
export function ExportButton() {
  const environment = useEnvironment();
  const [isBusy, setIsBusy] = useState(false);
  const [fault, setFault] = useState<string>();
  const ending = useRef<AbortController>(undefined);
  useEffect(() => () => ending.current?.abort(), []);

  const run = async () => {
    const leaving = new AbortController();
    const { signal } = leaving;
    ending.current = leaving;
    setIsBusy(true);
    setFault(undefined);
    try {
      const parts = [BOM];
      let after: string | null = null;
      do {
        const answer = await request(ExportSuppressions, { after, environment }, { signal });
        const part: Part = answer.exportSuppressions;
        parts.push(part.csv);
        after = part.nextAfter;
      } while (after !== null);
      download(`opt-outs-${new Date().toISOString().slice(0, 10)}.csv`, 'text/csv', parts);
    } catch (error) {
      if (!signal.aborted) setFault(error instanceof Error ? error.message : t('It did not work.'));
    }
    setIsBusy(false);
  };

  return (
    <>
      <Button isBusy={isBusy} onClick={run}>
        {t('Export all as CSV')}
      </Button>
      {fault && (
        <Notice tone="bad">
          <T text="{fault} Nothing was downloaded." fault={fault} />
        </Notice>
      )}
    </>
  );
}
