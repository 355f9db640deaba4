/** One row of a CSV text. */
export interface CsvRow {
  /** Line of the text, from 1, on which the row begins. */
  readonly line: number;
  /** As many as the row has, without the spaces around them. */
  readonly cells: readonly string[];
}

/** Reads CSV (RFC 4180, delimited by commas, semicolons or tabs, whichever the first row has most of). */
export interface CsvReader {
  /**
   * The rows in which a cell holds something, header included. Reading pauses now and then for other work of the
   * process. Throws `validation_error` where the text is no CSV, naming the line.
   */
  rows(csv: string): AsyncIterable<CsvRow>;
}
