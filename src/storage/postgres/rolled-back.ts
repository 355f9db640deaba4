import { serviceUnavailable } from '../../domain/errors.ts';
import type { AuditHeads } from '../../domain/ports/audit-stores.ts';
import type { JobSink, NewJob } from '../../domain/ports/job-queue.ts';
import type { RolledBackTransaction, RolledBackTransactions } from '../../domain/ports/stores.ts';
import { Semaphore } from '../../runtime/semaphore.ts';
import { type IntakeOptions, PgIntake } from '../intake/index.ts';
import { PgAuditStore } from '../stores/audit.store.ts';
import type { Sql } from './sql.ts';
import { createStores, createUnitOfWork } from './unit-of-work.ts';

/** Each holds a connection of the pool, and locks, until its request is answered. */
const MAX_OPEN = 3;
const MAX_WAIT_MS = 2_000;

const UNHEARD = { deliver: () => undefined };

/** Rolls a transaction back. */
class End extends Error {}

/** The audit log has one chain, whose end every entry locks. Nothing is appended to it here. */
class UnchangedAuditStore extends PgAuditStore {
  override async append(): Promise<void> {}
}

/** Transactions that are always rolled back, a few at a time. Transactions inside them are parts of them. */
export class PgRolledBackTransactions implements RolledBackTransactions {
  readonly #sql: Sql;
  readonly #heads: AuditHeads;
  readonly #intake: IntakeOptions;
  readonly #places = new Semaphore(MAX_OPEN);

  constructor(sql: Sql, heads: AuditHeads, intake: IntakeOptions) {
    this.#sql = sql;
    this.#heads = heads;
    this.#intake = intake;
  }

  async open(): Promise<RolledBackTransaction> {
    if (!(await this.#places.acquire(undefined, MAX_WAIT_MS))) {
      throw serviceUnavailable('Too many dry runs are under way. Try again.');
    }
    const ended = Promise.withResolvers<never>();
    const opened = Promise.withResolvers<RolledBackTransaction>();
    // The transaction may fail before it waits for its end.
    ended.promise.catch(() => undefined);
    const done = this.#sql
      .transaction(async (inside) => {
        opened.resolve({
          ...this.#partsOn(inside),
          end: () => {
            ended.reject(new End());
            return done;
          },
        });
        await ended.promise;
      })
      // A connection that broke has rolled back, too.
      .catch((error: unknown) => opened.reject(error))
      .finally(() => this.#places.release());
    return opened.promise;
  }

  #partsOn(inside: Sql): Omit<RolledBackTransaction, 'end'> {
    const storesOn = (sql: Sql) => ({
      ...createStores(sql, this.#heads),
      audit: new UnchangedAuditStore(sql, this.#heads),
    });
    const jobs: NewJob[] = [];
    const sink: JobSink = {
      enqueue: async (added) => void jobs.push(...added),
      end: async () => undefined,
    };
    return {
      stores: storesOn(inside),
      uow: createUnitOfWork(inside, () => sink, UNHEARD, storesOn),
      intake: new PgIntake(inside, () => sink, { ...this.#intake, decidesFirst: true }),
      jobs,
    };
  }
}
