import { DomainError, type FieldFault } from '../errors.ts';
import type { CsvRow } from '../ports/csv-reader.ts';
import { type ContactInput, changedFields, NO_FIELDS } from './contact-fields.ts';
import { IMPORT_VALUE_MAX_LENGTH, type RowFault } from './contact-import.ts';
import { type Column, readCells } from './import-columns.ts';

/** A valid row. */
export interface ReadRow {
  readonly line: number;
  readonly cells: readonly string[];
  /** The members in the row, with the phone number in E.164. */
  readonly input: ContactInput;
  readonly phone: string | null;
  readonly externalId: string | null;
  /**
   * The email address in lower case, if it identifies the contact because the row has neither phone number nor
   * externalId. Otherwise null.
   */
  readonly emailAlone: string | null;
}

/** Reads the rows of one text in order and detects duplicates. */
export class RowReader {
  readonly #columns: readonly Column[];
  /** For each identifying value, the line of the first valid row that has it. */
  readonly #lines = new Map<string, number>();

  constructor(columns: readonly Column[]) {
    this.#columns = columns;
  }

  /** Returns the row if it is valid, otherwise its faults. A duplicate of an earlier row is a fault. */
  read({ line, cells }: CsvRow): ReadRow | readonly RowFault[] {
    const width = this.#columns.length;
    if (cells.slice(width).some((cell) => cell !== '')) {
      const message = `The row has ${cells.length} cells, the header ${width}. Is a cell with a comma not quoted?`;
      return [{ line, column: null, value: null, code: 'malformed_row', message }];
    }
    const input = readCells(this.#columns, cells);
    try {
      const { phone, email, externalId } = changedFields(NO_FIELDS, input);
      const isAlone = phone === null && externalId === null;
      const emailAlone = isAlone && email !== null ? email.toLowerCase() : null;
      const row = {
        line,
        cells,
        input: { ...input, ...(phone === null ? {} : { phone }) },
        phone,
        externalId,
        emailAlone,
      };
      const duplicate = this.#claim(row);
      return duplicate ? [duplicate] : row;
    } catch (error) {
      return this.faultsOf({ line, cells }, error);
    }
  }

  /** Converts the error that refuses a row into row faults. Throws any other error again. */
  faultsOf({ line, cells }: CsvRow, error: unknown): readonly RowFault[] {
    if (!(error instanceof DomainError)) throw error;
    if (error.code === 'validation_error') {
      const fields = (error.details?.fields ?? []) as readonly FieldFault[];
      return fields.map(({ path, message }) =>
        this.#fault({ line, cells }, path.replace(/\..*/, ''), error.code, message),
      );
    }
    return [this.#fault({ line, cells }, String(error.details?.field ?? ''), error.code, error.message)];
  }

  /**
   * Records the identifying values of a valid row. If an earlier row has one of them, records nothing and returns a
   * duplicate fault.
   */
  #claim(row: ReadRow): RowFault | undefined {
    const { phone, externalId, emailAlone } = row;
    const keys = Object.entries({ phone, externalId, email: emailAlone }).filter(([, key]) => key !== null);
    for (const [member, key] of keys) {
      const line = this.#lines.get(`${member} ${key}`);
      if (line !== undefined) {
        return this.#fault(row, member, 'duplicate_row', `Line ${line} is about the same ${member}.`);
      }
    }
    for (const [member, key] of keys) this.#lines.set(`${member} ${key}`, row.line);
    return undefined;
  }

  #fault({ line, cells }: CsvRow, member: string, code: string, message: string): RowFault {
    const index = this.#columns.findIndex((column) => column.member === member);
    // The error does not say which of the attribute columns is too long, so no column is named.
    const column = member === 'attributes' ? null : (this.#columns[index]?.header ?? null);
    const value = column === null ? null : (cells[index] ?? '').slice(0, IMPORT_VALUE_MAX_LENGTH);
    return { line, column, value, code: code as RowFault['code'], message };
  }
}
