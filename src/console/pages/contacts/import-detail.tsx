import { useEffect, useState } from 'react';
import { useParams } from 'wouter';
import { formatNumber } from '../../lib/format.ts';
import { refetch, useApiQuery } from '../../lib/queries.ts';
import { request } from '../../lib/request.ts';
import { t } from '../../lib/words.ts';
import { Actor } from '../../ui/actor.tsx';
import { Badge } from '../../ui/badge.tsx';
import { ButtonLink } from '../../ui/button.tsx';
import { CsvExport } from '../../ui/csv-export.tsx';
import type { Column } from '../../ui/data-table.tsx';
import { PageHeader } from '../../ui/layout.tsx';
import { Notice } from '../../ui/notice.tsx';
import { PAGE_SIZE, PagedTable } from '../../ui/paged-table.tsx';
import { useAfter } from '../../ui/pager.tsx';
import { Loaded } from '../../ui/states.tsx';
import { KeyValues, Time } from '../../ui/values.tsx';
import { Contacts } from './contacts.generated.ts';
import {
  ContactImportDetail,
  ContactImportErrors,
  type ContactImportErrorsQuery,
  type ImportRowFragment,
} from './imports.generated.ts';
import './imports.css';

const ASK_EVERY_MS = 500;
const SLICE_MAX = 100;

type RowFault = NonNullable<ContactImportErrorsQuery['contactImport']>['errors']['nodes'][number];

const COLUMNS: readonly Column<RowFault>[] = [
  { header: t('Line'), cell: ({ row }) => formatNumber(row), isNumber: true },
  { header: t('Column'), cell: ({ column }) => column ?? <span className="quiet">{t('the row')}</span> },
  {
    header: t('Holds'),
    cell: ({ value }) => (value ? <code>{value}</code> : <span className="quiet">–</span>),
  },
  { header: t('What is wrong'), cell: ({ message }) => message },
];

/** The page of one import: its live progress and the rows that failed. */
export default function ContactImportPage() {
  const { id } = useParams<{ id: string }>();
  const [isOver, setIsOver] = useState(false);
  const query = useApiQuery(ContactImportDetail, { id }, isOver ? {} : { refetchEveryMs: ASK_EVERY_MS });
  const finishedAt = query.data?.contactImport.finishedAt;
  useEffect(() => {
    if (!finishedAt) return;
    setIsOver(true);
    void refetch(Contacts, ContactImportErrors);
  }, [finishedAt]);
  return (
    <Loaded query={query}>
      {({ contactImport }) => (
        <>
          <PageHeader title={t('Import')}>
            <Badge status={contactImport.state} />
            <ButtonLink href="/contacts/import">{t('Import another')}</ButtonLink>
            <ButtonLink href="/contacts" look={isOver ? 'primary' : 'plain'}>
              {t('See the contacts')}
            </ButtonLink>
          </PageHeader>
          <Progress of={contactImport} />
          {contactImport.progress.failed > 0 && <Faults of={contactImport} />}
        </>
      )}
    </Loaded>
  );
}

function Progress({
  of: { state, progress, failure, createdAt, creator, finishedAt },
}: {
  of: ImportRowFragment;
}) {
  const { rowsDone, rowsTotal, created, updated, failed } = progress;
  return (
    <section className="card stack" aria-label={t('Progress')}>
      <progress
        className="import-progress"
        aria-label={t('Rows imported')}
        value={rowsDone}
        max={rowsTotal}
      />
      <p role="status">
        {finishedAt === null
          ? t('{rowsDone} of {rowsTotal} rows. You can leave this page; it goes on.', { rowsDone, rowsTotal })
          : t('Ended: {rowsDone} of {rowsTotal} rows.', { rowsDone, rowsTotal })}
      </p>
      {failure && <Notice tone="bad">{failure}</Notice>}
      {state === 'DONE' && failed === 0 && <Notice tone="good">{t('Every row was imported.')}</Notice>}
      <KeyValues
        items={[
          [t('Added'), formatNumber(created)],
          [t('Changed'), formatNumber(updated)],
          [t('Failed'), formatNumber(failed)],
          [t('Started'), <Time key="started" at={createdAt} />],
          [t('By'), <Actor key="by" of={creator} />],
          [t('Ended'), <Time key="ended" at={finishedAt} otherwise={t('not yet')} />],
        ]}
      />
    </section>
  );
}

function Faults({ of: { id, finishedAt } }: { of: ImportRowFragment }) {
  const after = useAfter();
  const query = useApiQuery(
    ContactImportErrors,
    { id, first: PAGE_SIZE, after },
    finishedAt === null ? { keepsLast: true, refetchEveryMs: ASK_EVERY_MS } : { keepsLast: true },
  );
  return (
    <section className="stack" aria-labelledby="faults">
      <div className="row spread">
        <h2 id="faults">{t('Rows that failed')}</h2>
        {finishedAt !== null && (
          <CsvExport
            fileName={`import-${id}-errors.csv`}
            header={['line', 'column', 'value', 'code', 'message']}
            cellsOf={(fault: RowFault) => [fault.row, fault.column, fault.value, fault.code, fault.message]}
            sliceAfter={async (cursor, signal) => {
              const variables = { id, first: SLICE_MAX, after: cursor };
              return (await request(ContactImportErrors, variables, { signal })).contactImport.errors;
            }}
          >
            {t('Download as CSV')}
          </CsvExport>
        )}
      </div>
      <Loaded query={query}>
        {({ contactImport: { errors } }) => (
          <PagedTable
            of={errors}
            caption={t(
              'They changed nothing. Mend them in your file and import it again: the good rows change nothing twice.',
            )}
            columns={COLUMNS}
            keyOf={({ row, column, code }) => `${row} ${column} ${code}`}
            empty={null}
          />
        )}
      </Loaded>
    </section>
  );
}
