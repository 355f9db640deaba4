/**
 * A **suppression file** is a CSV text with one suppression a row, in the columns `channel`, `address`, `scope` and
 * `reason` (R383). An exported file also has `source` and `at`, which an import does not read. So an exported file can
 * be imported.
 */
import { csvCell, withoutGuard } from '../csv-cell.ts';
import { FAULTS_MAX, type FieldFault, validationError } from '../errors.ts';
import type { CsvReader, CsvRow } from '../ports/csv-reader.ts';
import { quote } from '../text.ts';
import {
  addressRule,
  SUPPRESSED_CHANNELS,
  SUPPRESSION_REASON_MAX_LENGTH,
  SUPPRESSION_SCOPES,
  type SuppressedChannel,
  type Suppression,
  type SuppressionScope,
  suppressibleAddress,
} from './suppression.ts';

export const SUPPRESSION_FILE_MAX_ROWS = 10_000;

const READ_COLUMNS = ['channel', 'address', 'scope', 'reason'] as const;
const FILE_COLUMNS = [...READ_COLUMNS, 'source', 'at'] as const;
type FileColumn = (typeof FILE_COLUMNS)[number];
const REQUIRED: readonly FileColumn[] = ['channel', 'address', 'scope'];

export interface FileEntry {
  readonly channel: SuppressedChannel;
  readonly address: string;
  readonly scope: SuppressionScope;
  readonly reason: string | null;
}

export interface SuppressionFile {
  readonly rows: number;
  /** The addresses of the file, each once on a channel. The widest scope counts, and of equal ones the last. */
  readonly entries: readonly FileEntry[];
}

/** Reads a file. Throws `validation_error` that names all faulty rows by their lines, the first `FAULTS_MAX` in full. */
export async function readSuppressionFile(reader: CsvReader, csv: string): Promise<SuppressionFile> {
  let columns: readonly FileColumn[] | undefined;
  let rows = 0;
  const faults: FieldFault[] = [];
  const entries = new Map<string, FileEntry>();
  for await (const row of reader.rows(csv)) {
    if (columns === undefined) {
      columns = columnsOf(row);
      continue;
    }
    rows += 1;
    if (rows > SUPPRESSION_FILE_MAX_ROWS) {
      throw faultOfFile(`has more than ${SUPPRESSION_FILE_MAX_ROWS} rows; import it in parts`);
    }
    const entry = entryOf(columns, row, faults);
    if (entry === undefined) continue;
    const key = `${entry.channel} ${entry.address}`;
    if (entries.get(key)?.scope !== 'all' || entry.scope === 'all') entries.set(key, entry);
  }
  if (columns === undefined) throw faultOfFile('is empty');
  if (rows === 0) throw faultOfFile('has a header and no row below it');
  if (faults.length > FAULTS_MAX) {
    const more = faults.length - FAULTS_MAX + 1;
    faults.splice(FAULTS_MAX - 1, more, { path: 'csv', message: `and ${more} more faults in later lines` });
  }
  if (faults.length > 0) throw validationError(faults);
  return { rows, entries: [...entries.values()] };
}

/** Returns suppressions as lines of a file. With `hasHeader`, the first line names the columns. */
export function suppressionLines(suppressions: readonly Suppression[], hasHeader: boolean): string {
  const lines = suppressions.map(({ createdAt, ...each }) => {
    const values: Record<FileColumn, string | null> = { ...each, at: createdAt.toISOString() };
    // A spreadsheet reads a phone number as a number. So it needs no guard against formulas.
    const isPlain = (name: FileColumn) => name === 'address' && each.channel !== 'email';
    return FILE_COLUMNS.map((name) => (isPlain(name) ? each.address : csvCell(values[name]))).join(',');
  });
  return [...(hasHeader ? [FILE_COLUMNS.join(',')] : []), ...lines].map((line) => `${line}\r\n`).join('');
}

function columnsOf({ line, cells }: CsvRow): readonly FileColumn[] {
  const faults: string[] = [];
  const columns = cells.map((cell) => {
    const name = FILE_COLUMNS.find((each) => each === cell.toLowerCase());
    if (name === undefined) faults.push(`${quote(cell)} is no column; use ${READ_COLUMNS.join(', ')}`);
    return name;
  });
  const known = columns.filter((name) => name !== undefined);
  for (const name of REQUIRED) if (!known.includes(name)) faults.push(`the column ${name} is missing`);
  if (new Set(known).size < known.length) faults.push('a column is there twice');
  if (faults.length > 0) throw validationError(faults.map((fault) => faultAt(line, fault)));
  return known;
}

/** Returns the entry of a row. Undefined if it has faults, which are added to `faults`. */
function entryOf(
  columns: readonly FileColumn[],
  { line, cells }: CsvRow,
  faults: FieldFault[],
): FileEntry | undefined {
  const cellOf = (name: FileColumn) => withoutGuard(cells[columns.indexOf(name)] ?? '');
  const before = faults.length;
  const channel = SUPPRESSED_CHANNELS.find((each) => each === cellOf('channel').toLowerCase());
  const scope = SUPPRESSION_SCOPES.find((each) => each === cellOf('scope').toLowerCase());
  const reason = cellOf('reason');
  if (!channel) faults.push(faultAt(line, `channel must be ${SUPPRESSED_CHANNELS.join(', ')}`));
  if (!scope) faults.push(faultAt(line, `scope must be ${SUPPRESSION_SCOPES.join(' or ')}`));
  if (reason.length > SUPPRESSION_REASON_MAX_LENGTH) {
    faults.push(faultAt(line, `reason must have at most ${SUPPRESSION_REASON_MAX_LENGTH} characters`));
  }
  const address = channel && suppressibleAddress(channel, cellOf('address'));
  if (channel && address === undefined) faults.push(faultAt(line, `address ${addressRule(channel)}`));
  if (faults.length > before || !channel || !scope || address === undefined) return undefined;
  return { channel, address, scope, reason: reason === '' ? null : reason };
}

const faultAt = (line: number, message: string): FieldFault => ({
  path: 'csv',
  message: `line ${line}: ${message}`,
});
const faultOfFile = (message: string) => validationError([{ path: 'csv', message }]);
