import type { Socket } from 'node:net';
import pg from 'pg';

/** A statement with its values. If it has a name, PostgreSQL parses and plans it once for each connection. */
export interface BoundStatement {
  readonly name?: string;
  readonly text: string;
  readonly values?: readonly unknown[];
}

/** Called with the result of a statement, or with its error. */
type Told = (error: unknown, result?: pg.QueryResult) => void;
interface Waiting extends BoundStatement {
  readonly told: Told;
  /** Set for the COMMIT of a transaction in a group. */
  readonly isCommit?: true;
}

/** The methods through which the client of `pg` runs a query. */
interface DriverQuery {
  name?: string;
  text: string;
  queryMode?: 'extended';
  submit(connection: DriverConnection): Error | null;
  handleRowDescription(message: unknown): void;
  handleDataRow(message: unknown): void;
  handleCommandComplete(message: unknown, connection: DriverConnection): void;
  handleError(error: unknown, connection: DriverConnection): void;
  handleReadyForQuery(connection: DriverConnection): void;
}

interface DriverConnection {
  readonly stream: Pick<Socket, 'write'>;
  /** Named statements that were sent to PostgreSQL to be parsed, and are not confirmed yet. */
  readonly submittedNamedStatements: Record<string, string>;
  sync(): void;
}

/**
 * The error of a transaction whose COMMIT was sent. It is unknown whether the transaction is committed and on the disk.
 */
class Undecided extends Error {
  /** PostgreSQL's code for a transaction with an unknown outcome. */
  readonly code = '08007';

  constructor(cause: unknown) {
    super('it is not known whether the transaction was committed', { cause });
  }
}

/** True if it is unknown whether a transaction committed. Running it again might do the work twice. */
export const isUndecided = (error: unknown): boolean => error instanceof Undecided;

/**
 * PostgreSQL's code when it closes all connections, because one of its processes has crashed. A commit in progress may
 * have succeeded or not.
 */
const CRASHED = '57P02';
/** True if the answer of a statement was lost. The error then does not say whether the statement was done. */
const isAnswerLost = (error: unknown): boolean =>
  !(error instanceof pg.DatabaseError) || error.code === CRASHED;

/** pg's class for a query, with the methods that its types omit. */
const Query = pg.Query as unknown as new (
  text: string,
  values: readonly unknown[] | undefined,
  told: Told,
) => DriverQuery;

/**
 * Statements that go to PostgreSQL in one write, with one Sync message at the end (see "Pipelining" in PostgreSQL's
 * documentation of its protocol). PostgreSQL sends all answers together. After a failed statement it skips the rest.
 */
class Group extends Query {
  readonly #queries: readonly DriverQuery[];
  /**
   * Number of statements that belong to the transaction: those up to and including COMMIT, or all if there is no
   * COMMIT.
   */
  readonly #ownCount: number;
  /** True if the group ends a transaction with a commit. */
  readonly #commits: boolean;
  #isSent = false;
  /** Number of statements answered so far. */
  #answered = 0;
  #failure: unknown;

  /** `isWhole`: the statements are a whole transaction without BEGIN and COMMIT. PostgreSQL commits it at the Sync. */
  constructor(statements: readonly Waiting[], isWhole: boolean, told: Told) {
    super('', undefined, told);
    const commit = statements.findIndex(({ isCommit }) => isCommit);
    this.#commits = isWhole || commit !== -1;
    this.#ownCount = commit === -1 ? Number.POSITIVE_INFINITY : commit + 1;
    this.#queries = statements.map(({ name, text, values, told }) => {
      const query = new Query(text, values, (error, result) => {
        this.#failure ??= error;
        told(error, result);
      });
      if (name !== undefined) query.name = name;
      // The simple protocol would end the group after each statement.
      query.queryMode = 'extended';
      return query;
    });
    this.#follow();
  }

  override submit(connection: DriverConnection): Error | null {
    const pieces: Uint8Array[] = [];
    const collector = Object.create(connection, {
      stream: { value: {} },
      _send: { value: (piece: Uint8Array) => pieces.push(piece) },
      sync: { value: () => undefined },
    }) as DriverConnection;
    for (const query of this.#queries) {
      const refusal = query.submit(collector) ?? this.#failure;
      // Do not send anything if one statement could not be encoded. Otherwise the transaction would commit without it.
      if (refusal) return refusal as Error;
    }
    connection.sync.call(collector);
    this.#isSent = true;
    connection.stream.write(Buffer.concat(pieces));
    return null;
  }

  override handleRowDescription(message: unknown): void {
    this.#queries[this.#answered]?.handleRowDescription(message);
  }

  override handleDataRow(message: unknown): void {
    this.#queries[this.#answered]?.handleDataRow(message);
  }

  override handleCommandComplete(message: unknown, connection: DriverConnection): void {
    this.#queries[this.#answered]?.handleCommandComplete(message, connection);
    this.#answered += 1;
    this.#follow();
  }

  override handleError(cause: unknown, connection: DriverConnection): void {
    const isFateUnknown =
      this.#answered >= this.#ownCount || (this.#commits && this.#isSent && isAnswerLost(cause));
    const error = isFateUnknown ? new Undecided(cause) : cause;
    for (const query of this.#queries.slice(this.#answered)) {
      if (query.name !== undefined) delete connection.submittedNamedStatements[query.name];
    }
    for (const query of this.#queries) query.handleError(error, connection);
    super.handleError(error, connection);
  }

  override handleReadyForQuery(connection: DriverConnection): void {
    for (const query of this.#queries) query.handleReadyForQuery(connection);
    super.handleReadyForQuery(connection);
  }

  /**
   * Takes over the name and text of the next statement that PostgreSQL will answer. The client of `pg` reads them, to
   * know which statements PostgreSQL has parsed.
   */
  #follow(): void {
    const { name = '', text = '' } = this.#queries[this.#answered] ?? {};
    this.name = name;
    this.text = text;
  }
}

/** Throws the error again with the caller's stack. The error itself has the stack of the socket's event. */
function traced(error: unknown): never {
  if (error instanceof Error) Error.captureStackTrace(error);
  throw error;
}

const rolledBack = () => new Error('the transaction was rolled back');
/** The callback of statements whose result nobody waits for. */
const unheard = () => undefined;
const BEGIN = { name: 'begin', text: 'BEGIN' };
const COMMIT = { name: 'commit', text: 'COMMIT' };
/** Makes the current transaction commit without waiting for the disk. */
const NO_WAIT = { name: 'no-wait', text: `SELECT set_config('synchronous_commit', 'off', true)` };
/**
 * This statement makes a small write, which commits with the database's setting of `synchronous_commit`. When its
 * transaction has committed, all earlier commits are on the disk, too.
 */
export const ON_DISK = { name: 'on-disk', text: `SELECT pg_logical_emit_message(true, '', '')` };
/**
 * Sent right after a read. If the read may have seen a commit that is not on the disk yet, this statement writes, and
 * so waits for the disk. Otherwise it does nothing. Concurrent readers share one disk write, as commits do. The
 * statement cannot see what synchronous standbys have received. So with such standbys, every read waits for them.
 */
export const READ_ON_DISK = {
  name: 'read-on-disk',
  text: `SELECT pg_logical_emit_message(true, '', '')
    WHERE pg_current_wal_flush_lsn() < pg_current_wal_insert_lsn() OR current_setting('synchronous_standby_names') <> ''`,
};

/**
 * Sends the statements of one connection. Statements that are added in the same turn of the event loop go to PostgreSQL
 * as one group. A transaction that fits in one group needs no BEGIN and COMMIT, because PostgreSQL runs a group as one
 * transaction.
 */
export class Pipeline {
  static readonly #of = new WeakMap<pg.Client, Pipeline>();
  readonly #client: pg.Client;
  readonly #query: (query: Group) => unknown;
  #waiting: Waiting[] = [];
  /** The state of the transaction. `asked`: `begin` was called, but BEGIN is not sent yet. `open`: BEGIN was sent. */
  #transaction: 'none' | 'asked' | 'open' = 'none';
  /** True if the transaction commits before its commit is on the disk, so that it releases its locks early. */
  #isEarly = false;
  /**
   * True if a client gets rows that the transaction read. Then the commit waits for the disk, even if the transaction
   * writes nothing.
   */
  #isTold = false;

  private constructor(client: pg.Client) {
    this.#client = client;
    this.#query = client.query.bind(client) as (query: Group) => unknown;
    // Other code, such as Knex's query builder, also sends queries on this connection. They must run after the
    // statements that wait here.
    client.query = ((...given: unknown[]) => {
      this.#flush();
      return (this.#query as (...given: unknown[]) => unknown)(...given);
    }) as typeof client.query;
  }

  static of(client: pg.Client): Pipeline {
    const known = Pipeline.#of.get(client);
    if (known) return known;
    const made = new Pipeline(client);
    Pipeline.#of.set(client, made);
    return made;
  }

  /** Adds a statement. Resolves with its rows when it and the rest of its group have succeeded. */
  add<Row>(statement: BoundStatement): Promise<Row[]> {
    if (this.#waiting.length === 0) process.nextTick(() => this.#waiting.length > 0 && this.#flush());
    const rows = new Promise<Row[]>((resolve, reject) => {
      const told: Told = (error, result) => (result ? resolve(result.rows as Row[]) : reject(error));
      this.#waiting.push({ ...statement, told });
    });
    return rows.catch(traced);
  }

  /**
   * Adds a read. Resolves with its rows when everything that it may have seen is on the disk. Both statements use the
   * same connection. Otherwise PostgreSQL could crash between the two without being noticed, and would then confirm
   * rows that it has lost.
   */
  async addOnDisk<Row>(statement: BoundStatement): Promise<Row[]> {
    const [rows] = await Promise.all([this.add<Row>(statement), this.add(READ_ON_DISK)]);
    return rows;
  }

  /** Begins a transaction. BEGIN is sent with the first group, if it is needed. */
  begin(): void {
    this.#transaction = 'asked';
    this.#isEarly = false;
    this.#isTold = false;
  }

  /**
   * Makes `commit` wait until everything that the transaction read is on the disk. A transaction that writes waits
   * anyway.
   */
  tellWhatIsRead(): void {
    this.#isTold = true;
  }

  /**
   * Makes the transaction commit before its commit is on the disk. So others wait less long for its locks. `commit`
   * still resolves only when the commit is on the disk.
   */
  letGoEarly(): void {
    this.#isEarly = true;
  }

  /** Commits the statements since `begin`. Rejects if one of them fails. Then nothing is committed. */
  async commit(): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const hasBegun = this.#transaction === 'open' || this.#isEarly;
      if (this.#isTold && !this.#isEarly && (hasBegun || this.#waiting.length > 0))
        this.#waiting.push({ ...READ_ON_DISK, told: unheard });
      if (hasBegun) {
        const told: Told = (error, result) =>
          result?.command === 'COMMIT' ? resolve() : reject(error ?? rolledBack());
        const commit: Waiting = { ...COMMIT, told, isCommit: true };
        if (this.#isEarly)
          this.#waiting.push({ ...NO_WAIT, told: unheard }, commit, { ...ON_DISK, told: unheard });
        else this.#waiting.push(commit);
        this.#flush();
      } else if (this.#waiting.length > 0) {
        this.#send(true, (error) => (error ? reject(error) : resolve()));
      } else {
        resolve();
      }
    });
    this.#transaction = 'none';
  }

  /** Rolls back the statements since `begin`. */
  async rollBack(): Promise<void> {
    const state = this.#transaction;
    this.#transaction = 'none';
    if (state === 'open') {
      await this.#client.query('ROLLBACK');
      return;
    }
    for (const { told } of this.#waiting.splice(0)) told(rolledBack());
  }

  /** Sends the waiting statements. If BEGIN was not sent yet, it goes first. */
  #flush(): void {
    if (this.#transaction === 'asked') {
      this.#transaction = 'open';
      this.#waiting.unshift({ ...BEGIN, told: unheard });
    }
    if (this.#waiting.length > 0) this.#send(false, unheard);
  }

  #send(isWhole: boolean, told: Told): void {
    this.#query(new Group(this.#waiting, isWhole, told));
    this.#waiting = [];
  }
}
