import { useState } from 'react';
import { formatBytes } from '../lib/format.ts';
import { type ReadFile, readTextFile } from '../lib/read-text-file.ts';
import { t } from '../lib/words.ts';
import { Button } from './button.tsx';
import { TextArea } from './field.tsx';
import { FileDrop } from './file-drop.tsx';
import { Notice } from './notice.tsx';

/** A field for a CSV text, which the person chooses as a file, drops or pastes. */
export function CsvInput({
  maxRows,
  maxBytes,
  example,
  onText,
  onFile,
}: {
  maxRows: number;
  maxBytes: number;
  /** Shown in the empty field for pasted text. */
  example: string;
  onText: (csv: string) => void;
  /** Is called when the person chooses a file, before it is read. */
  onFile: () => void;
}) {
  const [file, setFile] = useState<ReadFile>();
  const [pasted, setPasted] = useState('');
  const [fault, setFault] = useState<string>();

  const take = async (chosen: File) => {
    onFile();
    setFault(undefined);
    if (chosen.size > maxBytes) {
      setFault(
        t('{name} has {size}; {maxBytes} is the most.', {
          name: chosen.name,
          size: formatBytes(chosen.size),
          maxBytes: formatBytes(maxBytes),
        }),
      );
      return;
    }
    const read = await readTextFile(chosen);
    setFile(read);
    onText(read.text);
  };

  if (file) {
    return (
      <>
        <div className="card row spread">
          <span>
            <strong>{file.name}</strong> <span className="quiet">{formatBytes(file.bytes)}</span>
          </span>
          <Button
            onClick={() => {
              setFile(undefined);
              onText(pasted);
            }}
          >
            {t('Choose another file')}
          </Button>
        </div>
        {file.isGuessed && (
          <Notice tone="warn">
            {t(
              'The file is not UTF-8; it was read as Windows-1252. If letters look wrong, save it as “CSV UTF-8”.',
            )}
          </Notice>
        )}
      </>
    );
  }
  return (
    <>
      {fault && <Notice tone="bad">{fault}</Notice>}
      <FileDrop
        label={t('CSV file')}
        accept=".csv,.txt,text/csv,text/plain"
        hint={t(
          'Choose it or drop it here. Up to {maxRows} rows and {maxBytes}; commas, semicolons or tabs.',
          { maxRows, maxBytes: formatBytes(maxBytes) },
        )}
        onFile={(chosen) => void take(chosen)}
      />
      <TextArea
        name="csv"
        label={t('Or paste it')}
        rows={6}
        spellCheck={false}
        placeholder={example}
        value={pasted}
        onChange={({ currentTarget }) => {
          setPasted(currentTarget.value);
          onText(currentTarget.value);
        }}
      />
    </>
  );
}
