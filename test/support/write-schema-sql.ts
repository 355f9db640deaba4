/** Writes schema/schema.sql from a freshly migrated database (`npm run schema`). */
import { writeFile } from 'node:fs/promises';
import { migrate } from '../../src/storage/postgres/migrate.ts';
import { withKnex } from './database.ts';
import { startPostgresVersion } from './postgres-versions.ts';
import { schemaSql } from './schema-sql.ts';

const postgres = await startPostgresVersion();
try {
  const text = await withKnex(postgres.connection, async (knex) => {
    await migrate(knex);
    return schemaSql(knex);
  });
  await writeFile('schema/schema.sql', text);
  console.log('schema/schema.sql');
} finally {
  await postgres.stop();
}
