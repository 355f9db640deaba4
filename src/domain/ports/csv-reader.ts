export interface CsvRow {
  /** Line on which the row begins, from 1. */
  readonly line: number;
  /** All cells of the row, trimmed. */
  readonly cells: readonly string[];
}

/** Reads CSV (RFC 4180). The delimiter is the most frequent of comma, semicolon and tab in the first row. */
export interface CsvReader {
  /**
   * The rows that are not empty, header included. Yields to other work of the process. Throws `validation_error`
   * with the line when the text is no CSV.
   */
  rows(csv: string): AsyncIterable<CsvRow>;
}
