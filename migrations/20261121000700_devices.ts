import type { Knex } from 'knex';

/** Devices that push messages go to (decision 24). A token is one device of its account, whoever uses it. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE devices (
      id uuid PRIMARY KEY,
      account_id uuid NOT NULL REFERENCES accounts,
      created_at timestamptz NOT NULL,
      updated_at timestamptz NOT NULL,
      platform text NOT NULL CHECK (platform IN ('ios', 'android', 'web')),
      user_id text NOT NULL,
      token text NOT NULL,
      p256dh text,
      auth text,
      CHECK ((platform = 'web') = (p256dh IS NOT NULL AND auth IS NOT NULL))
    );
    CREATE INDEX devices_account ON devices (account_id, id DESC);
    CREATE INDEX devices_user ON devices (account_id, user_id);
    CREATE UNIQUE INDEX devices_token ON devices (account_id, token);
  `);
}

/** Removes the devices. */
export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP TABLE IF EXISTS devices');
}
