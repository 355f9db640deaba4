import { type Sql, statement } from './sql.ts';

const SERVER = statement(
  'diagnose-server',
  `SELECT current_setting('server_version') AS version, clock_timestamp() AS now`,
);
const SEALED_SAMPLES = statement(
  'diagnose-sealed',
  `SELECT DISTINCT ON (split_part(sealed, '.', 2)) sealed FROM (
     SELECT secret_sealed AS sealed FROM webhooks WHERE deleted_at IS NULL
     UNION ALL
     SELECT signing_secret_sealed FROM api_keys WHERE signing_secret_sealed IS NOT NULL AND revoked_at IS NULL
   ) AS secrets`,
);

/** What the command line's doctor asks of the database. */
export class PgDiagnostics {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /** The server's version, such as `18.4`, and its clock. */
  async server(): Promise<{ version: string; now: Date }> {
    const [row] = await this.#sql.query<{ version: string; now: Date }>(SERVER, []);
    if (!row) throw new Error('the database gave no answer');
    return row;
  }

  /** One sealed secret for each master key under which any is stored. */
  async sealedSamples(): Promise<string[]> {
    const rows = await this.#sql.query<{ sealed: string }>(SEALED_SAMPLES, []);
    return rows.map((row) => row.sealed);
  }
}
