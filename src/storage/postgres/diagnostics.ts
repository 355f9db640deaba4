import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { PgListener } from './pg-listener.ts';
import type { ServerFacts } from './server-check.ts';
import { SESSION_SETTINGS } from './session-settings.ts';
import { knownStatements, type Sql, type Statement, statement } from './sql.ts';

const SETTINGS = statement(
  'diagnose-settings',
  `SELECT name, current_setting(name) AS setting FROM unnest($1::text[]) AS name`,
);
const NOTIFY = statement('diagnose-notify', 'SELECT pg_notify($1, $2)');
const SEALED_SAMPLES = statement(
  'diagnose-sealed',
  `SELECT DISTINCT ON (split_part(sealed, '.', 2)) sealed FROM (
     SELECT secret_sealed AS sealed FROM webhooks WHERE deleted_at IS NULL
     UNION ALL
     SELECT previous_secret_sealed FROM webhooks WHERE deleted_at IS NULL AND previous_secret_ends_at > now()
     UNION ALL
     SELECT signing_secret_sealed FROM api_keys WHERE signing_secret_sealed IS NOT NULL AND revoked_at IS NULL
     UNION ALL
     SELECT client_secret_sealed FROM single_sign_on
     UNION ALL
     SELECT to_database_sealed FROM account_moves WHERE to_database_sealed IS NOT NULL
     UNION ALL
     SELECT sealed FROM address_hash_key
     UNION ALL
     SELECT sealed FROM account_hash_keys
   ) AS secrets`,
);

/** Statements that are not checked, because PREPARE does not accept SET. Every version of PostgreSQL can run them. */
const UTILITY = /^SET /;
const CHANNEL = 'gateway_doctor';
const HEARD_MS = 3_000;

/** Checks of the database for the command `doctor`. */
export class PgDiagnostics {
  readonly #sql: Sql;
  readonly #listener: PgListener;
  readonly #queueStatements: readonly Statement[];
  /** What the server reported about itself at the start. */
  readonly server: ServerFacts;

  constructor(sql: Sql, server: ServerFacts, listener: PgListener, queueStatements: readonly Statement[]) {
    this.#sql = sql;
    this.server = server;
    this.#listener = listener;
    this.#queueStatements = queueStatements;
  }

  /** Returns the session settings that a connection lacks, as texts such as `jit is on`. */
  async settingsNotHeld(): Promise<string[]> {
    const rows = await this.#sql.query<{ name: string; setting: string }>(SETTINGS, [
      Object.keys(SESSION_SETTINGS),
    ]);
    return rows
      .filter(({ name, setting }) => setting !== SESSION_SETTINGS[name])
      .map(({ name, setting }) => `${name} is ${setting}`);
  }

  /**
   * Lets the server parse each of the gateway's statements without running it. Returns the number of statements, and
   * the statements that the server refuses, with the server's error.
   */
  async refusedStatements(): Promise<{ readonly all: number; readonly refused: readonly string[] }> {
    const all = [...knownStatements(), ...this.#queueStatements].filter(({ text }) => !UTILITY.test(text));
    const refused: string[] = [];
    for (const { name, text } of all) {
      try {
        await this.#sql.pool.query({ text: `PREPARE diagnosed AS ${text}; DEALLOCATE diagnosed` });
      } catch (error) {
        // The server did not refuse the statement: its errors have a code. So pass this error on.
        if (!(error as { code?: string }).code) throw error;
        refused.push(`${name} (${(error as Error).message})`);
      }
    }
    return { all: all.length, refused };
  }

  /** True if this process receives a NOTIFY that another connection sent. */
  async hearsNotifications(): Promise<boolean> {
    const word = randomUUID();
    const heard = Promise.withResolvers<true>();
    const close = await this.#listener.listen(
      CHANNEL,
      (payload) => payload === word && heard.resolve(true),
      () => undefined,
    );
    try {
      await this.#sql.query(NOTIFY, [CHANNEL, word]);
      return await Promise.race([heard.promise, sleep(HEARD_MS, false as const, { ref: false })]);
    } finally {
      await close();
    }
  }

  /** Returns one encrypted secret for each master key that is in use. */
  async sealedSamples(): Promise<string[]> {
    const rows = await this.#sql.query<{ sealed: string }>(SEALED_SAMPLES, []);
    return rows.map((row) => row.sealed);
  }
}
