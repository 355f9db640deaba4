import type { Knex } from 'knex';

/**
 * One row that identifies this copy of the data and says whether it is held. `system_identifier` and `database_oid`
 * identify the server and database where it was used last. `restored_as` names the last restore that was found.
 * `alive_at` is the last time at which a worker process reported that it runs.
 */
const DATA_COPY = `
  CREATE TABLE data_copy (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    id uuid NOT NULL DEFAULT gen_random_uuid(),
    alive_at timestamptz,
    held_at timestamptz,
    held_from timestamptz,
    database_oid bigint,
    system_identifier text,
    restored_as text,
    held_reason text CHECK (held_reason IN ('asked', 'restored', 'copied')),
    CHECK ((held_at IS NULL) = (held_reason IS NULL))
  ) WITH (fillfactor = 50);
  INSERT INTO data_copy DEFAULT VALUES;
  CREATE TRIGGER never_deleted BEFORE DELETE ON data_copy FOR EACH ROW EXECUTE FUNCTION refuse_deletion();
`;

export async function up(knex: Knex): Promise<void> {
  await knex.raw(DATA_COPY);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP TABLE data_copy');
}
