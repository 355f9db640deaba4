import pg from 'pg';
import type { SecretBox } from '../../domain/ports/system.ts';
import { configOf, connectionOfUrl } from '../postgres/connection.ts';
import { type Sql, statement } from '../postgres/sql.ts';

/** Number of reports that one pass gives to a cell. */
const PAGE = 500;
const CONNECT_MS = 5_000;
const STATEMENT_MS = 10_000;

const TARGETS = statement(
  'moved-reports-targets',
  'SELECT DISTINCT to_database_sealed AS sealed FROM account_moves WHERE to_database_sealed IS NOT NULL',
);
const KEPT = statement(
  'moved-reports-kept',
  `SELECT row_to_json(u)::text AS row FROM unmatched_reports u
   WHERE received_at > now() - interval '1 day' AND ($1::uuid IS NULL OR id > $1) ORDER BY id LIMIT ${PAGE}`,
);
const FORGET = statement('moved-reports-forget', 'DELETE FROM unmatched_reports WHERE id = ANY ($1::uuid[])');
/**
 * Stores those reports whose sid the other cell knows. There they count as kept reports, which are applied within a
 * second. That looks back some minutes only.
 */
const STORE = `INSERT INTO unmatched_reports (id, provider, sid, sid_keys, report, received_at)
  SELECT u.id, u.provider, u.sid, u.sid_keys, u.report, greatest(u.received_at, now() - interval '5 minutes')
  FROM json_populate_recordset(NULL::unmatched_reports, $1::json) u
  WHERE EXISTS (SELECT FROM provider_sids s WHERE s.sid_key = ANY (u.sid_keys) AND s.provider = u.provider)
  ON CONFLICT (id) DO UPDATE SET received_at = excluded.received_at RETURNING id`;

/**
 * Gives delivery reports to the cells that have their messages now (R509). The carrier sends the report of a message to
 * the cell that submitted it.
 */
export class ForwardReports {
  readonly #sql: Sql;
  readonly #secrets: Pick<SecretBox, 'open'>;
  #after: string | null = null;

  constructor(sql: Sql, secrets: Pick<SecretBox, 'open'>) {
    this.#sql = sql;
    this.#secrets = secrets;
  }

  /** Looks through a page of the kept reports. Returns the number of reports that other cells took. */
  async run(): Promise<number> {
    const targets = await this.#sql.query<{ sealed: string }>(TARGETS, []);
    if (targets.length === 0) return 0;
    const rows = await this.#sql.query<{ row: string }>(KEPT, [this.#after]);
    const last: { id: string } | undefined = JSON.parse(rows.at(-1)?.row ?? 'null') ?? undefined;
    let count = 0;
    // Several moves may have gone to one cell.
    const urls = new Set(targets.map(({ sealed }) => this.#secrets.open(sealed)));
    if (rows.length > 0)
      for (const url of urls) count += await this.#give(url, `[${rows.map(({ row }) => row).join(',')}]`);
    this.#after = rows.length === PAGE && last ? last.id : null;
    return count;
  }

  async #give(url: string, reports: string): Promise<number> {
    const client = new pg.Client({
      ...(await configOf(connectionOfUrl(url))),
      application_name: 'messaging-gateway-reports',
      connectionTimeoutMillis: CONNECT_MS,
      query_timeout: STATEMENT_MS,
    });
    // The error of a lost connection also rejects the statement that waits for it.
    client.on('error', () => undefined);
    await client.connect();
    let taken: string[];
    try {
      taken = (await client.query<{ id: string }>(STORE, [reports])).rows.map(({ id }) => id);
    } finally {
      await client.end();
    }
    // A crash between the two gives a report twice, and the second one changes nothing.
    if (taken.length > 0) await this.#sql.execute(FORGET, [taken]);
    return taken.length;
  }
}
