import type { Environment } from '../caller.ts';

/**
 * An **import** adds the contacts of a CSV text and changes those that are there. Each row is a contact of its own:
 *
 * - It names whom it is about by phone or externalId, or by email when it has neither. Nobody: a contact is added.
 *   Somebody: what the row's cells hold is changed; empty cells, and attributes without a column, stay as they are.
 * - The rules are those of the contact operations. A row that breaks one changes nothing and is reported, with as
 *   many faults as were found, and so is one whose phone and externalId belong to two contacts.
 * - A row that names the phone, the externalId or, with nothing else, the email of a good row before it is a
 *   **duplicate**, and reported: which of the two was meant is not known.
 */
export const IMPORT_STATES = ['pending', 'running', 'done', 'failed'] as const;
export type ImportState = (typeof IMPORT_STATES)[number];

export interface ImportProgress {
  /** Rows of the text without its header. */
  readonly rowsTotal: number;
  /** Rows that are created, updated or failed. */
  readonly rowsDone: number;
  readonly created: number;
  readonly updated: number;
  readonly failed: number;
}

export interface ContactImport {
  readonly id: string;
  readonly accountId: string;
  /** Where its contacts go, too. */
  readonly environment: Environment;
  readonly state: ImportState;
  readonly progress: ImportProgress;
  /** How many faults the rows that failed have. */
  readonly faults: number;
  /** Why the import as a whole ended early. */
  readonly failure: string | null;
  readonly createdBy: string;
  readonly createdAt: Date;
  readonly finishedAt: Date | null;
}

/** What is wrong with a row. */
export interface RowFault {
  /** Line of the text on which the row begins. */
  readonly line: number;
  /** Header of the column; null for the row as a whole. */
  readonly column: string | null;
  /** The cell, cut to `IMPORT_VALUE_MAX_LENGTH`. */
  readonly value: string | null;
  readonly code: RowFaultCode;
  readonly message: string;
}
export type RowFaultCode =
  | 'validation_error'
  | 'invalid_phone_number'
  | 'contact_exists'
  | 'duplicate_row'
  | 'malformed_row';

/** A fault with its number within the import, from 1. */
export type ReportedFault = RowFault & { readonly seq: number };

export const IMPORT_MAX_ROWS = 100_000;
/** UTF-8 bytes of the text. */
export const IMPORT_MAX_BYTES = 12 * 1024 * 1024;
export const IMPORT_MAX_COLUMNS = 100;
export const IMPORT_VALUE_MAX_LENGTH = 100;
/** Imports of an account that wait or are under way. */
export const IMPORTS_AT_ONCE = 3;
/** An import that has not ended by then never will: its job is lost. */
export const IMPORT_DEADLINE_MS = 24 * 3_600_000;
/** How long an import is remembered once it has ended. */
export const IMPORT_RETENTION_MS = 30 * 24 * 3_600_000;
