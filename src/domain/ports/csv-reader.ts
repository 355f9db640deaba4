export interface CsvRow {
  /** The line on which the row begins, from 1. */
  readonly line: number;
  /** All cells of the row, trimmed. */
  readonly cells: readonly string[];
}

/** Reads CSV (RFC 4180). The delimiter is comma, semicolon or tab, whichever is most frequent in the first row. */
export interface CsvReader {
  /**
   * Returns the rows that are not empty, the header included. Pauses between rows so that other work of the process can
   * run. If the text is no CSV, throws `validation_error` with the number of the line.
   */
  rows(csv: string): AsyncIterable<CsvRow>;
}
