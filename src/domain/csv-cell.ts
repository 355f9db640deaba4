/** CSV (RFC 4180) that spreadsheets open. They would run a text that begins with one of these characters. */
const FORMULA = /^[=@+\-\t\r]/;
const GUARDED = /^'(?=[=@+\-\t\r])/;

/** Returns a cell. A text that a spreadsheet would run as a formula gets an apostrophe before it. */
export function csvCell(value: unknown): string {
  if (value === null || value === undefined) return '';
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value);
  const shown = FORMULA.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(shown) ? `"${shown.replaceAll('"', '""')}"` : shown;
}

/** Returns the text of a cell without the apostrophe of `csvCell`. */
export function withoutGuard(text: string): string {
  return text.replace(GUARDED, '');
}
