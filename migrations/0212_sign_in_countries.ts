import type { Knex } from 'knex';

/**
 * The countries from which people have signed in (R487, R488), and the country of each session. A session of the version
 * before has none.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE sign_in_countries (
      user_id uuid NOT NULL REFERENCES users,
      last_seen_at timestamptz NOT NULL,
      -- ISO 3166-1 alpha-2.
      country text NOT NULL CHECK (country ~ '^[A-Z]{2}$'),
      PRIMARY KEY (user_id, country)
    );
    ALTER TABLE sessions ADD country text;
  `);
}

export async function down(knex: Knex): Promise<void> {
  // The release before does not know the kind, and would fail to look at its alerts.
  await knex.raw(`
    DELETE FROM alerts WHERE kind = 'sign_in_new_country';
    DELETE FROM alert_rules WHERE kind = 'sign_in_new_country';
    ALTER TABLE sessions DROP country;
    DROP TABLE sign_in_countries;
  `);
}
