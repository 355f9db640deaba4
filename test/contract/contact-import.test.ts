import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { csvReader } from '../../src/csv/csv-reader.ts';
import { IMPORT_MAX_BYTES } from '../../src/domain/contacts/contact-import.ts';
import { ImportContacts } from '../../src/workers/imports/import-contacts.ts';
import { withKnex } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { codesOf, graphql, signIn } from '../support/graphql.ts';
import { machineIds } from '../support/system.ts';

const START = `mutation ($csv: String!) { importContacts(csv: $csv) {
  id state progress { rowsTotal rowsDone created updated failed } creator { __typename } finishedAt } }`;
const LOOK = `query ($id: ID!, $first: Int, $after: String) { contactImport(id: $id) {
  state failure createdAt finishedAt progress { rowsTotal rowsDone created updated failed }
  errors(first: $first, after: $after) {
    nodes { row column value code message } totalCount pageInfo { hasNextPage endCursor } } } }`;

interface RowError {
  readonly row: number;
  readonly column: string | null;
  readonly value: string | null;
  readonly code: string;
  readonly message: string;
}

interface Ended {
  readonly id: string;
  readonly state: string;
  readonly progress: Readonly<Record<string, number>>;
  readonly errors: readonly RowError[];
}

describe('imports of contacts', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway();
  });
  afterAll(() => gateway?.stop());

  /** Creates an account, and returns it with helper functions for imports. */
  async function newcomer() {
    const account: TestAccount = await gateway.createAccount();
    const token = await signIn(gateway, account);
    const ask = (query: string, variables: object = {}) => graphql(gateway, query, { token, variables });
    const look = async (id: string, slice: object = {}) =>
      (await ask(LOOK, { id, ...slice })).body.data.contactImport;
    const start = (csv: string) => ask(START, { csv });
    /** Imports a CSV text. Resolves when the import has ended. */
    const imported = async (csv: string): Promise<Ended> => {
      const started = await start(csv);
      if (started.body.errors) throw new Error(started.text);
      const id: string = started.body.data.importContacts.id;
      return eventually(async () => {
        const found = await look(id, { first: 100 });
        return found.finishedAt !== null && { ...found, id, errors: found.errors.nodes };
      });
    };
    /** Returns the contacts that REST shows, by name. */
    const contacts = async (): Promise<Record<string, Record<string, unknown>>> => {
      const { body } = await gateway.call('GET', '/developers/contacts?limit=100', { key: account.key });
      return Object.fromEntries(body.data.map((contact: { name: string }) => [contact.name, contact]));
    };
    const create = async (body: object) =>
      (await gateway.call('POST', '/developers/contacts', { key: account.key, body })).body;
    return { account, ask, look, start, imported, contacts, create };
  }

  it('start as PENDING and end as DONE, with every row in the contacts', async () => {
    const { account, start, look, contacts } = await newcomer();
    const csv = [
      'name,phone,email,externalId,tags,city,attributes.plan',
      'Amina,0700 123-456,amina@example.com,c-1,north; vip|north,Kampala,gold',
      '"Baker, Ben",+254 712 345678,,,,,',
      'Cara,,cara@example.com,c-3,,Gulu,',
    ].join('\n');
    const started = (await start(csv)).body.data.importContacts;
    expect(started).toMatchObject({
      state: 'PENDING',
      progress: { rowsTotal: 3, rowsDone: 0, created: 0, updated: 0, failed: 0 },
      creator: { __typename: 'User' },
      finishedAt: null,
    });
    const ended = await eventually(async () => {
      const found = await look(started.id);
      return found.finishedAt !== null && found;
    });
    expect(ended).toMatchObject({
      state: 'DONE',
      failure: null,
      progress: { rowsTotal: 3, rowsDone: 3, created: 3, updated: 0, failed: 0 },
      errors: { nodes: [], totalCount: 0 },
    });
    const found = await contacts();
    expect(found.Amina).toMatchObject({
      phone: '+256700123456',
      email: 'amina@example.com',
      externalId: 'c-1',
      tags: ['north', 'vip'],
      attributes: { city: 'Kampala', plan: 'gold' },
    });
    expect(found['Baker, Ben']).toMatchObject({
      phone: '+254712345678',
      email: null,
      tags: [],
      attributes: {},
    });
    expect(found.Cara).toMatchObject({ phone: null, externalId: 'c-3', attributes: { city: 'Gulu' } });
    // The CSV text is deleted after the import.
    const kept = await withKnex(gateway.database.connection, (knex) =>
      knex('contact_imports').where({ account_id: account.accountId }).select('csv'),
    );
    expect(kept).toEqual([{ csv: null }]);
  });

  it.each([
    ['semicolons', 'name;tags;phone\nAmina;a|b;0700123456\n'],
    ['tabs', 'name\ttags\temail\tphone\nAmina\ta|b\t\t0700123456\n'],
    ['CRLF, a byte order mark and quotes', '\uFEFF"name","tags","phone"\r\n"Amina","a;b","0700123456"\r\n'],
    ['blank lines and rows of nothing', '\n\nname,tags,phone\n\n,,\nAmina,a;b,0700123456\n,,\n'],
    ['other spellings of the headers', ' Name ,TAGS,Phone\nAmina,a;b,0700123456'],
    ['columns in another order', 'phone,name,tags\n0700123456,Amina,a|b'],
  ])('parse files with %s', async (_, csv) => {
    const { imported, contacts } = await newcomer();
    expect((await imported(csv)).progress).toMatchObject({ rowsTotal: 1, created: 1 });
    expect((await contacts()).Amina).toMatchObject({
      name: 'Amina',
      phone: '+256700123456',
      tags: ['a', 'b'],
    });
  });

  it('keep text of several lines, doubled quotes and quoted delimiters', async () => {
    const { imported, contacts } = await newcomer();
    await imported('externalId,name,note,tags\n1,"A ""B"", C","one\ntwo\r\nthree","a,b ""c""|{d}|\\e"\n');
    const found = await contacts();
    expect(Object.keys(found)).toEqual(['A "B", C']);
    expect(Object.values(found)[0]?.tags).toEqual(['a,b "c"', '{d}', '\\e']);
    expect(Object.values(found)[0]?.attributes).toEqual({ note: 'one\ntwo\r\nthree' });
  });

  it('update the contact with the same phone or externalId; empty cells change nothing', async () => {
    const { imported, contacts, create } = await newcomer();
    const amina = await create({
      name: 'Amina',
      phone: '0700123456',
      email: 'a@example.com',
      tags: ['old'],
      attributes: { city: 'Kampala', size: 3 },
    });
    const ben = await create({ name: 'Ben', externalId: 'c-2' });
    const { progress } = await imported(
      'name,phone,externalId,email,tags,city\nAmina,+256700123456,c-1,,,Gulu\nBen,0700999999,c-2,b@example.com,new,\n',
    );
    expect(progress).toMatchObject({ created: 0, updated: 2, failed: 0 });
    const found = await contacts();
    expect(found.Amina).toMatchObject({
      id: amina.id,
      createdAt: amina.createdAt,
      externalId: 'c-1',
      email: 'a@example.com',
      tags: ['old'],
      attributes: { city: 'Gulu', size: 3 },
    });
    expect(Date.parse(String(found.Amina?.updatedAt))).toBeGreaterThan(Date.parse(amina.updatedAt));
    expect(found.Ben).toMatchObject({ id: ben.id, phone: '+256700999999', tags: ['new'] });
  });

  it('change nothing when the same file comes again, also rows with only an email', async () => {
    const { imported, contacts } = await newcomer();
    const csv = 'name,email,phone\nAmina,amina@example.com,\nBen,ben@example.com,0700123456\n';
    expect((await imported(csv)).progress).toMatchObject({ created: 2, updated: 0 });
    const before = await contacts();
    const again = await imported(csv.replace('amina@', 'AMINA@'));
    expect(again.progress).toMatchObject({ created: 0, updated: 2 });
    const after = await contacts();
    expect(Object.keys(after)).toHaveLength(2);
    expect(after.Amina?.id).toBe(before.Amina?.id);
  });

  it('let two contacts swap phones in one file', async () => {
    const { imported, contacts, create } = await newcomer();
    await create({ name: 'Amina', phone: '0700000001', externalId: 'a' });
    await create({ name: 'Ben', phone: '0700000002', externalId: 'b' });
    const rows = ['externalId,phone', 'b,0700000003', 'a,0700000002', ',0700000001'];
    expect((await imported(rows.join('\n'))).progress).toMatchObject({ created: 1, updated: 2, failed: 0 });
    const found = await contacts();
    expect([found.Amina?.phone, found.Ben?.phone]).toEqual(['+256700000002', '+256700000003']);
    expect(Object.values(found).filter(({ phone }) => phone === '+256700000001')).toHaveLength(1);
  });

  it('report each bad row by its line, and import the others', async () => {
    const { imported, contacts, create } = await newcomer();
    await create({ name: 'Amina', phone: '0700000001' });
    await create({ name: 'Ben', externalId: 'b' });
    await create({ name: 'Twin 1', email: 'twin@example.com' });
    await create({ name: 'Twin 2', email: 'Twin@example.com' });
    const long = 'x'.repeat(201);
    const rows = [
      'Name,Phone,E-Mail,External ID,Tags,note',
      'ok,0700000009,,,,"two\nlines"',
      'bad phone,12345,,,,',
      `bad email and tag,0700000010,nobody,,${'t'.repeat(51)},`,
      'nobody at all,,,,,',
      '',
      'both,0700000001,,b,,',
      'again,+256 700 000 009,,,,',
      'too,0700000011,,,,x,one,more',
      'several,,TWIN@example.com,,,',
      `${long},0700000012,,,,`,
      'fine,0700000010,,,,',
    ];
    const { state, progress, errors } = await imported(rows.join('\r\n').replace('E-Mail', 'email'));
    expect(state).toBe('DONE');
    expect(progress).toEqual({ rowsTotal: 10, rowsDone: 10, created: 2, updated: 0, failed: 8 });
    expect(errors.map(({ row, column, value, code }) => [row, column, value, code])).toEqual([
      [4, 'Phone', '12345', 'INVALID_PHONE_NUMBER'],
      [5, 'email', 'nobody', 'BAD_USER_INPUT'],
      [5, 'Tags', 't'.repeat(51), 'BAD_USER_INPUT'],
      [6, null, null, 'BAD_USER_INPUT'],
      [8, 'Phone', '0700000001', 'CONTACT_EXISTS'],
      [9, 'Phone', '+256 700 000 009', 'DUPLICATE_ROW'],
      [10, null, null, 'MALFORMED_ROW'],
      [11, 'email', 'TWIN@example.com', 'CONTACT_EXISTS'],
      [12, 'Name', long.slice(0, 100), 'BAD_USER_INPUT'],
    ]);
    expect(errors.map(({ message }) => message).join('\n')).toMatch(/Line 2 is about the same phone\./);
    expect(Object.keys(await contacts()).sort()).toEqual(['Amina', 'Ben', 'Twin 1', 'Twin 2', 'fine', 'ok']);
  });

  it('report an attribute that no longer fits beside the existing ones', async () => {
    const { imported, create, contacts } = await newcomer();
    await create({ name: 'Amina', externalId: 'a', attributes: { much: 'x'.repeat(16_000) } });
    const { progress, errors } = await imported(`externalId,more\na,${'y'.repeat(1_000)}\n`);
    expect(progress.failed).toBe(1);
    expect(errors).toEqual([
      {
        row: 2,
        column: null,
        value: null,
        code: 'BAD_USER_INPUT',
        message: 'must have at most 16384 bytes as JSON',
      },
    ]);
    expect((await contacts()).Amina?.attributes).not.toHaveProperty('more');
  });

  it('page through the report', async () => {
    const { imported, look, ask } = await newcomer();
    const csv = ['phone', ...Array.from({ length: 25 }, (_, index) => `no${index}`)].join('\n');
    const { id } = await imported(csv);
    const rows: number[] = [];
    let after: string | null = null;
    for (let pages = 0; pages < 3; pages++) {
      const { errors } = await look(id, { first: 10, after });
      rows.push(...errors.nodes.map((error: RowError) => error.row));
      expect([errors.totalCount, errors.pageInfo.hasNextPage]).toEqual([25, pages < 2]);
      after = errors.pageInfo.endCursor;
    }
    expect(rows).toEqual(Array.from({ length: 25 }, (_, index) => index + 2));
    const past = await look(id, { first: 10, after: Buffer.from('999999999999999').toString('base64url') });
    expect([past.errors.totalCount, past.errors.nodes]).toEqual([25, []]);
    const other = await imported('phone\n0700000001\nnone\n');
    const all = await ask(
      '{ contactImports(first: 5) { nodes { id errors(first: 1) { nodes { row } } } totalCount } }',
    );
    expect(all.body.data.contactImports).toEqual({
      nodes: [
        { id: other.id, errors: { nodes: [{ row: 3 }] } },
        { id, errors: { nodes: [{ row: 2 }] } },
      ],
      totalCount: 2,
    });
  });

  it('are deleted 30 days after their end; the contacts stay', async () => {
    const { imported, ask, contacts, account } = await newcomer();
    const old = await imported('name,phone\nAmina,0700000001\nx,none\ny,none\nz,none\n');
    const { id } = await imported('name,phone\nBen,0700000002\nx,none\n');
    const month = 30 * 24 * 3_600_000;
    await withKnex(gateway.database.connection, (knex) =>
      knex('contact_imports')
        .where({ id: old.id })
        .update({ finished_at: new Date(Date.now() - month - 1_000) }),
    );
    const { contactImports } = gateway.parts.stores;
    const forget = () => contactImports.forgetBefore(new Date(Date.now() - month), 2);
    expect([await forget(), await forget(), await forget()]).toEqual([2, 1, 0]);
    const left = await ask('{ contactImports { nodes { id errors { totalCount } } } }');
    expect(left.body.data.contactImports.nodes).toEqual([{ id, errors: { totalCount: 1 } }]);
    expect(Object.keys(await contacts()).sort()).toEqual(['Amina', 'Ben']);
    const faults = await withKnex(gateway.database.connection, (knex) =>
      knex('contact_import_faults as f')
        .join('contact_imports as i', 'i.id', 'f.import_id')
        .where('i.account_id', account.accountId)
        .count('* as count'),
    );
    expect(faults).toEqual([{ count: 1 }]);
  });

  it.each([
    ['is empty', '', 'csv: is empty'],
    ['has no row', 'phone\n\n', 'csv: has a header and no row below it'],
    [
      'has no header',
      'Amina,0700123456\n',
      'csv: line 1: the first row must name the columns; phone, email or externalId must be one of them',
    ],
    ['names a column twice', 'phone,PHONE\n1,2\n', 'csv: line 1: the column PHONE is there twice'],
    [
      'names an attribute twice',
      'phone,a,attributes.a\n1,2,3\n',
      'csv: line 1: the column attributes.a is there twice',
    ],
    ['leaves a header out', 'phone,,x\n1,2,3\n', 'csv: line 1: column 2 has no header'],
    [
      'does not close a quote',
      'phone\r\n1\r\n"2\r\n3\r\n',
      'csv: line 3: a quoted cell begins in this row and is not closed',
    ],
    [
      'has text after a quote',
      'phone\n"1\n2",\n"3"x\n',
      'csv: line 4: text stands after the closing quote of a cell; a quote inside of one must be doubled',
    ],
    [
      'has too many columns',
      `phone${',x'.repeat(100)}\n1\n`,
      'csv: line 1: the header has 101 columns; 100 is the most',
    ],
    [
      'has too many rows',
      `phone\n${'1\n'.repeat(100_001)}`,
      'csv: has more than 100000 rows; import it in parts',
    ],
  ])('are refused before anything is imported when the text %s', async (_, csv, message) => {
    const { start, ask } = await newcomer();
    const answer = await start(csv);
    expect(codesOf(answer)).toEqual(['BAD_USER_INPUT']);
    expect(answer.body.errors[0].message).toBe(message);
    const { contactImports } = (await ask('{ contactImports { totalCount } }')).body.data;
    expect(contactImports.totalCount).toBe(0);
  });

  it('are refused when the text has too many bytes', async () => {
    const { start } = await newcomer();
    const answer = await start(`phone,x\n1,${'ü'.repeat(6 * 1024 * 1024)}\n`);
    expect(codesOf(answer)).toEqual(['PAYLOAD_TOO_LARGE']);
    expect(answer.body.errors[0].message).toMatch(/12582912 is the most/);
  });
});

describe('imports of contacts without a running worker', () => {
  it('wait, at most three for an account, and more are refused before they are read (R587)', async () => {
    await using gateway = await startTestGateway({ ROLES: 'api' });
    const [account, other] = [await gateway.createAccount(), await gateway.createAccount()];
    const start = async (token: string) =>
      graphql(gateway, START, { token, variables: { csv: 'phone\n0700123456\n' } });
    const token = await signIn(gateway, account);
    for (let count = 0; count < 3; count++) expect(codesOf(await start(token))).toEqual([]);
    const refused = await start(token);
    expect(codesOf(refused)).toEqual(['RATE_LIMITED']);
    expect(refused.body.errors[0]).toMatchObject({
      message: '3 imports have not ended yet. Wait for one of them.',
      extensions: { retryAfter: 5 },
    });
    // Those that begin at the same time, too.
    const otherToken = await signIn(gateway, other);
    const answers = await Promise.all(Array.from({ length: 8 }, () => start(otherToken)));
    expect(answers.filter((answer) => codesOf(answer).length === 0)).toHaveLength(3);
    // The text is not read. Otherwise its fault would be the answer.
    const unread = await graphql(gateway, START, { token, variables: { csv: 'phone\n"never closed' } });
    expect(codesOf(unread)).toEqual(['RATE_LIMITED']);
    const tooLarge = await graphql(gateway, START, {
      token,
      variables: { csv: 'x'.repeat(IMPORT_MAX_BYTES + 1) },
    });
    expect(codesOf(tooLarge)).toEqual(['PAYLOAD_TOO_LARGE']);
  });

  it('fail after a day, and then block nobody', async () => {
    await using gateway = await startTestGateway({ ROLES: 'api' });
    const token = await signIn(gateway, await gateway.createAccount());
    const start = () => graphql(gateway, START, { token, variables: { csv: 'phone\n0700123456\n' } });
    const { id } = (await start()).body.data.importContacts;
    const cleanUp = async (hours: number) => {
      const now = new Date(Date.now() + hours * 3_600_000);
      const { stores } = gateway.parts;
      const uow = { run: () => Promise.reject(new Error('nothing is imported')) };
      await new ImportContacts(stores, uow, csvReader, { now: () => now }, machineIds).cleanUp();
      return (await graphql(gateway, LOOK, { token, variables: { id } })).body.data.contactImport;
    };
    expect(await cleanUp(23)).toMatchObject({ state: 'PENDING', failure: null, finishedAt: null });
    expect(await cleanUp(25)).toMatchObject({
      state: 'FAILED',
      failure: 'It could not be finished in time. Import the rest again.',
      finishedAt: expect.any(String),
    });
    for (let count = 0; count < 3; count++) expect(codesOf(await start())).toEqual([]);
  });
});
