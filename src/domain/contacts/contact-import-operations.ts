import {
  ACCOUNT_ROLES,
  accountEnvironmentOf,
  accountIdOf,
  actorOf,
  type Environment,
  listedEnvironment,
  visibilityOf,
} from '../caller.ts';
import type { Dependencies } from '../dependencies.ts';
import { DomainError, notFound, validationError } from '../errors.ts';
import { operation } from '../operation.ts';
import { emptySlice, keyRange, SEQ_KEY, type Slice, type SliceInput, sliceOf, UUID_KEY } from '../paging.ts';
import type { CsvReader } from '../ports/csv-reader.ts';
import { isUuid } from '../uuid.ts';
import {
  type ContactImport,
  IMPORT_MAX_BYTES,
  IMPORT_MAX_ROWS,
  IMPORTS_AT_ONCE,
  type ReportedFault,
} from './contact-import.ts';
import { readColumns } from './import-columns.ts';

const READ = { roles: ACCOUNT_ROLES } as const;
const WRITE = { roles: ['OWNER', 'ADMIN', 'DEVELOPER'] } as const;
/** Value of Retry-After in seconds, if too many imports of the account are unfinished. */
const RETRY_SECONDS = 5;

/** Operations that import contacts from CSV (contact-import.ts). */
export function contactImportOperations({ stores, uow, csv, clock, ids }: Dependencies) {
  return {
    /**
     * Accepts a CSV text, which a worker imports later. Throws `validation_error` if the text is no CSV, has no rows or
     * too many, or has no column that identifies contacts. Throws `payload_too_large` for too many bytes. Throws
     * `rate_limit_exceeded` if too many imports of the account are unfinished. This is checked before the text is read,
     * because reading takes seconds of the process, and again when the import is stored (R587).
     */
    start: operation(
      'contact.import',
      WRITE,
      async (
        caller,
        input: { readonly csv: string; readonly environment?: Environment | undefined },
      ): Promise<ContactImport> => {
        const owner = accountEnvironmentOf(caller, input.environment);
        const { accountId } = owner;
        checkSize(input.csv);
        refuseAbove(await stores.contactImports.unfinished(accountId));
        const one: ContactImport = {
          id: ids.uuid(),
          ...owner,
          state: 'pending',
          progress: {
            rowsTotal: await countRows(csv, input.csv),
            rowsDone: 0,
            created: 0,
            updated: 0,
            failed: 0,
          },
          faults: 0,
          failure: null,
          createdBy: actorOf(caller),
          createdAt: clock.now(),
          finishedAt: null,
        };
        await uow.run(async (tx) => {
          await tx.contacts.lockAll(accountId);
          refuseAbove(await tx.contactImports.unfinished(accountId));
          await tx.contactImports.insert(one, input.csv);
          const job = { queue: 'contact-import', routeKey: accountId, data: { importId: one.id } } as const;
          await tx.jobs.enqueue([job]);
          tx.announceLive('import', [one]);
        });
        return one;
      },
    ),

    find: operation(
      'contact.findImport',
      READ,
      async (caller, input: { readonly id: string }): Promise<ContactImport> => {
        const found = isUuid(input.id) && (await stores.contactImports.find(visibilityOf(caller), input.id));
        if (!found) throw notFound('Import');
        return found;
      },
    ),

    /** Lists the account's imports of the last 30 days, newest first. */
    list: operation(
      'contact.listImports',
      READ,
      async (
        caller,
        input: SliceInput & { readonly environment?: Environment | undefined },
      ): Promise<Slice<ContactImport>> => {
        const range = keyRange(input, UUID_KEY);
        const owner = listedEnvironment(caller, input.environment);
        if (!owner) return emptySlice(range);
        const rows = await stores.contactImports.slice(owner, range);
        return sliceOf(
          rows,
          range,
          (one) => one.id,
          () => stores.contactImports.count(owner),
        );
      },
    ),

    /** Returns the faults of the failed rows of each import, in row order. */
    faultsOf: operation(
      'contact.importFaultsOf',
      READ,
      async (
        caller,
        input: SliceInput & { readonly imports: readonly ContactImport[] },
      ): Promise<ReadonlyMap<string, Slice<ReportedFault>>> => {
        const range = keyRange(input, SEQ_KEY);
        const ids = input.imports.map(({ id }) => id);
        const rows = await stores.contactImports.faults(accountIdOf(caller), ids, range);
        const groups = Map.groupBy(rows, (row) => row.importId);
        const slice = ({ id, faults }: ContactImport) =>
          sliceOf<ReportedFault>(
            groups.get(id) ?? [],
            range,
            (fault) => String(fault.seq),
            async () => faults,
          );
        return new Map(input.imports.map((one) => [one.id, slice(one)]));
      },
    ),
  };
}

function refuseAbove(unfinished: number): void {
  if (unfinished < IMPORTS_AT_ONCE) return;
  const message = `${IMPORTS_AT_ONCE} imports have not ended yet. Wait for one of them.`;
  throw new DomainError('rate_limit_exceeded', message, undefined, RETRY_SECONDS);
}

function checkSize(csv: string): void {
  const bytes = Buffer.byteLength(csv);
  if (bytes <= IMPORT_MAX_BYTES) return;
  const message = `The CSV has ${bytes} bytes; ${IMPORT_MAX_BYTES} is the most. Import it in parts.`;
  throw new DomainError('payload_too_large', message, { maximum: IMPORT_MAX_BYTES });
}

/**
 * Counts the rows. It reads the whole text, so that a fault of the whole text is reported before any row is imported.
 */
async function countRows(reader: CsvReader, csv: string): Promise<number> {
  let rows = -1;
  for await (const row of reader.rows(csv)) {
    if (rows === -1) readColumns(row);
    rows += 1;
    if (rows > IMPORT_MAX_ROWS) {
      const message = `has more than ${IMPORT_MAX_ROWS} rows; import it in parts`;
      throw validationError([{ path: 'csv', message }]);
    }
  }
  if (rows < 1) {
    const message = rows === -1 ? 'is empty' : 'has a header and no row below it';
    throw validationError([{ path: 'csv', message }]);
  }
  return rows;
}
