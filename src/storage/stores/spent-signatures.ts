import type { SpentSignatures } from '../../domain/ports/api-key-stores.ts';
import { Batcher } from '../../runtime/batcher.ts';
import { mayPassAlone } from '../postgres/faults.ts';
import { type Sql, statement } from '../postgres/sql.ts';

/** The most signatures that one statement adds. */
const MAX_BATCH = 200;
const SWEEP_ROWS = 5_000;

// Rows are inserted in sorted order, so that two processes do not deadlock.
const SPEND = statement(
  'signatures-spend',
  `INSERT INTO spent_signatures (key_id, signature, retained_until)
   SELECT * FROM unnest($1::text[], $2::bytea[], $3::timestamptz[]) AS n (key_id, signature, retained_until)
   ON CONFLICT DO NOTHING RETURNING key_id, signature`,
);
const SWEEP = statement(
  'signatures-sweep',
  `DELETE FROM spent_signatures WHERE ctid = ANY (ARRAY(
     SELECT ctid FROM spent_signatures WHERE retained_until <= $1 LIMIT ${SWEEP_ROWS} FOR UPDATE SKIP LOCKED))
   RETURNING 1`,
);

interface Use {
  readonly keyId: string;
  readonly signature: string;
  readonly retainedUntil: Date;
}

const nameOf = (keyId: string, signature: string) => `${keyId} ${signature}`;

/**
 * Stores signatures that were used and must not be accepted again. The primary key of the table decides which use is
 * the first. Concurrent calls share a statement.
 */
export class PgSpentSignatures implements SpentSignatures {
  readonly #sql: Sql;
  readonly #batches: Batcher<Use, boolean>;

  constructor(sql: Sql) {
    this.#sql = sql;
    this.#batches = new Batcher((uses) => this.#spend(uses), {
      maxWeight: MAX_BATCH,
      isolate: mayPassAlone,
    });
  }

  spend(keyId: string, signature: string, retainedUntil: Date): Promise<boolean> {
    return this.#batches.add({ keyId, signature, retainedUntil });
  }

  async sweep(now: Date): Promise<number> {
    let forgotten = 0;
    for (let rows = SWEEP_ROWS; rows === SWEEP_ROWS; forgotten += rows) {
      rows = (await this.#sql.query(SWEEP, [now])).length;
    }
    return forgotten;
  }

  async #spend(uses: readonly Use[]): Promise<boolean[]> {
    // If a batch contains a signature twice, only the first one can be accepted.
    const first = new Map<string, Use>();
    for (const use of uses) {
      const name = nameOf(use.keyId, use.signature);
      if (!first.has(name)) first.set(name, use);
    }
    const sorted = [...first.keys()].sort().map((name) => first.get(name) as Use);
    const rows = await this.#sql.query<{ key_id: string; signature: Buffer }>(SPEND, [
      sorted.map((use) => use.keyId),
      sorted.map((use) => Buffer.from(use.signature, 'hex')),
      sorted.map((use) => use.retainedUntil),
    ]);
    const taken = new Set(rows.map((row) => nameOf(row.key_id, row.signature.toString('hex'))));
    return uses.map((use) => {
      const name = nameOf(use.keyId, use.signature);
      return first.get(name) === use && taken.has(name);
    });
  }
}
