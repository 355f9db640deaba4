import type { Knex } from 'knex';

/**
 * Limits of what an account or a key may send, with the counts of the current hour and day (R370, R371). A row without
 * `key_id` applies to the whole account, and its id is the id of the account. `send_limit_keys` names the keys that
 * share the row of another key (R373).
 */
const TABLES = `
  CREATE TABLE send_limits (
    id uuid PRIMARY KEY,
    account_id uuid NOT NULL REFERENCES accounts,
    key_id text REFERENCES api_keys,
    spend_per_hour_minor bigint CHECK (spend_per_hour_minor >= 0),
    spend_per_day_minor bigint CHECK (spend_per_day_minor >= 0),
    hour timestamptz NOT NULL DEFAULT '-infinity',
    day timestamptz NOT NULL DEFAULT '-infinity',
    hour_minor bigint NOT NULL DEFAULT 0,
    day_minor bigint NOT NULL DEFAULT 0,
    day_recipients bigint NOT NULL DEFAULT 0,
    recipients_per_day int CHECK (recipients_per_day >= 0),
    per_number_per_hour int CHECK (per_number_per_hour >= 0),
    allowed_prefixes text[],
    opened_prefixes text[] NOT NULL DEFAULT '{}',
    CHECK ((key_id IS NULL) = (id = account_id))
  ) WITH (fillfactor = 50);
  CREATE INDEX send_limits_account ON send_limits (account_id);
  CREATE UNIQUE INDEX send_limits_key ON send_limits (key_id) WHERE key_id IS NOT NULL;
  CREATE TABLE send_limit_keys (
    key_id text NOT NULL REFERENCES api_keys ON DELETE CASCADE,
    limit_id uuid NOT NULL REFERENCES send_limits ON DELETE CASCADE,
    PRIMARY KEY (key_id, limit_id)
  );
  CREATE INDEX send_limit_keys_limit ON send_limit_keys (limit_id);
  CREATE TABLE send_limit_numbers (
    limit_id uuid NOT NULL REFERENCES send_limits ON DELETE CASCADE,
    hour timestamptz NOT NULL,
    messages int NOT NULL,
    address text NOT NULL,
    PRIMARY KEY (limit_id, address)
  ) WITH (fillfactor = 70);
  CREATE INDEX send_limit_numbers_hour ON send_limit_numbers (hour);
`;

export async function up(knex: Knex): Promise<void> {
  await knex.raw(TABLES);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP TABLE send_limit_numbers, send_limit_keys, send_limits');
}
