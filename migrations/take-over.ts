import type { Knex } from 'knex';

/** The step that replaces all before it. */
const BASELINE = '0001_baseline';
/** The last step before the baseline: its schema is the baseline's. */
const LAST_BEFORE = '20261124002000_refused_by_the_database';
/** The only difference to the baseline: these constraints were added without a check of the rows that existed. */
const NOT_VALIDATED = ['contacts', 'devices', 'webhooks', 'contact_imports'];

/**
 * Records the baseline as done in a database that has the last step before it. Changes nothing where the database is
 * empty or has the baseline. Throws for an older schema: the steps that would upgrade it are gone.
 */
export async function takeOver(knex: Knex): Promise<void> {
  const { rows } = await knex.raw(`SELECT to_regclass('schema_migrations') IS NOT NULL AS "isThere"`);
  const names: string[] = rows[0].isThere ? await knex('schema_migrations').pluck('name') : [];
  if (names.length === 0 || names.includes(BASELINE)) return;
  if (!names.includes(LAST_BEFORE)) {
    throw new Error(
      `The database is at schema ${names.toSorted().at(-1)}, which is too old. Start the last release before ` +
        `${BASELINE} once, so that it brings the database to ${LAST_BEFORE}. Then start this release.`,
    );
  }
  await knex.transaction(async (trx) => {
    for (const table of NOT_VALIDATED)
      await trx.raw('ALTER TABLE ?? VALIDATE CONSTRAINT ??', [table, `${table}_environment`]);
    await trx('schema_migrations').whereIn('name', names).delete();
    await trx('schema_migrations').insert({ name: BASELINE, batch: 1, migration_time: new Date() });
  });
}
