import { useState } from 'react';
import { csvLine, download } from '../../lib/csv.ts';
import { request } from '../../lib/request.ts';
import { useIsOperator } from '../../lib/session.tsx';
import { useSteps } from '../../lib/steps.ts';
import { t } from '../../lib/words.ts';
import { actorName } from '../../ui/actor.tsx';
import { Button } from '../../ui/button.tsx';
import { Notice } from '../../ui/notice.tsx';
import { T } from '../../ui/t.tsx';
import type { AuditLogFilter } from './audit.generated.ts';
import { AuditLines, type AuditLinesQuery } from './export.generated.ts';

const PAGE = 100;
const HEADER = 'seq,id,accountId,at,actor,action,target,before,after,previousHash,hash';
/** What operators get in addition. The hashes do not cover it: names may change after the entry. */
const NAMES = ['actorName', 'accountName', 'targetName'] as const;
const FORMATS = {
  JSON_LINES: { name: t('JSON lines'), ending: 'jsonl', type: 'application/jsonl', end: '\n' },
  CSV: { name: 'CSV', ending: 'csv', type: 'text/csv', end: '\r\n' },
} as const;
type Format = keyof typeof FORMATS;
type Exported = NonNullable<AuditLinesQuery['auditLog']>['nodes'][number];

/**
 * Exports the entries that the filter shows, oldest first, with their hashes in the chain. For operators, who see all
 * accounts, each line also has the names of its ids.
 */
export function ExportAudit({ filter }: { filter: AuditLogFilter }) {
  return (
    <>
      <ExportAs format="CSV" filter={filter} />
      <ExportAs format="JSON_LINES" filter={filter} />
    </>
  );
}

function ExportAs({ format, filter }: { format: Format; filter: AuditLogFilter }) {
  const { name, ending, type, end } = FORMATS[format];
  const isOperator = useIsOperator();
  const [count, setCount] = useState<number>();
  const save = useSteps(async () => {
    const lines: string[] = [];
    let after: string | null = null;
    do {
      const { auditLog }: AuditLinesQuery = await request(AuditLines, {
        ...{ first: PAGE, after, filter, format },
        withNames: isOperator,
      });
      lines.push(...(auditLog?.nodes ?? []).flatMap((entry) => lineOf(entry, format, isOperator)));
      setCount(lines.length);
      after = auditLog?.pageInfo.hasNextPage ? auditLog.pageInfo.endCursor : null;
    } while (after !== null);
    download(`audit-${new Date().toISOString().slice(0, 10)}.${ending}`, type, [
      ...(format === 'CSV' ? [`${[HEADER, ...(isOperator ? NAMES : [])].join(',')}${end}`] : []),
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

/** Returns the line of an entry. None if the entry has no line. */
function lineOf(entry: Exported, format: Format, withNames: boolean): readonly string[] {
  const { exportLine: line, actor, account, target } = entry;
  if (line === null || !withNames) return line === null ? [] : [line];
  const names = [actorName(actor ?? null), account?.name ?? null, target?.name ?? null];
  if (format === 'CSV') return [`${line},${csvLine(names).trimEnd()}`];
  const added = NAMES.map((name, index) => `${JSON.stringify(name)}:${JSON.stringify(names[index])}`);
  // The line stays as it was hashed. Reading and writing it again could change its numbers.
  return [`${line.slice(0, -1)},${added.join(',')}}`];
}
