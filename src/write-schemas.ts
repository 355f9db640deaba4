import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Sessions } from './domain/accounts/sessions.ts';
import type { Dependencies } from './domain/dependencies.ts';
import { createOperations } from './domain/operations.ts';
import type { Logger } from './domain/ports/logger.ts';
import { schemaText } from './graphql/schema.ts';
import { openApiDocument } from './rest/openapi.ts';
import { startEmbeddedPostgres } from './storage/embedded-postgres/embedded-postgres.ts';
import { migrate } from './storage/postgres/migrate.ts';
import { schemaSql } from './storage/postgres/schema-sql.ts';
import { createKnex } from './storage/postgres/sql.ts';

/** Answers everything with itself: operations are made of it to read their access, and never run. */
const nothing: unknown = new Proxy(() => undefined, { get: () => nothing, apply: () => nothing });

const ignore = () => undefined;
const silent: Logger = { debug: ignore, info: ignore, warn: ignore, error: ignore, child: () => silent };

const FILES: Readonly<Record<string, () => string | Promise<string>>> = {
  'openapi.json': () =>
    `${JSON.stringify(openApiDocument(createOperations(nothing as Dependencies, nothing as Sessions)), null, 2)}\n`,
  'schema.graphql': schemaText,
  'schema.sql': migratedSchema,
};

/** Writes the generated files of schema/, which are committed and held by tests (`npm run schema`). */
await mkdir('schema', { recursive: true });
for (const [name, make] of Object.entries(FILES)) {
  await writeFile(`schema/${name}`, await make());
  console.log(`schema/${name}`);
}

/** The tables of an empty database after all migrations, made on a server that is removed again. */
async function migratedSchema(): Promise<string> {
  const dataDir = await mkdtemp(join(tmpdir(), 'schema-'));
  const postgres = await startEmbeddedPostgres({ dataDir, database: 'gateway', logger: silent });
  const knex = createKnex(postgres.connection, silent, 4, 0);
  try {
    await migrate(knex);
    return await schemaSql(knex);
  } finally {
    await knex.destroy();
    await postgres.stop();
    await rm(dataDir, { recursive: true });
  }
}
