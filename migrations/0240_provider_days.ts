import type { Knex } from 'knex';

/** How long carriers and providers were up, by day in UTC (R512). */
const TABLE = `
  CREATE TABLE provider_days (
    day timestamptz NOT NULL,
    up_seconds double precision NOT NULL,
    down_seconds double precision NOT NULL,
    channel text NOT NULL,
    name text NOT NULL,
    PRIMARY KEY (day, channel, name)
  ) WITH (fillfactor = 50)
`;

export async function up(knex: Knex): Promise<void> {
  await knex.raw(TABLE);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP TABLE provider_days');
}
