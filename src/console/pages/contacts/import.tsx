import { useMemo, useState } from 'react';
import { useLocation } from 'wouter';
import { IMPORT_MAX_BYTES, IMPORT_MAX_ROWS } from '../../../domain/contacts/contact-import.ts';
import { useEnvironment, useInEnvironment } from '../../lib/environment.ts';
import { useApiMutation } from '../../lib/queries.ts';
import { t } from '../../lib/words.ts';
import { Button, ButtonLink } from '../../ui/button.tsx';
import { CsvInput } from '../../ui/csv-input.tsx';
import { Form } from '../../ui/form.tsx';
import { PageHeader } from '../../ui/layout.tsx';
import { Notice } from '../../ui/notice.tsx';
import { previewOf } from './csv-preview.ts';
import { ImportPreview } from './import-preview.tsx';
import { ContactImports, ImportContacts } from './imports.generated.ts';

/** Starts an import of a file or a pasted text. Before that, it shows a preview of the columns. */
export default function ImportContactsPage() {
  const [, navigate] = useLocation();
  const environment = useEnvironment();
  const inEnvironment = useInEnvironment();
  const [csv, setCsv] = useState('');
  const [fault, setFault] = useState<string>();
  const start = useApiMutation(ImportContacts, {
    refetches: [ContactImports],
    onDone: ({ importContacts: { id } }) => navigate(inEnvironment(`/contacts/imports/${id}`)),
  });
  const preview = useMemo(() => previewOf(csv), [csv]);

  const submit = () => {
    setFault(preview ? undefined : t('Choose a file or paste its rows first.'));
    if (preview) start.mutate({ csv, environment });
  };

  return (
    <>
      <PageHeader title={t('Import contacts')}>
        <ButtonLink href="/contacts/imports">{t('Imports')}</ButtonLink>
      </PageHeader>
      <p className="quiet">
        {t(
          'A row with the phone or external id of a contact changes that contact; empty cells change nothing. Any other row adds one. Errors are reported row by row; the other rows are imported.',
        )}
      </p>
      <Form label={t('Import contacts')} error={start.error} onSubmit={submit}>
        {fault && <Notice tone="bad">{fault}</Notice>}
        <CsvInput
          maxRows={IMPORT_MAX_ROWS}
          maxBytes={IMPORT_MAX_BYTES}
          example={'name,phone,tags,city\nAmina Nakato,+256772000001,vip;north,Gulu'}
          onText={setCsv}
          onFile={() => {
            start.reset();
            setFault(undefined);
          }}
        />
        {preview && <ImportPreview of={preview} />}
        <div className="row">
          <Button type="submit" look="primary" isBusy={start.isPending}>
            {t('Import')}
          </Button>
          <ButtonLink href="/contacts">{t('Cancel')}</ButtonLink>
        </div>
      </Form>
    </>
  );
}
