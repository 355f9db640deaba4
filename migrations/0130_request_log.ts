import type { Knex } from 'knex';

/**
 * The log of REST requests (R415). Its ids are UUIDs of version 7, so retention finds old rows by their id. The table
 * has no foreign keys: a row is written after its request, and an old row may name a deleted message.
 */
const TABLES = `
  CREATE TABLE api_requests (
    id uuid PRIMARY KEY,
    account_id uuid NOT NULL,
    message_id uuid,
    at timestamptz NOT NULL,
    status int NOT NULL,
    duration_ms int NOT NULL,
    request_bytes int NOT NULL,
    skipped_before int NOT NULL,
    environment text NOT NULL CHECK (environment IN ('production', 'sandbox')),
    key_id text NOT NULL,
    method text NOT NULL,
    path text NOT NULL,
    error_code text,
    address text NOT NULL,
    request_id text NOT NULL,
    idempotency_key text,
    request_body text,
    response_body text,
    full_request_body text,
    full_response_body text
  );
  CREATE INDEX api_requests_newest ON api_requests (account_id, id);
  CREATE INDEX api_requests_request_id ON api_requests (account_id, request_id);
  CREATE INDEX api_requests_message ON api_requests (message_id) WHERE message_id IS NOT NULL;
  CREATE INDEX api_requests_full ON api_requests (id)
    WHERE full_request_body IS NOT NULL OR full_response_body IS NOT NULL;
  -- The number of rows that were written on a day in UTC.
  CREATE TABLE api_request_days (
    day date PRIMARY KEY,
    requests bigint NOT NULL
  );
  -- The accounts whose whole bodies are logged (R416).
  CREATE TABLE request_logging (
    account_id uuid PRIMARY KEY REFERENCES accounts,
    full_from timestamptz NOT NULL,
    full_until timestamptz NOT NULL
  );
`;

export async function up(knex: Knex): Promise<void> {
  await knex.raw(TABLES);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP TABLE request_logging, api_request_days, api_requests');
}
