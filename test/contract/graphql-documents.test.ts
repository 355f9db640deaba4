import { createHash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join as joinPath } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readGraphqlDocuments } from '../../src/config/graphql-documents.ts';
import { type Joined, joined } from '../../src/console/lib/joined.ts';
import { Session } from '../../src/console/lib/session.generated.ts';
import { Messages } from '../../src/console/pages/messages/messages.generated.ts';
import { OpenAlerts } from '../../src/console/ui/open-alerts.generated.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { graphql, signIn } from '../support/graphql.ts';

const VIEWER = '{ viewer { email } }';
const hashOf = (text: string) => createHash('sha256').update(text).digest('hex');
const persisted = (text: string) => ({ persistedQuery: { version: 1, sha256Hash: hashOf(text) } });

describe('documents by hash (R283)', () => {
  let gateway: TestGateway;
  let strict: TestGateway;
  let account: TestAccount;
  let token: string;
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(joinPath(tmpdir(), 'documents-'));
    const path = joinPath(folder, 'documents.json');
    await writeFile(path, JSON.stringify({ overview: VIEWER }));
    gateway = await startTestGateway({ GRAPHQL_DOCUMENTS: path });
    strict = await startTestGateway(
      {
        NODE_ENV: 'production',
        SMS_ROUTES: '*=simulator:',
        GRAPHQL_DOCUMENTS: path,
        REQUIRE_SECOND_FACTOR: 'none',
      },
      gateway.database,
    );
    account = await gateway.createAccount();
    token = await signIn(gateway, account);
  });
  afterAll(async () => {
    await strict?.stop();
    await gateway?.stop();
    if (folder) await rm(folder, { recursive: true });
  });

  async function post(at: TestGateway, body: object, as: string | undefined = token) {
    const headers = { 'Content-Type': 'application/json', ...(as ? { Authorization: `Bearer ${as}` } : {}) };
    const response = await fetch(`${at.url}/graphql`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    });
    const { extensions: _, ...rest } = JSON.parse(await response.text());
    return { status: response.status, body: rest };
  }
  const asked = ({ name, text, variables }: Joined) => ({ query: text, operationName: name, variables });
  const answered = () => ({ data: { viewer: { email: account.email } } });
  const notFound = {
    errors: [
      {
        message: 'PersistedQueryNotFound',
        extensions: { code: 'PERSISTED_QUERY_NOT_FOUND', docUrl: expect.any(String) },
      },
    ],
  };

  it('a hash is answered once its document was sent with it, as with Apollo, also by GET', async () => {
    const text = 'query Registered { viewer { email } }';
    const extensions = persisted(text);
    expect(await post(gateway, { extensions })).toEqual({ status: 200, body: notFound });
    expect((await post(gateway, { query: text, extensions })).body).toEqual(answered());
    expect((await post(gateway, { extensions })).body).toEqual(answered());
    expect((await post(gateway, { documentId: `sha256:${hashOf(text)}` })).body).toEqual(answered());
    const search = new URLSearchParams({ extensions: JSON.stringify(extensions) });
    const got = await fetch(`${gateway.url}/graphql?${search}`, {
      headers: { Authorization: `Bearer ${token}`, 'Apollo-Require-Preflight': 'true' },
    });
    expect(await got.json()).toMatchObject(answered());
  });

  it('nobody registers a document under the hash of another, nor without a session', async () => {
    const extensions = persisted('query Other { viewer { id } }');
    const wrong = await post(gateway, { query: VIEWER, extensions });
    expect(wrong.status).toBe(400);
    expect(wrong.body.errors[0].extensions.details.fields[0].path).toBe(
      'extensions.persistedQuery.sha256Hash',
    );
    expect((await post(gateway, { extensions })).body).toEqual(notFound);
    const anonymous = 'query Anonymous { __typename }';
    await post(gateway, { query: anonymous, extensions: persisted(anonymous) }, '');
    expect((await post(gateway, { extensions: persisted(anonymous) })).body).toEqual(notFound);
  });

  it('a document of the file is named by its id', async () => {
    expect((await post(gateway, { documentId: 'overview' })).body).toEqual(answered());
    expect((await post(gateway, { documentId: 'unknown' })).body).toEqual(notFound);
  });

  it('in production, sessions run only what the file lists and the console', async () => {
    expect((await post(strict, { documentId: 'overview' })).body).toEqual(answered());
    expect((await post(strict, { query: VIEWER })).body).toEqual(answered());
    const console = await post(strict, asked(joined([{ query: Session, variables: {} }])));
    expect(console.body.errors).toBeUndefined();
    const text = 'query Unlisted { viewer { email } }';
    for (const body of [
      { query: text },
      { query: text, extensions: persisted(text) },
      { documentId: 'unknown' },
    ]) {
      expect(await post(strict, body)).toMatchObject({
        status: 400,
        body: {
          errors: [
            { message: expect.stringContaining('GRAPHQL_DOCUMENTS'), extensions: { code: 'FORBIDDEN' } },
          ],
        },
      });
    }
    const introspected = await post(strict, { query: '{ __schema { queryType { name } } }' });
    expect(introspected.body.errors[0].message).toContain('GRAPHQL_DOCUMENTS');
  });

  it('in production, sessions run queries of the console together, and nothing besides', async () => {
    const page = joined([
      { query: Session, variables: {} },
      { query: OpenAlerts, variables: {} },
      { query: Messages, variables: { first: 2, filter: { channel: ['SMS'] } } },
    ]);
    const answer = await post(strict, asked(page));
    expect(answer.body).toMatchObject({
      data: {
        Session_viewer: { email: account.email },
        OpenAlerts_alerts: { totalCount: 0 },
        Messages_messages: { nodes: [] },
      },
    });
    expect(answer.body.errors).toBeUndefined();
    const fields = '{Session_viewer:';
    for (const text of [
      page.text.replace(fields, '{other:viewer{id}Session_viewer:'),
      page.text.replace(fields, '{Other_viewer:viewer{id}Session_viewer:'),
      page.text.replace(fields, '{account{id}Session_viewer:'),
      page.text.replace(fields, '{...{account{id}}Session_viewer:'),
      page.text.replace(fields, '{Session_viewer:viewer{id}Session_viewer:'),
      page.text.replace('id email role', 'id email role createdAt'),
      page.text.replace('on Message{id', 'on Message{id sid'),
      page.text.replace(fields, `@live${fields}`),
      page.text
        .replace('query Session_', 'query Session_Account_')
        .replace(fields, '{Account_account:account{id}Session_viewer:'),
      page.text.replace(fields, '{Session:account{id name}Session_viewer:'),
      page.text.replace('query Session', `query ${'Session_'.repeat(30)}Session`),
      `${page.text} query Unlisted { viewer { email } }`,
      `mutation Session_SignOut{Session_signOut:signOut SignOut_signOut:signOut}`,
    ]) {
      expect(text).not.toBe(page.text);
      const refused = await post(strict, asked({ ...page, text }));
      expect([text, refused.body.errors?.[0].extensions.code]).toEqual([text, 'FORBIDDEN']);
    }
  });

  it('in production, people still sign in, and access tokens run any document', async () => {
    expect(await signIn(strict, account)).toEqual(expect.any(String));
    const query = `mutation ($at: String!) {
      createAccessToken(input: { name: "t", permissions: ["account.find"], expiresAt: $at }) { token } }`;
    const at = new Date(Date.now() + 3_600_000).toISOString();
    const made = await graphql(gateway, query, { token, variables: { at } });
    const answer = await post(
      strict,
      { query: '{ account { name } }' },
      made.body.data.createAccessToken.token,
    );
    expect(answer.body.errors).toBeUndefined();
  });

  it('in production, the answer of a sign-in reads nothing that no document lists', async () => {
    const query = `mutation ($e: String!, $p: String!) { signIn(email: $e, password: $p) {
      token user { email account { name } } } }`;
    const variables = { e: account.email, p: account.password };
    const signedIn = async (at: TestGateway) => (await post(at, { query, variables }, '')).body;
    const open = await signedIn(gateway);
    expect(open.data.signIn.user).toEqual({ email: account.email, account: { name: expect.any(String) } });
    const { data, errors } = await signedIn(strict);
    expect(data.signIn.user).toEqual({ email: account.email, account: null });
    expect(errors[0]).toMatchObject({
      path: ['signIn', 'user', 'account'],
      extensions: { code: 'UNAUTHENTICATED' },
    });
  });

  it("the file is the one of graphql-codegen or Relay, or Apollo's manifest", async () => {
    const path = joinPath(folder, 'manifest.json');
    const operations = [{ id: 'a', name: 'A', type: 'query', body: VIEWER }];
    await writeFile(
      path,
      JSON.stringify({ format: 'apollo-persisted-query-manifest', version: 1, operations }),
    );
    expect(readGraphqlDocuments(path)).toEqual(new Map([['a', VIEWER]]));
    await writeFile(path, '[1]');
    expect(() => readGraphqlDocuments(path)).toThrow(
      `GRAPHQL_DOCUMENTS cannot be used: ${path}: it must hold texts by their id, or operations with an id and a body.`,
    );
  });
});
