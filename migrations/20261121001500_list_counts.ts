import type { Knex } from 'knex';

/** Lists whose rows are counted for each account. */
const COUNTED = ['contacts', 'devices', 'api_keys', 'audit_entries'];

/**
 * What lists need besides indexes: counts, so that nobody counts rows, and the messages and deliveries that
 * failed, which are few among many. Triggers keep them, so that they are right whoever writes, also processes of the version before.
 *
 * `failed_messages` is what an index on a message's status would be, were it a column: only updates that make a
 * recipient fail touch it. Deliveries are counted by the hour in which they were made, which their id tells: each
 * statement adds a row or two to `delivery_deltas`, and a periodic task folds them into `delivery_hours`.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE failed_messages (
      account_id uuid NOT NULL,
      seq bigint NOT NULL,
      channel text NOT NULL,
      PRIMARY KEY (account_id, channel, seq),
      FOREIGN KEY (account_id, channel, seq) REFERENCES messages (account_id, channel, seq) ON DELETE CASCADE
    );
    CREATE FUNCTION note_failed_message() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        INSERT INTO failed_messages (account_id, channel, seq)
        SELECT m.account_id, m.channel, m.seq FROM messages m
        WHERE m.id = NEW.message_id AND NOT EXISTS (
            SELECT FROM failed_messages f WHERE f.account_id = m.account_id AND f.channel = m.channel AND f.seq = m.seq)
          AND NOT EXISTS (SELECT FROM recipients r WHERE r.message_id = m.id AND r.status <> 'failed')
        ON CONFLICT DO NOTHING;
        RETURN NULL;
      END $$;
    CREATE TRIGGER recipient_failed AFTER UPDATE OF failed_at ON recipients FOR EACH ROW
      WHEN (OLD.failed_at IS NULL AND NEW.failed_at IS NOT NULL) EXECUTE FUNCTION note_failed_message();

    CREATE FUNCTION uuid_hour(id uuid) RETURNS timestamptz LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
      SELECT to_timestamp(('x' || substr(replace(id::text, '-', ''), 1, 12))::bit(48)::bigint / 3600000 * 3600) $$;
    CREATE TABLE delivery_hours (
      webhook_id uuid NOT NULL REFERENCES webhooks,
      hour timestamptz NOT NULL,
      deliveries bigint NOT NULL,
      event text NOT NULL,
      status text NOT NULL,
      PRIMARY KEY (webhook_id, hour, event, status)
    ) WITH (fillfactor = 80);
    CREATE INDEX delivery_hours_empty ON delivery_hours (webhook_id) WHERE deliveries = 0;
    CREATE TABLE failed_deliveries (
      webhook_id uuid NOT NULL,
      delivery_id uuid NOT NULL REFERENCES webhook_deliveries ON DELETE CASCADE,
      PRIMARY KEY (webhook_id, delivery_id)
    );
    CREATE INDEX failed_deliveries_delivery ON failed_deliveries (delivery_id);
    CREATE TABLE delivery_deltas (LIKE delivery_hours)
      WITH (autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_scale_factor = 0);
    CREATE FUNCTION count_deliveries() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF TG_OP = 'INSERT' THEN
          INSERT INTO delivery_deltas (webhook_id, hour, event, status, deliveries)
          SELECT webhook_id, uuid_hour(id), event, status, count(*) FROM added GROUP BY 1, 2, 3, 4;
        ELSIF TG_OP = 'DELETE' THEN
          INSERT INTO delivery_deltas (webhook_id, hour, event, status, deliveries)
          SELECT webhook_id, uuid_hour(id), event, status, -count(*) FROM taken GROUP BY 1, 2, 3, 4;
        ELSE
          INSERT INTO delivery_deltas (webhook_id, hour, event, status, deliveries)
          SELECT webhook_id, uuid_hour(id), event, status, sum(sign) FROM (
            SELECT webhook_id, id, event, status, 1 AS sign FROM added
            UNION ALL SELECT webhook_id, id, event, status, -1 FROM taken
          ) moved GROUP BY 1, 2, 3, 4 HAVING sum(sign) <> 0;
          DELETE FROM failed_deliveries f USING taken t
          WHERE t.status = 'failed' AND f.webhook_id = t.webhook_id AND f.delivery_id = t.id;
          INSERT INTO failed_deliveries (webhook_id, delivery_id)
          SELECT webhook_id, id FROM added WHERE status = 'failed';
        END IF;
        RETURN NULL;
      END $$;
    CREATE TRIGGER deliveries_added AFTER INSERT ON webhook_deliveries REFERENCING NEW TABLE AS added
      FOR EACH STATEMENT EXECUTE FUNCTION count_deliveries();
    CREATE TRIGGER deliveries_moved AFTER UPDATE ON webhook_deliveries
      REFERENCING OLD TABLE AS taken NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION count_deliveries();
    CREATE TRIGGER deliveries_taken AFTER DELETE ON webhook_deliveries REFERENCING OLD TABLE AS taken
      FOR EACH STATEMENT EXECUTE FUNCTION count_deliveries();

    CREATE TABLE list_counts (
      account_id uuid NOT NULL,
      rows bigint NOT NULL,
      list text NOT NULL,
      PRIMARY KEY (account_id, list)
    ) WITH (fillfactor = 50, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_scale_factor = 0);
    CREATE FUNCTION count_rows() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        INSERT INTO list_counts (account_id, list, rows)
        SELECT account_id, TG_TABLE_NAME, CASE TG_OP WHEN 'INSERT' THEN count(*) ELSE -count(*) END
        FROM changed WHERE account_id IS NOT NULL GROUP BY account_id ORDER BY account_id
        ON CONFLICT (account_id, list) DO UPDATE SET rows = list_counts.rows + excluded.rows;
        RETURN NULL;
      END $$;
  `);
  for (const table of COUNTED) {
    await knex.raw(`
      CREATE TRIGGER ${table}_added AFTER INSERT ON ${table} REFERENCING NEW TABLE AS changed
        FOR EACH STATEMENT EXECUTE FUNCTION count_rows();
      CREATE TRIGGER ${table}_taken AFTER DELETE ON ${table} REFERENCING OLD TABLE AS changed
        FOR EACH STATEMENT EXECUTE FUNCTION count_rows();
      INSERT INTO list_counts (account_id, list, rows)
      SELECT account_id, '${table}', count(*) FROM ${table} WHERE account_id IS NOT NULL GROUP BY account_id;
    `);
  }
}

/** Removes the counts; what they counted stays. */
export async function down(knex: Knex): Promise<void> {
  for (const table of COUNTED) {
    await knex.raw(`DROP TRIGGER ${table}_added ON ${table}; DROP TRIGGER ${table}_taken ON ${table};`);
  }
  await knex.raw(`
    DROP TRIGGER deliveries_added ON webhook_deliveries;
    DROP TRIGGER deliveries_moved ON webhook_deliveries;
    DROP TRIGGER deliveries_taken ON webhook_deliveries;
    DROP TRIGGER recipient_failed ON recipients;
    DROP FUNCTION count_rows, count_deliveries, uuid_hour, note_failed_message;
    DROP TABLE list_counts, failed_deliveries, delivery_deltas, delivery_hours, failed_messages;
  `);
}
