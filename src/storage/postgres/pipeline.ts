import type { Socket } from 'node:net';
import pg from 'pg';

/** A statement with its values; one with a name is parsed and planned once a connection. */
export interface BoundStatement {
  readonly name?: string;
  readonly text: string;
  readonly values?: readonly unknown[];
}

type Told = (error: unknown, result?: pg.QueryResult) => void;
interface Waiting extends BoundStatement {
  readonly told: Told;
  /** Whether what comes after it in a group is no more of its transaction. */
  readonly isCommit?: true;
}

/** What pg's client asks of a query, and tells it as its answers come. */
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
  /** Statements whose parsing has been asked for and not been confirmed. */
  readonly submittedNamedStatements: Record<string, string>;
  sync(): void;
}

/** A COMMIT was sent, and it is not known whether the transaction is there and on the disk. */
class Undecided extends Error {
  /** What PostgreSQL calls a transaction whose end is unknown. */
  readonly code = '08007';

  constructor(cause: unknown) {
    super('it is not known whether the transaction was committed', { cause });
  }
}

/** Whether it is unknown if a transaction was committed: asked again, it might be done twice. */
export const isUndecided = (error: unknown): boolean => error instanceof Undecided;

/** PostgreSQL ends all connections because one of its processes crashed: commits under way may be done or not. */
const CRASHED = '57P02';
/** Whether an error says nothing of the statement itself: the answer never came. */
const isAnswerLost = (error: unknown): boolean =>
  !(error instanceof pg.DatabaseError) || error.code === CRASHED;

/** pg's types tell less of its queries than pg does. */
const Query = pg.Query as unknown as new (
  text: string,
  values: readonly unknown[] | undefined,
  told: Told,
) => DriverQuery;

/**
 * Statements that go to PostgreSQL in one piece and are synchronised once, after the last (protocol-flow, "Pipelining"):
 * it answers all of them in one piece, too, and does none of those after one that failed.
 */
class Group extends Query {
  readonly #queries: readonly DriverQuery[];
  /** So many of them are its transaction. */
  readonly #ownCount: number;
  /** Once they are done, the transaction is committed. */
  readonly #commits: boolean;
  #isSent = false;
  /** How many have been answered. */
  #answered = 0;
  #failure: unknown;

  /** `isWhole`: the statements are a transaction by themselves, without BEGIN and COMMIT. */
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
      // By the simple protocol a statement would be synchronised by itself.
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
      // A transaction must not commit without what could not be written: then nothing of it is.
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

  /** pg's client takes these for what PostgreSQL has parsed when it says so. */
  #follow(): void {
    const { name = '', text = '' } = this.#queries[this.#answered] ?? {};
    this.name = name;
    this.text = text;
  }
}

/** Throws an error that leads back to who asked instead of to the socket. */
function traced(error: unknown): never {
  if (error instanceof Error) Error.captureStackTrace(error);
  throw error;
}

const rolledBack = () => new Error('the transaction was rolled back');
const unheard = () => undefined;
const BEGIN = { name: 'begin', text: 'BEGIN' };
const COMMIT = { name: 'commit', text: 'COMMIT' };
/** A transaction whose commit does not wait for the disk. */
const NO_WAIT = { name: 'no-wait', text: `SELECT set_config('synchronous_commit', 'off', true)` };
/** Writes next to nothing and commits as the database is set to: whatever was committed before is on the disk, too, then. */
export const ON_DISK = { name: 'on-disk', text: `SELECT pg_logical_emit_message(true, '', '')` };
/**
 * Behind a read in the same piece: writes, and so waits for the disk, only where the log is not on the disk up to what
 * the read can have seen. Readers that wait at once share one write to the disk, as all commits do. How far standbys
 * are is not compared: where there are synchronous ones, every such read waits for them.
 */
const READ_ON_DISK = {
  name: 'read-on-disk',
  text: `SELECT pg_logical_emit_message(true, '', '')
    WHERE pg_current_wal_flush_lsn() < pg_current_wal_insert_lsn() OR current_setting('synchronous_standby_names') <> ''`,
};

/**
 * One connection, on which what is asked within one turn goes to PostgreSQL as one group. A transaction that fits in one
 * group needs neither BEGIN nor COMMIT: PostgreSQL takes a group as a whole.
 */
export class Pipeline {
  static readonly #of = new WeakMap<pg.Client, Pipeline>();
  readonly #client: pg.Client;
  readonly #query: (query: Group) => unknown;
  #waiting: Waiting[] = [];
  /** Whether a transaction has begun, and whether PostgreSQL knows. */
  #transaction: 'none' | 'asked' | 'open' = 'none';
  /** Whether it commits, and lets go of its locks, before it is on the disk. */
  #isEarly = false;
  /** Whether what it reads is told to others, even where it writes nothing. */
  #isTold = false;

  private constructor(client: pg.Client) {
    this.#client = client;
    this.#query = client.query.bind(client) as (query: Group) => unknown;
    // Whatever else is asked on the connection, such as by Knex's builder, comes after what waits.
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

  /** The statement's rows, once it and those that went together with it have succeeded. */
  add<Row>(statement: BoundStatement): Promise<Row[]> {
    if (this.#waiting.length === 0) process.nextTick(() => this.#waiting.length > 0 && this.#flush());
    const rows = new Promise<Row[]>((resolve, reject) => {
      const told: Told = (error, result) => (result ? resolve(result.rows as Row[]) : reject(error));
      this.#waiting.push({ ...statement, told });
    });
    return rows.catch(traced);
  }

  /**
   * The statement's rows, once all that it can have seen is on the disk. On this connection, so that rows of before a
   * crash are never held for stored by a PostgreSQL that began anew without them.
   */
  async addOnDisk<Row>(statement: BoundStatement): Promise<Row[]> {
    const [rows] = await Promise.all([this.add<Row>(statement), this.add(READ_ON_DISK)]);
    return rows;
  }

  /** What follows is one transaction. */
  begin(): void {
    this.#transaction = 'asked';
    this.#isEarly = false;
    this.#isTold = false;
  }

  /** Has `commit` resolve when all that the transaction has read is on the disk, too: one that writes does so anyway. */
  tellWhatIsRead(): void {
    this.#isTold = true;
  }

  /** Has the transaction commit before it is on the disk, so that others wait less; `commit` resolves when it is, as ever. */
  letGoEarly(): void {
    this.#isEarly = true;
  }

  /** Commits what was added since `begin`; rejects where any of it that has not been answered fails, or nothing is committed. */
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

  /** Takes back what was added since `begin`. */
  async rollBack(): Promise<void> {
    const state = this.#transaction;
    this.#transaction = 'none';
    if (state === 'open') {
      await this.#client.query('ROLLBACK');
      return;
    }
    for (const { told } of this.#waiting.splice(0)) told(rolledBack());
  }

  /** Sends what waits, and before it the beginning of a transaction that has not been sent. */
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
