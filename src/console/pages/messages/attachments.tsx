import { useState } from 'react';
import { counted } from '../../lib/counts.ts';
import { formatNumber } from '../../lib/format.ts';
import { t } from '../../lib/words.ts';
import { Field } from '../../ui/field.tsx';
import { fieldFault } from './send-form.tsx';

/** Maximum size of all attachments of an email together, in bytes. */
const MAX_BYTES = 7 * 1024 * 1024;
const MIB = 1024 * 1024;

const totalOf = (files: readonly File[]) => files.reduce((sum, { size }) => sum + size, 0);
const sizeOf = (bytes: number) =>
  t('{size} MiB', { size: formatNumber(bytes / MIB, bytes < MIB / 10 ? 2 : 1) });

/** The file field of the form. It shows how much of the size limit the files use. */
export function AttachmentsField() {
  const [files, setFiles] = useState<readonly File[]>([]);
  const bytes = totalOf(files);
  const told = { files: counted(files.length, 'file'), size: sizeOf(bytes) };
  return (
    <div className="stack message-recipients-field">
      <Field
        name="attachments"
        label={t('Attachments')}
        type="file"
        multiple
        hint={t('7 MiB together.')}
        onChange={(event) => setFiles([...(event.currentTarget.files ?? [])])}
      />
      {files.length > 0 && (
        <p className={bytes > MAX_BYTES ? 'field-error' : 'field-hint'}>
          {bytes > MAX_BYTES
            ? t('{files}, {size}: {excess} too much', { ...told, excess: sizeOf(bytes - MAX_BYTES) })
            : t('{files}, {size}', told)}
        </p>
      )}
    </div>
  );
}

/** Converts the chosen files to the input of the API. Throws `ApiError` if they are larger than the limit together. */
export async function attachmentsOf(values: FormData) {
  const files = values
    .getAll('attachments')
    .filter((value): value is File => value instanceof File && value.name !== '');
  if (totalOf(files) > MAX_BYTES) throw fieldFault('attachments', t('must have at most 7 MiB together'));
  return Promise.all(
    files.map(async (file) => ({
      filename: file.name,
      content: await base64Of(file),
      contentType: file.type || null,
    })),
  );
}

function base64Of(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result).replace(/^[^,]*,?/, ''));
    reader.onerror = () => reject(fieldFault('attachments', t('{name} cannot be read', { name: file.name })));
    reader.readAsDataURL(file);
  });
}
