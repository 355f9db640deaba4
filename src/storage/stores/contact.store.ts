import type { AccountEnvironment, Environment, Visibility } from '../../domain/caller.ts';
import { type Contact, type ContactFilter, foldForSearch } from '../../domain/contacts/contact.ts';
import { parseMsisdn } from '../../domain/messages/msisdn.ts';
import type { KeyRange, Page, PageRequest } from '../../domain/paging.ts';
import type { ContactNames, ContactStore } from '../../domain/ports/contact-stores.ts';
import { type Sql, statement } from '../postgres/sql.ts';
import { ownRowsIn, whereVisible } from './account-rows.ts';

const LAST_UUID = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

interface ContactRow {
  id: string;
  account_id: string;
  environment: Environment;
  created_at: Date;
  updated_at: Date;
  name: string | null;
  phone: string | null;
  email: string | null;
  external_id: string | null;
  tags: string[];
  attributes: Record<string, unknown>;
}

const COLUMNS = [
  'id',
  'account_id',
  'environment',
  'created_at',
  'updated_at',
  'name',
  'phone',
  'email',
  'external_id',
  'tags',
  'attributes',
] as const;

function mapRow(row: ContactRow): Contact {
  return {
    id: row.id,
    accountId: row.account_id,
    environment: row.environment,
    name: row.name,
    phone: row.phone,
    email: row.email,
    externalId: row.external_id,
    tags: row.tags,
    attributes: row.attributes,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

function toRow(contact: Contact) {
  const { name, phone, email, externalId } = contact;
  const texts = [name, phone, email, externalId].filter((text) => text !== null);
  return {
    account_id: contact.accountId,
    environment: contact.environment,
    created_at: contact.createdAt,
    updated_at: contact.updatedAt,
    name,
    phone,
    email,
    external_id: externalId,
    tags: [...contact.tags],
    attributes: JSON.stringify(contact.attributes),
    search_text: foldForSearch(texts.join('\n')),
  };
}

// The first number separates this lock from other advisory locks. It could be any number.
const LOCK_ALL = statement('contacts-lock-all', 'SELECT pg_advisory_xact_lock(7350114, hashtext($1))');

/**
 * SQL for the contacts of account $1 and environment $5 that match a text of `$parameter`. LIMIT makes it one index
 * lookup for each text.
 */
function findEach(parameter: number, condition: string, limit: number): string {
  return `SELECT c.* FROM unnest($${parameter}::text[]) AS n (text) CROSS JOIN LATERAL (
     SELECT ${COLUMNS.join(', ')} FROM contacts c WHERE c.account_id = $1 AND c.environment = $5 AND ${condition} LIMIT ${limit}) AS c`;
}
// Two contacts with the same email address are enough to know that it is not unique.
const FIND_NAMED = statement(
  'contacts-find-named',
  [
    findEach(2, 'c.phone = n.text', 1),
    findEach(3, 'c.external_id = n.text', 1),
    findEach(4, 'lower(c.email) = lower(n.text)', 2),
  ].join(' UNION ALL '),
);
const ROWS = `json_to_recordset($1::json) AS n (id uuid, account_id uuid, environment text, created_at timestamptz,
  updated_at timestamptz, name text, phone text, email text, external_id text, tags text[], attributes json,
  search_text text)`;
const INSERT_ALL = statement(
  'contacts-insert-all',
  `INSERT INTO contacts (${COLUMNS.join(', ')}, search_text)
   SELECT ${COLUMNS.join(', ')}, search_text FROM ${ROWS}`,
);
const UPDATE_ALL = statement(
  'contacts-update-all',
  `UPDATE contacts c SET updated_at = n.updated_at, name = n.name, phone = n.phone, email = n.email,
     external_id = n.external_id, tags = n.tags, attributes = n.attributes, search_text = n.search_text
   FROM ${ROWS} WHERE c.id = n.id AND c.account_id = n.account_id`,
);
const REMOVE_ALL = statement('contacts-remove-all', 'DELETE FROM contacts WHERE id = ANY ($1::uuid[])');

/**
 * SQL for the filter of `askedOf`, on contacts that were already read. `strpos` has no wildcards, so the text needs no
 * escaping.
 */
const MATCHES = `account_id = $1::uuid AND environment = $5 AND (strpos(search_text, $2) > 0 OR phone = $3)
  AND ($4::text IS NULL OR tags @> ARRAY[$4])`;
const SEARCHED = [...COLUMNS, 'search_text'].join(', ');
/**
 * SQL for the matching contacts and a few others. It combines two lookups. The first one uses the trigram index of the
 * text. It is a subquery with OFFSET 0, so that the planner uses this index and no other. The second lookup uses the
 * index on the phone number.
 */
const NARROWED = `(
   SELECT * FROM (SELECT ${SEARCHED} FROM contacts
     WHERE search_terms(right(account_id::text, 6), search_text, tags)
       @@ search_query(right($1::uuid::text, 6), ARRAY[$2], $4) OFFSET 0) AS of_text
   WHERE coalesce(phone <> $3, true)
   UNION ALL SELECT ${SEARCHED} FROM contacts
   WHERE account_id = $1::uuid AND environment = $5 AND phone = $3) AS narrowed`;
const FOUND = `SELECT id FROM ${NARROWED} WHERE ${MATCHES}`;
const COUNT_FOUND = statement('contacts-count-found', `SELECT count(*) AS total FROM (${FOUND}) AS found`);
/** Returns a page and the total. After the last page, it returns one row that has the total but no id. */
const FOUND_PAGE = statement(
  'contacts-found-page',
  `WITH found AS MATERIALIZED (${FOUND})
   SELECT counted.total, c.* FROM (SELECT count(*) AS total FROM found) AS counted LEFT JOIN (
     SELECT ${COLUMNS.map((column) => `contacts.${column}`).join(', ')} FROM contacts
     JOIN (SELECT id FROM found ORDER BY id DESC LIMIT $6 OFFSET $7) AS page USING (id)) AS c ON true
   ORDER BY c.id DESC`,
);
/** SQL for the next contacts of the environment with an id below `id`, newest first. */
const next = (id: string, limit: string) =>
  `SELECT ${SEARCHED} FROM contacts WHERE account_id = $1::uuid AND environment = $5 AND id < ${id} ORDER BY id DESC LIMIT ${limit}`;
/**
 * FIRST is the number of rows that the first scan reads. If its matches suggest that TIMES as many rows fill the page,
 * a second scan reads that many.
 */
const [FIRST, TIMES] = ['4 * $6::int', 16];
/**
 * Returns the newest matching contacts with an id below $7. It first scans the contacts next to $7. If too few of them
 * match, it finds all matching contacts through the indexes and sorts them.
 */
const FOUND_SLICE = statement(
  'contacts-found-slice',
  `WITH first AS MATERIALIZED (${next('$7::uuid', FIRST)}),
   more AS MATERIALIZED (${next(
     '(SELECT id FROM first ORDER BY id LIMIT 1)',
     `(SELECT CASE WHEN count(*) < $6 AND ${TIMES} * count(*) >= $6 THEN ${TIMES - 1} * ${FIRST} ELSE 0 END
       FROM first WHERE ${MATCHES})`,
   )}),
   near AS MATERIALIZED (SELECT * FROM first UNION ALL SELECT * FROM more),
   found AS MATERIALIZED (SELECT ${COLUMNS.join(', ')} FROM near WHERE ${MATCHES} ORDER BY id DESC LIMIT $6)
   SELECT * FROM found
   UNION ALL (
     SELECT ${COLUMNS.join(', ')} FROM ${NARROWED}
     WHERE ${MATCHES} AND id < (SELECT id FROM near ORDER BY id LIMIT 1)
       AND (SELECT count(*) FROM first) = ${FIRST} AND (SELECT count(*) FROM found) < $6
     ORDER BY id DESC LIMIT $6)
   ORDER BY id DESC LIMIT $6`,
);

/**
 * Returns the first parameters of the search statements: account, part of the text, phone, tag, environment. Undefined
 * if the filter matches every contact.
 */
function askedOf({ accountId, environment }: AccountEnvironment, { search = '', tag }: ContactFilter) {
  // Ignore spaces at the ends. In a URL, the plus sign of a phone number becomes a space. The number is still found,
  // because it may have any form that a send accepts.
  const part = foldForSearch(search.trim());
  if (part === '' && tag === undefined) return undefined;
  return [accountId, part, parseMsisdn(search) ?? null, tag ?? null, environment] as const;
}

/** Returns contacts as JSON, for statements that write many of them. */
function toRows(contacts: readonly Contact[]): string {
  return JSON.stringify(
    contacts.map((contact) => ({ ...toRow(contact), id: contact.id, attributes: contact.attributes })),
  );
}

const SELECTED = `SELECT ${COLUMNS.join(', ')} FROM contacts`;
const PAGE = statement(
  'contacts-page',
  `${SELECTED} WHERE account_id = $1 AND environment = $2 ORDER BY id DESC LIMIT $3 OFFSET $4`,
);
const SLICE = statement(
  'contacts-slice',
  `${SELECTED} WHERE account_id = $1 AND environment = $2 AND id < $3 ORDER BY id DESC LIMIT $4`,
);
const FIND_MANY = statement(
  'contacts-find-many',
  `${SELECTED} WHERE account_id = $1 AND ($2::text IS NULL OR environment = $2) AND id = ANY($3::uuid[])`,
);

/** Stores contacts (R27). */
export class PgContactStore implements ContactStore {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async lockAll(accountId: string): Promise<void> {
    await this.#sql.query(LOCK_ALL, [accountId]);
  }

  async page(
    owner: AccountEnvironment,
    filter: ContactFilter,
    { page, limit }: PageRequest,
  ): Promise<Page<Contact>> {
    const skipped = (page - 1) * limit;
    const asked = askedOf(owner, filter);
    if (asked === undefined) {
      const total = await ownRowsIn(this.#sql, owner, 'contacts');
      if (skipped >= total) return { rows: [], total };
      const { accountId, environment } = owner;
      const rows = await this.#sql.query<ContactRow>(PAGE, [accountId, environment, limit, skipped]);
      return { rows: rows.map(mapRow), total };
    }
    const rows = await this.#sql.query<{ total: number } & (ContactRow | { id: null })>(FOUND_PAGE, [
      ...asked,
      limit,
      skipped,
    ]);
    return {
      rows: rows.flatMap((row) => (row.id === null ? [] : [mapRow(row)])),
      total: rows[0]?.total ?? 0,
    };
  }

  async slice(
    owner: AccountEnvironment,
    filter: ContactFilter,
    { limit, after = LAST_UUID }: KeyRange,
  ): Promise<readonly Contact[]> {
    const asked = askedOf(owner, filter);
    const rows = await (asked
      ? this.#sql.query<ContactRow>(FOUND_SLICE, [...asked, limit, after])
      : this.#sql.query<ContactRow>(SLICE, [owner.accountId, owner.environment, after, limit]));
    return rows.map(mapRow);
  }

  async count(owner: AccountEnvironment, filter: ContactFilter): Promise<number> {
    const asked = askedOf(owner, filter);
    if (asked === undefined) return ownRowsIn(this.#sql, owner, 'contacts');
    const [counted] = await this.#sql.query<{ total: number }>(COUNT_FOUND, asked);
    return counted?.total ?? 0;
  }

  async find(visibility: Visibility, id: string): Promise<Contact | undefined> {
    return (await this.findMany(visibility, [id]))[0];
  }

  async findMany(
    { accountId, environment }: Visibility,
    ids: readonly string[],
  ): Promise<readonly Contact[]> {
    const rows = await this.#sql.query<ContactRow>(FIND_MANY, [accountId, environment ?? null, ids]);
    return rows.map(mapRow);
  }

  async findDuplicate(
    owner: AccountEnvironment,
    exceptId: string,
    phone: string | null,
    externalId: string | null,
  ): Promise<Contact | undefined> {
    const rows: ContactRow[] = await this.#sql
      .table<ContactRow>('contacts')
      .where(whereVisible(owner))
      .whereRaw('(phone = ?::text OR external_id = ?::text)', [phone, externalId])
      .whereNot('id', exceptId)
      .select(...COLUMNS);
    const row = rows.find((candidate) => candidate.phone === phone) ?? rows[0];
    return row && mapRow(row);
  }

  async findNamed(
    { accountId, environment }: AccountEnvironment,
    { phones, externalIds, emails }: ContactNames,
  ): Promise<readonly Contact[]> {
    const values = [accountId, phones, externalIds, emails, environment];
    return (await this.#sql.query<ContactRow>(FIND_NAMED, values)).map(mapRow);
  }

  async saveAll(
    changes: readonly { readonly before: Contact | undefined; readonly after: Contact }[],
  ): Promise<void> {
    // If a contact gives up its phone number or external id, it is deleted and inserted again. Otherwise another
    // contact could not take over the number in the same batch, because numbers must be unique.
    const isMoving = ({ before, after }: (typeof changes)[number]) =>
      before !== undefined &&
      ((before.phone !== null && before.phone !== after.phone) ||
        (before.externalId !== null && before.externalId !== after.externalId));
    const moving = changes.filter(isMoving);
    const inserted = changes.filter((change) => change.before === undefined || isMoving(change));
    const updated = changes.filter((change) => change.before !== undefined && !isMoving(change));
    const after = (some: typeof changes) => some.map((change) => change.after);
    if (moving.length > 0) await this.#sql.query(REMOVE_ALL, [moving.map((change) => change.after.id)]);
    if (updated.length > 0) await this.#sql.query(UPDATE_ALL, [toRows(after(updated))]);
    if (inserted.length > 0) await this.#sql.query(INSERT_ALL, [toRows(after(inserted))]);
  }

  async insert(contact: Contact): Promise<void> {
    await this.#sql.table('contacts').insert({ id: contact.id, ...toRow(contact) });
  }

  async update(contact: Contact): Promise<void> {
    const { id, accountId } = contact;
    await this.#sql.table('contacts').where({ account_id: accountId, id }).update(toRow(contact));
  }

  async remove(visibility: Visibility, id: string): Promise<boolean> {
    const removed: number = await this.#sql
      .table('contacts')
      .where({ ...whereVisible(visibility), id })
      .delete();
    return removed > 0;
  }
}
