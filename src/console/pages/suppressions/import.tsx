import { useState } from 'react';
import { SUPPRESSION_FILE_MAX_ROWS } from '../../../domain/suppressions/suppression-file.ts';
import type { ApiError, FieldFault } from '../../lib/api-error.ts';
import { counted } from '../../lib/counts.ts';
import { useEnvironment } from '../../lib/environment.ts';
import { useApiMutation } from '../../lib/queries.ts';
import { t } from '../../lib/words.ts';
import { Button, ButtonLink } from '../../ui/button.tsx';
import { CsvInput } from '../../ui/csv-input.tsx';
import { type Column, DataTable } from '../../ui/data-table.tsx';
import { Form } from '../../ui/form.tsx';
import { PageHeader } from '../../ui/layout.tsx';
import { Notice } from '../../ui/notice.tsx';
import { T } from '../../ui/t.tsx';
import { ImportSuppressions, Suppressions } from './suppressions.generated.ts';

/** A request has at most 1 MiB. The rest is for the backslashes that JSON puts before quotes and line breaks. */
const MAX_BYTES = 900 * 1024;

interface LineFault {
  /** Null for a fault of the whole file. */
  readonly line: string | null;
  readonly message: string;
}

const COLUMNS: readonly Column<LineFault>[] = [
  { header: t('Line'), cell: ({ line }) => line ?? <span className="quiet">–</span>, isNumber: true },
  { header: t('What is wrong'), cell: ({ message }) => message },
];

/** Imports opt-outs from a CSV file or a pasted text: all rows or none. Shows every fault with its line. */
export default function ImportSuppressionsPage() {
  const environment = useEnvironment();
  const [csv, setCsv] = useState('');
  const [fault, setFault] = useState<string>();
  const start = useApiMutation(ImportSuppressions, { refetches: [Suppressions] });
  const faults = faultsOf(start.error);
  const done = start.data?.importSuppressions;
  const submit = () => {
    const isEmpty = csv.trim() === '';
    setFault(isEmpty ? t('Choose a file or paste its rows first.') : undefined);
    if (!isEmpty) start.mutate({ csv, environment });
  };
  return (
    <>
      <PageHeader title={t('Import opt-outs')}>
        <ButtonLink href="/suppressions">{t('Opt-outs')}</ButtonLink>
      </PageHeader>
      <p className="quiet">
        <T
          text="The first line names the columns: <code>channel</code> (sms, email or whatsapp), <code>address</code>, <code>scope</code> (marketing or all) and, if you want, <code>reason</code>. All rows are imported, or none. An exported file can be imported, and the same file again changes nothing."
          code={<code />}
        />
      </p>
      <Form label={t('Import opt-outs')} error={faults.length === 0 ? start.error : null} onSubmit={submit}>
        {fault && <Notice tone="bad">{fault}</Notice>}
        <CsvInput
          maxRows={SUPPRESSION_FILE_MAX_ROWS}
          maxBytes={MAX_BYTES}
          example={'channel,address,scope,reason\nsms,+256772000001,marketing,Asked on the phone'}
          onText={setCsv}
          onFile={() => {
            start.reset();
            setFault(undefined);
          }}
        />
        {faults.length > 0 && (
          <>
            <Notice tone="bad">{t('Nothing was imported. Mend the file, and import it again.')}</Notice>
            <DataTable
              caption={t('What is wrong with the file')}
              columns={COLUMNS}
              rows={faults}
              keyOf={({ line, message }) => `${line} ${message}`}
            />
          </>
        )}
        {done && (
          <Notice tone="good">
            <T
              text="{rows} read: {changed} opted out now, or more widely than before; {unchanged} unchanged."
              rows={counted(done.rows, 'row')}
              changed={counted(done.changed, 'address')}
              unchanged={counted(done.unchanged, 'address')}
            />
          </Notice>
        )}
        <div className="row">
          <Button type="submit" look="primary" isBusy={start.isPending}>
            {t('Import')}
          </Button>
          <ButtonLink href="/suppressions">{done ? t('See the opt-outs') : t('Cancel')}</ButtonLink>
        </div>
      </Form>
    </>
  );
}

/** Returns the faults of the file. An empty list if the error is another one. */
function faultsOf(error: ApiError | null): readonly LineFault[] {
  return (error?.fields ?? []).filter(({ path }) => path === 'csv').map(lineFaultOf);
}

function lineFaultOf({ message }: FieldFault): LineFault {
  const [, line = null, rest = message] = /^line (\d+): (.*)$/s.exec(message) ?? [];
  return { line, message: rest };
}
