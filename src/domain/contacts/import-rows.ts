import { DomainError, type FieldFault } from '../errors.ts';
import type { CsvRow } from '../ports/csv-reader.ts';
import { type ContactInput, changedFields, NO_FIELDS } from './contact-fields.ts';
import { IMPORT_VALUE_MAX_LENGTH, type RowFault } from './contact-import.ts';
import { type Column, readCells } from './import-columns.ts';

/** A row whose cells a contact can hold. */
export interface ReadRow {
  readonly line: number;
  readonly cells: readonly string[];
  /** What the row gives, its phone in E.164. */
  readonly input: ContactInput;
  readonly phone: string | null;
  readonly externalId: string | null;
  /** Whom the row is about when it has neither phone nor externalId; in small letters. */
  readonly emailAlone: string | null;
}

/** Reads the rows of one text in their order, and remembers whom they named. */
export class RowReader {
  readonly #columns: readonly Column[];
  /** The line of the first good row of each key. */
  readonly #lines = new Map<string, number>();

  constructor(columns: readonly Column[]) {
    this.#columns = columns;
  }

  /** The row, or what is wrong with it by itself or beside the rows before it. */
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
      const twin = this.#claim(row);
      return twin ? [twin] : row;
    } catch (error) {
      return this.faultsOf({ line, cells }, error);
    }
  }

  /** What a refusal says of the cells of a row; throws what is no refusal. */
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

  /** Gives a good row its keys, or tells of the row that has one of them. */
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
    // Which of many columns of attributes is too long is not known.
    const column = member === 'attributes' ? null : (this.#columns[index]?.header ?? null);
    const value = column === null ? null : (cells[index] ?? '').slice(0, IMPORT_VALUE_MAX_LENGTH);
    return { line, column, value, code: code as RowFault['code'], message };
  }
}
