import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { withKnex } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { graphql, inviteMember, signIn, signInOperator } from '../support/graphql.ts';
import { countStatements } from '../support/statements.ts';

const UPDATE = `mutation ($k: [ID!]!, $add: [Scope!], $remove: [Scope!], $ips: [String!], $end: DateTime, $dry: Boolean) {
  updateApiKeys(keyIds: $k, addScopes: $add, removeScopes: $remove, ipAllowlist: $ips, expiresAt: $end, dryRun: $dry) {
    changes {
      apiKey { keyId } before { scopes ipAllowlist } after { scopes ipAllowlist }
      refusedRequests { operation address requests lastDay reason }
    }
    userErrors { index path code message }
  }
}`;

describe('administration of keys over GraphQL', () => {
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

  const data = async (query: string, variables: object = {}, as = token) => {
    const { body } = await graphql(gateway, query, { token: as, variables });
    if (body.errors) throw new Error(JSON.stringify(body.errors));
    return body.data;
  };
  const today = () => new Date().toISOString();
  const yesterday = () => new Date(Date.now() - 24 * 3_600_000).toISOString();
  const usageOf = async (keyId: string) => {
    const query =
      'query ($k: ID!, $f: DateTime!, $t: DateTime!) { apiKey(id: $k) { usage(from: $f, to: $t) { day operation requests } } }';
    return (await data(query, { k: keyId, f: yesterday(), t: today() })).apiKey.usage;
  };
  const used = (keyId: string, operation: string) =>
    eventually(async () =>
      (await usageOf(keyId)).find((use: { operation: string }) => use.operation === operation),
    );

  it('describe scopes by what they admit, and offer templates (R275)', async () => {
    const { scopeCatalog, keyPresets } = await data(
      '{ scopeCatalog { scope title description grants impliedBy risk } keyPresets { name title description scopes } }',
    );
    expect(scopeCatalog.map(({ scope }: { scope: string }) => scope)).toContain('FULL_ACCESS');
    const sms = scopeCatalog.find(({ scope }: { scope: string }) => scope === 'SEND_SMS');
    expect(sms).toMatchObject({
      title: 'Send SMS',
      grants: expect.arrayContaining(['message.sendSms', 'message.quoteSms', 'message.cancel']),
      impliedBy: ['FULL_ACCESS'],
      risk: 'MEDIUM',
    });
    const reading = scopeCatalog.find(({ scope }: { scope: string }) => scope === 'READ_CONTACTS');
    expect(reading.impliedBy).toEqual(['MANAGE_CONTACTS', 'FULL_ACCESS']);
    expect(keyPresets.find(({ name }: { name: string }) => name === 'send_sms').scopes).toEqual(['SEND_SMS']);
  });

  it('join the keys of a rotation, and say what each person may do with them (R275)', async () => {
    const { keyId } = await gateway.createKey(account.accountId, { scopes: ['SEND_SMS'] });
    const rotate =
      'mutation ($k: ID!) { rotateApiKey(keyId: $k, overlapSeconds: 60) { apiKey { keyId replaces { keyId } } } }';
    const { apiKey: successor } = (await data(rotate, { k: keyId })).rotateApiKey;
    expect(successor.replaces).toEqual({ keyId });
    const query = `query ($k: ID!) { apiKey(id: $k) {
      replaces { keyId } replacedBy { keyId } viewerCan { update rotate revoke setRateLimit } } }`;
    expect((await data(query, { k: keyId })).apiKey).toEqual({
      replaces: null,
      replacedBy: { keyId: successor.keyId },
      viewerCan: { update: true, rotate: false, revoke: true, setRateLimit: false },
    });
    const as = async (role: string) => signIn(gateway, await inviteMember(gateway, token, role));
    for (const role of ['VIEWER', 'DEVELOPER']) {
      expect((await data(query, { k: keyId }, await as(role))).apiKey.viewerCan).toEqual({
        update: false,
        rotate: false,
        revoke: false,
        setRateLimit: false,
      });
    }
    await data('mutation ($k: ID!) { revokeApiKey(keyId: $k) { keyId } }', { k: keyId });
    expect((await data(query, { k: keyId })).apiKey.viewerCan).toMatchObject({
      update: false,
      revoke: false,
    });
  });

  it('count what a key does, by day and operation (R276)', async () => {
    const { key, keyId } = await gateway.createKey(account.accountId, { scopes: ['READ_MESSAGES'] });
    for (const _ of [1, 2, 3]) await gateway.call('GET', '/developers/sms/history', { key });
    expect((await gateway.call('GET', '/developers/contacts', { key })).status).toBe(403);
    await eventually(async () => (await usageOf(keyId))[0]?.requests === 3);
    expect(await usageOf(keyId)).toEqual([
      { day: today().slice(0, 10), operation: 'message.history', requests: 3 },
    ]);
    using counter = countStatements();
    const query = `query ($f: DateTime!, $t: DateTime!) { apiKeys {
      keyId one: usage(from: $f, to: $t) { requests } two: usage(from: $f, to: $t) { requests } } }`;
    const { apiKeys } = await data(query, { f: yesterday(), t: today() });
    const own = apiKeys.find((one: { keyId: string }) => one.keyId === keyId);
    expect(own).toMatchObject({ one: [{ requests: 3 }], two: [{ requests: 3 }] });
    expect(counter.ofRequests().filter((text) => text.includes('FROM api_key_requests'))).toHaveLength(1);
    // Counts that are older than 30 days are deleted.
    await withKnex(gateway.database.connection, (knex) =>
      knex.raw(`UPDATE api_key_requests SET day = day - 31 WHERE key_id = ?`, [keyId]),
    );
    expect(await gateway.parts.authenticator.forgetOldRequests()).toBe(1);
  });

  it('change many keys, tell those that cannot be changed, and show what they would be refused (R277)', async () => {
    const first = await gateway.createKey(account.accountId, { scopes: ['READ_MESSAGES', 'SEND_SMS'] });
    const second = await gateway.createKey(account.accountId, { scopes: ['READ_MESSAGES'] });
    const ended = await gateway.createKey(account.accountId, { scopes: ['READ_MESSAGES', 'SEND_SMS'] });
    await data('mutation ($k: ID!) { revokeApiKey(keyId: $k) { keyId } }', { k: ended.keyId });
    await gateway.call('GET', '/developers/sms/history', { key: first.key });
    await used(first.keyId, 'message.history');

    const keyIds = [first.keyId, second.keyId, ended.keyId, '0123456789abcdef'];
    const variables = { k: keyIds, remove: ['READ_MESSAGES'], ips: ['203.0.113.0/24'] };
    const preview = (await data(UPDATE, { ...variables, dry: true })).updateApiKeys;
    expect(preview).toEqual({
      changes: [
        {
          apiKey: { keyId: first.keyId },
          before: { scopes: ['READ_MESSAGES', 'SEND_SMS'], ipAllowlist: [] },
          after: { scopes: ['SEND_SMS'], ipAllowlist: ['203.0.113.0/24'] },
          refusedRequests: [
            {
              operation: 'message.history',
              address: expect.stringContaining('127.0.0.1'),
              requests: 1,
              lastDay: today().slice(0, 10),
              reason: 'SCOPE',
            },
          ],
        },
      ],
      userErrors: expect.any(Array),
    });
    const message = expect.stringMatching(/\w/);
    expect(preview.userErrors).toEqual([
      { index: 1, path: 'keyIds.1', code: 'BAD_USER_INPUT', message },
      { index: 2, path: 'keyIds.2', code: 'KEY_ENDED', message },
      { index: 3, path: 'keyIds.3', code: 'NOT_FOUND', message },
    ]);
    expect((await gateway.call('GET', '/developers/sms/history', { key: first.key })).status).toBe(200);

    const done = (await data(UPDATE, variables)).updateApiKeys;
    expect(done.changes.map(({ apiKey }: { apiKey: { keyId: string } }) => apiKey.keyId)).toEqual([
      first.keyId,
    ]);
    expect((await gateway.call('GET', '/developers/sms/history', { key: first.key })).status).toBe(403);
    expect((await gateway.call('GET', '/developers/sms/history', { key: second.key })).status).toBe(200);
  });

  it('refuse a change that fits no key, with all its faults (R270, R271)', async () => {
    const { body } = await graphql(gateway, UPDATE, {
      token,
      variables: { k: [], ips: ['nowhere'], end: '2001-01-01T00:00:00Z' },
    });
    const paths = body.errors[0].extensions.details.fields.map(({ path }: { path: string }) => path);
    expect(paths).toEqual(['keyIds', 'ipAllowlist.0', 'expiresAt']);
  });

  it('never give more than the person may, and never reach another account', async () => {
    const developer = await signIn(gateway, await inviteMember(gateway, token, 'DEVELOPER'));
    const { keyId } = await gateway.createKey(account.accountId, { scopes: ['SEND_SMS'] });
    const refused = (await data(UPDATE, { k: [keyId], add: ['FULL_ACCESS'] }, developer)).updateApiKeys;
    expect([refused.changes, refused.userErrors[0].code]).toEqual([[], 'FORBIDDEN']);
    const stranger = await signIn(gateway, await gateway.createAccount());
    const unseen = (await data(UPDATE, { k: [keyId], add: ['READ_MESSAGES'] }, stranger)).updateApiKeys;
    expect(unseen.userErrors[0].code).toBe('NOT_FOUND');
    const changed = (await data(UPDATE, { k: [keyId], add: ['READ_MESSAGES'] }, operator)).updateApiKeys;
    expect(changed.changes[0].after.scopes).toEqual(['SEND_SMS', 'READ_MESSAGES']);
  });

  it('lock accounts in their order, whatever the order of the keys (R277)', async () => {
    const pair = async () => {
      const accounts = [await gateway.createAccount(), await gateway.createAccount()];
      const [first = '', second = ''] = accounts.map(({ accountId }) => accountId).sort();
      const firstKey = await gateway.createKey(first, {});
      return { first, second, firstKey, lastKey: await gateway.createKey(second, {}) };
    };
    // Key ids begin with a slot of their account (R500). Take accounts whose keys have the other order.
    let { first, second, firstKey, lastKey } = await pair();
    while (firstKey.keyId < lastKey.keyId) ({ first, second, firstKey, lastKey } = await pair());
    await withKnex(gateway.database.connection, (knex) =>
      knex.transaction(async (holder) => {
        const lock = 'pg_advisory_xact_lock(7350115, hashtext(?))';
        await holder.raw(`SELECT ${lock}`, [first]);
        const change = data(UPDATE, { k: [lastKey.keyId, firstKey.keyId], add: ['READ_MESSAGES'] }, operator);
        await eventually(async () => {
          const waiting = `SELECT FROM pg_locks WHERE NOT granted AND classid = 7350115 AND database =
            (SELECT oid FROM pg_database WHERE datname = current_database())`;
          return (await holder.raw(waiting)).rows.length === 1;
        });
        const free = await holder.raw(`SELECT pg_try_advisory_xact_lock(7350115, hashtext(?)) AS free`, [
          second,
        ]);
        expect(free.rows).toEqual([{ free: true }]);
        await holder.commit();
        const changed = (await change).updateApiKeys.changes;
        expect(changed.map(({ apiKey }: { apiKey: { keyId: string } }) => apiKey.keyId)).toEqual([
          lastKey.keyId,
          firstKey.keyId,
        ]);
      }),
    );
  });

  it('are shown to operators as to the account: what they replace, and their use (R275, R276)', async () => {
    const { keyId, key } = await gateway.createKey(account.accountId, { scopes: ['READ_MESSAGES'] });
    await gateway.call('GET', '/developers/sms/history', { key });
    await used(keyId, 'message.history');
    const fields = `keyId replaces { keyId } replacedBy { keyId replaces { keyId } }
      usage(from: "${yesterday()}", to: "${today()}") { requests }`;
    const rotate = `mutation ($k: ID!) { rotateApiKey(keyId: $k, overlapSeconds: 60) { apiKey { ${fields} } } }`;
    const successor = (await data(rotate, { k: keyId }, operator)).rotateApiKey.apiKey;
    expect(successor).toMatchObject({ replaces: { keyId }, replacedBy: null, usage: [] });
    const update = `mutation ($k: [ID!]!) { updateApiKeys(keyIds: $k) { changes { apiKey { ${fields} } } } }`;
    const [change] = (await data(update, { k: [keyId] }, operator)).updateApiKeys.changes;
    expect(change.apiKey).toMatchObject({
      replaces: null,
      replacedBy: { keyId: successor.keyId, replaces: { keyId } },
      usage: [{ requests: 1 }],
    });
    const stranger = await signIn(gateway, await gateway.createAccount());
    const query = `query ($k: ID!) { apiKey(id: $k) { ${fields} } }`;
    const { body } = await graphql(gateway, query, { token: stranger, variables: { k: keyId } });
    expect(body.data.apiKey).toBeNull();
  });

  it('list the scopes that keys do not use (R276)', async () => {
    const { key, keyId } = await gateway.createKey(account.accountId, {
      scopes: ['SEND_SMS', 'READ_MESSAGES'],
    });
    await gateway.call('GET', '/developers/sms/history', { key });
    await used(keyId, 'message.history');
    const unused = async () =>
      (await data('{ unusedScopes(days: 7) { apiKey { keyId } scope lastUsedAt } }')).unusedScopes.filter(
        ({ apiKey }: { apiKey: { keyId: string } }) => apiKey.keyId === keyId,
      );
    // A new key is not listed, because it had no time to use all its scopes.
    expect(await unused()).toEqual([]);
    await withKnex(gateway.database.connection, (knex) =>
      knex.raw(`UPDATE api_keys SET created_at = created_at - interval '8 days' WHERE key_id = ?`, [keyId]),
    );
    expect(await unused()).toEqual([{ apiKey: { keyId }, scope: 'SEND_SMS', lastUsedAt: null }]);
  });
});
