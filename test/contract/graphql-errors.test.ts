import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { buildSchema, isEnumType } from 'graphql';
import { schemaText } from '../../src/graphql/schema.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { graphql, signIn, signInOperator } from '../support/graphql.ts';

describe('errors of the GraphQL API', () => {
  let gateway: TestGateway;
  let account: TestAccount;
  let token: string;
  let operator: string;
  beforeAll(async () => {
    gateway = await startTestGateway();
    account = await gateway.createAccount();
    token = await signIn(gateway, account);
    operator = await signInOperator(gateway);
  });
  afterAll(() => gateway?.stop());

  /** Runs a query, and returns the only error of the answer. */
  const refusalOf = async (query: string, variables: object = {}, as = token) => {
    const { body } = await graphql(gateway, query, { token: as, variables });
    expect(body.errors).toHaveLength(1);
    return body.errors[0].extensions;
  };
  const pathsOf = async (query: string, variables: object = {}, as = token) =>
    (await refusalOf(query, variables, as)).details.fields.map(({ path }: { path: string }) => path);

  it('names all faults of a new key, with their paths from the argument (R270, R271)', async () => {
    const input = {
      name: '',
      scopes: [],
      environment: 'SANDBOX',
      ipAllowlist: ['10.0.0.0/8', 'here', 'there'],
      expiresAt: '2001-01-01T00:00:00Z',
    };
    const refused = await refusalOf('mutation ($i: CreateApiKeyInput!) { createApiKey(input: $i) { key } }', {
      i: input,
    });
    expect(refused).toEqual({
      code: 'BAD_USER_INPUT',
      docUrl: '/docs/errors/bad_user_input',
      details: {
        fields: [
          { path: 'input.name', message: 'must have 1 to 100 characters' },
          { path: 'input.scopes', message: 'must name at least one scope' },
          { path: 'input.ipAllowlist.1', message: expect.stringContaining('must be a CIDR') },
          { path: 'input.ipAllowlist.2', message: expect.stringContaining('must be a CIDR') },
          { path: 'input.expiresAt', message: 'must be in the future' },
        ],
      },
    });
  });

  it('names all faults of an SMS under the code of the first (R270)', async () => {
    const refused = await refusalOf('mutation ($i: SendSmsInput!) { sendSms(input: $i) { id } }', {
      i: { to: 'nobody', message: 'x'.repeat(1001), from: 'far too long for a sender' },
    });
    expect(refused).toMatchObject({
      code: 'MESSAGE_TOO_LONG',
      docUrl: '/docs/errors/message_too_long',
      details: { field: 'message', length: 1001, maximum: 1000 },
    });
    expect(refused.details.fields.map(({ path }: { path: string }) => path)).toEqual([
      'input.message',
      'input.from',
      'input.to',
    ]);
  });

  it('REST has the shape of before, with the other faults beside it (R2, R270)', async () => {
    const body = { to: '+256700000001', message: 'x'.repeat(1001), from: 'far too long for a sender' };
    const { status, body: answer } = await gateway.call('POST', '/developers/sms', {
      key: account.key,
      body,
    });
    expect([status, answer.error.code]).toEqual([400, 'message_too_long']);
    expect(answer.error.details).toMatchObject({
      field: 'message',
      maximum: 1000,
      fields: [{ path: 'message' }, { path: 'from' }],
    });
  });

  describe('name the same path for the same value (R271)', () => {
    const wrong = 'input.scopes.1';
    it('in a literal', async () => {
      const query =
        'mutation { createApiKey(input: { name: "a", environment: SANDBOX, scopes: [SEND_SMS, NO_SUCH] }) { key } }';
      expect(await pathsOf(query)).toEqual([wrong]);
    });

    it.each([
      [
        'of the input',
        'mutation ($v: CreateApiKeyInput!) { createApiKey(input: $v) { key } }',
        {
          v: { name: 'a', environment: 'SANDBOX', scopes: ['SEND_SMS', 'NO_SUCH'] },
        },
      ],
      [
        'of the list',
        'mutation ($v: [Scope!]!) { createApiKey(input: { name: "a", environment: SANDBOX, scopes: $v }) { key } }',
        {
          v: ['SEND_SMS', 'NO_SUCH'],
        },
      ],
      [
        'of the element',
        'mutation ($v: Scope!) { createApiKey(input: { name: "a", environment: SANDBOX, scopes: [SEND_SMS, $v] }) { key } }',
        {
          v: 'NO_SUCH',
        },
      ],
    ])('in a variable %s', async (_of, query, variables) => {
      expect(await pathsOf(query, variables)).toEqual([wrong]);
    });

    it('in the domain', async () => {
      const query = `mutation { registerWebhook(input: { url: "http://127.0.0.1:9/", events: ["sms.sent", "no.such"] }) { secret } }`;
      expect(await pathsOf(query)).toEqual(['input.events.1']);
    });

    it('for an argument that is no input', async () => {
      const query = 'mutation ($id: ID!) { setRateLimit(keyId: $id, perMinute: 0, perSecond: -1) { keyId } }';
      const { keyId } = await gateway.createKey(account.accountId, {});
      expect(await pathsOf(query, { id: keyId }, operator)).toEqual(['perMinute', 'perSecond']);
    });

    it('for text that cannot be stored', async () => {
      const create = 'createContact(input: { name: "a\\u0000" }) { id }';
      expect(await pathsOf(`mutation { ${create} }`)).toEqual(['input.name']);
      const query = 'mutation ($v: CreateContactInput!) { createContact(input: $v) { id } }';
      expect(await pathsOf(query, { v: { tags: ['fine', 'a\0'] } })).toEqual(['input.tags.1']);
    });
  });

  it('names several wrong variables at once (R270)', async () => {
    const query = `mutation ($n: String!, $s: [Scope!]!) {
      createApiKey(input: { name: $n, environment: SANDBOX, scopes: $s }) { key } }`;
    expect(await pathsOf(query, { n: 7, s: ['NO_SUCH', 'SEND_SMS', 'NOR_THIS'] })).toEqual([
      'input.name',
      'input.scopes.0',
      'input.scopes.2',
    ]);
  });

  it('every code has a page and a mutation lists its codes for code generators (R272)', async () => {
    const text = schemaText();
    expect(text).toMatch(
      /\): CreatedApiKey! @errors\(codes: \[ACCOUNT_MOVED, ACCOUNT_MOVING, BAD_USER_INPUT, FORBIDDEN, .*STEP_UP_REQUIRED/,
    );
    const schema = buildSchema(text);
    const mutations = Object.values(schema.getMutationType()?.getFields() ?? {});
    const listed = mutations.map(({ astNode }) => astNode?.directives?.map(({ name }) => name.value));
    expect(mutations.length).toBeGreaterThan(40);
    expect(new Set(listed.flat())).toEqual(new Set(['errors']));
    expect(listed.every((directives) => directives?.length === 1)).toBe(true);
    const codes = schema.getType('ErrorCode');
    if (!isEnumType(codes)) throw new Error('no enum');
    // The test client throws if an answer has an undocumented error code, or a code that `@errors` does not list for
    // the field.
    const { code, docUrl } = await refusalOf('{ nothing }');
    expect(codes.getValue(code)?.description).toBeTruthy();
    expect(docUrl).toBe('/docs/errors/graphql_validation_failed');
  });
});
