import { type Column, readColumns } from '../../../domain/contacts/import-columns.ts';
import { DomainError } from '../../../domain/errors.ts';

/** As much of the text is looked at: the gateway reads all of it. */
const LOOKED_AT = 65_536;
const EXAMPLES = 3;

/** How the gateway will understand a CSV text, or what is wrong with its first row. */
export interface CsvPreview {
  readonly columns: readonly (Column & { readonly examples: readonly string[] })[];
  readonly fault: string | null;
}

/** Looks at the beginning of a CSV text; null when there is nothing in it. */
export function previewOf(csv: string): CsvPreview | null {
  const [header, ...rows] = firstRows(csv.slice(0, LOOKED_AT), EXAMPLES + 1);
  if (!header) return null;
  try {
    const columns = readColumns({ line: 1, cells: header });
    const examplesOf = (index: number) => rows.map((row) => row[index] ?? '').filter((cell) => cell !== '');
    return {
      columns: columns.map((column, index) => ({ ...column, examples: examplesOf(index) })),
      fault: rows.length === 0 ? 'There is a header and no row below it.' : null,
    };
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    return { columns: [], fault: error.message.replace(/^csv: /, '') };
  }
}

/** The first rows that hold something; cells are trimmed, quotes undone. */
function firstRows(text: string, most: number): string[][] {
  const rows: string[][] = [];
  const [firstLine = ''] = text.split(/[\r\n]/, 1);
  const delimiter = firstLine.split(';').length > firstLine.split(',').length ? ';' : ',';
  const cell = new RegExp(`\\s*(?:"((?:[^"]|"")*)"[^${delimiter}\\r\\n]*|([^${delimiter}\\r\\n]*))`, 'y');
  let row: string[] = [];
  let at = text.startsWith('\uFEFF') ? 1 : 0;
  while (at < text.length && rows.length < most) {
    cell.lastIndex = at;
    const [whole = '', quoted, bare = ''] = cell.exec(text) ?? [];
    row.push((quoted?.replaceAll('""', '"') ?? bare).trim());
    at += whole.length;
    if (text[at] !== delimiter) {
      if (row.some((each) => each !== '')) rows.push(row);
      row = [];
    }
    at += 1;
  }
  return rows;
}
