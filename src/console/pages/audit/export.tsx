import { useState } from 'react';
import { download } from '../../lib/csv.ts';
import { request } from '../../lib/request.ts';
import { useSteps } from '../../lib/steps.ts';
import { t } from '../../lib/words.ts';
import { Button } from '../../ui/button.tsx';
import { Notice } from '../../ui/notice.tsx';
import { T } from '../../ui/t.tsx';
import type { AuditLogFilter } from './audit.generated.ts';
import { AuditLines, type AuditLinesQuery } from './export.generated.ts';

const PAGE = 100;
const HEADER = 'seq,id,accountId,at,actor,action,target,before,after,previousHash,hash';
const FORMATS = {
  JSON_LINES: { name: t('JSON lines'), ending: 'jsonl', type: 'application/jsonl', end: '\n', head: [] },
  CSV: { name: 'CSV', ending: 'csv', type: 'text/csv', end: '\r\n', head: [`${HEADER}\r\n`] },
} as const;

/** Exports the entries that the filter shows, oldest first, with their hashes in the chain. */
export function ExportAudit({ filter }: { filter: AuditLogFilter }) {
  return (
    <>
      <ExportAs format="CSV" filter={filter} />
      <ExportAs format="JSON_LINES" filter={filter} />
    </>
  );
}

function ExportAs({ format, filter }: { format: keyof typeof FORMATS; filter: AuditLogFilter }) {
  const { name, ending, type, end, head } = FORMATS[format];
  const [count, setCount] = useState<number>();
  const save = useSteps(async () => {
    const lines: string[] = [];
    let after: string | null = null;
    do {
      const { auditLog }: AuditLinesQuery = await request(AuditLines, { first: PAGE, after, filter, format });
      lines.push(...(auditLog?.nodes ?? []).flatMap(({ exportLine }) => exportLine ?? []));
      setCount(lines.length);
      after = auditLog?.pageInfo.hasNextPage ? auditLog.pageInfo.endCursor : null;
    } while (after !== null);
    download(`audit-${new Date().toISOString().slice(0, 10)}.${ending}`, type, [
      ...head,
      ...lines.reverse().map((line) => `${line}${end}`),
    ]);
  });
  return (
    <>
      <Button isBusy={save.isPending} onClick={save.run}>
        <T text="Export as {name}" name={name} />
      </Button>
      <span className="visually-hidden" role="status">
        {save.isPending && count !== undefined ? t('{count} entries', { count }) : ''}
      </span>
      {save.error && (
        <Notice tone="bad">
          <T text="{message} Nothing was downloaded." message={save.error.message} />
        </Notice>
      )}
    </>
  );
}
