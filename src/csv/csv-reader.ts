import { Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { CsvError, type Parser, parse } from 'csv-parse';
import { delimiterOf, QUOTE_NOT_CLOSED, TEXT_AFTER_QUOTE } from '../domain/contacts/csv-dialect.ts';
import { validationError } from '../domain/errors.ts';
import type { CsvReader, CsvRow } from '../domain/ports/csv-reader.ts';

/**
 * Number of characters that are parsed without a pause, which takes 1 to 2 ms. In the pause, other work of the process
 * runs.
 */
const CHUNK = 16_384;
/** The longest row in characters. A longer row is not a contact: it has a quote that is never closed. */
const MAX_ROW_LENGTH = 256 * 1024;
/** Number of rows without text that a file may have. Spreadsheets write some below the last row. */
const MAX_EMPTY_ROWS = 100_000;
const LINE_BREAK = /\r\n|\r|\n/g;

const WORDS: Readonly<Record<string, string>> = {
  CSV_QUOTE_NOT_CLOSED: QUOTE_NOT_CLOSED,
  CSV_MAX_RECORD_SIZE: `the row has more than ${MAX_ROW_LENGTH} characters; is a quote not closed?`,
};

interface RawRecord {
  readonly record: readonly string[];
  /** The text of the record, including the line break. */
  readonly raw: string;
}

/**
 * Reads CSV as spreadsheets write it: with quoted cells, a byte order mark, any kind of line break, and line breaks
 * inside cells.
 */
export const csvReader: CsvReader = {
  async *rows(csv: string): AsyncGenerator<CsvRow> {
    const parser = parse({
      bom: true,
      delimiter: delimiterOf(csv),
      record_delimiter: ['\r\n', '\n', '\r'],
      relax_column_count: true,
      relax_quotes: true,
      trim: true,
      raw: true,
      max_record_size: MAX_ROW_LENGTH,
    });
    takeAnyWidth(parser);
    let line = 1;
    let empty = 0;
    try {
      for await (const { record, raw } of Readable.from(chunksOf(csv)).pipe(
        parser,
      ) as AsyncIterable<RawRecord>) {
        if (record.some((cell) => cell !== '')) yield { line, cells: record };
        else if (++empty > MAX_EMPTY_ROWS) throw tooManyEmptyRows();
        line += breaksIn(raw);
      }
    } catch (error) {
      if (error instanceof CsvError) throw faultOf(error, csv);
      throw error;
    }
  },
};

/**
 * Makes the parser accept rows of any width. csv-parse creates an error with a stack for each row that is not as wide
 * as the first row. With `relax_column_count` it ignores the error, but still creates it. That takes 20 µs for each
 * row, and files may have millions of rows.
 */
function takeAnyWidth(parser: Parser): void {
  const { state } = parser as Parser & { readonly state: { readonly record: readonly string[] } };
  Object.defineProperty(state, 'expectedRecordLength', {
    get: () => state.record.length,
    set: () => undefined,
  });
}

function tooManyEmptyRows() {
  const message = `has more than ${MAX_EMPTY_ROWS} empty rows; take them out`;
  return validationError([{ path: 'csv', message }]);
}

async function* chunksOf(text: string): AsyncGenerator<string> {
  for (let start = 0; start < text.length; ) {
    let end = Math.min(start + CHUNK, text.length);
    // Do not cut between the two halves of a surrogate pair, because the character would be lost.
    if (/[\uD800-\uDBFF]/.test(text.charAt(end - 1))) end += 1;
    yield text.slice(start, end);
    start = end;
    await setImmediate();
  }
}

function breaksIn(text: string): number {
  return text.match(LINE_BREAK)?.length ?? 0;
}

/** Returns the validation error for a parse error, with the line on which the row begins. */
function faultOf(error: CsvError, csv: string) {
  const read = Buffer.from(csv).subarray(0, Number(error.bytes)).toString();
  const line = breaksIn(read) + 1;
  const why = WORDS[error.code] ?? TEXT_AFTER_QUOTE;
  return validationError([{ path: 'csv', message: `line ${line}: ${why}` }]);
}
