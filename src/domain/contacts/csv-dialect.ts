/**
 * CSV rules that the gateway and the console's preview share. **Delimiter**: the character between two cells.
 * Spreadsheets write commas or semicolons, depending on the country, and copy with tabs.
 */

/** The first row must have a delimiter within this many characters. */
const LOOKED_AT = 16_384;
/** With equal counts the first one wins. */
const DELIMITERS = [',', ';', '\t'] as const;
export type Delimiter = (typeof DELIMITERS)[number];

export const QUOTE_NOT_CLOSED = 'a quoted cell begins in this row and is not closed';
export const TEXT_AFTER_QUOTE =
  'text stands after the closing quote of a cell; a quote inside of one must be doubled';

/** The most frequent delimiter in the first row that is not empty, outside quoted cells. */
export function delimiterOf(csv: string): Delimiter {
  const text = csv.slice(0, LOOKED_AT).replace(/^\s*[\r\n]/, '');
  const first = /^(?:"[^"]*"|[^"\r\n])*/.exec(text)?.[0] ?? '';
  const bare = first.replace(/"[^"]*"/g, '');
  const countOf = (delimiter: Delimiter) => bare.split(delimiter).length;
  return DELIMITERS.reduce((most, each) => (countOf(each) > countOf(most) ? each : most));
}
