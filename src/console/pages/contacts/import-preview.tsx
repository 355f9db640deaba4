import { type Column, DataTable } from '../../ui/data-table.tsx';
import { Notice } from '../../ui/notice.tsx';
import type { CsvPreview } from './csv-preview.ts';

const MEANINGS = {
  name: 'Name',
  phone: 'Phone',
  email: 'Email',
  externalId: 'External id',
  tags: 'Tags, separated by ; or |',
} as const;

const COLUMNS: readonly Column<CsvPreview['columns'][number]>[] = [
  { header: 'Column', cell: ({ header }) => <strong>{header}</strong>, isWhole: true },
  {
    header: 'Becomes',
    cell: ({ member, attribute }) =>
      member === 'attributes' ? `Attribute “${attribute}”` : MEANINGS[member],
  },
  {
    header: 'Such as',
    cell: ({ examples }) =>
      examples.length === 0 ? <span className="quiet">empty</span> : examples.join(' · '),
  },
];

/** Shows how the gateway will read the columns of a CSV text. */
export function ImportPreview({ of: { columns, fault } }: { of: CsvPreview }) {
  return (
    <section className="stack" aria-label="How the columns are understood">
      {fault && <Notice tone="bad">{fault}</Notice>}
      {columns.length > 0 && (
        <DataTable
          caption="How the columns are understood, with the first rows"
          columns={COLUMNS}
          rows={columns}
          keyOf={({ header }) => header}
        />
      )}
    </section>
  );
}
