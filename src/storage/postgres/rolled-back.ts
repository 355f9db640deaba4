import type pg from 'pg';
import { serviceUnavailable } from '../../domain/errors.ts';
import type { AuditHeads } from '../../domain/ports/audit-stores.ts';
import type { JobSink, NewJob } from '../../domain/ports/job-queue.ts';
import type { RolledBackTransaction, RolledBackTransactions } from '../../domain/ports/stores.ts';
import { Semaphore } from '../../runtime/semaphore.ts';
import { type IntakeOptions, PgIntake } from '../intake/index.ts';
import { PgAuditStore } from '../stores/audit.store.ts';
import { type Sql, statement } from './sql.ts';
import { createStores, createUnitOfWork } from './unit-of-work.ts';

/** Greatest number of open transactions. Each one holds a connection of the pool until its request is answered. */
const MAX_OPEN = 3;
/** Number of transactions of one holder that may wait until the holder's earlier ones end. */
const MAX_WAITING = 20;
/** Longest wait, in ms. */
const MAX_WAIT_MS = 5_000;

const OWN_PROCESS = statement('dry-run-process', 'SELECT pg_backend_pid() AS pid');
/** Ends the backend with the process id $1. Its transaction is rolled back, and its locks are released. */
const TERMINATE = statement('dry-run-terminate', 'SELECT pg_terminate_backend($1)');

/** Delivers no announcement, because the change is rolled back. */
const UNHEARD = { deliver: () => undefined };

/** Thrown inside a transaction to roll it back. */
class End extends Error {}

/** A connection, with the mark that makes Knex's pool drop it. */
type Disposable = pg.Client & { __knex__disposed?: unknown };

/** An audit store that appends nothing. Every new entry would lock the end of the log, which all accounts share. */
class UnchangedAuditStore extends PgAuditStore {
  override async append(): Promise<void> {}
}

/**
 * Transactions that are always rolled back. Only a few are open at a time. A nested transaction is a part of the outer
 * one. The locks of such a transaction may delay the messages of other accounts, because intake accepts the messages of
 * all accounts together. So each holder has one transaction at a time, and each transaction has a time limit (R331).
 */
export class PgRolledBackTransactions implements RolledBackTransactions {
  readonly #sql: Sql;
  readonly #heads: AuditHeads;
  readonly #intake: IntakeOptions;
  readonly #places = new Semaphore(MAX_OPEN);
  /** A permit for each holder that has a transaction or waits for one. */
  readonly #holders = new Map<string, Semaphore>();

  constructor(sql: Sql, heads: AuditHeads, intake: IntakeOptions) {
    this.#sql = sql;
    this.#heads = heads;
    this.#intake = intake;
  }

  async open(holder: string, maxMs: number): Promise<RolledBackTransaction> {
    const release = await this.#takePlace(holder);
    const ended = Promise.withResolvers<never>();
    const opened = Promise.withResolvers<RolledBackTransaction>();
    // Avoid an unhandled rejection: the transaction may fail before it awaits `ended`.
    ended.promise.catch(() => undefined);
    const done = this.#sql
      .transaction(async (inside, connection) => {
        const limit = await this.#limit(inside, connection, maxMs);
        opened.resolve({
          ...this.#partsOn(inside),
          get isOverdue() {
            return limit.isOver;
          },
          end: () => {
            ended.reject(new End());
            return done;
          },
        });
        await ended.promise.finally(() => limit.stop());
      })
      // If the connection broke, PostgreSQL has rolled back the transaction, too.
      .catch((error: unknown) => opened.reject(error))
      .finally(release);
    return opened.promise;
  }

  /**
   * Waits until the holder may open a transaction. Call the returned function at the end, so that the next one may
   * open.
   */
  async #takePlace(holder: string): Promise<() => void> {
    const own = this.#holders.get(holder) ?? new Semaphore(1);
    this.#holders.set(holder, own);
    const refused = serviceUnavailable('Too many dry runs are under way. Try again.');
    if (own.waiting >= MAX_WAITING || !(await own.acquire(undefined, MAX_WAIT_MS))) throw refused;
    const release = () => {
      own.release();
      if (own.held === 0) this.#holders.delete(holder);
    };
    if (await this.#places.acquire(undefined, MAX_WAIT_MS)) {
      return () => {
        this.#places.release();
        release();
      };
    }
    release();
    throw refused;
  }

  /**
   * Ends the transaction after `maxMs`, even while one of its statements runs: it ends the backend of PostgreSQL. Later
   * statements of the transaction fail, because its connection is closed.
   */
  async #limit(inside: Sql, connection: Disposable, maxMs: number) {
    const [row] = await inside.query<{ pid: number }>(OWN_PROCESS, []);
    let ending: Promise<unknown> | undefined;
    const timer = setTimeout(() => {
      // Knex's pool does not hand out a connection that has this mark.
      connection.__knex__disposed = new End('the dry run took too long');
      // If the pool has no free connection for this statement, PostgreSQL's own time limits end the transaction.
      ending = this.#sql.query(TERMINATE, [row?.pid]).catch(() => undefined);
    }, maxMs);
    return {
      get isOver() {
        return ending !== undefined;
      },
      async stop() {
        clearTimeout(timer);
        // Wait for the signal to the backend. Otherwise it could hit the next user of the connection.
        await ending;
      },
    };
  }

  #partsOn(inside: Sql): Omit<RolledBackTransaction, 'end' | 'isOverdue'> {
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
