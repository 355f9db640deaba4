import type { AccountEnvironment } from '../../domain/caller.ts';
import type { Contact } from '../../domain/contacts/contact.ts';
import { ContactBook } from '../../domain/contacts/contact-book.ts';
import { changedFields, NO_FIELDS } from '../../domain/contacts/contact-fields.ts';
import {
  type ContactImport,
  IMPORT_DEADLINE_MS,
  IMPORT_RETENTION_MS,
  type ImportProgress,
  type RowFault,
} from '../../domain/contacts/contact-import.ts';
import { readColumns } from '../../domain/contacts/import-columns.ts';
import { type ReadRow, RowReader } from '../../domain/contacts/import-rows.ts';
import { DomainError } from '../../domain/errors.ts';
import type { CsvReader } from '../../domain/ports/csv-reader.ts';
import type { HeldJob } from '../../domain/ports/job-queue.ts';
import type { Stores, Tx, UnitOfWork } from '../../domain/ports/stores.ts';
import type { Clock, Ids } from '../../domain/ports/system.ts';

/** Number of rows in one transaction. The transaction locks the account's contacts for about 10 ms. */
const BATCH = 500;
const FORGOTTEN_AT_ONCE = 5_000;

type Progress = Omit<ImportProgress, 'rowsTotal'>;
/** A valid row, or the faults of an invalid one. */
type RowResult = ReadRow | readonly RowFault[];

/**
 * Runs imports in batches of rows. The contacts of a batch and the progress of the import commit together, so after a
 * crash it continues where it was.
 */
export class ImportContacts {
  readonly #stores: Pick<Stores, 'contactImports'>;
  readonly #uow: UnitOfWork;
  readonly #csv: CsvReader;
  readonly #clock: Clock;
  readonly #ids: Ids;

  constructor(
    stores: Pick<Stores, 'contactImports'>,
    uow: UnitOfWork,
    csv: CsvReader,
    clock: Clock,
    ids: Ids,
  ) {
    this.#stores = stores;
    this.#uow = uow;
    this.#csv = csv;
    this.#clock = clock;
    this.#ids = ids;
  }

  /**
   * Continues an import to its end. Rejects if `signal` aborts. The job is then repeated, perhaps by another process.
   */
  async handle({ data }: Pick<HeldJob<'contact-import'>, 'data'>, signal: AbortSignal): Promise<void> {
    const opened = await this.#stores.contactImports.open(data.importId);
    if (!opened) return;
    let failure: string | null = null;
    try {
      if (!(await this.#importRows(opened.import, opened.csv, signal))) return;
    } catch (error) {
      if (!(error instanceof DomainError)) throw error;
      failure = error.message;
    }
    const { id, accountId } = opened.import;
    await this.#uow.run(async (tx) => {
      await tx.contactImports.finish(id, failure, this.#clock.now());
      tx.announceLive('import', [{ accountId, id }]);
    });
  }

  /** Ends abandoned imports and deletes old ones. */
  async cleanUp(): Promise<void> {
    const now = this.#clock.now();
    const { contactImports } = this.#stores;
    const due = new Date(now.getTime() - IMPORT_DEADLINE_MS);
    await contactImports.abandonBefore(due, 'It could not be finished in time. Import the rest again.', now);
    const before = new Date(now.getTime() - IMPORT_RETENTION_MS);
    while ((await contactImports.forgetBefore(before, FORGOTTEN_AT_ONCE)) === FORGOTTEN_AT_ONCE);
  }

  /** Imports the remaining rows. Returns false if another process has continued the import. */
  async #importRows(started: ContactImport, csv: string, signal: AbortSignal): Promise<boolean> {
    let reader: RowReader | undefined;
    let done: Progress = started.progress;
    let toSkip = done.rowsDone;
    let batch: RowResult[] = [];
    const flush = async (rows: readonly RowResult[]): Promise<boolean> => {
      const next = reader && (await this.#importBatch(started, reader, done, rows));
      done = next ?? done;
      return next !== undefined;
    };
    /**
     * The write of the last batch, which runs while the rows of the next batch are read. Resolves with true if it was
     * written.
     */
    let writing: Promise<boolean> = Promise.resolve(true);
    try {
      for await (const row of this.#csv.rows(csv)) {
        if (!reader) {
          reader = new RowReader(readColumns(row));
          continue;
        }
        // Rows that are already imported are read again, because a later row may be a duplicate of such a row.
        const outcome = reader.read(row);
        if (toSkip > 0) {
          toSkip -= 1;
          continue;
        }
        batch.push(outcome);
        if (batch.length < BATCH) continue;
        if (!(await writing)) return false;
        if (signal.aborted) throw new Error('the process stops');
        writing = flush(batch);
        // `writing` is awaited later, and its error is handled there. Without this line, a rejection before that would
        // end the process.
        writing.catch(() => undefined);
        batch = [];
      }
    } finally {
      // Wait for the write. The method must not return while a batch is being written.
      await Promise.allSettled([writing]);
    }
    return (await writing) && (batch.length === 0 || flush(batch));
  }

  #importBatch(
    { id, accountId, environment }: ContactImport,
    reader: RowReader,
    done: Progress,
    batch: readonly RowResult[],
  ): Promise<Progress | undefined> {
    const rows = batch.filter((outcome): outcome is ReadRow => 'cells' in outcome);
    return this.#uow.run(async (tx) => {
      await tx.contacts.lockAll(accountId);
      const owner = { accountId, environment };
      const book = new ContactBook(await findNamed(tx, owner, rows));
      const faults: RowFault[] = [];
      const counts = { created: 0, updated: 0, failed: 0 };
      for (const outcome of batch) {
        const result = 'cells' in outcome ? this.#importRow(owner, book, reader, outcome) : outcome;
        if (typeof result === 'string') {
          counts[result] += 1;
        } else {
          counts.failed += 1;
          faults.push(...result);
        }
      }
      const next: Progress = {
        rowsDone: done.rowsDone + batch.length,
        created: done.created + counts.created,
        updated: done.updated + counts.updated,
        failed: done.failed + counts.failed,
      };
      if (!(await tx.contactImports.advance(id, done.rowsDone, next, faults))) return undefined;
      await tx.contacts.saveAll(book.changes());
      tx.announceLive('import', [{ accountId, id }]);
      return next;
    });
  }

  /** Adds or changes the contact of a row. Returns the row's faults if it cannot. */
  #importRow(
    owner: AccountEnvironment,
    book: ContactBook,
    reader: RowReader,
    row: ReadRow,
  ): 'created' | 'updated' | readonly RowFault[] {
    try {
      const before = contactOf(book, row);
      const now = this.#clock.now();
      if (!before) {
        const id = this.#ids.uuid();
        book.put({ ...changedFields(NO_FIELDS, row.input), ...owner, id, createdAt: now, updatedAt: now });
        return 'created';
      }
      const { attributes } = row.input;
      const merged = attributes ? { attributes: { ...before.attributes, ...attributes } } : {};
      book.put({ ...before, ...changedFields(before, { ...row.input, ...merged }), updatedAt: now });
      return 'updated';
    } catch (error) {
      return reader.faultsOf(row, error);
    }
  }
}

function findNamed(tx: Tx, owner: AccountEnvironment, rows: readonly ReadRow[]): Promise<readonly Contact[]> {
  return tx.contacts.findNamed(owner, {
    phones: rows.flatMap((row) => row.phone ?? []),
    externalIds: rows.flatMap((row) => row.externalId ?? []),
    emails: rows.flatMap((row) => row.emailAlone ?? []),
  });
}

/** Finds the contact that a row names. Throws `contact_exists` if several contacts match. */
function contactOf(book: ContactBook, { phone, externalId, emailAlone }: ReadRow): Contact | undefined {
  if (emailAlone !== null) {
    const [first, second] = book.byEmail(emailAlone);
    if (second) throw ambiguous('email', 'Several contacts have this email.');
    return first;
  }
  const byPhone = phone === null ? undefined : book.byPhone(phone);
  const byExternalId = externalId === null ? undefined : book.byExternalId(externalId);
  if (byPhone && byExternalId && byPhone.id !== byExternalId.id) {
    throw ambiguous('phone', 'The phone belongs to one contact and the externalId to another.');
  }
  return byPhone ?? byExternalId;
}

function ambiguous(field: string, message: string): DomainError {
  return new DomainError('contact_exists', message, { field });
}
