/**
 * What of CSV the gateway and the console's preview of a file must understand alike. **Delimiter**: what stands between
 * two cells; spreadsheets write commas or semicolons, by country, and put tabs on the clipboard.
 */

/** A delimiter stands this early, or the text is no table. */
const LOOKED_AT = 16_384;
/** The first of them where a row has as many of each. */
const DELIMITERS = [',', ';', '\t'] as const;
export type Delimiter = (typeof DELIMITERS)[number];

/** What is wrong with a row whose quoted cell has no end. */
export const QUOTE_NOT_CLOSED = 'a quoted cell begins in this row and is not closed';
/** What is wrong with a row in which a quoted cell goes on after its end. */
export const TEXT_AFTER_QUOTE =
  'text stands after the closing quote of a cell; a quote inside of one must be doubled';

/** The delimiter that the first row that is not empty, quoted cells left out, has most of. */
export function delimiterOf(csv: string): Delimiter {
  const text = csv.slice(0, LOOKED_AT).replace(/^\s*[\r\n]/, '');
  const first = /^(?:"[^"]*"|[^"\r\n])*/.exec(text)?.[0] ?? '';
  const bare = first.replace(/"[^"]*"/g, '');
  const countOf = (delimiter: Delimiter) => bare.split(delimiter).length;
  return DELIMITERS.reduce((most, each) => (countOf(each) > countOf(most) ? each : most));
}
