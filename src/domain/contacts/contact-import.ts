import type { Environment } from '../caller.ts';

/**
 * An **import** adds and changes contacts from a CSV text. Each row is one contact:
 *
 * - The phone number or externalId identifies the contact. If the row has neither, the email address does. If no
 *   contact matches, one is added. If a contact matches, the cells of the row replace its values. Empty cells leave the
 *   values unchanged, and so do attributes without a column.
 * - Rows follow the rules of the contact operations. A row that breaks a rule changes nothing and is reported with its
 *   faults. A row whose phone number and externalId belong to two different contacts is reported, too.
 * - A **duplicate** is a row with the phone number or externalId of a valid row before it. A row that has neither is a
 *   duplicate if it repeats the email address. It is reported, because it is unknown which of the two rows is right.
 */
export const IMPORT_STATES = ['pending', 'running', 'done', 'failed'] as const;
export type ImportState = (typeof IMPORT_STATES)[number];

export interface ImportProgress {
  /** Number of rows without the header. */
  readonly rowsTotal: number;
  /** Number of rows that were created, were updated or have failed. */
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
  /** Number of faults in the failed rows. */
  readonly faults: number;
  /** Why the whole import ended early. Null if it did not. */
  readonly failure: string | null;
  readonly createdBy: string;
  readonly createdAt: Date;
  readonly finishedAt: Date | null;
}

/** A fault in a row. */
export interface RowFault {
  /** The line on which the row begins. */
  readonly line: number;
  /** Header of the column with the fault. Null if the whole row is at fault. */
  readonly column: string | null;
  /** The text of the cell, truncated to `IMPORT_VALUE_MAX_LENGTH`. */
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
/** Largest size of the text in bytes of UTF-8. */
export const IMPORT_MAX_BYTES = 12 * 1024 * 1024;
export const IMPORT_MAX_COLUMNS = 100;
export const IMPORT_VALUE_MAX_LENGTH = 100;
/** Largest number of unfinished imports of an account. */
export const IMPORTS_AT_ONCE = 3;
/** An import that is unfinished after this time, in ms, has lost its job. It is then ended as failed. */
export const IMPORT_DEADLINE_MS = 24 * 3_600_000;
/** Ended imports are deleted after this time, in ms. */
export const IMPORT_RETENTION_MS = 30 * 24 * 3_600_000;
