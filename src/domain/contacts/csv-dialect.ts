/**
 * CSV rules that both the gateway and the preview in the console use. **Delimiter**: the character between two cells.
 * Spreadsheets write commas or semicolons, depending on the country. Copied cells have tabs.
 */

/** Number of characters at the beginning of the text in which the delimiter is searched. */
const LOOKED_AT = 16_384;
/** The possible delimiters. If two are equally frequent, the one that comes first in this list is used. */
const DELIMITERS = [',', ';', '\t'] as const;
export type Delimiter = (typeof DELIMITERS)[number];

export const QUOTE_NOT_CLOSED = 'a quoted cell begins in this row and is not closed';
export const TEXT_AFTER_QUOTE =
  'text stands after the closing quote of a cell; a quote inside of one must be doubled';

/** Returns the most frequent delimiter in the first row that is not empty. Characters in quoted cells do not count. */
export function delimiterOf(csv: string): Delimiter {
  const text = csv.slice(0, LOOKED_AT).replace(/^\s*[\r\n]/, '');
  const first = /^(?:"[^"]*"|[^"\r\n])*/.exec(text)?.[0] ?? '';
  const bare = first.replace(/"[^"]*"/g, '');
  const countOf = (delimiter: Delimiter) => bare.split(delimiter).length;
  return DELIMITERS.reduce((most, each) => (countOf(each) > countOf(most) ? each : most));
}
