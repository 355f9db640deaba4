import { delimiterOf, QUOTE_NOT_CLOSED, TEXT_AFTER_QUOTE } from '../../../domain/contacts/csv-dialect.ts';
import { type Column, readColumns } from '../../../domain/contacts/import-columns.ts';
import { DomainError } from '../../../domain/errors.ts';
import { t } from '../../lib/words.ts';

/** Number of characters that the preview parses. The gateway parses the whole text. */
const LOOKED_AT = 65_536;
const EXAMPLES = 3;

/** The columns of a CSV text as the gateway will read them, or the error in its first rows. */
export interface CsvPreview {
  readonly columns: readonly (Column & { readonly examples: readonly string[] })[];
  readonly fault: string | null;
}

/** Parses the first `LOOKED_AT` characters of a CSV text. Returns null if they are empty. */
export function previewOf(csv: string): CsvPreview | null {
  const { rows: read, fault } = readRows(csv.slice(0, LOOKED_AT), csv.length <= LOOKED_AT);
  const [header, ...rows] = read;
  if (!header) return fault === null ? null : { columns: [], fault };
  try {
    const columns = readColumns({ line: 1, cells: header });
    const examplesOf = (index: number) =>
      rows
        .slice(0, EXAMPLES)
        .map((row) => row[index] ?? '')
        .filter((cell) => cell !== '');
    return {
      columns: columns.map((column, index) => ({ ...column, examples: examplesOf(index) })),
      fault: fault ?? (rows.length === 0 ? t('There is a header and no row below it.') : null),
    };
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    return { columns: [], fault: error.message.replace(/^csv: /, '') };
  }
}

/** Returns the rows that are not empty, up to the first error, and that error. Cells are trimmed and unquoted. */
function readRows(text: string, isWhole: boolean): { rows: readonly string[][]; fault: string | null } {
  const rows: string[][] = [];
  const delimiter = delimiterOf(text);
  const space = delimiter === '\t' ? '[^\\S\\r\\n\\t]*' : '[^\\S\\r\\n]*';
  const cell = new RegExp(`${space}(?:"((?:[^"]|"")*)("?)${space}|([^${delimiter}\\r\\n]*))`, 'y');
  let row: string[] = [];
  let at = text.startsWith('\uFEFF') ? 1 : 0;
  let begin = at;
  const refuse = (why: string) => {
    const line = text.slice(0, begin).split(/\r\n|\r|\n/).length;
    return { rows, fault: t('line {line}: {why}', { line, why }) };
  };
  while (at < text.length) {
    cell.lastIndex = at;
    const [whole = '', quoted, close, bare = ''] = cell.exec(text) ?? [];
    at += whole.length;
    // An open quote is an error only in a whole text. In a shortened one, the missing part may close it.
    if (close === '') return isWhole ? refuse(QUOTE_NOT_CLOSED) : { rows, fault: null };
    const next = text[at] ?? '\n';
    if (close && next !== delimiter && !/[\r\n]/.test(next)) return refuse(TEXT_AFTER_QUOTE);
    row.push((quoted?.replaceAll('""', '"') ?? bare).trim());
    at += 1;
    if (next === delimiter) continue;
    if (row.some((each) => each !== '')) rows.push(row);
    row = [];
    begin = at;
  }
  return { rows, fault: null };
}
