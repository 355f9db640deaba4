import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Knex } from 'knex';
import type { AccountEnvironment } from '../../src/domain/caller.ts';
import { type Contact, type ContactFilter, foldForSearch } from '../../src/domain/contacts/contact.ts';
import { parseMsisdn } from '../../src/domain/messages/msisdn.ts';
import { createKnex, Sql } from '../../src/storage/postgres/sql.ts';
import { PgAccountStore } from '../../src/storage/stores/account.store.ts';
import { PgContactStore } from '../../src/storage/stores/contact.store.ts';
import { createTestDatabase, silentLogger, type TestDatabase } from '../support/database.ts';

/**
 * Letters that have variants (case, width, composed or not), and characters that have a meaning in patterns, queries or
 * indexes.
 */
const TRICKY = [
  ...'aAbBcC017 iIıİßẞſsSςσΣéÉÅåK\u0301\u0130\u212bﬁ１２Ⅷ㎞漢字أبπ🦊👩‍👧\u{10400}\u{1d54f}',
  ...'\'"\\%_*?:&|!()<>-+#@.,;$\t\n\r\u0001\u0002\u00a0\u200b\u2028\ufffd',
];
// 40 runs without shrinking. Shrinking would take thousands of runs, and each of them makes the database larger.
const RUNS = { numRuns: 40, endOnFailure: true };
const word = (maxLength: number) =>
  fc.oneof(
    { weight: 3, arbitrary: fc.array(fc.constantFrom(...TRICKY), { minLength: 1, maxLength }) },
    { weight: 1, arbitrary: fc.array(fc.constantFrom('a', 'b', '7'), { minLength: 1, maxLength }) },
    {
      weight: 1,
      arbitrary: fc
        .string({ unit: 'binary', minLength: 1, maxLength })
        .map((text) => [...text.replaceAll('\0', '')]),
    },
  );
const text = word(14).map((letters) => letters.join('') || 'x');
/**
 * Returns a text to search for. It is a part of a stored text, as it is or in another case, or it is any other text.
 */
const needle = fc.oneof(
  { weight: 1, arbitrary: word(4).map((letters) => () => letters.join('')) },
  {
    weight: 4,
    arbitrary: fc
      .tuple(fc.nat(), fc.nat(), fc.integer({ min: 1, max: 9 }), fc.constantFrom('as is', 'upper', 'lower'))
      .map(([which, from, length, form]) => (texts: readonly string[]) => {
        const letters = [...(texts[which % texts.length] ?? '')];
        const start = from % letters.length;
        const part = letters.slice(start, start + length).join('');
        return form === 'upper' ? part.toUpperCase() : form === 'lower' ? part.toLowerCase() : part;
      }),
  },
);

describe('an indexed search finds what a scan finds', () => {
  let database: TestDatabase;
  let knex: Knex;
  let contacts: PgContactStore;
  let accounts: PgAccountStore;
  beforeAll(async () => {
    database = await createTestDatabase();
    knex = createKnex(database.connection, silentLogger);
    contacts = new PgContactStore(new Sql(knex));
    accounts = new PgAccountStore(new Sql(knex));
  });
  afterAll(async () => {
    await knex.destroy();
    await database.drop();
  });

  async function createAccount(name: string, email: string): Promise<string> {
    const id = randomUUID();
    await accounts.insert({
      id,
      name,
      email,
      currency: 'UGX',
      balanceMinor: 0,
      retention: { contentDays: null, messageDays: null },
      plan: null,
      requireSecondFactor: false,
      status: 'active',
      createdAt: new Date(),
    });
    return id;
  }

  /** Reads the results by pages and by slices, and returns them with the totals. */
  async function found(owner: AccountEnvironment, filter: ContactFilter) {
    const pages: string[] = [];
    const totals = new Set([await contacts.count(owner, filter)]);
    for (let page = 1, more = true; more; page += 1) {
      const { rows, total } = await contacts.page(owner, filter, { page, limit: 3 });
      pages.push(...rows.map(({ id }) => id));
      totals.add(total);
      more = rows.length > 0;
    }
    const slices: string[] = [];
    for (let more = true; more; ) {
      const rows = await contacts.slice(owner, filter, { limit: 2, after: slices.at(-1) });
      slices.push(...rows.map(({ id }) => id));
      more = rows.length > 0;
    }
    return { pages, slices, totals: [...totals] };
  }

  it('of contacts, for any letters, tags and other accounts', async () => {
    const person = fc.record({
      name: fc.option(text),
      digits: fc.option(fc.integer({ min: 0, max: 99_999 })),
      email: fc.option(text),
      externalId: text,
      tags: fc.uniqueArray(
        fc.oneof(fc.constantFrom('vip', 'VIP', "v'i\\p", '\u0001', 'v\u0001', '#'), text),
        {
          maxLength: 3,
        },
      ),
    });
    const search = fc.record({
      needle: fc.option(fc.oneof({ weight: 5, arbitrary: needle }, fc.constant(null))),
      tag: fc.option(fc.oneof(fc.nat(), fc.constantFrom('vip', 'v', 'none'))),
    });
    const course = fc.record({
      people: fc.uniqueArray(person, {
        minLength: 1,
        maxLength: 40,
        selector: ({ externalId }) => externalId,
      }),
      searches: fc.array(search, { minLength: 4, maxLength: 8 }),
    });
    let hits = 0;
    await fc.assert(
      fc.asyncProperty(course, async ({ people, searches }) => {
        const accountId = await createAccount('one', 'one@example.com');
        const owner = { accountId, environment: 'production' } as const;
        const otherId = await createAccount('other', 'other@example.com');
        const phones = new Set<number>();
        const own: Contact[] = [];
        for (const { name, digits, email, externalId, tags } of people) {
          const phone =
            digits === null || phones.has(digits) ? null : `+25670${String(digits).padStart(7, '0')}`;
          if (digits !== null) phones.add(digits);
          const at = new Date();
          const rest = { name, phone, email, externalId, tags, attributes: {}, createdAt: at, updatedAt: at };
          own.push({ id: randomUUID(), ...owner, ...rest });
          await contacts.insert({ ...rest, ...owner, id: randomUUID(), accountId: otherId });
          await contacts.insert({ ...rest, ...owner, id: randomUUID(), environment: 'sandbox' });
        }
        await contacts.saveAll(own.map((after) => ({ before: undefined, after })));
        own.sort((one, other) => (one.id < other.id ? 1 : -1));
        const textOf = ({ name, phone, email, externalId }: Contact) =>
          [name, phone, email, externalId].filter((part) => part !== null).join('\n');
        for (const { needle: part, tag: asked } of searches) {
          const phoneOfNone = '0700 00-00 07';
          const wanted = part === null ? undefined : (part?.(own.map(textOf)) ?? phoneOfNone);
          const tags = own.flatMap((contact) => contact.tags);
          const tag = typeof asked === 'number' ? tags[asked % (tags.length || 1)] : (asked ?? undefined);
          const filter = { search: wanted, tag };
          const folded = foldForSearch((wanted ?? '').trim());
          const phone = parseMsisdn(wanted ?? '');
          const expected = own
            .filter(
              (contact) => foldForSearch(textOf(contact)).includes(folded) || contact.phone === (phone ?? ''),
            )
            .filter((contact) => tag === undefined || contact.tags.includes(tag))
            .map(({ id }) => id);
          hits += expected.length;
          expect({ filter, ...(await found(owner, filter)) }).toEqual({
            filter,
            pages: expected,
            slices: expected,
            totals: [expected.length],
          });
        }
      }),
      RUNS,
    );
    expect(hits).toBeGreaterThan(100);
  });

  it('of accounts, like ILIKE', async () => {
    const course = fc.record({
      made: fc.array(fc.tuple(text, text), { minLength: 1, maxLength: 6 }),
      needles: fc.array(needle, { minLength: 3, maxLength: 8 }),
    });
    let hits = 0;
    await fc.assert(
      fc.asyncProperty(course, async ({ made, needles }) => {
        for (const [name, email] of made) await createAccount(name, email);
        for (const part of needles) {
          const search = part(made.flat());
          if (search === '') continue;
          const like = `%${search.replace(/[\\%_]/g, '\\$&')}%`;
          const { rows } = await knex.raw(
            'SELECT id FROM accounts WHERE name ILIKE ? OR email ILIKE ? ORDER BY id DESC',
            [like, like],
          );
          const expected: string[] = rows.map(({ id }: { id: string }) => id);
          hits += expected.length;
          const read: string[] = [];
          for (let more = true; more; ) {
            const next = await accounts.list(search, { limit: 20, after: read.at(-1) });
            read.push(...next.map(({ id }) => id));
            more = next.length > 0;
          }
          const total = await accounts.count(search);
          expect({ search, read, total }).toEqual({ search, read: expected, total: expected.length });
        }
      }),
      RUNS,
    );
    expect(hits).toBeGreaterThan(100);
  });
});
