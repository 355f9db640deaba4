import { t } from '../../lib/words.ts';
import { type Column, DataTable } from '../../ui/data-table.tsx';
import { Notice } from '../../ui/notice.tsx';
import type { CsvPreview } from './csv-preview.ts';

const MEANINGS = {
  name: t('Name'),
  phone: t('Phone'),
  email: t('Email'),
  externalId: t('External id'),
  tags: t('Tags, separated by ; or |'),
} as const;

const COLUMNS: readonly Column<CsvPreview['columns'][number]>[] = [
  { header: t('Column'), cell: ({ header }) => <strong>{header}</strong>, isWhole: true },
  {
    header: t('Becomes'),
    cell: ({ member, attribute }) =>
      member === 'attributes' ? t('Attribute “{attribute}”', { attribute }) : MEANINGS[member],
  },
  {
    header: t('Such as'),
    cell: ({ examples }) =>
      examples.length === 0 ? <span className="quiet">{t('empty')}</span> : examples.join(' · '),
  },
];

/** Shows how the gateway will read the columns of a CSV text. */
export function ImportPreview({ of: { columns, fault } }: { of: CsvPreview }) {
  return (
    <section className="stack" aria-label={t('How the columns are understood')}>
      {fault && <Notice tone="bad">{fault}</Notice>}
      {columns.length > 0 && (
        <DataTable
          caption={t('How the columns are understood, with the first rows')}
          columns={COLUMNS}
          rows={columns}
          keyOf={({ header }) => header}
        />
      )}
    </section>
  );
}
