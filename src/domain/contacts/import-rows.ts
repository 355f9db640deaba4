import { DomainError, type FieldFault } from '../errors.ts';
import type { CsvRow } from '../ports/csv-reader.ts';
import { type ContactInput, changedFields, NO_FIELDS } from './contact-fields.ts';
import { IMPORT_VALUE_MAX_LENGTH, type RowFault } from './contact-import.ts';
import { type Column, readCells } from './import-columns.ts';

/** A valid row. */
export interface ReadRow {
  readonly line: number;
  readonly cells: readonly string[];
  /** The members of the row, with the phone in E.164. */
  readonly input: ContactInput;
  readonly phone: string | null;
  readonly externalId: string | null;
  /** Lower-case email that identifies the contact when the row has neither phone nor externalId. */
  readonly emailAlone: string | null;
}

/** Reads the rows of one text in order and detects duplicates. */
export class RowReader {
  readonly #columns: readonly Column[];
  /** Line of the first good row of each key. */
  readonly #lines = new Map<string, number>();

  constructor(columns: readonly Column[]) {
    this.#columns = columns;
  }

  /** The row, or its faults, including a duplicate of an earlier row. */
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

  /** The row faults that a refusal stands for. Rethrows any other error. */
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

  /** Registers the keys of a good row, or returns a duplicate fault. */
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
    // With several attribute columns the refusal does not tell which one is too long.
    const column = member === 'attributes' ? null : (this.#columns[index]?.header ?? null);
    const value = column === null ? null : (cells[index] ?? '').slice(0, IMPORT_VALUE_MAX_LENGTH);
    return { line, column, value, code: code as RowFault['code'], message };
  }
}
