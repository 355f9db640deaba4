import type { Knex } from 'knex';

const KEY = 'channel, environment, status, api_key_id';

/**
 * Counts of messages by day, beside those by hour: a year has 24 times fewer of them. A trigger keeps them, whoever
 * folds the deltas, also a process of the version before.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE usage_days (
      account_id uuid NOT NULL,
      day timestamptz NOT NULL,
      channel text NOT NULL,
      environment text NOT NULL,
      status text NOT NULL,
      api_key_id text NOT NULL,
      messages bigint NOT NULL,
      cost_minor bigint NOT NULL,
      PRIMARY KEY (account_id, day, ${KEY})
    ) WITH (fillfactor = 80);
    CREATE FUNCTION count_days() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF TG_OP = 'INSERT' THEN
          INSERT INTO usage_days (account_id, day, ${KEY}, messages, cost_minor)
          SELECT account_id, date_trunc('day', hour, 'UTC'), ${KEY}, sum(messages), sum(cost_minor)
          FROM added GROUP BY 1, 2, 3, 4, 5, 6
          ON CONFLICT (account_id, day, ${KEY}) DO UPDATE SET messages = usage_days.messages + excluded.messages,
            cost_minor = usage_days.cost_minor + excluded.cost_minor;
        ELSE
          INSERT INTO usage_days (account_id, day, ${KEY}, messages, cost_minor)
          SELECT account_id, date_trunc('day', hour, 'UTC'), ${KEY}, sum(messages), sum(cost_minor) FROM (
            SELECT account_id, hour, ${KEY}, messages, cost_minor FROM added
            UNION ALL SELECT account_id, hour, ${KEY}, -messages, -cost_minor FROM taken
          ) moved GROUP BY 1, 2, 3, 4, 5, 6
          ON CONFLICT (account_id, day, ${KEY}) DO UPDATE SET messages = usage_days.messages + excluded.messages,
            cost_minor = usage_days.cost_minor + excluded.cost_minor;
        END IF;
        RETURN NULL;
      END $$;
    CREATE TRIGGER usage_added AFTER INSERT ON usage_hours REFERENCING NEW TABLE AS added
      FOR EACH STATEMENT EXECUTE FUNCTION count_days();
    CREATE TRIGGER usage_moved AFTER UPDATE ON usage_hours REFERENCING OLD TABLE AS taken NEW TABLE AS added
      FOR EACH STATEMENT EXECUTE FUNCTION count_days();
    INSERT INTO usage_days (account_id, day, ${KEY}, messages, cost_minor)
    SELECT account_id, date_trunc('day', hour, 'UTC'), ${KEY}, sum(messages), sum(cost_minor)
    FROM usage_hours GROUP BY 1, 2, 3, 4, 5, 6;
  `);
}

/** Removes the counts by day; those by hour stay. */
export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    DROP TRIGGER usage_added ON usage_hours;
    DROP TRIGGER usage_moved ON usage_hours;
    DROP FUNCTION count_days;
    DROP TABLE usage_days;
  `);
}
