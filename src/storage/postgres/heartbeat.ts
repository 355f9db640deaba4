import { type Sql, statement } from './sql.ts';

/** Sets the memory for sorting so low that PostgreSQL must sort on its disk. The statement `ROOM` needs that. */
const LITTLE_MEMORY = statement('heartbeat-memory', `SELECT set_config('work_mem', '64kB', true)`);
// Sorts about 500 KB on the disk, which fails if the disk is full. Updating the heartbeat row needs no new disk space,
// but storing the next message may.
const ROOM = statement(
  'heartbeat-room',
  `SELECT count(text) FROM (
     SELECT repeat('x', 1000) || n AS text, n FROM generate_series(1, 500) AS n ORDER BY n DESC OFFSET 0) AS sorted`,
);
const BEAT = statement(
  'heartbeat',
  `WITH gone AS (
     DELETE FROM heartbeats WHERE process IN (
       SELECT process FROM heartbeats WHERE beat_at < now() - interval '1 day' FOR UPDATE SKIP LOCKED)
   )
   INSERT INTO heartbeats (process, beat_at) VALUES ($1, now())
   ON CONFLICT (process) DO UPDATE SET beat_at = excluded.beat_at`,
);

/** Writes the heartbeat of a process, which also checks that the database can store a message. */
export class PgHeartbeat {
  readonly #sql: Sql;
  readonly #process: string;

  constructor(sql: Sql, process: string) {
    this.#sql = sql;
    this.#process = process;
  }

  /**
   * Resolves when PostgreSQL has committed a row of this process and had room for about 500 KB more on its disk.
   * Rejects with PostgreSQL's error.
   */
  async beat(): Promise<void> {
    await this.#sql.transaction(async (sql) => {
      await sql.execute(LITTLE_MEMORY, []);
      await sql.execute(ROOM, []);
      await sql.execute(BEAT, [this.#process]);
    });
  }
}
