import type { Environment } from '../caller.ts';

/**
 * An **import** adds and changes contacts from a CSV text. Each row is one contact:
 *
 * - The phone or externalId identifies the contact; with neither, the email does. Without a match a contact is
 *   added. With a match the row's cells replace its members; empty cells and attributes without a column stay.
 * - The rules are those of the contact operations. A row that breaks one changes nothing and is reported with its
 *   faults; so is a row whose phone and externalId belong to two contacts.
 * - A **duplicate** repeats the phone, the externalId or, with neither, the email of a good row before it. It is
 *   reported, because it is unknown which of the two was meant.
 */
export const IMPORT_STATES = ['pending', 'running', 'done', 'failed'] as const;
export type ImportState = (typeof IMPORT_STATES)[number];

export interface ImportProgress {
  /** Rows without the header. */
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
  /** The environment of the import and of its contacts. */
  readonly environment: Environment;
  readonly state: ImportState;
  readonly progress: ImportProgress;
  /** Number of faults of the failed rows. */
  readonly faults: number;
  /** Why the whole import ended early. */
  readonly failure: string | null;
  readonly createdBy: string;
  readonly createdAt: Date;
  readonly finishedAt: Date | null;
}

/** A fault of a row. */
export interface RowFault {
  /** Line on which the row begins. */
  readonly line: number;
  /** Header of the column; null for the whole row. */
  readonly column: string | null;
  /** The cell, truncated to `IMPORT_VALUE_MAX_LENGTH`. */
  readonly value: string | null;
  readonly code: RowFaultCode;
  readonly message: string;
}
export const ROW_FAULT_CODES = [
  'validation_error',
  'invalid_phone_number',
  'contact_exists',
  'duplicate_row',
  'malformed_row',
] as const;
export type RowFaultCode = (typeof ROW_FAULT_CODES)[number];

/** A fault with its number in the import, from 1. */
export type ReportedFault = RowFault & { readonly seq: number };

export const IMPORT_MAX_ROWS = 100_000;
/** UTF-8 bytes of the text. */
export const IMPORT_MAX_BYTES = 12 * 1024 * 1024;
export const IMPORT_MAX_COLUMNS = 100;
export const IMPORT_VALUE_MAX_LENGTH = 100;
/** Unfinished imports of an account. */
export const IMPORTS_AT_ONCE = 3;
/** An import that is unfinished after this time has lost its job. */
export const IMPORT_DEADLINE_MS = 24 * 3_600_000;
/** Ended imports are kept for this long. */
export const IMPORT_RETENTION_MS = 30 * 24 * 3_600_000;
