import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { schemaSql } from '../../src/storage/postgres/schema-sql.ts';
import { createTestDatabase, type TestDatabase, withKnex } from '../support/database.ts';

describe('schema/schema.sql', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createTestDatabase();
  });
  afterAll(() => database?.drop());

  it('is the schema of a migrated database (npm run schema writes it)', async () => {
    const committed = await readFile('schema/schema.sql', 'utf8');
    expect(await withKnex(database.connection, schemaSql)).toBe(committed);
  });
});
