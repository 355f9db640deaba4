/** Byte order mark. Without it, spreadsheets do not read a file as UTF-8. */
export const BOM = '\uFEFF';
const NEEDS_QUOTES = /[",\r\n]|^\s|\s$/;
/** Matches text that a spreadsheet would run as a formula. Numbers and phone numbers, such as `+256…`, do not match. */
const FORMULA = /^(?:[=@\t\r]|[+-](?![\d\s().,-]*$))/;

/** The value of one CSV cell. Null becomes an empty cell. */
export type Cell = string | number | null;

function cellOf(value: Cell): string {
  if (value === null) return '';
  if (typeof value === 'number') return String(value);
  const text = FORMULA.test(value) ? `'${value}` : value;
  return NEEDS_QUOTES.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/**
 * Formats one line of CSV (RFC 4180). A formula gets an apostrophe in front, so that a spreadsheet shows it as text.
 */
export function csvLine(cells: readonly Cell[]): string {
  return `${cells.map(cellOf).join(',')}\r\n`;
}

/** Saves a file with the content `parts` through the browser's download. */
export function download(fileName: string, type: string, parts: readonly string[]): void {
  const address = URL.createObjectURL(new Blob([...parts], { type }));
  const link = document.createElement('a');
  link.href = address;
  link.download = fileName;
  link.click();
  URL.revokeObjectURL(address);
}
