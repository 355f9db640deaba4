import type { Knex } from 'knex';

/**
 * Starts the sweeps of held messages (R385) at the messages that quiet hours could hold. Without a mark, a sweep starts
 * at the oldest message. On a large database it then takes longer than a statement may, each time. A sweep that has
 * begun goes on from its mark.
 */
export async function up(knex: Knex): Promise<void> {
  // The ids of a scheduled sweep's mark count only within one time, so the mark has the smallest one.
  await knex.raw(`INSERT INTO sweep_marks (name, last_at, last_id)
    SELECT sweep.name || kind.suffix, mark.at,
      CASE kind.suffix WHEN '' THEN (lpad(to_hex((extract(epoch FROM mark.at) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid
        ELSE '00000000-0000-0000-0000-000000000000' END
    FROM (VALUES ('expired-held', interval '72 hours 15 minutes'), ('unconfirmed-held', interval '145 hours'))
      AS sweep (name, age)
    CROSS JOIN (VALUES (''), ('-scheduled')) AS kind (suffix)
    CROSS JOIN LATERAL (SELECT date_trunc('milliseconds', now() - sweep.age) AS at) AS mark
    ON CONFLICT (name) DO NOTHING`);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`DELETE FROM sweep_marks WHERE name IN
    ('expired-held', 'expired-held-scheduled', 'unconfirmed-held', 'unconfirmed-held-scheduled')`);
}
