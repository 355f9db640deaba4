import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { AccountRole } from '../../src/domain/caller.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';

describe('contacts (R27)', () => {
  let gateway: TestGateway;
  let account: TestAccount;
  beforeAll(async () => {
    gateway = await startTestGateway();
    account = await gateway.createAccount();
  });
  afterAll(() => gateway.stop());

  const call = (method: string, path = '', body?: unknown, key = account.key) =>
    gateway.call(method, `/developers/contacts${path}`, { key, ...(body === undefined ? {} : { body }) });
  const create = async (body: object, key = account.key) => (await call('POST', '', body, key)).body;
  let numbers = 0;
  const newPhone = () => `+25670${String(numbers++).padStart(7, '0')}`;
  const codeOf = ({ status, body }: { status: number; body: { error?: { code: string } } }) => [
    status,
    body.error?.code,
  ];

  it('are created, read, changed and deleted', async () => {
    const phone = newPhone();
    const created = await call('POST', '', {
      name: 'Amina Nakato',
      phone: phone.replace('+256', '0'),
      email: 'amina@example.com',
      externalId: 'customer-1',
      tags: ['north', 'customer', 'north'],
      attributes: { z: [1, { a: null }], a: 'ü😀', 'a b': true },
      ignored: 12,
    });
    expect(created.status).toBe(201);
    expect(created.body).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      environment: 'production',
      name: 'Amina Nakato',
      phone,
      email: 'amina@example.com',
      externalId: 'customer-1',
      tags: ['north', 'customer'],
      attributes: { z: [1, { a: null }], a: 'ü😀', 'a b': true },
      createdAt: expect.stringMatching(/Z$/),
      updatedAt: created.body.createdAt,
    });
    expect(Object.keys(created.body.attributes)).toEqual(['z', 'a', 'a b']);
    const path = `/${created.body.id}`;
    expect((await call('GET', path)).text).toBe(created.text);

    const changed = await call('PUT', path, { name: null, tags: [], email: 'a.nakato@example.com' });
    expect(changed.body).toMatchObject({
      name: null,
      tags: [],
      email: 'a.nakato@example.com',
      phone,
      externalId: 'customer-1',
    });
    expect(Date.parse(changed.body.updatedAt)).toBeGreaterThanOrEqual(Date.parse(created.body.createdAt));
    expect(changed.body.createdAt).toBe(created.body.createdAt);
    // PUT accepts the body that GET returned.
    const back = await call('PUT', path, changed.body);
    expect(back.body).toEqual({ ...changed.body, updatedAt: back.body.updatedAt });

    const gone = await call('DELETE', path);
    expect({ status: gone.status, body: gone.body }).toEqual({
      status: 200,
      body: { id: created.body.id, deleted: true },
    });
    for (const method of ['GET', 'DELETE'])
      expect(codeOf(await call(method, path))).toEqual([404, 'not_found']);
    expect(codeOf(await call('PUT', path, { name: 'x' }))).toEqual([404, 'not_found']);
  });

  it.each(['phone', 'email', 'externalId'])('need only %s', async (member) => {
    const value = { phone: newPhone(), email: `${randomUUID()}@example.com`, externalId: randomUUID() }[
      member
    ];
    const body = await create({ [member]: value });
    expect(body).toMatchObject({
      name: null,
      phone: null,
      email: null,
      externalId: null,
      tags: [],
      attributes: {},
      [member]: value,
    });
    expect(codeOf(await call('PUT', `/${body.id}`, { [member]: null }))).toEqual([400, 'validation_error']);
  });

  it.each([
    ['nothing', {}],
    ['a name alone', { name: 'Amina', phone: null }],
    ['a wrong type', { phone: 700123456 }],
    ['an empty externalId', { externalId: '' }],
    ['a long name', { email: 'a@example.com', name: 'a'.repeat(201) }],
    ['no email address', { email: 'amina' }],
    ['two email addresses', { email: 'a@example.com,b@example.com' }],
    ['an email address with an invisible character', { email: 'a@example.com\u200b' }],
    ['an email address with a control character', { email: 'a\u0001@example.com' }],
    ['tags that are no list', { email: 'a@example.com', tags: 'north' }],
    ['an empty tag', { email: 'a@example.com', tags: [''] }],
    [
      'too many tags',
      { email: 'a@example.com', tags: Array.from({ length: 51 }, (_, index) => `tag ${index}`) },
    ],
    ['attributes that are no object', { email: 'a@example.com', attributes: ['a'] }],
    ['huge attributes', { email: 'a@example.com', attributes: { a: 'a'.repeat(16_384) } }],
    ['U+0000', { email: 'a@example.com', attributes: { a: 'a\u0000b' } }],
  ])('refuse %s (R5)', async (_, body) => {
    expect(codeOf(await call('POST', '', body))).toEqual([400, 'validation_error']);
  });

  it('refuse a phone that a send would refuse (R170)', async () => {
    const { status, body } = await call('POST', '', { phone: '12' });
    expect(status).toBe(400);
    expect(body.error).toMatchObject({
      code: 'invalid_phone_number',
      details: { field: 'phone', value: '12' },
    });
  });

  it('have unique phones and externalIds: 409 with the id of the existing contact', async () => {
    const phone = newPhone();
    const first = await create({ phone, externalId: 'once' });
    const other = await create({ phone: newPhone() });
    for (const answer of [
      await call('POST', '', { phone: phone.replace('+256', '0 ') }),
      await call('POST', '', { externalId: 'once' }),
      await call('PUT', `/${other.id}`, { phone }),
      await call('PUT', `/${other.id}`, { externalId: 'once' }),
    ]) {
      expect(codeOf(answer)).toEqual([409, 'contact_exists']);
      expect(answer.body.error.details.id).toBe(first.id);
    }
    expect((await call('PUT', `/${first.id}`, { phone, externalId: 'once' })).status).toBe(200);
    const stranger = await gateway.createAccount();
    expect((await call('POST', '', { phone, externalId: 'once' }, stranger.key)).status).toBe(201);
    await call('DELETE', `/${first.id}`);
    expect((await call('POST', '', { phone, externalId: 'once' })).status).toBe(201);
  });

  it('of many equal concurrent ones one is created, and the others get its id', async () => {
    const phone = newPhone();
    const answers = await Promise.all(
      Array.from({ length: 30 }, (_, index) => call('POST', '', { phone, externalId: `twin-${index}` })),
    );
    const won = answers.filter(({ status }) => status === 201);
    expect(won).toHaveLength(1);
    for (const { status, body } of answers) {
      if (status !== 201)
        expect({ status, id: body.error.details.id }).toEqual({ status: 409, id: won[0]?.body.id });
    }
  });

  describe('in a list', () => {
    let owner: TestAccount;
    const ids: string[] = [];
    beforeAll(async () => {
      owner = await gateway.createAccount();
      for (const contact of [
        { name: 'Amina Nakato', phone: '+256772000001', tags: ['north', 'vip'] },
        { name: 'Åsa Öberg', email: 'asa@example.com', tags: ['north'] },
        { name: '100% _sure_', externalId: 'C:\\temp', tags: ['vip'] },
        { phone: '+254712345678' },
        { name: "Robert'); DROP TABLE contacts;--", email: 'bobby@example.org' },
      ]) {
        ids.push((await create(contact, owner.key)).id);
      }
    });
    const list = (query = '') => call('GET', `?${query}`, undefined, owner.key);
    const indexes = async (query: string) =>
      (await list(query)).body.data.map(({ id }: { id: string }) => ids.indexOf(id));

    it('are ordered newest first, in the envelope (R85)', async () => {
      const { body } = await list('limit=2');
      expect(body.pagination).toEqual({ page: 1, limit: 2, total: 5, pages: 3 });
      expect(await indexes('limit=2')).toEqual([4, 3]);
      expect(await indexes('limit=2&page=3')).toEqual([0]);
      expect(await indexes('limit=2&page=4')).toEqual([]);
      expect(codeOf(await list('limit=0'))).toEqual([400, 'validation_error']);
    });

    it.each([
      ['search=nakato', [0]],
      ['search=ÅSA', [1]],
      ['search=example.', [4, 1]],
      ['search=%25', [2]],
      ['search=_', [2]],
      ['search=c:%5Ctemp', [2]],
      ['search=772', [0]],
      ['search=0772000001', [0]],
      ['search=%2B254 712-345-678', [3]],
      ["search=')%3B DROP", [4]],
      ['search=+254712345678', [3]],
      ['search=%2B254712345678', [3]],
      ['search=nobody', []],
      ['tag=vip', [2, 0]],
      ['tag=VIP', []],
      ['tag=vip&search=amina', [0]],
    ])('are found by %s', async (query, found) => {
      expect(await indexes(query)).toEqual(found);
    });

    it.each(['search=', 'tag=', `search=${'a'.repeat(201)}`, 'search=a&search=b'])(
      'refuse the query %s',
      async (query) => {
        expect(codeOf(await list(query))).toEqual([400, 'validation_error']);
      },
    );
  });

  it('of another account are not found (R175)', async () => {
    const { id } = await create({ phone: newPhone() });
    const { key } = await gateway.createAccount();
    expect(codeOf(await call('GET', `/${id}`, undefined, key))).toEqual([404, 'not_found']);
    expect(codeOf(await call('PUT', `/${id}`, { name: 'x' }, key))).toEqual([404, 'not_found']);
    expect(codeOf(await call('DELETE', `/${id}`, undefined, key))).toEqual([404, 'not_found']);
    expect(codeOf(await call('GET', '/nonsense'))).toEqual([404, 'not_found']);
    expect((await call('GET', `/${id}`)).status).toBe(200);
  });

  it('are read with READ_CONTACTS or MANAGE_CONTACTS, and written with the latter (R8, R125, R126)', async () => {
    const keyFor = async (scope: string) =>
      (await gateway.createKey(account.accountId, { scopes: [scope] })).key;
    const reader = await keyFor('READ_CONTACTS');
    const manager = await keyFor('MANAGE_CONTACTS');
    const sender = await keyFor('SEND_SMS');
    const { id } = await create({ phone: newPhone() }, manager);
    for (const key of [reader, manager]) {
      expect((await call('GET', '', undefined, key)).status).toBe(200);
      expect((await call('GET', `/${id}`, undefined, key)).status).toBe(200);
    }
    expect((await call('GET', '', undefined, sender)).body.message).toBe(
      'Insufficient scopes. Required one of: READ_CONTACTS, MANAGE_CONTACTS, FULL_ACCESS',
    );
    const refused = 'Insufficient scopes. Required one of: MANAGE_CONTACTS, FULL_ACCESS';
    expect((await call('POST', '', {}, reader)).body.message).toBe(refused);
    expect((await call('PUT', `/${id}`, {}, reader)).body.message).toBe(refused);
    expect((await call('DELETE', `/${id}`, undefined, reader)).body.message).toBe(refused);
    expect((await call('DELETE', `/${id}`, undefined, manager)).status).toBe(200);
  });

  it('are read by every member, and written by all but viewers', async () => {
    const { contacts } = gateway.parts.operations;
    const member = (role: AccountRole) =>
      ({ kind: 'member', accountId: account.accountId, userId: randomUUID(), role }) as const;
    for (const role of ['OWNER', 'ADMIN', 'DEVELOPER'] as const) {
      const { id } = await contacts.create.run(member(role), { phone: newPhone() });
      expect((await contacts.get.run(member('VIEWER'), { id })).id).toBe(id);
      await expect(contacts.remove.run(member('VIEWER'), { id })).rejects.toThrow(/^Your role is VIEWER/);
      await contacts.remove.run(member(role), { id });
    }
  });
});
