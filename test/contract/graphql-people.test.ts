import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { graphql, signIn } from '../support/graphql.ts';

describe('signing in (graphql-names.md, Signing in)', () => {
  let gateway: TestGateway;
  let account: TestAccount;
  beforeAll(async () => {
    gateway = await startTestGateway();
    account = await gateway.createAccount();
  });
  afterAll(() => gateway?.stop());

  const SIGN_IN =
    'mutation ($e: String!, $p: String!) { signIn(email: $e, password: $p) { token expiresAt user { id email role account { id } } } }';

  it('gives a token that stands for the person, also as a HttpOnly, SameSite=Strict cookie', async () => {
    const answer = await graphql(gateway, SIGN_IN, { variables: { e: account.email, p: account.password } });
    expect(answer.body).toMatchObject({
      data: { signIn: { user: { email: account.email, role: 'OWNER', account: { id: account.accountId } } } },
    });
    const { token } = answer.body.data.signIn;
    const cookie = answer.headers.get('set-cookie') ?? '';
    expect(cookie).toMatch(/^session=[\w-]{43}; Path=\/graphql; Max-Age=43200; HttpOnly; SameSite=Strict$/);

    const viewer = '{ viewer { email mustChangePassword account { id balance currency } } }';
    const expected = {
      data: {
        viewer: {
          email: account.email,
          mustChangePassword: true,
          account: { id: account.accountId, balance: 100_000, currency: 'UGX' },
        },
      },
    };
    expect((await graphql(gateway, viewer, { token })).body).toEqual(expected);
    const headers = { cookie: cookie.split(';')[0] ?? '' };
    expect((await graphql(gateway, viewer, { headers })).body).toEqual(expected);
  });
});
