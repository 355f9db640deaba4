import type { Knex } from 'knex';

/** Built while the version before serves, so outside any transaction. */
export const config = { transaction: false };

/**
 * What a search for a part of a text narrows by, without an extension that an owner may not create:
 * the terms of a text are all three letters that follow each other in it, its last two and its last one, so that a part
 * of one or two letters is the beginning of a term. The owner is a term, too, and each tag behind it. The owner's last
 * letter stands before the three: with all of it, small accounts would have a key for nearly every three letters; with
 * nothing, a search for one letter would go through the keys of everybody.
 *
 * U+0001 divides the terms while they are made, and is a space in them. Passes of a regular expression take a third of
 * what a loop over the letters does.
 */
const TERMS = `
  CREATE OR REPLACE FUNCTION search_terms(owner text, body text, tags text[]) RETURNS tsvector
  LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
    DECLARE
      mark CONSTANT text := chr(1);
      cleaned CONSTANT text := replace(body, mark, ' ');
      letters CONSTANT text := mark || right(owner, 1) || '\\&';
      named CONSTANT text := mark || '#' || owner;
    BEGIN
      RETURN array_to_tsvector(array_remove(string_to_array(
        regexp_replace(cleaned, '.{1,3}', letters, 'g') || regexp_replace(substr(cleaned, 2), '.{1,3}', letters, 'g')
          || regexp_replace(substr(cleaned, 3), '.{1,3}', letters, 'g')
          || named || CASE WHEN tags = '{}' THEN '' ELSE named || array_to_string(tags, named) END,
        mark), ''));
    END $$`;

/**
 * What the terms of a text match if it is the owner's, holds one of `parts` and has the tag, where one is given; some
 * that do not match too, since nothing tells the order of terms. The first 200 letters are enough.
 */
const QUERY = `
  CREATE OR REPLACE FUNCTION search_query(owner text, parts text[], tag text) RETURNS tsquery
  LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT string_agg(condition, ' & ')::tsquery FROM (
      SELECT '(' || string_agg(terms, ' | ') || ')' AS condition FROM (
        SELECT string_agg(
          '''' || replace(replace(right(owner, 1) || substr(part, place, 3), '\\', '\\\\'), '''', '''''') || ''''
            || CASE WHEN length(part) < 3 THEN ':*' ELSE '' END, ' & ') AS terms
        FROM (SELECT left(replace(part, chr(1), ' '), 200) AS part FROM unnest(parts) AS given (part)) AS cleaned,
          generate_series(1, greatest(length(part) - 2, 1)) AS place
        WHERE part <> '' GROUP BY part) AS each_part
      UNION ALL SELECT '''#' || replace(replace(
        owner || coalesce(split_part(tag, chr(1), 1), ''), '\\', '\\\\'), '''', '''''') || ''''
    ) AS conditions $$`;

const INDEXES: Readonly<Record<string, string>> = {
  contacts_search: `contacts USING gin (search_terms(right(account_id::text, 6), search_text, tags))`,
  accounts_search: `accounts USING gin (search_terms('', lower(name) || E'\\n' || lower(email), '{}'))`,
};

/**
 * Indexes for the search of contacts and accounts. That of contacts serves their tags, too. Half of a page of contacts
 * stays free: a contact that is imported again as it was, or changes in nothing that an index holds, touches none then.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(TERMS);
  await knex.raw(QUERY);
  await knex.raw('ALTER TABLE contacts SET (fillfactor = 50)');
  for (const [name, on] of Object.entries(INDEXES)) {
    // One that was not finished stays behind, of no use.
    await knex.raw(`DROP INDEX CONCURRENTLY IF EXISTS ${name}`);
    await knex.raw(`CREATE INDEX CONCURRENTLY ${name} ON ${on}`);
    // No plan depends on how common a term is, and to find out takes long.
    await knex.raw(`ALTER INDEX ${name} ALTER COLUMN 1 SET STATISTICS 0`);
  }
  await knex.raw('DROP INDEX CONCURRENTLY IF EXISTS contacts_tags');
}

/** Back to the index of tags alone. */
export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP INDEX IF EXISTS contacts_tags');
  await knex.raw('CREATE INDEX CONCURRENTLY contacts_tags ON contacts USING gin (tags)');
  for (const name of Object.keys(INDEXES)) await knex.raw(`DROP INDEX CONCURRENTLY IF EXISTS ${name}`);
  await knex.raw('ALTER TABLE contacts RESET (fillfactor)');
  await knex.raw('DROP FUNCTION search_terms, search_query');
}
