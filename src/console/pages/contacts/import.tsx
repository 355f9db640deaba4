import { useMemo, useState } from 'react';
import { useLocation } from 'wouter';
import { IMPORT_MAX_BYTES, IMPORT_MAX_ROWS } from '../../../domain/contacts/contact-import.ts';
import { useEnvironment, useInEnvironment } from '../../lib/environment.ts';
import { formatNumber } from '../../lib/format.ts';
import { useApiMutation } from '../../lib/queries.ts';
import { Button, ButtonLink } from '../../ui/button.tsx';
import { TextArea } from '../../ui/field.tsx';
import { FileDrop } from '../../ui/file-drop.tsx';
import { Form } from '../../ui/form.tsx';
import { PageHeader } from '../../ui/layout.tsx';
import { Notice } from '../../ui/notice.tsx';
import { previewOf } from './csv-preview.ts';
import { ImportPreview } from './import-preview.tsx';
import { ContactImports, ImportContacts } from './imports.generated.ts';
import { type ReadFile, readTextFile } from './read-text-file.ts';

/** Starts an import of a file or a pasted text. Before that, it shows a preview of the columns. */
export default function ImportContactsPage() {
  const [, navigate] = useLocation();
  const environment = useEnvironment();
  const inEnvironment = useInEnvironment();
  const [file, setFile] = useState<ReadFile>();
  const [pasted, setPasted] = useState('');
  const [fault, setFault] = useState<string>();
  const start = useApiMutation(ImportContacts, {
    refetches: [ContactImports],
    onDone: ({ importContacts: { id } }) => navigate(inEnvironment(`/contacts/imports/${id}`)),
  });
  const csv = file?.text ?? pasted;
  const preview = useMemo(() => previewOf(csv), [csv]);

  const take = async (chosen: File) => {
    start.reset();
    setFault(undefined);
    if (chosen.size > IMPORT_MAX_BYTES) {
      setFault(`${chosen.name} has ${sizeOf(chosen.size)}; ${sizeOf(IMPORT_MAX_BYTES)} is the most.`);
      return;
    }
    setFile(await readTextFile(chosen));
  };

  const submit = () => {
    setFault(preview ? undefined : 'Choose a file or paste its rows first.');
    if (preview) start.mutate({ csv, environment });
  };

  return (
    <>
      <PageHeader title="Import contacts">
        <ButtonLink href="/contacts/imports">Imports</ButtonLink>
      </PageHeader>
      <p className="quiet">
        A row with the phone or external id of a contact changes that contact; empty cells change nothing. Any
        other row adds one. Errors are reported row by row; the other rows are imported.
      </p>
      <Form label="Import contacts" error={start.error} onSubmit={submit}>
        {fault && <Notice tone="bad">{fault}</Notice>}
        {file ? (
          <div className="card row spread">
            <span>
              <strong>{file.name}</strong> <span className="quiet">{sizeOf(file.bytes)}</span>
            </span>
            <Button onClick={() => setFile(undefined)}>Choose another file</Button>
          </div>
        ) : (
          <>
            <FileDrop
              label="CSV file"
              accept=".csv,.txt,text/csv,text/plain"
              hint={`Choose it or drop it here. Up to ${formatNumber(IMPORT_MAX_ROWS)} rows and ${sizeOf(IMPORT_MAX_BYTES)}; commas, semicolons or tabs.`}
              onFile={(chosen) => void take(chosen)}
            />
            <TextArea
              name="csv"
              label="Or paste it"
              rows={6}
              spellCheck={false}
              placeholder={'name,phone,tags,city\nAmina Nakato,+256772000001,vip;north,Gulu'}
              value={pasted}
              onChange={({ currentTarget }) => setPasted(currentTarget.value)}
            />
          </>
        )}
        {file?.isGuessed && (
          <Notice tone="warn">
            The file is not UTF-8; it was read as Windows-1252. If letters look wrong below, save it as “CSV
            UTF-8”.
          </Notice>
        )}
        {preview && <ImportPreview of={preview} />}
        <div className="row">
          <Button type="submit" look="primary" isBusy={start.isPending}>
            Import
          </Button>
          <ButtonLink href="/contacts">Cancel</ButtonLink>
        </div>
      </Form>
    </>
  );
}

function sizeOf(bytes: number): string {
  if (bytes < 1024) return `${bytes} bytes`;
  return bytes < 1_048_576
    ? `${formatNumber(Math.round(bytes / 1024))} kB`
    : `${formatNumber(Math.round(bytes / 104_857.6) / 10)} MB`;
}
