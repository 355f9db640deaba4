/** Devices from which people have signed in. */
import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- device_hash is the SHA-256 of a browser's cookie, or of a client's name and IP address.
    CREATE TABLE known_devices (
      user_id uuid NOT NULL REFERENCES users,
      device_hash bytea NOT NULL CHECK (length(device_hash) = 32),
      last_seen_at timestamptz NOT NULL,
      PRIMARY KEY (user_id, device_hash)
    );
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP TABLE known_devices');
}
