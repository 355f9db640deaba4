import type { Knex } from 'knex';

/**
 * Counts the requests of each API key by day, operation and IP address. If a day has many addresses, all further ones
 * share one row with an empty address. `replaces` names the key that this key replaced in a rotation.
 */
const TABLES = `
  CREATE TABLE api_key_requests (
    day date NOT NULL,
    requests bigint NOT NULL,
    key_id text NOT NULL REFERENCES api_keys ON DELETE CASCADE,
    operation text NOT NULL,
    address text NOT NULL,
    PRIMARY KEY (key_id, day, operation, address)
  ) WITH (fillfactor = 80);
  CREATE INDEX api_key_requests_day ON api_key_requests (day);
  ALTER TABLE api_keys ADD replaces text;
  CREATE UNIQUE INDEX api_keys_replaces ON api_keys (replaces) WHERE replaces IS NOT NULL;
`;

export async function up(knex: Knex): Promise<void> {
  await knex.raw(TABLES);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(
    'DROP TABLE api_key_requests; DROP INDEX api_keys_replaces; ALTER TABLE api_keys DROP replaces',
  );
}
